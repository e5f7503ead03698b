// When is a layer done? L-GCN and L²-GCN are one training loop with different answers to that question.
//
// The trainer calls BeginLayer, then after every EpochsUntilDecision() epochs Decide(); the layer ends when a
// decision says stop or when its budget is spent, whichever is first.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

namespace l2gcn {

// The layer about to be trained.
struct LayerView {
  uint32_t layer = 0;  // 0-based
  uint32_t layers = 1;
  uint32_t budget = 1;         // epochs at most
  uint32_t epochs_before = 0;  // trained in all earlier layers
};

// Of the validation nodes, with the layer as it stands as the last one.
struct ValidationScore {
  double f1 = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();  // mean
};

struct Observation {
  uint32_t epoch = 0;              // done in this layer
  std::span<const double> losses;  // (epoch) last batch's loss of each
  ValidationScore validation;      // only if WantsValidation()
  double seconds = 0;              // on the clock of this network's training: scoring is not
};

struct Decision {
  bool stop = false;
  double probability = -1;   // of stopping, for policies that have one
  bool best_so_far = false;  // weights worth returning to, for policies that KeepBest()
};

class StopPolicy {
 public:
  virtual ~StopPolicy() = default;
  virtual void BeginLayer(const LayerView& view) = 0;
  // Epochs to train from `epoch` on before asking again, at least 1.
  virtual uint32_t EpochsUntilDecision(uint32_t epoch) const = 0;
  virtual Decision Decide(const Observation& observation) = 0;
  virtual bool WantsValidation() const { return false; }
  // Whether the layer goes back to the weights of its last best_so_far decision when it ends.
  virtual bool KeepsBest() const { return false; }
  // As in the run's record: "early stopping", "controller".
  virtual std::string Name() const = 0;
};

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

// Stops after `patience` epochs without a better training loss or a better validation F1; the latter goes
// back to the best weights seen.
class EarlyStopping final : public StopPolicy {
 public:
  enum class Watch { kLoss, kValidation };
  EarlyStopping(uint32_t patience, Watch watch) : patience_(patience), watch_(watch) {}
  void BeginLayer(const LayerView& view) override;
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& observation) override;
  bool WantsValidation() const override { return watch_ == Watch::kValidation; }
  bool KeepsBest() const override { return watch_ == Watch::kValidation; }
  std::string Name() const override { return "early stopping"; }

 private:
  uint32_t patience_;
  Watch watch_;
  double best_ = 0;
  uint32_t best_epoch_ = 0;
};

}  // namespace l2gcn
