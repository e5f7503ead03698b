#include "train/plateau_stopping.h"

#include <algorithm>
#include <cmath>

#include "config/stop_policies.h"
#include "core/error_format.h"
#include "kernels/row_loss.h"
#include "model/target_scaling.h"
#include "train/held_out.h"

namespace l2gcn {
namespace {

// The patience after the first evaluation, if that is the best, is that of the second one.
constexpr double kLeastEvaluations = 2;
constexpr double kStepsBetweenEvaluations = 10;
constexpr double kLeastPriorLoss = 0.01;  // nats: where nearly all nodes are alike

}  // namespace

namespace {

// The mean loss of predicting the mean of every target, which is 0 once it is standardised.
double PriorLossOfRegression(const Labels& labels, std::span<const uint32_t> train_nodes,
                             const Model::TargetScaling& scaling, Loss loss) {
  double sum = 0, count = 0;
  for (const uint32_t node : train_nodes) {
    for (uint32_t c = 0; c < labels.classes; ++c) {
      const double value = labels.targets.row(node)[c];
      if (std::isnan(value)) continue;
      sum += DifferenceLoss(loss, (value - scaling.mean[c]) / scaling.deviation[c]);
      ++count;
    }
  }
  return sum / count;
}

PriorBaseline PriorOf(const PolicyRequest& request) {
  const TrainConfig& config = request.config;
  const Labels& labels = request.dataset.labels;
  const std::vector<uint32_t>& train = request.nodes.train;
  if (labels.task() == Task::kRegression)
    return {PriorLossOfRegression(labels, train, FitTargetScaling(request.dataset, train), config.loss)};
  return PriorBaselineOf(labels, train, config.ChoosesThreshold());
}

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
  evaluations_.clear();
  best_ = {0, 0};
  best_losses_.clear();
}

// The first evaluation comes halfway to the earliest stop, and evaluations are a few steps apart: where epochs are short, one
// evaluation costs as much as several of them.
uint32_t PlateauStopping::EpochsUntilDecision(uint32_t epoch) const {
  const double steps = static_cast<double>(view_.steps_per_epoch);
  const double least = epoch == 0 ? schedule_.least_steps / 2 : kStepsBetweenEvaluations;
  const auto apart = static_cast<uint32_t>(std::ceil(least / steps));
  return std::max({1u, view_.evaluate_every, apart, static_cast<uint32_t>(schedule_.growth * epoch)});
}

// Whether the last evaluation is below the best one by more than the standard error of the mean difference.
bool PlateauStopping::Better() const {
  if (best_losses_.empty()) return true;
  L2GCN_ASSERT(losses_.size() == best_losses_.size());
  const double gain = best_.loss - evaluations_.back().loss;
  double squares = 0;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const double own = double{best_losses_[i]} - double{losses_[i]} - gain;
    squares += own * own;
  }
  return gain > schedule_.standard_errors * std::sqrt(squares) / static_cast<double>(losses_.size());
}

// The mean over the evaluations in (after, until]; NaN if there are none.
double PlateauStopping::MeanLoss(double after, double until) const {
  double sum = 0, count = 0;
  for (const PastEvaluation& evaluation : evaluations_) {
    if (evaluation.epoch <= after || evaluation.epoch > until) continue;
    sum += evaluation.loss;
    ++count;
  }
  return sum / count;
}

// How far the best evaluation is below the prior baseline, or below the first evaluation where that was worse.
double PlateauStopping::Improvement() const {
  return std::max(prior_.loss, evaluations_.front().loss) - best_.loss;
}

// What doubling the epochs has to improve the mean loss by.
double PlateauStopping::ImprovementThreshold(double epoch) const {
  const double basic = prior_.by_f1 ? schedule_.f1_threshold : schedule_.basic_threshold;
  const bool inner = view_.layer + 1 < view_.layers;
  const double own = view_.norm ? schedule_.norm_threshold : inner ? schedule_.inner_factor * basic : basic;
  const double share = epoch / view_.budget;
  return own * std::min(Improvement(), schedule_.gain_cap) * share * share;
}

// Whether doubling the epochs once more is expected to improve less than the threshold. One evaluation shows no trend.
bool PlateauStopping::IsPlateau(double epoch) const {
  if (Improvement() <= schedule_.min_gain * prior_.loss) return false;
  const double half = schedule_.window * epoch;
  if (evaluations_.size() < 2 || evaluations_[evaluations_.size() - 2].epoch <= half) return false;
  return MeanLoss(schedule_.window * half, half) - MeanLoss(half, epoch) < ImprovementThreshold(epoch);
}

Decision PlateauStopping::Decide(const Observation& observation) {
  const std::span<const float> losses = prior_.by_f1 ? observation.node_misses : observation.node_losses;
  losses_.assign(losses.begin(), losses.end());
  double mean = 0;
  for (const float loss : losses_) mean += double{loss};
  const double epoch = observation.epoch;
  evaluations_.push_back({epoch, mean / static_cast<double>(losses_.size())});
  Decision decision;
  decision.best_so_far = Better();
  if (decision.best_so_far) {
    best_ = evaluations_.back();
    best_losses_ = losses_;
  }
  const double patience = view_.norm ? schedule_.norm_patience : schedule_.basic_patience;
  const bool waited =
      epoch - best_.epoch >= patience * std::max(kLeastEvaluations * view_.evaluate_every, best_.epoch);
  const bool early = epoch * static_cast<double>(view_.steps_per_epoch) < schedule_.least_steps;
  decision.stop = !early && (waited || IsPlateau(epoch));
  return decision;
}

std::vector<double> PlateauStopping::Memory() const {
  std::vector<double> memory = {best_.epoch, best_.loss, static_cast<double>(evaluations_.size())};
  for (const PastEvaluation& evaluation : evaluations_)
    memory.insert(memory.end(), {evaluation.epoch, evaluation.loss});
  memory.insert(memory.end(), best_losses_.begin(), best_losses_.end());
  return memory;
}

void PlateauStopping::Restore(std::span<const double> memory) {
  const size_t count = memory.size() < 3 ? 0 : static_cast<size_t>(memory[2]);
  if (memory.size() < 3 || count > (memory.size() - 3) / 2)
    ThrowInput("the checkpoint's controller is damaged");
  best_ = {memory[0], memory[1]};
  evaluations_.clear();
  for (size_t i = 0; i < count; ++i) evaluations_.push_back({memory[3 + 2 * i], memory[4 + 2 * i]});
  best_losses_.clear();
  for (const double loss : memory.subspan(3 + 2 * count)) best_losses_.push_back(static_cast<float>(loss));
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
  return std::make_unique<PlateauStopping>(PriorOf(request));
}

}  // namespace l2gcn
