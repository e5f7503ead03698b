// Resolving a configuration: built-in defaults ← the preset's row for this data set and method ← the user's
// words. Where the user names no preset, layers trained one by one follow preset `best`; ChoosePreset has the
// exceptions.
//
// Preset `paper` follows the paper's released program where text and program differ (Cora's learning rate,
// PPI's classifier). What a method changes in a data set's row is a column of the table in methods.cpp:
// baselines of layer-wise training take the set's width, batch and split, and their own optimiser.
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/choice_names.h"
#include "config/methods.h"
#include "config/setting_uses.h"
#include "config/stop_policies.h"
#include "config/task_checks.h"
#include "core/error_format.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

struct SetRow {
  const char* preset_row;
  uint32_t layers, hidden, batch;
  double lr;
  uint32_t epochs;
  Scale scale;
  uint32_t pca;     // columns to reduce to, where the files hold more
  uint32_t smooth;  // for the real set; a generated one, in memory or stored, takes its features as drawn
};

constexpr SetRow kOtherSets = {"", 2, 128, 1024, 0.001, 80, Scale::kNone, 0, 0};
constexpr SetRow kSetRows[] = {
    {"cora", 2, 16, 256, 0.005, 80, Scale::kNone, 0, 0},
    {"citeseer", 2, 16, 256, 0.005, 80, Scale::kNone, 0, 0},
    {"pubmed", 2, 16, 1024, 0.001, 80, Scale::kNone, 0, 0},
    {"ppi", 3, 512, 1024, 0.001, 400, Scale::kStandard, 0, 0},
    {"reddit", 3, 128, 1024, 0.0001, 80, Scale::kNone, 0, 1},
    {"amazon670k", 2, 128, 1024, 0.0001, 80, Scale::kStandard, 100, 0},
    {"amazon3m", 2, 128, 1024, 0.0001, 80, Scale::kStandard, 100, 0},
};

const SetRow& SetRowOf(const std::string& preset_row) {
  for (const SetRow& row : kSetRows) {
    if (preset_row == row.preset_row) return row;
  }
  return kOtherSets;
}

void ApplySetRow(const Dataset& dataset, TrainConfig& config) {
  const SetRow& row = SetRowOf(dataset.preset_row);
  config.layers = row.layers;
  config.hidden = {row.hidden};
  config.batch = row.batch;
  config.lr = row.lr;
  config.epochs = {row.epochs};
  config.scale = row.scale;
  // Columns of a person's own table come in any unit.
  if (dataset.preset_row.empty() && !dataset.schema.empty()) config.scale = Scale::kStandard;
  // Types without labels have no part in a split, so that nothing could be held back.
  if (!dataset.node_types.empty()) config.transductive = true;
  if (dataset.features.cols() > row.pca) config.pca = row.pca;
  if (!dataset.name.starts_with("synthetic:")) config.smooth = row.smooth;
  if (dataset.labels.multilabel) {
    config.fresh_theta = true;
    config.xavier = true;
  }
}

// ---- preset best --------------------------------------------------------------------------------------------

constexpr double kMostSamples = 4e6;  // a layer is shown, unless that is fewer than kLeastEpochs
constexpr uint32_t kMostEpochs = 100, kLeastEpochs = 8;
constexpr uint64_t kFewNodes = 2000;
constexpr uint64_t kRestOfBatch = 8;  // a last batch below an eighth of the others is a rest
constexpr uint32_t kHopsOfBest = 2;
constexpr uint32_t kMostWithHops = 8;                      // relations; of more each has one hop
constexpr double kMostBytesWithHops = 8.0 * (1ull << 30);  // of a set that `best` trains without being asked
// Labels are few below so many train nodes, if there are four times as many nodes.
constexpr uint64_t kFewTrainNodes = 1000, kNodesPerLabel = 4;
constexpr uint32_t kHopsOfFewLabels = 8, kMostEpochsOfFewLabels = 300;
// Features with at most this share of elements that are not 0 are words; they are counted in so many rows.
constexpr double kMostNonzeros = 0.25;
constexpr size_t kRowsSampled = 256;

