// N-GCN (Abu-El-Haija et al., 2018) by layer-wise training, as in the paper's last table: see
// conventional_trainer.h.
#include <algorithm>

#include "core/clock.h"
#include "core/memory_meter.h"
#include "model/inference.h"
#include "train/block_network.h"
#include "train/class_weights.h"
#include "train/conventional_trainer.h"
#include "train/layerwise_trainer.h"
#include "train/sampler.h"
#include "train/training_set.h"

namespace l2gcn {
namespace {

constexpr uint64_t kSeedStride = 0x9E3779B97F4A7C15u;  // networks of one run start from seeds far apart

void AddSeconds(const SeedResult::Seconds& from, SeedResult::Seconds& to) {
  for (auto field :
       {&SeedResult::Seconds::setup, &SeedResult::Seconds::aggregate, &SeedResult::Seconds::train,
        &SeedResult::Seconds::transform, &SeedResult::Seconds::validate, &SeedResult::Seconds::evaluate}) {
    to.*field += from.*field;
  }
}

// Copies `part` (rows × width) into columns first … first + width − 1 of `joined`.
void PlaceColumns(const Matrix& part, size_t first, Matrix& joined) {
  for (size_t i = 0; i < part.rows; ++i) std::copy_n(part.row(i), part.cols, joined.mutable_row(i) + first);
}

// A linear classifier over `x` (train nodes × joined width), in the mini-batches of the run.
Matrix TrainClassifier(const Context& context, const Matrix& x, const Targets& targets,
                       const TrainConfig& config, SeedResult::Layer& record) {
  SamplingProblem problem;
  problem.layers = 1;
  problem.precomputed = true;
  for (uint32_t i = 0; i < x.rows; ++i) problem.loss_nodes.push_back(i);
  const auto sampler = MakeMinibatchSampler(context, problem, config);
  NetworkSpec spec;
  spec.stacks = {{{x.cols, targets.classes, false, 1}}};
  spec.multilabel = targets.multilabel;
  spec.lr = static_cast<float>(*config.lr);
  spec.weight_decay = static_cast<float>(config.weight_decay);
  spec.decoupled_weight_decay = config.decoupled_weight_decay;
  spec.xavier = config.xavier;
  spec.seed = config.seed;
  BlockNetwork network(context, spec);
  NetworkInput input;
  input.features = Features::Dense(x);
  uint64_t done = 0;
  Stopwatch watch;
  for (; record.epochs < config.EpochsOf(config.layers - 1); ++record.epochs) {
    double loss = 0;
    for (uint32_t step = 0; step < sampler->StepsPerEpoch(); ++step) {
      context.CheckCancelled();
      loss = network.Step(context, input, sampler->Draw(context, record.epochs, step), targets, done++);
    }
    record.losses.push_back(loss);
  }
  record.kept_epoch = record.epochs;
  record.train_seconds = watch.Seconds();
  record.stopped_by = "budget";
  return network.Weight(0, 0).Value();
}

}  // namespace

TrainedSeed FitNgcnLayerwise(const Context& context, const Dataset& dataset, const SplitNodes& nodes,
                             const TrainConfig& config, StopPolicy& policy) {
  Trained joined = BeginTrained(dataset, nodes.split, config);
  const size_t width = config.HiddenOf(config.layers - 1);
  Matrix x = Matrix::Allocate(nodes.train.size(), width * config.powers.size());
  Stopwatch setup;
  LayerwiseOptions options;
  options.pipeline = std::make_shared<LayerPipeline>(context, dataset, config, nodes.train);
  joined.result.seconds.setup += setup.Seconds();
  for (size_t s = 0; s < config.powers.size(); ++s) {
    TrainConfig one = config;
    one.seed = config.seed + s * kSeedStride;
    Matrix embeddings;
    options.hops = config.powers[s];
    options.embeddings = &embeddings;
    Trained part = FitLayerwise(context, dataset, nodes, one, policy, options).trained;
    PlaceColumns(embeddings, s * width, x);
    for (size_t l = 0; l < part.model.layers.size(); ++l) {
      joined.model.extra.emplace_back(StackWeightName(s, l), part.model.layers[l].weight);
    }
    AddSeconds(part.result.seconds, joined.result.seconds);
    for (SeedResult::Layer& record : part.result.layers) joined.result.layers.push_back(std::move(record));
    joined.result.peak_device_bytes =
        std::max(joined.result.peak_device_bytes, part.result.peak_device_bytes);
  }
  SeedResult::Layer& record = joined.result.layers.emplace_back();
  Targets targets = TargetsOf(dataset.labels, nodes.train);
  targets.weights = ClassWeightsOf(context, dataset, nodes.train, config);
  joined.model.theta = TrainClassifier(context, x, targets, config, record);
  joined.model.preparation = options.pipeline->preparation();
  joined.model.schema = options.pipeline->schema();
  joined.result.seconds.train += record.train_seconds;
  joined.result.peak_rss_bytes = PeakResidentBytes();
  return {std::move(joined), std::move(options.pipeline)};
}

}  // namespace l2gcn
