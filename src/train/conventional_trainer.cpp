#include "train/conventional_trainer.h"

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "kernels/cpu/aggregate.h"
#include "model/inference.h"
#include "train/block_network.h"
#include "train/layerwise_trainer.h"
#include "train/sampler.h"
#include "train/training_set.h"
#include "train/validation_probe.h"

namespace l2gcn {
namespace {

// Â X. Sparse features stay sparse where that is worth it.
Features AggregateFeatures(const Context& context, const Propagation& a, const Features& x,
                           const std::vector<uint32_t>& row_of_node) {
  if (!x.is_sparse()) {
    BlockPool once;
    return Features::Dense(
        AggregateDense(context, CpuKernelTable(), once, a, StoredMatrix(x.matrix()), row_of_node).dense);
  }
  Array<uint64_t> offsets = AggregatedOffsets(context, a, x.csr(), row_of_node);
  const double entries = static_cast<double>(offsets[a.nodes]);
  if (entries <= kSparseDensity * static_cast<double>(a.nodes) * static_cast<double>(x.cols())) {
    return Features::Sparse(AggregateSparse(context, a, x.csr(), row_of_node, std::move(offsets)));
  }
  return Features::Dense(AggregateSparseToDense(context, a, x.csr(), row_of_node));
}

// Every step reads rows again, so they are prepared once.
Features ReadWhole(const Context& context, const Features& features) {
  return features.is_sparse() ? Features::Sparse(features.ToCsr(context))
                              : Features::Dense(features.ToMatrix(context));
}

class ConventionalTrainer {
 public:
  ConventionalTrainer(const Context& context, const Dataset& dataset, const Split& split,
                      const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses)
      : context_(context),
        dataset_(dataset),
        config_(config),
        policy_(policy),
        step_losses_(step_losses),
        train_nodes_(NodesWithRole(split, Role::kTrain)),
        val_nodes_(NodesWithRole(split, Role::kVal)),
        trained_(BeginTrained(dataset, split, config)) {
    CheckTrainSplit(context, dataset, split);
  }

  Trained Fit() {
    Prepare();
    Precompute();
    MakeNetwork();
    TrainEpochs();
    return Finish();
  }

 private:
  PhaseSeconds& seconds() { return trained_.result.seconds; }

  void Prepare() {
    Stopwatch setup;
    input_.features = ReadWhole(
        context_, PrepareFeatures(context_, dataset_, train_nodes_, config_, trained_.model.preparation));
    const bool inductive = config_.setting == "inductive";
    problem_.graph = inductive ? InducedSubgraph(context_, dataset_.graph, train_nodes_) : dataset_.graph;
    problem_.a = MakePropagation(context_, problem_.graph, ParseNorm(config_.norm));
    problem_.layers = config_.method == "sgc" ? 1 : config_.layers;
    problem_.precomputed = config_.precompute || config_.method == "sgc";
    problem_.readout = config_.method == "ngcn";
    if (inductive) {
      input_.row_of = train_nodes_;
      targets_ = TargetsOf(dataset_.labels, train_nodes_);
      for (uint32_t i = 0; i < train_nodes_.size(); ++i) problem_.loss_nodes.push_back(i);
    } else {
      const Labels& labels = dataset_.labels;
      targets_ = {labels.multilabel, labels.classes, labels.classes_of, labels.matrix};
      problem_.loss_nodes = train_nodes_;
    }
    seconds().setup += setup.Seconds();
    Stopwatch smooth;
    const Propagation whole =
        config_.smooth > 0 ? MakePropagation(context_, dataset_.graph, Norm::kSym) : Propagation{};
    for (uint32_t i = 0; i < config_.smooth; ++i) {
      input_.features = AggregateFeatures(context_, whole, input_.features, {});
    }
    if (config_.smooth > 0) seconds().aggregate += smooth.Seconds();
  }

