// The table of methods. To add a sampling method, write its maker in a file of train/samplers, declare the
// maker below, and add a row.
#include "config/methods.h"

#include <fmt/ranges.h>

#include "core/error_format.h"

namespace l2gcn {

// One maker for each sampler, defined in the files of train/samplers.
SamplerMaker MakeFullBatchSampler, MakeMinibatchSampler, MakeGraphSageSampler, MakeFastGcnSampler,
    MakeLadiesSampler, MakeVrGcnSampler, MakeClusterSampler;

namespace {

// What all baselines of layer-wise training have in common: the optimiser of the GCN paper.
void BaselineDefaults(TrainConfig& config) {
  config.adjacency = {Adjacency::kSym};
  config.xavier = true;
  config.lr = 0.01;
  config.dropout = 0.5;
  config.weight_decay = 5e-4;
  config.epochs = {200};
}

// The clusters of Cluster-GCN's own table for the sets its paper has. For other sets 0 stands for parts of
// about 100 nodes, as many of them in a step as fill a batch.
void ClusterDefaults(const std::string& preset_row, TrainConfig& config) {
  BaselineDefaults(config);
  if (preset_row == "ppi") config.parts = 50;
  if (preset_row == "reddit") config.parts = 1500, config.clusters_per_batch = 20;
  if (preset_row == "amazon3m") config.parts = 15000, config.clusters_per_batch = 10;
}

constexpr MethodAlias kAliases[] = {
    {"l2gcn", "L²-GCN of the paper: layerwise --stop controller", method_names::kLayerwise,
     StopRule::kController, false},
    {"lgcn", "L-GCN of the paper: layerwise --stop fixed", method_names::kLayerwise, StopRule::kFixed, true},
};

std::vector<Method> MakeMethods() {
  // What hidden layers may have besides W. Self features need the destinations of a layer among its sources.
  const auto with_parts = [](std::vector<std::string> settings, bool self_features) {
    settings.insert(settings.end(), {"bias", "hidden-norm", "input-dropout"});
    if (self_features) settings.emplace_back("self-features");
    return settings;
  };
  const auto baseline = [](const std::string&, TrainConfig& config) { BaselineDefaults(config); };
  return {
      {.name = "layerwise",
       .sentence = "layer by layer; --stop says what ends a layer",
       .loop = TrainingLoop::kLayerwise,
       .prediction_head = PredictionHead::kClassifier,
       .devices = {DeviceKind::kCpu, DeviceKind::kCuda},
       .stop = StopRule::kController,
       .compared = false,
       .settings = {"hops", "self-features", "raw-features", "bias", "hidden-norm", "input-dropout", "head",
                    "relations", "predict-from", "correct", "controller", "hold-out"},
       .preset = [](const std::string&, TrainConfig&) {}},
      {.name = "gcn",
       .sentence = "all layers at once over the whole graph in every step",
       .sampler = MakeFullBatchSampler,
       .settings = with_parts({"precompute"}, true),
       .preset = baseline},
      {.name = "minibatch",
       .sentence = "all layers at once, with every neighbour of every node of a batch",
       .sampler = MakeMinibatchSampler,
       .compared = false,
       .settings = with_parts({"precompute"}, true),
       .preset = baseline},
      {.name = "graphsage",
       .sentence = "a few neighbours of each node, drawn at random, and the node itself beside their mean",
       .sampler = MakeGraphSageSampler,
       .op = MethodOperator::kNeighbourMean,
       .weights = WeightShape::kOwnAndAggregated,
       .settings = with_parts({"samples"}, false),
       .preset =
           [](const std::string&, TrainConfig& config) {
             BaselineDefaults(config);
             config.samples = {25, 10};
           }},
      {.name = "fastgcn",
       .sentence = "each layer draws its nodes independently, by their weight in the operator",
       .sampler = MakeFastGcnSampler,
       .settings = with_parts({"samples", "precompute"}, false),
       .preset =
           [](const std::string&, TrainConfig& config) {
             BaselineDefaults(config);
             config.samples = {400};
             config.precompute = true;  // as its authors do
           }},
      {.name = "ladies",
       .sentence = "each layer draws its nodes among the neighbours of the layer above",
       .sampler = MakeLadiesSampler,
       .settings = with_parts({"samples", "precompute"}, true),
       .preset =
           [](const std::string&, TrainConfig& config) {
             BaselineDefaults(config);
             config.samples = {512};
           }},
      {.name = "vrgcn",
       .sentence = "very few neighbours, corrected by remembered activations of all the others",
       .sampler = MakeVrGcnSampler,
       .settings = with_parts({"samples", "precompute"}, false),
       .preset =
           [](const std::string&, TrainConfig& config) {
             BaselineDefaults(config);
             config.samples = {2};
             config.precompute = true;  // as its authors do
           }},
      {.name = "clustergcn",
       .sentence = "each step is the subgraph of a few clusters of the graph",
       .sampler = MakeClusterSampler,
       .op = MethodOperator::kEnhancedDiagonal,
       .settings = with_parts({"parts", "clusters-per-batch", "diagonal"}, true),
       .preset = ClusterDefaults},
      {.name = "sgc",
       .sentence = "features are aggregated several times, and one linear layer is trained on them",
       .sampler = MakeFullBatchSampler,
       .prediction_head = PredictionHead::kHops,
       .settings = {"hops"},
       .preset =
           [](const std::string&, TrainConfig& config) {
             BaselineDefaults(config);
             config.hops = 2;
             config.lr = 0.2;
             config.weight_decay = 5e-6;
             config.dropout = 0;
             config.epochs = {100};
           }},
      {.name = "ngcn",
       .sentence = "one network for each power of the operator and one classifier over all, trained at once",
       .sampler = MakeFullBatchSampler,
       .prediction_head = PredictionHead::kJoinedPowers,
       .compared = false,
       .settings = {"powers"},
       .preset = baseline},
      {.name = "ngcn-layerwise",
       .sentence = "the same networks, each trained layer by layer, and then the classifier",
       .loop = TrainingLoop::kPowersLayerwise,
       .prediction_head = PredictionHead::kJoinedPowers,
       .compared = false,
       .settings = {"powers"},
       .preset = [](const std::string&, TrainConfig& config) { config.adjacency = {Adjacency::kSym}; }},
  };
}

}  // namespace

std::span<const Method> Methods() {
  static const std::vector<Method> methods = MakeMethods();
  return methods;
}

NamedMethod FindNamedMethod(const std::string& name) {
  for (const MethodAlias& alias : kAliases) {
    if (name == alias.name) return {FindMethod(alias.method), alias.stop};
  }
  for (const Method& method : Methods()) {
    if (name == method.name) return {method, std::nullopt};
  }
  ThrowUsage("unknown method '{}': did you mean '{}'? Valid: {}", name, NearestName(name, BuiltMethods()),
             fmt::join(BuiltMethods(), ", "));
}

const Method& FindMethod(const std::string& name) { return FindNamedMethod(name).method; }

StopRule OwnStop(const std::string& method) {
  const NamedMethod named = FindNamedMethod(method);
  return named.stop.value_or(named.method.stop);
}

std::vector<std::pair<std::string, std::string>> DescribeMethods() {
  std::vector<std::pair<std::string, std::string>> described;
  for (const Method& method : Methods()) described.emplace_back(method.name, method.sentence);
  for (const MethodAlias& alias : kAliases) described.emplace_back(alias.name, alias.sentence);
  return described;
}

const std::vector<std::string>& BuiltMethods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, sentence] : DescribeMethods()) all.push_back(name);
    return all;
  }();
  return names;
}

std::string DefaultMethod() { return Methods().front().name; }

std::vector<std::string> ComparedMethods() {
  std::vector<std::string> names;
  for (const MethodAlias& alias : kAliases) {
    if (alias.compared) names.emplace_back(alias.name);
  }
  for (const Method& method : Methods()) {
    if (method.compared) names.emplace_back(method.name);
  }
  return names;
}

}  // namespace l2gcn
