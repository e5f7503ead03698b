// The stop policies without a learned model. The interface is public: l2gcn/stop_policy.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/choices.h"
#include "l2gcn/stop_policy.h"

namespace l2gcn {

// Every layer runs its budget.
class FixedEpochs final : public StopPolicy {
 public:
  void BeginLayer(const LayerView& view) override { budget_ = view.budget; }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override {
    return budget_ > epoch ? budget_ - epoch : 1;
  }
  Decision Decide(const Observation&) override { return {true}; }
  std::string Name() const override { return "budget"; }

 private:
  uint32_t budget_ = 1;
};

// Stops after `patience` epochs without a better training loss, validation F1 or validation loss; the latter
// two go back to the best weights seen.
class EarlyStopping final : public StopPolicy {
 public:
  EarlyStopping(uint32_t patience, Watch watch) : patience_(patience), watch_(watch) {}
  void BeginLayer(const LayerView& view) override;
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& observation) override;
  bool WantsValidation() const override { return watch_ != Watch::kLoss; }
  bool KeepsBest() const override { return watch_ != Watch::kLoss; }
  std::string Name() const override { return "early stopping"; }
  std::vector<double> Memory() const override { return {best_, static_cast<double>(best_epoch_)}; }
  void Restore(std::span<const double> memory) override;

 private:
  uint32_t patience_;
  Watch watch_;
  double best_ = 0;
  uint32_t best_epoch_ = 0;
};

// Another policy with somebody watching (RunOptions::on_decision).
class WatchedPolicy final : public StopPolicy {
 public:
  WatchedPolicy(std::unique_ptr<StopPolicy> inner, OnDecision on_decision)
      : inner_(std::move(inner)), on_decision_(std::move(on_decision)) {}

  void BeginLayer(const LayerView& view) override {
    view_ = view;
    inner_->BeginLayer(view);
  }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override { return inner_->EpochsUntilDecision(epoch); }
  Decision Decide(const Observation& observation) override {
    Decision decision = inner_->Decide(observation);
    const bool stop = decision.stop;
    on_decision_(view_, observation, decision);
    stopped_by_watcher_ = decision.stop && !stop;
    return decision;
  }
  bool WantsValidation() const override { return inner_->WantsValidation(); }
  bool WantsNodeLosses() const override { return inner_->WantsNodeLosses(); }
  bool KeepsBest() const override { return inner_->KeepsBest(); }
  std::string Name() const override { return stopped_by_watcher_ ? "callback" : inner_->Name(); }
  std::vector<double> Memory() const override { return inner_->Memory(); }
  void Restore(std::span<const double> memory) override { inner_->Restore(memory); }

 private:
  std::unique_ptr<StopPolicy> inner_;
  OnDecision on_decision_;
  LayerView view_;
  bool stopped_by_watcher_ = false;
};

}  // namespace l2gcn
