// The field table: every training parameter once, with its name, range and sentence. Parsing is strict: the
// whole word must be a number of the right kind inside its range.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "config/field_builders.h"
#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/error_format.h"
#include "l2gcn/config.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMaxLayers = 64;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxEpochs = 1000000;
constexpr uint32_t kMaxCount = std::numeric_limits<int32_t>::max();

// Only the first word is checked here; what it asks for is looked up in the data set.
Field SplitField() {
  Field field =
      TextField("split", "SPLIT", &TrainConfig::split,
                "Which nodes train, validate and test: paper, public, random:A,B,C, file[:K] or column:NAME; "
                "by default the paper's, else the file's own, else random:0.6,0.2,0.2.");
  field.set = [](TrainConfig& config, const std::string& value) {
    static const std::vector<std::string> heads = {"paper", "public", "random", "uniform", "file", "column"};
    const std::string head = value.substr(0, value.find(':'));
    if (!value.empty() && std::find(heads.begin(), heads.end(), head) == heads.end()) {
      ThrowUsage(
          "--split {}: did you mean '{}'? Valid: paper, public, random:0.6,0.2,0.2, "
          "uniform:0.6,0.2,0.2, file[:K], column:NAME",
          value, NearestName(head, heads));
    }
    config.split = value;
  };
  return field;
}

// A rate above 0, or the word that leaves it to the program.
Field RateField() {
  Field field = RealField(
      "lr", &TrainConfig::lr, {0, std::numeric_limits<double>::max(), true, false, "above 0, or auto"},
      "auto: found for each layer from what it trains on, and lowered to its end; a number: Adam's "
      "learning rate.");
  field.placeholder = "auto|X";
  field.word = "auto";
  field.set = [number = field.set](TrainConfig& config, const std::string& value) {
    if (value == "auto")
      config.lr = 0;
    else
      number(config, value);
  };
  field.get = [number = field.get](const TrainConfig& config) {
    return config.FindsRate() ? "auto" : number(config);
  };
  return field;
}

Field HoldOutField() {
  Field field = TextField(
      "hold-out", "auto|X", &TrainConfig::hold_out,
      "Share of the train nodes that decisions look at and steps leave out, with a found rate until the last "
      "epochs of the last layer; auto: a tenth, at most 4,096, where no validation node has a label or "
      "looking "
      "at them would cost too much; 0: none.");
  field.set = [](TrainConfig& config, const std::string& value) {
    if (value != "auto") {
      const double share = ParseNumber("hold-out", value, "from 0 to 0.5, or auto");
      if (share < 0 || share > 0.5)
        ThrowUsage("--hold-out {}: expected auto or a share from 0 to 0.5", value);
    }
    config.hold_out = value;
  };
  return field;
}

Field ThresholdField() {
  Field field =
      TextField("threshold", "auto|X", &TrainConfig::threshold,
                "Probability above which a label is on, or class 1 of two is chosen; auto: chosen on "
                "the validation nodes; by default one half.");
  field.set = [](TrainConfig& config, const std::string& value) {
    if (value != "auto" && !value.empty()) {
      const double number = ParseNumber("threshold", value, "between 0 and 1, or auto");
      if (number <= 0 || number >= 1)
        ThrowUsage("--threshold {}: expected auto or a probability between 0 and 1", value);
    }
    config.threshold = value;
  };
  return field;
}

std::vector<std::string> StopPolicyNames() {
  std::vector<std::string> names;
  for (const StopPolicyRow& row : StopPolicies()) names.emplace_back(row.name);
  return names;
}

// The methods that list the field among their settings. A field that no method lists is for all of them.
std::vector<std::string> MethodsTaking(const std::string& field) {
  std::vector<std::string> names;
  for (const Method& method : Methods()) {
    const auto& settings = method.settings;
    if (std::find(settings.begin(), settings.end(), field) != settings.end()) names.emplace_back(method.name);
  }
  return names;
}