// Trials take two thirds more than that, and add to the time of the training.
constexpr double kMostBytesWithTrials = 1.0 * (1ull << 30);

// Counts the split that the run will use. A split that cannot be had is refused there.
Split::Counts ExpectedCounts(const Dataset& dataset, const std::string& split) {
  if (dataset.nodes() == 0 || dataset.labels.classes == 0) return {};
  try {
    return CountSplit(dataset, split);
  } catch (const Error&) {
    return {dataset.nodes(), 0, 0};
  }
}

uint32_t OperatorsOf(const Dataset& dataset) {
  return std::max(1u, static_cast<uint32_t>(dataset.relations.size()));
}

// Bytes of the features of every node with so many hops beside them, as preset `best` reads them; of sparse ones the
// most that averaging can make of them.
double BytesWithHops(const Dataset& dataset, uint32_t hops) {
  const auto nodes = static_cast<double>(dataset.nodes());
  const uint32_t pca = SetRowOf(dataset.preset_row).pca;
  const size_t columns = pca > 0 ? std::min<size_t>(pca, dataset.features.cols()) : dataset.features.cols();
  const double dense = 4 * nodes * static_cast<double>(columns);
  const double operators = OperatorsOf(dataset);
  if (pca > 0 || !dataset.features.is_sparse()) return (1 + operators * hops) * dense;
  const double grows = 1 + static_cast<double>(dataset.graph.indices.size()) / std::max(1.0, nodes);
  const double own = static_cast<double>(dataset.features.bytes());
  double bytes = own, of_hop = own;
  for (uint32_t hop = 0; hop < hops; ++hop) {
    of_hop = std::min(dense, grows * of_hop);
    bytes += operators * of_hop;
  }
  return bytes;
}

// Whether features are words rather than measurements: sparse, or dense with few elements that are not 0. Standardising would make
// rare words outweigh all others, so the same features are treated alike however they are stored.
bool AreMostlyZero(const Features& features) {
  if (features.is_sparse()) return true;
  const size_t rows = std::min(features.rows(), kRowsSampled), cols = features.cols();
  std::vector<float> row(cols);
  size_t nonzeros = 0;
  for (size_t i = 0; i < rows; ++i) {
    features.ReadRows(i * features.rows() / rows, 1, row.data());
    nonzeros += cols - static_cast<size_t>(std::count(row.begin(), row.end(), 0.0f));
  }
  return static_cast<double>(nonzeros) <= kMostNonzeros * static_cast<double>(rows * cols);
}

// Where few nodes of many have a label, one layer that reads further and drops more generalises better, and every node's
// words count the same.
void ApplyFewLabels(const Dataset& dataset, TrainConfig& config) {
  if (BytesWithHops(dataset, kHopsOfFewLabels) > kMostBytesWithHops) return;
  config.layers = 1;
  config.hops = std::max(config.hops, kHopsOfFewLabels / OperatorsOf(dataset));
  config.dropout = config.input_dropout = 0.8;
  if (config.scale == Scale::kNone) config.scale = Scale::kRow;
  config.epochs = {kMostEpochsOfFewLabels};
  config.architecture_trial = false;
}

