// The field table: every training parameter once, with its name, range and sentence. Parsing is strict: the
// whole word must be a number of the right kind inside its range.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "config/choice_names.h"
#include "config/field_builders.h"
#include "config/methods.h"
#include "core/csv_field.h"
#include "core/error_format.h"
#include "l2gcn/config.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMaxLayers = 64;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxEpochs = 1000000;
constexpr size_t kMostOperatorRelations = 256;
constexpr uint32_t kMaxCount = std::numeric_limits<int32_t>::max();

// Only the first word is checked here; what it asks for is looked up in the data set.
Field SplitField() {
  Field field = TextField(
      "split", "SPLIT", &TrainConfig::split,
      "Which nodes train, validate and test. paper, public, random:A,B,C, time:COLUMN:A,B,C, "
      "group:COLUMN:A,B,C, file[:K] or column:NAME; by default the paper's, else the file's own, else "
      "random:0.6,0.2,0.2.");
  field.set = [](TrainConfig& config, const std::string& value) {
    static const std::vector<std::string> heads = {"paper", "public", "random", "uniform",
                                                   "time",  "group",  "file",   "column"};
    const std::string head = value.substr(0, value.find(':'));
    if (!value.empty() && std::find(heads.begin(), heads.end(), head) == heads.end()) {
      ThrowUsage(
          "--split {}: did you mean '{}'? Valid: paper, public, random:0.6,0.2,0.2, "
          "uniform:0.6,0.2,0.2, time:COLUMN:0.6,0.2,0.2, group:COLUMN:0.6,0.2,0.2, file[:K], column:NAME",
          value, NearestName(head, heads));
    }
    config.split = value;
  };
  return field;
}

// A number that `parse` reads and checks, or the word that leaves it to the program.
Field NumberOrAuto(const char* name, std::optional<double> TrainConfig::*member, RealRange range,
                   const char* help) {
  Field field = {name, FieldText::Kind::kNumber, "auto|X", help};
  field.word = "auto";
  field.range = range.range;
  field.set = [=, text = std::string(name)](TrainConfig& config, const std::string& value) {
    config.*member = value == "auto" ? std::nullopt : std::optional(ParseInRange(text, value, range));
  };
  field.get = [=](const TrainConfig& config) {
    return config.*member ? fmt::format("{}", *(config.*member)) : "auto";
  };
  return field;
}

// `auto` leaves the choice to the preset.
Field SettingField() {
  Field field =
      ChoiceField("setting", &TrainConfig::transductive, kSettingNames,
                  "Whether training sees the train nodes' subgraph alone or the whole graph. auto: "
                  "the whole graph, unless the data set's format keeps training apart; preset paper: "
                  "the subgraph.");
  field.choices.insert(field.choices.begin(), "auto");
  field.set = [set = field.set](TrainConfig& config, const std::string& value) {
    if (value != "auto") set(config, value);
  };
  return field;
}

Field ThresholdField() {
  constexpr RealRange kBetween = {0, 1, true, true, "between 0 and 1, or auto"};
  Field field = {"threshold", FieldText::Kind::kText, "auto|X",
                 "Probability above which a label is on, or class 1 of two is chosen; auto: chosen on "
                 "the validation nodes; by default one half."};
  field.set = [=](TrainConfig& config, const std::string& value) {
    config.threshold.reset();
    config.choose_threshold = value == "auto";
    if (!value.empty() && !config.choose_threshold)
      config.threshold = ParseInRange("threshold", value, kBetween);
  };
  field.get = [](const TrainConfig& config) {
    if (config.threshold) return fmt::format("{}", *config.threshold);
    return std::string(config.choose_threshold ? "auto" : "");
  };
  return field;
}

// Names come from data: any text, quoted as in a line of CSV.
Field RelationsField() {
  Field field = {"relations", FieldText::Kind::kText, "NAME[,NAME…]",
                 "Relations of the edges, each with an aggregate of its own; all: all edges together; auto: "
                 "chosen by short trainings. By default every relation of the data set. Several need "
                 "--self-features."};
  field.set = [](TrainConfig& config, const std::string& value) {
    config.relations.clear();
    if (value.empty()) return;
    std::vector<std::string> names = SplitQuoted(value);
    for (const std::string& name : names) {
      if (name.empty()) ThrowUsage("--relations {}: a name is empty", value);
      if (std::count(names.begin(), names.end(), name) > 1)
        ThrowUsage("--relations {}: names {} twice", value, name);
      if (name == kAutoRelations && names.size() > 1) ThrowUsage("--relations {}: auto stands alone", value);
    }
    if (names.size() > kMostOperatorRelations)
      ThrowUsage("--relations: {} names; at most {} are taken", names.size(), kMostOperatorRelations);
    config.relations = std::move(names);
  };
  field.get = [](const TrainConfig& config) {
    std::string joined;
    for (const std::string& name : config.relations) joined += (joined.empty() ? "" : ",") + CsvQuoted(name);
    return joined;
  };
  return field;
}