std::vector<Field> MakeFields() {
  using C = TrainConfig;
  return {
      ChoiceField("method", &C::method, BuiltMethods(), "How the network is trained."),
      ChoiceField("preset", &C::preset, {"paper", "best"},
                  "Where defaults come from: the paper's settings for each data set, or the most accurate "
                  "recipe, chosen from the data."),
      WholeField("layers", &C::layers, 1, kMaxLayers, "Graph convolutions, trained one after another."),
      ListField("hidden", &C::hidden, 1, kMaxWidth, "Width of each layer; one value serves all."),
      ListField("epochs", &C::epochs, 1, kMaxEpochs, "Epochs of each layer, at most; one value serves all."),
      WholeField("batch", &C::batch, 1, kMaxCount, "Nodes in a step."),
      RateField(),
      FlagField("drop-last", &C::drop_last, "Leave out an epoch's last batch when it is short."),
      RealField("dropout", &C::dropout, {0, 1, false, true, "from 0 to below 1"},
                "Share of hidden values set to 0 in a training step."),
      RealField("weight-decay", &C::weight_decay,
                {0, std::numeric_limits<double>::max(), false, false, "of 0 or more"},
                "L2 penalty on the weights."),
      WholeField(
          "reach", &C::reach, 0, kMaxLayers,
          "Powers of the operator side by side in a layer's input, from the node's own row on (X, ÂX, …); "
          "0: the neighbours' average alone."),
      FlagField("bias", &C::bias, "Add a bias to every product."),
      FlagField("layer-norm", &C::layer_norm, "Normalise a layer's values row by row before ReLU."),
      RealField("input-dropout", &C::input_dropout, {0, 1, false, true, "from 0 to below 1"},
                "Share of a layer's input set to 0 in a training step."),
      FlagField(
          "labels-as-inputs", &C::labels_as_inputs,
          "Let the last layer read the labels of train nodes around a node, its own hidden; needs --reach."),
      WholeField("head", &C::head, 0, kMaxWidth,
                 "Width of a hidden layer between each layer and its classifier; 0: none."),
      ChoiceField("read-out", &C::read_out, {"last", "mean", "auto"},
                  "Whose probabilities count: the last layer's, the mean of all layers', or whichever the "
                  "validation nodes prefer."),
      ChoiceField(
          "correct", &C::correct, {"off", "auto", "on"},
          "Correct & Smooth after training: what is known of the train nodes is spread over the graph; "
          "auto: where the validation nodes gain."),
      ChoiceField("theta", &C::theta, {"keep", "fresh"},
                  "Whether the classifier lives on into the next layer."),
      ChoiceField("init", &C::init, {"fan-in", "xavier"}, "How weights start."),
      ChoiceField("norm", &C::norm, {"row+i", "row", "sym", "sum", "none"},
                  "How neighbours are averaged (row+i: D⁻¹(A+I)+I; none: not at all)."),
      ChoiceField("setting", &C::setting, {"inductive", "transductive"},
                  "Whether training sees the train nodes' subgraph alone or the whole graph."),
      SplitField(),
      ChoiceField("scale", &C::scale, {"none", "standard", "minmax", "row"},
                  "How features are scaled first."),
      WholeField("pca", &C::pca, 0, kMaxWidth,
                 "Principal components kept of the features; 0 keeps features as they are."),
      WholeField("smooth", &C::smooth, 0, kMaxLayers,
                 "Times features are averaged over neighbours before training."),
      ChoiceField("sparse", &C::sparse, {"auto", "always", "never"},
                  "Whether layer 1 works on sparse features."),
      ChoiceField("features-as", &C::features_as, {"f32", "f16", "bf16"},
                  "How features are stored in memory."),
      TextField(
          "class-weights", "balanced|FILE", &C::class_weights,
          "What classes count in the loss: balanced, or a table of class,weight; by default all the same."),
      ThresholdField(),
      ChoiceField("stop", &C::stop, StopPolicyNames(),
                  "What ends a layer's training; by default the method's own."),
      WholeField("patience", &C::patience, 1, kMaxEpochs,
                 "Epochs without improvement that --stop early allows."),
      ChoiceField("watch", &C::watch, {"loss", "val", "val-loss"},
                  "What --stop early looks at: the training loss, or F1 or loss of the validation nodes."),
      TextField("controller", "FILE", &C::controller,
                "Learned stopping controller; by default the shipped one."),
      ChoiceField("controller-kind", &C::controller_kind, {"general", "paper"}, "Which shipped controller."),
      HoldOutField(),
      ListField("samples", &C::samples, 1, kMaxCount,
                "Neighbours or nodes a sampling method draws per layer."),
      WholeField("parts", &C::parts, 0, kMaxCount,
                 "Clusters clustergcn cuts the graph into; 0: about 100 nodes each."),
      WholeField("clusters-per-batch", &C::clusters_per_batch, 0, kMaxCount,
                 "Clusters clustergcn joins into one step; 0: as many as fill a batch."),
      RealField("diagonal", &C::diagonal,
                {0, std::numeric_limits<double>::max(), false, false, "of 0 or more"},
                "What clustergcn adds to the operator's diagonal, in units of it."),
      FlagField("precompute", &C::precompute,
                "Aggregate the features of layer 1 once instead of in every step."),
      WholeField("hops", &C::hops, 0, kMaxLayers, "Times sgc aggregates features."),
      ListField("powers", &C::powers, 0, kMaxLayers, "Powers of the normalised adjacency that ngcn joins."),
      ChoiceField(
          "on-nan", &C::on_nan, {"stop", "restart"},
          "When a loss or weight is no finite number any more: stop, or begin the seed again at a third of "
          "the rate, at most 3 times."),
      WholeField("val-every", &C::val_every, 0, kMaxEpochs,
                 "Score the validation nodes every so many epochs, off the clock; 0: never."),
      ChoiceField("precision", &C::precision, {"fp32", "tf32", "bf16"},
                  "Of matrix products. A CPU computes bf16 where it has AMX, and all else in fp32."),
      SeedField(&C::seed),
  };
}

}  // namespace

uint64_t ParseWholeNumber(const std::string& name, const std::string& text, uint64_t low, uint64_t high) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    ThrowUsage("--{} {}: expected a whole number from {} to {}", name, text, low, high);
  }
  return value;
}

double ParseNumber(const std::string& name, const std::string& text, const std::string& range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    ThrowUsage("--{} {}: expected a number{}{}", name, text, range.empty() ? "" : " ", range);
  }
  return value;
}

const std::vector<Field>& Fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = MakeFields();
    for (Field& field : all) field.methods = MethodsTaking(field.name);
    return all;
  }();
  return fields;
}

size_t FindName(const std::string& name, const std::vector<std::string>& names) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const auto found = std::find(names.begin(), names.end(), dashed);
  if (found == names.end())
    ThrowUsage("unknown setting '{}': did you mean '{}'?", name, NearestName(dashed, names));
  return static_cast<size_t>(found - names.begin());
}

const Field& FindField(const std::string& name) {
  std::vector<std::string> names;
  for (const Field& field : Fields()) names.push_back(field.name);
  return Fields()[FindName(name, names)];
}

}  // namespace l2gcn