// The most accurate preset, from what can be seen of the data: how many nodes train and validate, whether nodes
// have several labels, whether features are dense numbers. The layer and its regularisation are the same for
// every data set; docs/explanation/default-preset.md has each part's worth.
void ApplyBest(const Dataset& dataset, const std::string& split, bool automatic, TrainConfig& config) {
  const Split::Counts counts = ExpectedCounts(dataset, split);
  config.layers = 2;
  config.hops = OperatorsOf(dataset) > kMostWithHops ? 1 : kHopsOfBest;
  config.self_features = true;
  config.hidden = {256};
  config.head = 256;
  config.hidden_norm = HiddenNorm::kLayer;
  config.dropout = 0.5;
  config.decoupled_weight_decay = true;
  config.input_dropout = 0.3;
  config.adjacency = {Adjacency::kSym};
  config.fresh_theta = true;
  config.xavier = false;
  config.transductive = !dataset.inductive;
  config.predict_from = PredictFrom::kAuto;
  config.correct = Choice::kAuto;
  // Batches grow with the set, so that an epoch has a few dozen steps; epochs shrink with them.
  config.batch = 256;
  while (config.batch < 4096 && counts.train >= 32 * uint64_t{config.batch}) config.batch *= 2;
  const double epochs = kMostSamples / std::max(1.0, static_cast<double>(counts.train));
  config.epochs = {static_cast<uint32_t>(std::clamp(epochs, double{kLeastEpochs}, double{kMostEpochs}))};
  config.patience = std::max(3u, config.epochs[0] * 3 / 10);
  if (config.scale == Scale::kNone && !AreMostlyZero(dataset.features)) config.scale = Scale::kStandard;
  // F1 of two classes, or of many labels, moves in jumps where the loss still distinguishes epochs.
  const bool regression = dataset.labels.task() == Task::kRegression;
  const bool by_loss = regression || dataset.labels.multilabel || dataset.labels.classes == 2;
  config.watch = by_loss ? Watch::kValidationLoss : Watch::kValidationF1;
  if (dataset.labels.multilabel) config.choose_threshold = true;
  if (regression) {  // numbers need every part of the input; on generated families less dropout gains 0.03 in R²
    config.correct = Choice::kOff;
    config.dropout = 0.3, config.input_dropout = 0;
  }
  const bool unvalidated = dataset.nodes() > 0 && counts.val == 0;
  if (automatic && !(unvalidated && counts.train < kLeastToHoldOut)) {
    config.lr.reset();
    config.stop = StopRule::kPlateau;
    config.architecture_trial = BytesWithHops(dataset, kHopsOfBest) <= kMostBytesWithTrials;
    if (!regression && counts.train < kFewTrainNodes && kNodesPerLabel * counts.train < dataset.nodes())
      ApplyFewLabels(dataset, config);
    return;
  }
  config.lr = counts.train < kFewNodes ? 0.001 : 0.003;  // few nodes are soon overfitted
  config.stop = unvalidated ? StopRule::kFixed : StopRule::kEarly;
}

// The user's value of the setting `name`; empty if there is none.
std::string ValueFor(const Overrides& overrides, const std::string& name) {
  std::string value;
  for (const auto& [key, text] : overrides) {
    if (FindField(key).name == name) value = text;
  }
  return value;
}

// Whether the user leaves the rate and the end of each layer to the program.
bool IsAutomatic(const Overrides& overrides, std::optional<StopRule> implied) {
  const std::string lr = ValueFor(overrides, "lr"), stop = ValueFor(overrides, "stop");
  return (lr.empty() || lr == "auto") && (stop.empty() || stop == StopName(StopRule::kPlateau)) && !implied;
}

// The preset of a run whose user names none. Conventional methods have the paper's rows alone. A controller that
// the user names was learned on basic layers. And what trained within the memory of basic layers shall go on
// doing so, which three times its features might not.
std::string ChoosePreset(const Overrides& overrides, const Dataset& dataset) {
  const std::string said = ValueFor(overrides, "preset"), method = ValueFor(overrides, "method");
  if (!said.empty()) return said;
  const bool layerwise = method.empty() || FindMethod(method).loop == TrainingLoop::kLayerwise;
  const bool controller = !ValueFor(overrides, "controller").empty();
  return layerwise && !controller && BytesWithHops(dataset, kHopsOfBest) <= kMostBytesWithHops ? "best"
                                                                                               : "paper";
}

void CheckTakes(const Field& field, const Method& method) {
  const std::vector<std::string>& takers = field.methods;
  if (takers.empty() || std::find(takers.begin(), takers.end(), method.name) != takers.end()) return;
  ThrowUsage("--{}: method {} has no use for it; it belongs to {}", field.name, method.name,
             fmt::join(takers, ", "));
}

// Whether the last batch of an epoch is a remainder of a few nodes: a step of Adam moves the weights as far for them as
// for a whole batch, so that where epochs have few steps they undo much of what the others did.
bool LastBatchIsARest(const Dataset& dataset, const TrainConfig& config) {
  const uint64_t nodes = ExpectedCounts(dataset, config.split).train;
  return nodes > config.batch && kRestOfBatch * (nodes % config.batch) < config.batch;
}

