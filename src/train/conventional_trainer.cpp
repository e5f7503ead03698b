#include "train/conventional_trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "config/methods.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "model/inference.h"
#include "pipeline/layer_pipeline.h"
#include "train/block_network.h"
#include "train/class_weights.h"
#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/sampler.h"

namespace l2gcn {
namespace {

// Everything about a training that changes while it runs: what a checkpoint has to keep, besides what a
// sampler remembers (Sampler::StateBytes() > 0).
struct ConventionalProgress {
  Trained trained;                      // records, seconds; weights once they are stored
  std::optional<BlockNetwork> network;  // weights and moments
  std::optional<Model> best;            // the model that the stopping rule would return to
  uint64_t steps_done = 0;
  EpochProgress epochs;
};

// visit(name, matrix) for every matrix that a network leaves in its model.
template <class AnyModel, class Visit>
void ForMatrices(AnyModel& model, const Visit& visit) {
  const auto if_there = [&](const std::string& name, auto& matrix) {
    if (matrix.rows > 0) visit(name, matrix);
  };
  for (size_t l = 0; l < model.layers.size(); ++l) {
    for (const auto& [name, member] : kHiddenParts)
      if_there(fmt::format("layers.{}.{}", l, name), model.layers[l].*member);
  }
  for (auto& [name, matrix] : model.extra) if_there("extra." + name, matrix);
  if_there("classifier", model.theta);
  if_there("classifier.bias", model.bias);
}

class ConventionalTrainer final : public EpochSubject {
 public:
  ConventionalTrainer(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                      const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses,
                      Checkpointer* checkpointer)
      : context_(context),
        dataset_(dataset),
        nodes_(nodes),
        config_(config),
        method_(FindMethod(config.method)),
        policy_(policy),
        step_losses_(step_losses),
        checkpointer_(checkpointer) {
    progress_.trained = BeginTrained(dataset, nodes.split, config);
    CheckTrainSplit(context, dataset, nodes);
  }

  TrainedSeed Fit() {
    Prepare();
    memory_.End(result().resident.setup);
    Precompute();
    memory_.End(result().resident.aggregate);
    MakeNetwork();
    TrainEpochs();
    memory_.End(result().resident.train);
    return Finish();
  }

 private:
  SeedResult& result() { return progress_.trained.result; }
  SeedResult::Seconds& seconds() { return result().seconds; }
  SeedResult::Layer& record() { return progress_.epochs.record; }

  void Prepare() {
    Stopwatch setup;
    pipeline_ = std::make_shared<LayerPipeline>(context_, dataset_, config_, nodes_.train);
    progress_.trained.model.preparation = pipeline_->preparation();
    progress_.trained.model.schema = pipeline_->schema();
    pipeline_->Input(context_);
    LayerPipeline::TrainingGraph training = pipeline_->MakeTrainingGraph(context_);
    problem_.graph = std::move(training.graphs.front());
    problem_.a = std::move(training.operators.front());
    problem_.layers = method_.prediction_head == PredictionHead::kHops ? 1 : config_.layers;
    problem_.precomputed = config_.precompute || method_.prediction_head == PredictionHead::kHops;
    problem_.prediction_head = method_.prediction_head == PredictionHead::kJoinedPowers;
    if (pipeline_->inductive()) {
      targets_ = TargetsOf(dataset_.labels, nodes_.train);
      for (uint32_t i = 0; i < nodes_.train.size(); ++i) problem_.loss_nodes.push_back(i);
    } else {
      const Labels& labels = dataset_.labels;
      targets_.multilabel = labels.multilabel;
      targets_.classes = labels.classes;
      targets_.classes_of = labels.classes_of;
      targets_.matrix = labels.matrix;
      problem_.loss_nodes = nodes_.train;
    }
    targets_.weights = ClassWeightsOf(context_, dataset_, nodes_.train, config_);
    seconds().setup += setup.Seconds() - pipeline_->smooth_seconds();
    seconds().aggregate += pipeline_->smooth_seconds();
  }