Field ClassWeightsField() {
  Field field = {
      "class-weights", FieldText::Kind::kText, "balanced|FILE",
      "What classes count in the loss: balanced, or a table of class,weight; by default all the same."};
  field.set = [](TrainConfig& config, const std::string& value) {
    config.balanced_classes = value == "balanced";
    config.class_weights_file = config.balanced_classes ? "" : value;
  };
  field.get = [](const TrainConfig& config) {
    return config.balanced_classes ? "balanced" : config.class_weights_file;
  };
  return field;
}

// Names of methods, and those of the paper for layerwise training with one stopping rule.
Field MethodField() {
  Field field = {"method", FieldText::Kind::kText, "NAME", "How the network is trained.", BuiltMethods()};
  field.set = [](TrainConfig& config, const std::string& value) {
    const NamedMethod named = FindNamedMethod(value);
    config.method = named.method.name;
    if (named.stop) config.stop = named.stop;
  };
  field.get = [](const TrainConfig& config) { return std::string(FindMethod(config.method).name); };
  return field;
}

Field StopField() {
  const std::vector<std::string> words = WordsOf<StopRule>(kStopNames);
  Field field = {"stop", FieldText::Kind::kText, "NAME",
                 "What ends a layer's training; by default chosen by the preset and method.", words};
  field.set = [=](TrainConfig& config, const std::string& value) {
    const StopRule* found = FindChoice<StopRule>(kStopNames, value);
    if (value == "learned") ThrowUsage("--stop learned: its name is now --stop controller");
    if (found == nullptr) ThrowNotAChoice("stop", value, words);
    config.stop = *found;
  };
  field.get = [](const TrainConfig& config) { return config.stop ? StopName(*config.stop) : ""; };
  return field;
}

