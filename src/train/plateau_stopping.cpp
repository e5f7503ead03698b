#include "train/plateau_stopping.h"

#include <algorithm>
#include <cmath>

#include "config/stop_policies.h"
#include "core/error_format.h"
#include "train/held_out.h"

namespace l2gcn {
namespace {

constexpr double kLeastLooks = 2;  // the first look, if it is the best, is waited for as long as the second
constexpr double kStepsBetweenLooks = 10;
constexpr double kLeastPriorLoss = 0.01;  // nats: where nearly all nodes are alike

}  // namespace

PriorBaseline PriorBaselineOf(const Labels& labels, std::span<const uint32_t> train_nodes,
                              bool choose_thresholds) {
  if (labels.multilabel && !choose_thresholds) return {1, true};
  std::vector<double> counts(labels.classes, 0);
  double nodes = 0;
  for (const uint32_t node : train_nodes) {
    if (!labels.IsLabelled(node)) continue;
    ++nodes;
    if (labels.multilabel) {
      for (uint32_t c = 0; c < labels.classes; ++c)
        counts[c] += labels.matrix[size_t{node} * labels.classes + c];
    } else {
      ++counts[static_cast<size_t>(labels.classes_of[node])];
    }
  }
  const auto surprise = [](double share) { return share > 0 ? -share * std::log(share) : 0; };
  double entropy = 0;
  for (const double count : counts) {
    entropy += surprise(count / nodes);
    if (labels.multilabel) entropy += surprise(1 - count / nodes);
  }
  if (labels.multilabel) entropy /= labels.classes;  // losses are means over the labels
  return {std::max(entropy, kLeastPriorLoss)};
}

void PlateauStopping::BeginLayer(const LayerView& view) {
  view_ = view;
  looks_.clear();
  best_ = {0, 0};
  best_levels_.clear();
}

// The first look comes halfway to the earliest stop, and looks are a few steps apart: where epochs are short, one look
// costs as much as several of them.
uint32_t PlateauStopping::EpochsUntilDecision(uint32_t epoch) const {
  const double steps = static_cast<double>(view_.steps_per_epoch);
  const double least = epoch == 0 ? schedule_.least_steps / 2 : kStepsBetweenLooks;
  const auto apart = static_cast<uint32_t>(std::ceil(least / steps));
  return std::max({1u, view_.evaluate_every, apart, static_cast<uint32_t>(schedule_.growth * epoch)});
}

// Whether the last look's levels are below those of the best one by more than the error of their mean difference.
bool PlateauStopping::Better() const {
  if (best_levels_.empty()) return true;
  L2GCN_ASSERT(levels_.size() == best_levels_.size());
  const double gain = best_.level - looks_.back().level;
  double squares = 0;
  for (size_t i = 0; i < levels_.size(); ++i) {
    const double own = double{best_levels_[i]} - double{levels_[i]} - gain;
    squares += own * own;
  }
  return gain > schedule_.sure * std::sqrt(squares) / static_cast<double>(levels_.size());
}

// Over the looks in (after, until]; NaN if there are none.
double PlateauStopping::MeanLevel(double after, double until) const {
  double sum = 0, count = 0;
  for (const PastEvaluation& look : looks_) {
    if (look.epoch <= after || look.epoch > until) continue;
    sum += look.level;
    ++count;
  }
  return sum / count;
}

// What the best look is below chance, or below the first look where that was worse.
double PlateauStopping::Gained() const { return std::max(chance_.level, looks_.front().level) - best_.level; }

// What doubling the epochs has to bring.
double PlateauStopping::Price(double epoch) const {
  const double plain = chance_.by_f1 ? schedule_.f1_threshold : schedule_.basic_threshold;
  const bool inner = view_.layer + 1 < view_.layers;
  const double own = view_.norm ? schedule_.norm_threshold : inner ? schedule_.inner_factor * plain : plain;
  const double share = epoch / view_.budget;
  return own * std::min(Gained(), schedule_.much) * share * share;
}

// Whether doubling the epochs once more is expected to bring less than its price. One look is no stretch of epochs.
bool PlateauStopping::Slow(double epoch) const {
  if (Gained() <= schedule_.nothing * chance_.level) return false;
  const double half = schedule_.window * epoch;
  if (looks_.size() < 2 || looks_[looks_.size() - 2].epoch <= half) return false;
  return MeanLevel(schedule_.window * half, half) - MeanLevel(half, epoch) < Price(epoch);
}

Decision PlateauStopping::Decide(const Observation& observation) {
  const std::span<const float> levels = chance_.by_f1 ? observation.node_misses : observation.node_losses;
  levels_.assign(levels.begin(), levels.end());
  double mean = 0;
  for (const float level : levels_) mean += double{level};
  const double epoch = observation.epoch;
  looks_.push_back({epoch, mean / static_cast<double>(levels_.size())});
  Decision decision;
  decision.best_so_far = Better();
  if (decision.best_so_far) {
    best_ = looks_.back();
    best_levels_ = levels_;
  }
  const double patience = view_.norm ? schedule_.norm_patience : schedule_.basic_patience;
  const bool waited =
      epoch - best_.epoch >= patience * std::max(kLeastLooks * view_.evaluate_every, best_.epoch);
  const bool early = epoch * static_cast<double>(view_.steps_per_epoch) < schedule_.least_steps;
  decision.stop = !early && (waited || Slow(epoch));
  return decision;
}

std::vector<double> PlateauStopping::Memory() const {
  std::vector<double> memory = {best_.epoch, best_.level, static_cast<double>(looks_.size())};
  for (const PastEvaluation& look : looks_) memory.insert(memory.end(), {look.epoch, look.level});
  memory.insert(memory.end(), best_levels_.begin(), best_levels_.end());
  return memory;
}

void PlateauStopping::Restore(std::span<const double> memory) {
  const size_t looks = memory.size() < 3 ? 0 : static_cast<size_t>(memory[2]);
  if (memory.size() < 3 || looks > (memory.size() - 3) / 2)
    ThrowInput("the checkpoint's controller is damaged");
  best_ = {memory[0], memory[1]};
  looks_.clear();
  for (size_t i = 0; i < looks; ++i) looks_.push_back({memory[3 + 2 * i], memory[4 + 2 * i]});
  best_levels_.clear();
  for (const double level : memory.subspan(3 + 2 * looks)) best_levels_.push_back(static_cast<float>(level));
}

std::unique_ptr<StopPolicy> MakePlateauStopping(const PolicyRequest& request) {
  const TrainConfig& config = request.config;
  if (!HasValidationLabels(request.dataset, request.nodes) &&
      HeldOutCount(config, request.dataset, request.nodes) == 0) {
    ThrowUsage(
        "--stop plateau: split '{}' of {} has no validation node with a label, and no train nodes are held "
        "out; "
        "use --hold-out 0.1, another --split, or --stop fixed with a number for --lr",
        request.nodes.split.name, request.dataset.name);
  }
  const bool choose_thresholds = config.threshold && !config.threshold->value;
  return std::make_unique<PlateauStopping>(
      PriorBaselineOf(request.dataset.labels, request.nodes.train, choose_thresholds));
}

}  // namespace l2gcn
