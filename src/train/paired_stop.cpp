#include "train/paired_stop.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr double kNearlyNothing = 0.05;  // of the chance loss: gained less, a layer goes on
constexpr double kLeastLooks = 2;        // that patience lasts

}  // namespace

void PairedStop::BeginLayer(const LayerView& view) {
  view_ = view;
  looks_.clear();
  best_ = {0, 0};
  best_losses_.clear();
}

uint32_t PairedStop::EpochsUntilDecision(uint32_t epoch) const {
  return std::max({1u, view_.look_every, static_cast<uint32_t>(course_.growth * epoch)});
}

// Whether these losses are below those of the best look by more than the error of their mean difference.
bool PairedStop::Better(std::span<const float> losses, double mean) const {
  if (best_losses_.empty()) return true;
  L2GCN_ASSERT(losses.size() == best_losses_.size());
  const double gain = best_.loss - mean;
  double squares = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double own = double{best_losses_[i]} - double{losses[i]} - gain;
    squares += own * own;
  }
  return gain > course_.sure * std::sqrt(squares) / static_cast<double>(losses.size());
}

Decision PairedStop::Decide(const Observation& observation) {
  double mean = 0;
  for (const float loss : observation.node_losses) mean += double{loss};
  mean /= static_cast<double>(observation.node_losses.size());
  const double epoch = observation.epoch;
  looks_.push_back({epoch, mean});
  Decision decision;
  decision.best_so_far = Better(observation.node_losses, mean);
  if (decision.best_so_far) {
    best_ = looks_.back();
    best_losses_.assign(observation.node_losses.begin(), observation.node_losses.end());
  }

  double before = std::max(chance_loss_, looks_.front().loss);  // the least loss before the last part
  const double gained = before - best_.loss;
  for (const PastLook& look : looks_) {
    if (look.epoch <= course_.window * epoch) before = std::min(before, look.loss);
  }
  const bool slow = gained > kNearlyNothing * chance_loss_ && before - best_.loss < course_.worth * gained;
  const bool waited =
      epoch - best_.epoch >= std::max(kLeastLooks * view_.look_every, course_.patience * best_.epoch);
  decision.stop = slow || waited;
  return decision;
}

std::vector<double> PairedStop::Memory() const {
  std::vector<double> memory = {best_.epoch, best_.loss, static_cast<double>(looks_.size())};
  for (const PastLook& look : looks_) memory.insert(memory.end(), {look.epoch, look.loss});
  memory.insert(memory.end(), best_losses_.begin(), best_losses_.end());
  return memory;
}

void PairedStop::Restore(std::span<const double> memory) {
  const size_t looks = memory.size() < 3 ? 0 : static_cast<size_t>(memory[2]);
  if (memory.size() < 3 || looks > (memory.size() - 3) / 2)
    ThrowInput("the checkpoint's controller is damaged");
  best_ = {memory[0], memory[1]};
  looks_.clear();
  for (size_t i = 0; i < looks; ++i) looks_.push_back({memory[3 + 2 * i], memory[4 + 2 * i]});
  best_losses_.clear();
  for (const double loss : memory.subspan(3 + 2 * looks)) best_losses_.push_back(static_cast<float>(loss));
}

}  // namespace l2gcn
