#include "train/paired_stop.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr double kNearlyNothing = 0.05;  // of the chance level: gained less, a layer goes on
constexpr double kLeastLooks = 2;        // that patience lasts
constexpr double kStepsBetweenLooks = 5;

}  // namespace

Chance ChanceOf(const Labels& labels) {
  const double classes = std::max(2.0, static_cast<double>(labels.classes));
  return labels.multilabel ? Chance{std::log(2.0), 1, true}
                           : Chance{std::log(classes), 1 - 1 / classes, false};
}

void PairedStop::BeginLayer(const LayerView& view) {
  view_ = view;
  looks_.clear();
  best_ = {0, 0};
  best_levels_.clear();
}

// The first look comes halfway to the earliest stop, and looks are a few steps apart: where epochs are short, one look
// costs as much as several of them.
uint32_t PairedStop::EpochsUntilDecision(uint32_t epoch) const {
  const double steps = static_cast<double>(view_.steps_per_epoch);
  const double least = epoch == 0 ? course_.least_steps / 2 : kStepsBetweenLooks;
  const auto apart = static_cast<uint32_t>(std::ceil(least / steps));
  return std::max({1u, view_.look_every, apart, static_cast<uint32_t>(course_.growth * epoch)});
}

std::vector<float> PairedStop::LevelsOf(const Observation& observation) const {
  L2GCN_ASSERT(observation.node_losses.size() == observation.node_misses.size());
  const double part = LossPart();
  std::vector<float> levels(observation.node_losses.size());
  for (size_t i = 0; i < levels.size(); ++i) {
    const double loss = double{observation.node_losses[i]} / chance_.loss;
    levels[i] = static_cast<float>((1 - part) * double{observation.node_misses[i]} + part * loss);
  }
  return levels;
}

// Whether these levels are below those of the best look by more than the error of their mean difference.
bool PairedStop::Better(std::span<const float> levels, double mean) const {
  if (best_levels_.empty()) return true;
  L2GCN_ASSERT(levels.size() == best_levels_.size());
  const double gain = best_.level - mean;
  double squares = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const double own = double{best_levels_[i]} - double{levels[i]} - gain;
    squares += own * own;
  }
  return gain > course_.sure * std::sqrt(squares) / static_cast<double>(levels.size());
}

// Whether the last part of the epochs brought next to nothing of what was gained on chance.
bool PairedStop::Slow(double epoch) const {
  const double chance = (1 - LossPart()) * chance_.miss + LossPart();
  double before = std::max(chance, looks_.front().level);  // the least level before the last part
  const double gained = before - best_.level;
  for (const PastLook& look : looks_) {
    if (look.epoch <= course_.window * epoch) before = std::min(before, look.level);
  }
  return gained > kNearlyNothing * chance && before - best_.level < course_.worth * gained;
}

Decision PairedStop::Decide(const Observation& observation) {
  const std::vector<float> levels = LevelsOf(observation);
  double mean = 0;
  for (const float level : levels) mean += double{level};
  mean /= static_cast<double>(levels.size());
  const double epoch = observation.epoch;
  looks_.push_back({epoch, mean});
  Decision decision;
  decision.best_so_far = Better(levels, mean);
  if (decision.best_so_far) {
    best_ = looks_.back();
    best_levels_ = levels;
  }
  const bool waited =
      epoch - best_.epoch >= std::max(kLeastLooks * view_.look_every, course_.patience * best_.epoch);
  const bool early = epoch * static_cast<double>(view_.steps_per_epoch) < course_.least_steps;
  decision.stop = !early && (waited || Slow(epoch));
  return decision;
}

std::vector<double> PairedStop::Memory() const {
  std::vector<double> memory = {best_.epoch, best_.level, static_cast<double>(looks_.size())};
  for (const PastLook& look : looks_) memory.insert(memory.end(), {look.epoch, look.level});
  memory.insert(memory.end(), best_levels_.begin(), best_levels_.end());
  return memory;
}

void PairedStop::Restore(std::span<const double> memory) {
  const size_t looks = memory.size() < 3 ? 0 : static_cast<size_t>(memory[2]);
  if (memory.size() < 3 || looks > (memory.size() - 3) / 2)
    ThrowInput("the checkpoint's controller is damaged");
  best_ = {memory[0], memory[1]};
  looks_.clear();
  for (size_t i = 0; i < looks; ++i) looks_.push_back({memory[3 + 2 * i], memory[4 + 2 * i]});
  best_levels_.clear();
  for (const double level : memory.subspan(3 + 2 * looks)) best_levels_.push_back(static_cast<float>(level));
}

}  // namespace l2gcn