  // What is aggregated once, before training: the hops of a linear network, or layer 1 where the settings say
  // so. Otherwise training reads the features themselves.
  void Precompute() {
    Report("aggregate");
    Stopwatch watch;
    const uint32_t hops = method_.prediction_head == PredictionHead::kHops ? config_.hops
                          : config_.precompute                             ? 1
                                                                           : 0;
    if (hops > 0) {
      TensorPtr x = pipeline_->Input(context_);
      pipeline_->ReleaseInput();
      const LayerInput xhat = pipeline_->Aggregate(context_, 0, std::move(x), hops);
      input_.features = pipeline_->backend().DownloadFeatures(context_, *xhat.blocks.front());
      record().aggregate_seconds = watch.Seconds();
    } else {
      input_.features = pipeline_->HostInput(context_);
      input_.row_of.assign(pipeline_->InputRows().begin(), pipeline_->InputRows().end());
    }
    record().sparse_input = input_.features.is_sparse();
    seconds().aggregate += record().aggregate_seconds;
    Stopwatch setup;
    sampler_ = MakeSampler(context_, problem_, config_);
    seconds().setup += setup.Seconds();
  }

  void MakeNetwork() {
    NetworkSpec spec;
    spec.multilabel = dataset_.labels.multilabel;
    spec.lr = static_cast<float>(*config_.lr);
    spec.weight_decay = static_cast<float>(config_.weight_decay);
    spec.decoupled_weight_decay = config_.decoupled_weight_decay;
    spec.dropout = static_cast<float>(config_.dropout);
    spec.input_dropout = static_cast<float>(config_.input_dropout);
    spec.norm = config_.hidden_norm;
    spec.bias = config_.bias;
    spec.xavier = config_.xavier;
    spec.seed = config_.seed;
    const bool joins = method_.prediction_head == PredictionHead::kJoinedPowers;
    const bool concat = BlocksOfHops(config_) > 1;
    for (size_t s = 0; s < (joins ? config_.powers.size() : 1); ++s) {
      std::vector<LayerShape>& shapes = spec.stacks.emplace_back();
      size_t width = input_.features.cols();
      for (uint32_t l = 0; l < problem_.layers; ++l) {
        const bool last = !joins && l + 1 == problem_.layers;
        LayerShape shape{width, last ? dataset_.labels.classes : config_.HiddenOf(l), concat, 1};
        if (joins) shape.power = config_.powers[s];
        shapes.push_back(shape);
        width = shape.out;
      }
      if (joins) shapes.push_back({width, dataset_.labels.classes, false, 1});
    }
    progress_.network.emplace(context_, spec);
  }

  void TrainEpochs() {
    const uint32_t budget = config_.EpochsOf(0);
    policy_.BeginLayer({0, 1, budget, 0});
    if (checkpointer_ != nullptr && checkpointer_->Start() != nullptr) Restore(*checkpointer_->Start());
    EpochLoop loop({context_, config_, policy_, checkpointer_, peak_, result(), 0, 0, 0, nodes_.train.size()},
                   *this, progress_.epochs);
    record().stopped_by = loop.Run(budget, budget) ? policy_.Name() : "budget";
    record().train_seconds = loop.TrainSeconds();
    seconds().train += record().train_seconds;
    seconds().validate += progress_.epochs.evaluate_seconds;
    if (progress_.best) {
      progress_.trained.model = std::move(*progress_.best);
    } else {
      record().kept_epoch = record().epochs;
      StoreWeights(progress_.trained.model);
    }
    const uint32_t kept = record().kept_epoch;
    const Model& model = progress_.trained.model;
    ForMatrices(model,
                [&](const std::string&, const Matrix& matrix) { CheckWeights(matrix, 1, kept, config_); });
    result().layers.push_back(std::move(record()));
  }

  void RunEpochs(uint32_t first, uint32_t count, std::span<double> losses) override {
    for (uint32_t i = 0; i < count; ++i) losses[i] = RunEpoch(first + i);
  }
  uint64_t StepsPerEpoch() const override { return sampler_->StepsPerEpoch(); }
  RowScores ScoreEvaluationNodes() override {
    L2GCN_ASSERT(false);
  }  // rules that see nodes decide layer by layer
  void KeepBest() override {
    progress_.best.emplace(progress_.trained.model);
    StoreWeights(*progress_.best);
  }

  void Save(Snapshot& snapshot) const override {
    SeedResult stored = progress_.trained.result;
    stored.layers.push_back(progress_.epochs.record);
    snapshot.state["result"] = SeedResultToJson(stored);
    snapshot.state["steps_done"] = progress_.steps_done;
    progress_.network->Save(snapshot);
    sampler_->Save(snapshot);
    if (!progress_.best) return;
    ForMatrices(*progress_.best,
                [&](const std::string& name, const Matrix& matrix) { snapshot.Add("best." + name, matrix); });
  }

