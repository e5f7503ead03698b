#include "train/paired_stop.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr double kLeastLooks = 2;  // that patience lasts
constexpr double kStepsBetweenLooks = 10;
constexpr double kLeastChance = 0.01;  // nats: where nearly all nodes are alike

}  // namespace

Chance ChanceOf(const Labels& labels, std::span<const uint32_t> train_nodes) {
  if (labels.multilabel) return {1, true};
  std::vector<double> counts(labels.classes, 0);
  double nodes = 0;
  for (const uint32_t node : train_nodes) {
    if (!labels.IsLabelled(node)) continue;
    ++counts[static_cast<size_t>(labels.classes_of[node])];
    ++nodes;
  }
  double entropy = 0;
  for (const double count : counts) {
    if (count > 0) entropy -= count / nodes * std::log(count / nodes);
  }
  return {std::max(entropy, kLeastChance)};
}

void PairedStop::BeginLayer(const LayerView& view) {
  view_ = view;
  looks_.clear();
  best_ = 0;
}

// The first look comes halfway to the earliest stop, and looks are a few steps apart: where epochs are short, one look
// costs as much as several of them.
uint32_t PairedStop::EpochsUntilDecision(uint32_t epoch) const {
  const double steps = static_cast<double>(view_.steps_per_epoch);
  const double least = epoch == 0 ? course_.least_steps / 2 : kStepsBetweenLooks;
  const auto apart = static_cast<uint32_t>(std::ceil(least / steps));
  return std::max({1u, view_.look_every, apart, static_cast<uint32_t>(course_.growth * epoch)});
}

PairedStop::Gain PairedStop::GainOf(std::span<const float> before, std::span<const float> after) {
  L2GCN_ASSERT(before.size() == after.size());
  const auto nodes = static_cast<double>(before.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double own = double{before[i]} - double{after[i]};
    sum += own;
    squares += own * own;
  }
  const double mean = sum / nodes;
  return {mean, std::sqrt(std::max(0.0, squares - nodes * mean * mean)) / nodes};
}

// Of each node over the looks in (after, until]; empty if there are none.
std::vector<float> PairedStop::MeanLevels(double after, double until) const {
  std::vector<float> means;
  double looks = 0;
  for (const PastLook& look : looks_) {
    if (look.epoch <= after || look.epoch > until) continue;
    means.resize(look.levels.size(), 0);
    for (size_t i = 0; i < means.size(); ++i) means[i] += look.levels[i];
    ++looks;
  }
  for (float& mean : means) mean /= static_cast<float>(looks);
  return means;
}

// Whether doubling the epochs once more is expected to bring less than it costs. One look is no stretch of epochs.
bool PairedStop::Slow(double epoch) const {
  const double gained = std::max(chance_.level, looks_.front().mean) - looks_[best_].mean;
  if (gained <= course_.nothing * chance_.level) return false;
  const double half = course_.window * epoch;
  if (looks_.size() < 2 || looks_[looks_.size() - 2].epoch <= half) return false;
  const std::vector<float> late = MeanLevels(half, epoch), early = MeanLevels(course_.window * half, half);
  if (early.empty()) return false;
  const Gain gain = GainOf(early, late);
  const double used = epoch / static_cast<double>(view_.budget);
  return gain.mean + course_.doubt * gain.error < course_.price * std::pow(used, course_.price_power);
}

Decision PairedStop::Decide(const Observation& observation) {
  const std::span<const float> levels = chance_.several ? observation.node_misses : observation.node_losses;
  PastLook look{static_cast<double>(observation.epoch), 0, {levels.begin(), levels.end()}};
  for (const float level : look.levels) look.mean += double{level};
  look.mean /= static_cast<double>(look.levels.size());
  looks_.push_back(std::move(look));
  Decision decision;
  decision.best_so_far = true;
  if (looks_.size() > 1) {
    const Gain gain = GainOf(looks_[best_].levels, looks_.back().levels);
    decision.best_so_far = gain.mean > -course_.slack * gain.error;
    if (gain.mean > course_.sure * gain.error) best_ = looks_.size() - 1;
  }
  const double epoch = looks_.back().epoch, best = looks_[best_].epoch;
  const bool waited = epoch - best >= std::max(kLeastLooks * view_.look_every, course_.patience * best);
  const bool early = epoch * static_cast<double>(view_.steps_per_epoch) < course_.least_steps;
  decision.stop = !early && (waited || Slow(epoch));
  return decision;
}

std::vector<double> PairedStop::Memory() const {
  const size_t nodes = looks_.empty() ? 0 : looks_.front().levels.size();
  std::vector<double> memory = {static_cast<double>(best_), static_cast<double>(looks_.size()),
                                static_cast<double>(nodes)};
  for (const PastLook& look : looks_) {
    memory.insert(memory.end(), {look.epoch, look.mean});
    memory.insert(memory.end(), look.levels.begin(), look.levels.end());
  }
  return memory;
}

void PairedStop::Restore(std::span<const double> memory) {
  const double looks = memory.size() < 3 ? -1 : memory[1], nodes = memory.size() < 3 ? -1 : memory[2];
  if (looks < 0 || static_cast<double>(memory.size()) != 3 + looks * (2 + nodes) ||
      !(memory[0] >= 0 && memory[0] < std::max(1.0, looks)))
    ThrowInput("the checkpoint's controller is damaged");
  best_ = static_cast<size_t>(memory[0]);
  looks_.clear();
  const size_t size = 2 + static_cast<size_t>(nodes);
  for (size_t at = 3; at < memory.size(); at += size) {
    PastLook look{memory[at], memory[at + 1], {}};
    for (const double level : memory.subspan(at + 2, size - 2))
      look.levels.push_back(static_cast<float>(level));
    looks_.push_back(std::move(look));
  }
}

}  // namespace l2gcn