// Whether an epoch leaves out its last batch when that is short: L-GCN of the paper does.
bool DropsLast(const Dataset& dataset, const TrainConfig& config, bool layerwise) {
  if (!layerwise) return false;
  if (*config.stop == StopRule::kPlateau) return LastBatchIsARest(dataset, config);
  return !config.best_preset && *config.stop != StopRule::kController;
}

// Trials choose what the user leaves open alone, for layers whose rate and end are found, too.
bool HasTrials(const Overrides& overrides, const TrainConfig& config) {
  if (!ValueFor(overrides, "architecture-trial").empty()) return config.architecture_trial;
  const bool open = ValueFor(overrides, "adjacency").empty() && ValueFor(overrides, "hidden-norm").empty();
  return config.architecture_trial && open && config.FindsRate() && config.self_features;
}

// What ends a layer where neither the user nor the preset says so. Controllers were learned on classes.
StopRule StopOf(const Method& method, const Dataset& dataset) {
  const bool regression = dataset.labels.task() == Task::kRegression;
  return regression && method.stop == StopRule::kController ? StopRule::kFixed : method.stop;
}

// Every relation of the data set gets an operator where layers can have several. Directed ones stand beside all edges
// together: on Squirrel and Chameleon that scores higher than either alone.
std::vector<std::string> DefaultRelations(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const Relation& relation : dataset.relations) {
    if (names.empty() && relation.graph.directed) names.emplace_back(kAllEdges);
    names.push_back(relation.name);
  }
  return names;
}

// A preset's list is made for the preset's number of layers; the user may have changed that.
void FitToLayers(uint32_t layers, std::vector<uint32_t>& list) {
  if (list.size() > 1) list.resize(layers, list.back());
}

}  // namespace

TrainConfig ResolveConfig(const Overrides& overrides, const Dataset& dataset) {
  TrainConfig config;
  FindField("preset").set(config, ChoosePreset(overrides, dataset));
  const std::string named = ValueFor(overrides, "method"), layers = ValueFor(overrides, "layers");
  if (!named.empty()) FindField("method").set(config, named);
  const Method& method = FindMethod(config.method);
  const std::optional<StopRule> implied = config.stop;
  const bool layerwise = method.loop == TrainingLoop::kLayerwise;
  ApplySetRow(dataset, config);
  method.preset(dataset.preset_row, config);
  if (layerwise && config.best_preset)
    ApplyBest(dataset, ValueFor(overrides, "split"), IsAutomatic(overrides, implied), config);
  if (ValueFor(overrides, "lr") == "auto") config.stop = StopRule::kPlateau;
  if (implied) config.stop = implied;
  if (!layers.empty()) FindField("layers").set(config, layers);
  FitToLayers(config.layers, config.samples);
  for (const auto& [name, value] : overrides) {
    const Field& field = FindField(name);
    CheckTakes(field, method);
    if (field.name != "method") field.set(config, value);
  }
  if (!config.stop) config.stop = StopOf(method, dataset);
  config.architecture_trial = HasTrials(overrides, config);
  if (layerwise && config.self_features && config.relations.empty())
    config.relations = DefaultRelations(dataset);
  if (config.TriesRelations() && dataset.nodes() > 0 && dataset.relations.empty())
    ThrowUsage("--relations auto: {} has one relation; leave it out", dataset.name);
  if (ValueFor(overrides, "drop-last").empty()) config.drop_last = DropsLast(dataset, config, layerwise);
  Validate(config);
  for (const auto& [name, value] : overrides) {
    if (const std::string needed = NeededFor(name, config); !needed.empty())
      ThrowUsage("--{} {} has no effect without {}", FindField(name).name, value, needed);
  }
  CheckTask(config, dataset);
  if (config.HasThreshold() && dataset.nodes() > 0 && !dataset.labels.multilabel &&
      dataset.labels.classes != 2) {
    ThrowUsage("--threshold: for two classes or several labels a node; {} has {} classes, one a node",
               dataset.name, dataset.labels.classes);
  }
  return config;
}

}  // namespace l2gcn