Field ControllerField() {
  Field field = {
      "controller", FieldText::Kind::kText, "general|paper|FILE",
      "Learned controller of --stop controller: one of the two that ship with the program, or a file."};
  field.set = [](TrainConfig& config, const std::string& value) {
    config.paper_controller = value == "paper";
    config.controller_file = value == "general" || value == "paper" ? "" : value;
  };
  field.get = [](const TrainConfig& config) -> std::string {
    if (!config.controller_file.empty()) return config.controller_file;
    return config.paper_controller ? "paper" : "general";
  };
  return field;
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

Field Basic(Field field) {
  field.level = FieldText::Level::kBasic;
  return field;
}

Field ByPreset(Field field) {
  field.level = FieldText::Level::kPreset;
  return field;
}

constexpr double kMostReal = std::numeric_limits<double>::max();

std::vector<Field> GeneralFields() {
  using C = TrainConfig;
  return {
      Basic(MethodField()),
      Basic(ChoiceField(
          "preset", &C::best_preset, kPresetNames,
          "Defaults: best for accuracy, or the paper's (l2gcn). best chooses them from the data; paper has "
          "the "
          "paper's settings for each data set, and trains as --method l2gcn unless you name another.")),
      Basic(SeedField(&C::seed)),
  };
}

std::vector<Field> ArchitectureFields() {
  using C = TrainConfig;
  return {
      Basic(WholeField("layers", &C::layers, 1, kMaxLayers, "Number of graph convolution layers.")),
      Basic(ListField("hidden", &C::hidden, 1, kMaxWidth, "Width of each layer. One value serves all.")),
      WholeField("hops", &C::hops, 0, kMaxLayers,
                 "Hops in a layer's input: ÂX, …, Âʰᵒᵖˢ X side by side. More than one needs --self-features. "
                 "Method sgc reads Âʰᵒᵖˢ X alone."),
      FlagField("self-features", &C::self_features, "Add the node's own features X to a layer's input."),
      ByPreset(FlagField("raw-features", &C::raw_features,
                         "Add the input features to the input of every later layer.")),
      FlagField("bias", &C::bias, "Add a bias to every product."),
      ChoiceField(
          "hidden-norm", &C::hidden_norm, kHiddenNormNames,
          "How hidden values are normalised before ReLU: each node over its values (layer), or each value "
          "over the batch (batch)."),
      WholeField("head", &C::head, 0, kMaxWidth,
                 "Width of a hidden layer between each layer and its classifier; 0: none."),
      ChoiceField("predict-from", &C::predict_from, kPredictFromNames,
                  "Which layers predict: the last, the mean of all, or whichever scores better on the "
                  "validation nodes."),
      ChoiceField("correct", &C::correct, kChoiceNames,
                  "Correct & Smooth after training; auto: where it improves the validation score."),
      ChoiceListField("adjacency", &C::adjacency, kAdjacencyNames,
                      "How the adjacency matrix is normalised: row+i (D⁻¹(A+I)+I), row, sym, sum, mean "
                      "(D⁻¹A) or none (neighbours are ignored). Several, such as sym,mean, give a layer one "
                      "aggregate each; that needs --self-features."),
      RelationsField(),
      ByPreset(FlagField("architecture-trial", &C::architecture_trial,
                         "Choose adjacency and hidden_norm by short trainings, on the evaluation nodes.")),
      ByPreset(ChoiceField("theta", &C::fresh_theta, kThetaStartNames,
                           "Whether the next layer's classifier starts from this layer's.")),
      ByPreset(ChoiceField("init", &C::xavier, kInitNames, "How weights are initialised.")),
  };
}

std::vector<Field> OptimisationFields() {
  using C = TrainConfig;
  return {
      Basic(
          ListField("epochs", &C::epochs, 1, kMaxEpochs, "Most epochs of each layer. One value serves all.")),
      WholeField("batch", &C::batch, 1, kMaxCount, "Nodes in a training step."),
      Basic(NumberOrAuto("lr", &C::lr, {0, kMostReal, true, false, "above 0, or auto"},
                         "Learning rate of Adam. auto: estimated for each layer and decayed to its end.")),
      RealField("dropout", &C::dropout, {0, 1, false, true, "from 0 to below 1"},
                "Share of hidden values set to 0 in a training step."),
      RealField("input-dropout", &C::input_dropout, {0, 1, false, true, "from 0 to below 1"},
                "Share of each layer's input set to 0 in a training step; of conventional methods, of the "
                "features."),
      RealField("weight-decay", &C::weight_decay, {0, kMostReal, false, false, "of 0 or more"},
                "Weight decay. Biases and norms are spared."),
      ByPreset(ChoiceField("weight-decay-type", &C::decoupled_weight_decay, kWeightDecayNames,
                           "l2: a penalty whose gradient Adam sees. decoupled: taken from the weights apart "
                           "from Adam, as in AdamW.")),
      ChoiceField("loss", &C::loss, kLossNames,
                  "What a regression minimises: squared, absolute or huber errors of standardised targets."),
      ClassWeightsField(),
      ThresholdField(),
      ChoiceField(
          "on-nan", &C::restart_on_nan, kOnNanNames,
          "What to do when the loss becomes NaN or infinite. restart: retry up to 3 times with a third "
          "of the learning rate."),
      ChoiceField("precision", &C::precision, kPrecisionNames,
                  "Precision of matrix products. A CPU computes bf16 where it has AMX, and fp32 otherwise."),
      ByPreset(FlagField("drop-last", &C::drop_last, "Leave out an epoch's last batch when it is short.")),
  };
}

std::vector<Field> DataFields() {
  using C = TrainConfig;
  return {
      Basic(SplitField()),
      SettingField(),
      ChoiceField("scale", &C::scale, kScaleNames, "How features are scaled first."),
      WholeField("pca", &C::pca, 0, kMaxWidth, "Principal components kept of the features; 0: no PCA."),
      ChoiceField("features-as", &C::features_as, kFeatureTypeNames, "How features are stored in memory."),
      ByPreset(WholeField("smooth", &C::smooth, 0, kMaxLayers,
                          "Times features are averaged over neighbours before training.")),
      ByPreset(ChoiceField("sparse", &C::sparse, kSparseNames, "Whether layer 1 works on sparse features.")),
  };
}

std::vector<Field> StoppingFields() {
  using C = TrainConfig;
  return {
      StopField(),
      WholeField("patience", &C::patience, 1, kMaxEpochs,
                 "Epochs without improvement that --stop early allows."),
      ControllerField(),
      WholeField("val-every", &C::val_every, 0, kMaxEpochs,
                 "Epochs between two validation scores, which are not timed; 0: none."),
      ByPreset(ChoiceField("watch", &C::watch, kWatchNames,
                           "What --stop early watches: the training loss, or F1 or loss of the validation "
                           "nodes.")),
      ByPreset(
          NumberOrAuto("hold-out", &C::hold_out, {0, 0.5, false, false, "from 0 to 0.5, or auto"},
                       "Share of the train nodes kept from the steps, to decide when to stop. auto: a tenth, "
                       "at most 4,096, where no validation node has a label or evaluating them costs too "
                       "much; 0: none.")),
  };
}

std::vector<Field> MethodFields() {
  using C = TrainConfig;
  return {
      ListField("samples", &C::samples, 1, kMaxCount,
                "Neighbours or nodes a sampling method draws per layer."),
      WholeField("parts", &C::parts, 0, kMaxCount,
                 "Clusters clustergcn cuts the graph into; 0: about 100 nodes each."),
      ByPreset(WholeField("clusters-per-batch", &C::clusters_per_batch, 0, kMaxCount,
                          "Clusters clustergcn joins into one step; 0: as many as fill a batch.")),
      ByPreset(RealField("diagonal", &C::diagonal, {0, kMostReal, false, false, "of 0 or more"},
                         "What clustergcn adds to the diagonal of Â, in units of it.")),
      ByPreset(FlagField("precompute", &C::precompute,
                         "Aggregate the features of layer 1 once instead of in every step.")),
      ByPreset(ListField("powers", &C::powers, 0, kMaxLayers, "Powers of Â that ngcn joins.")),
  };
}

std::vector<Field> MakeFields() {
  std::vector<Field> all;
  const auto add = [&](const char* group, std::vector<Field> fields) {
    for (Field& field : fields) {
      field.group = group;
      all.push_back(std::move(field));
    }
  };
  add("General", GeneralFields());
  add("Architecture", ArchitectureFields());
  add("Optimisation", OptimisationFields());
  add("Data", DataFields());
  add("Stopping", StoppingFields());
  add("Method-specific", MethodFields());
  return all;
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

// Settings that have another name now, or none.
constexpr struct {
  const char *before, *now;
} kRetired[] = {
    {"controller-kind", "use 'controller'"},
    {"norm",
     "use 'adjacency' (how neighbours are averaged) or 'hidden-norm' (normalisation of hidden values)"},
    {"layer-norm", "use 'hidden-norm' with the value layer or none"},
    {"read-out", "use 'predict-from'"},
    {"labels-as-inputs", "it did not improve accuracy"},
    {"judge", "use 'evaluation-split'"},
    {"rank-steps", "rank 0 computes the training steps"},
    {"reach", "use 'hops' and 'self-features'; reach 0 is hops 1 without self-features"},
};

std::string Dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string RetiredName(const std::string& name) {
  for (const auto& [before, now] : kRetired) {
    if (Dashed(name) == before) return fmt::format("setting '{}' was removed; {}", name, now);
  }
  return "";
}

std::string WhereToSet(const std::string& name) {
  const std::string retired = RetiredName(name);
  if (!retired.empty()) return retired;
  for (const Field& field : Fields()) {
    if (field.name != Dashed(name) || field.level != FieldText::Level::kPreset) continue;
    return fmt::format(
        "setting '{}' is chosen by presets; to set it, write it into a JSON file for "
        "l2gcn train --config FILE",
        name);
  }
  return "";
}

size_t FindName(const std::string& name, const std::vector<std::string>& names) {
  const std::string dashed = Dashed(name);
  const auto found = std::find(names.begin(), names.end(), dashed);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  const std::string retired = RetiredName(name);
  if (!retired.empty()) ThrowUsage("{}", retired);
  ThrowUsage("unknown setting '{}': did you mean '{}'?", name, NearestName(dashed, names));
}

const Field& FindField(const std::string& name) {
  std::vector<std::string> names;
  for (const Field& field : Fields()) names.push_back(field.name);
  return Fields()[FindName(name, names)];
}

}  // namespace l2gcn