  // What is aggregated once, before training: sgc's K hops, or layer 1 of methods that ask for it.
  void Precompute() {
    Report("aggregate", 0, 0);
    Stopwatch watch;
    const uint32_t hops = config_.method == "sgc" ? config_.hops : config_.precompute ? 1 : 0;
    for (uint32_t i = 0; i < hops; ++i) {
      input_.features = AggregateFeatures(context_, problem_.a, input_.features, input_.row_of);
      input_.row_of.clear();
    }
    LayerRecord& record = trained_.result.layers.emplace_back();
    record.sparse_input = input_.features.is_sparse();
    if (hops > 0) record.aggregate_seconds = watch.Seconds();
    seconds().aggregate += record.aggregate_seconds;
    Stopwatch setup;
    sampler_ = MakeSampler(context_, problem_, config_);
    seconds().setup += setup.Seconds();
  }

  void MakeNetwork() {
    NetworkSpec spec;
    spec.multilabel = dataset_.labels.multilabel;
    spec.lr = static_cast<float>(config_.lr);
    spec.weight_decay = static_cast<float>(config_.weight_decay);
    spec.dropout = static_cast<float>(config_.dropout);
    spec.init = ParseInit(config_.init);
    spec.seed = config_.seed;
    const bool joins = config_.method == "ngcn";
    for (size_t s = 0; s < (joins ? config_.powers.size() : 1); ++s) {
      std::vector<LayerShape>& shapes = spec.stacks.emplace_back();
      size_t width = input_.features.cols();
      for (uint32_t l = 0; l < problem_.layers; ++l) {
        const bool last = !joins && l + 1 == problem_.layers;
        LayerShape shape{width, last ? dataset_.labels.classes : config_.HiddenOf(l),
                         config_.method == "graphsage", 1};
        if (joins) shape.power = config_.powers[s];
        shapes.push_back(shape);
        width = shape.out;
      }
      if (joins) shapes.push_back({width, dataset_.labels.classes, false, 1});
    }
    network_.emplace(spec);
  }

  void TrainEpochs() {
    LayerRecord& record = trained_.result.layers.back();
    const uint32_t budget = config_.EpochsOf(0);
    record.stopped_by = "budget";
    policy_.BeginLayer({0, 1, budget, 0});
    uint32_t decision_at = std::max(1u, policy_.EpochsUntilDecision(0));
    std::optional<Model> best;
    double told = 0;
    Stopwatch watch;
    while (record.epochs < budget) {
      RunEpoch(record);
      if (watch.Seconds() - told > kSecondsBetweenReports) Report("train", budget, told = watch.Seconds());
      const bool decide = record.epochs >= decision_at;
      Observation observation{record.epochs, record.losses, {}, TrainedFor(watch)};
      const bool scored = (config_.val_every > 0 && record.epochs % config_.val_every == 0) ||
                          (decide && policy_.WantsValidation());
      if (scored) observation.validation = Score(observation.seconds);
      if (!decide) continue;
      const Decision decision = policy_.Decide(observation);
      if (policy_.KeepsBest() && decision.best_so_far) {
        best.emplace(trained_.model);
        record.kept_epoch = record.epochs;
        StoreWeights(*best);
      }
      if (decision.stop && record.epochs < budget) {
        record.stopped_by = policy_.Name();
        break;
      }
      decision_at = record.epochs + std::max(1u, policy_.EpochsUntilDecision(record.epochs));
    }
    record.train_seconds = watch.Seconds() - score_seconds_;
    seconds().train += record.train_seconds;
    seconds().evaluate += score_seconds_;
    if (best) {
      trained_.model = std::move(*best);
    } else {
      record.kept_epoch = record.epochs;
      StoreWeights(trained_.model);
    }
  }

  void RunEpoch(LayerRecord& record) {
    double loss = 0;
    for (uint32_t step = 0; step < sampler_->StepsPerEpoch(); ++step) {
      context_.CheckCancelled();
      const MiniBatch& batch = sampler_->Draw(context_, record.epochs, step);
      if (batch.nodes.back().empty()) continue;  // clusters without a train node
      loss = network_->Step(context_, input_, batch, targets_, steps_done_++);
      sampler_->Observe(context_, batch, *network_);
      if (step_losses_ != nullptr) step_losses_->push_back(loss);
    }
    record.losses.push_back(loss);
    ++record.epochs;
  }