  void Restore(const Snapshot& snapshot) {
    try {
      SeedResult stored = SeedResultFromJson(snapshot.state.at("result"));
      if (stored.layers.size() != 1) ThrowInput("the checkpoint is of another model");
      progress_.epochs.Restore(snapshot);
      record() = std::move(stored.layers.back());
      stored.layers.clear();
      const SeedResult::Seconds now = seconds();
      result() = std::move(stored);
      seconds().setup += now.setup;
      progress_.steps_done = snapshot.state.at("steps_done").get<uint64_t>();
      policy_.Restore(snapshot.TakeNumbers("policy"));
      progress_.network->Restore(snapshot);
      sampler_->Restore(snapshot);
      if (snapshot.Has("best.classifier")) RestoreBest(snapshot);
    } catch (const nlohmann::json::exception& error) {
      ThrowInput("the checkpoint is damaged: {}", error.what());
    }
  }

  // The best model so far takes the shapes that the network has now, then the snapshot's values.
  void RestoreBest(const Snapshot& snapshot) {
    Model& best = progress_.best.emplace(progress_.trained.model);
    StoreWeights(best);
    ForMatrices(best, [&](const std::string& name, Matrix& matrix) {
      matrix = snapshot.Take("best." + name, matrix.rows, matrix.cols);
    });
  }

  // The loss of the epoch's last step.
  double RunEpoch(uint32_t epoch) {
    double loss = 0;
    for (uint32_t step = 0; step < sampler_->StepsPerEpoch(); ++step) {
      context_.CheckCancelled();
      const MiniBatch& batch = sampler_->Draw(context_, epoch, step);
      if (batch.nodes.back().empty()) continue;  // clusters without a train node
      loss = progress_.network->Step(context_, input_, batch, targets_, progress_.steps_done++);
      sampler_->Observe(context_, batch, *progress_.network);
      if (step_losses_ != nullptr) step_losses_->push_back(loss);
      if (!std::isfinite(loss)) ThrowDiverged(1, epoch + 1, step + 1, step + 1, loss, config_);
    }
    return loss;
  }

  // The validation nodes over the whole graph.
  Observation::Validation ScoreValidation() override {
    CheckValidationNodes(dataset_, nodes_);
    Model& model = progress_.trained.model;
    StoreWeights(model);
    const Matrix logits = Inference(pipeline_).Logits(context_, model, nodes_.val);
    return ScoreNodes(context_, dataset_.labels, nodes_.val, logits);
  }

  void StoreWeights(Model& model) const {
    const BlockNetwork& network = *progress_.network;
    model.layers.clear();
    model.extra.clear();
    if (method_.prediction_head != PredictionHead::kJoinedPowers) {
      const size_t last = network.layers(0) - 1;
      for (size_t l = 0; l < last; ++l) model.layers.push_back(network.Hidden(0, l));
      model.theta = network.Weight(0, last).Value();
      model.bias = network.Bias(0, last).Value();
      return;
    }
    const size_t width = network.Weight(0, config_.layers).rows;
    model.theta = Matrix::Allocate(network.stacks() * width, model.classes);
    for (size_t s = 0; s < network.stacks(); ++s) {
      for (size_t l = 0; l < config_.layers; ++l)
        model.extra.emplace_back(StackWeightName(s, l), network.Weight(s, l).Value());
      const Matrix part = network.Weight(s, config_.layers).Value();
      std::copy(part.values.begin(), part.values.end(), model.theta.mutable_row(s * width));
    }
  }

  TrainedSeed Finish() {
    result().peak_rss_bytes = peak_.Peak();
    result().sampler_bytes = sampler_->StateBytes();
    return {std::move(progress_.trained), pipeline_};
  }

  void Report(const char* phase) const {
    context_.CheckCancelled();
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = phase;
    context_.on_progress(progress);
  }

  const Context& context_;
  const Dataset& dataset_;
  const SplitNodes& nodes_;
  const TrainConfig& config_;
  const Method& method_;
  StopPolicy& policy_;
  std::vector<double>* step_losses_;
  Checkpointer* checkpointer_;
  PeakMeter peak_;
  StretchMeter memory_;  // since the last phase
  std::shared_ptr<LayerPipeline> pipeline_;
  SamplingProblem problem_;
  NetworkInput input_;
  Targets targets_;  // by node of problem_.graph
  std::unique_ptr<Sampler> sampler_;
  ConventionalProgress progress_;
};

}  // namespace

TrainedSeed FitConventional(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                            const TrainConfig& config, StopPolicy& policy, std::vector<double>* step_losses,
                            Checkpointer* checkpointer) {
  return ConventionalTrainer(context, dataset, nodes, config, policy, step_losses, checkpointer).Fit();
}

}  // namespace l2gcn