  // Seconds of training up to now; `watch` runs since it began.
  double TrainedFor(const Stopwatch& watch) { return seconds().aggregate + watch.Seconds() - score_seconds_; }

  // The validation nodes over the whole graph, off the clock and off the memory meter.
  ValidationScore Score(double trained_for) {
    peak_.Pause();
    Stopwatch watch;
    StoreWeights(trained_.model);
    if (val_nodes_.empty()) {
      ThrowUsage(
          "{}: the split has no validation node to score; leave --val-every and --watch val out, or use "
          "another "
          "--split",
          dataset_.name);
    }
    if (!inference_) inference_.emplace(context_, trained_.model, dataset_);
    const Matrix logits = inference_->Logits(context_, trained_.model, val_nodes_);
    const ValidationScore score = ScoreNodes(context_, dataset_.labels, val_nodes_, logits);
    trained_.result.validation.push_back({trained_for, 1, trained_.result.layers.back().epochs, score.f1});
    score_seconds_ += watch.Seconds();
    peak_.Resume();
    return score;
  }

  void StoreWeights(Model& model) const {
    model.weights.clear();
    model.extra.clear();
    if (config_.method != "ngcn") {
      for (size_t l = 0; l + 1 < network_->layers(0); ++l) model.weights.push_back(network_->Weight(0, l));
      model.theta = network_->Weight(0, network_->layers(0) - 1);
      return;
    }
    const size_t width = network_->Weight(0, config_.layers).rows;
    model.theta = Matrix::Allocate(network_->stacks() * width, model.classes);
    for (size_t s = 0; s < network_->stacks(); ++s) {
      for (size_t l = 0; l < config_.layers; ++l)
        model.extra.emplace_back(StackWeightName(s, l), network_->Weight(s, l));
      const Matrix part = network_->Weight(s, config_.layers);
      std::copy(part.values.begin(), part.values.end(), model.theta.mutable_row(s * width));
    }
  }

  Trained Finish() {
    trained_.result.peak_rss_bytes = peak_.Peak();
    trained_.result.sampler_bytes = sampler_->StateBytes();
    return std::move(trained_);
  }

  void Report(const char* phase, uint32_t budget, double clock) const {
    context_.CheckCancelled();
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = phase;
    progress.layer = progress.layers = 1;
    progress.epochs = budget;
    if (clock > 0) {
      const LayerRecord& record = trained_.result.layers.back();
      const double trained_for = std::max(clock - score_seconds_, 1e-9);
      progress.epoch = record.epochs;
      progress.loss = record.losses.back();
      progress.nodes_per_second = static_cast<double>(train_nodes_.size()) * record.epochs / trained_for;
      progress.seconds_left = trained_for / record.epochs * (budget - record.epochs);
    }
    context_.on_progress(progress);
  }

  const Context& context_;
  const Dataset& dataset_;
  const TrainConfig& config_;
  StopPolicy& policy_;
  std::vector<double>* step_losses_;
  const std::vector<uint32_t> train_nodes_, val_nodes_;
  Trained trained_;
  PeakMeter peak_;
  SamplingProblem problem_;
  NetworkInput input_;
  Targets targets_;  // by node of problem_.graph
  std::unique_ptr<Sampler> sampler_;
  std::optional<BlockNetwork> network_;
  std::optional<Inference> inference_;
  uint64_t steps_done_ = 0;
  double score_seconds_ = 0;
};

}  // namespace

Trained FitConventional(const Context& context, const Dataset& dataset, const Split& split,
                        const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses) {
  return ConventionalTrainer(context, dataset, split, config, policy, step_losses).Fit();
}

}  // namespace l2gcn
