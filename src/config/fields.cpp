// The field table: every training parameter once, with its name, range and sentence. Parsing is strict: the
// whole word must be a number of the right kind inside its range.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error_format.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMaxLayers = 64;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxEpochs = 1000000;
constexpr uint32_t kMaxCount = std::numeric_limits<int32_t>::max();

template <class T>
T ParseWhole(const std::string& name, const std::string& text, T low, T high) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    ThrowUsage("--{} {}: expected a whole number from {} to {}", name, text, low, high);
  }
  return value;
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    items.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  items.push_back(text.substr(begin));
  return items;
}

Field Whole(const char* name, uint32_t TrainConfig::*member, uint32_t low, uint32_t high, const char* help) {
  const std::string text = name;
  return {text,
          FieldKind::kNumber,
          "N",
          help,
          {},
          [=](TrainConfig& config, const std::string& value) {
            config.*member = ParseWhole(text, value, low, high);
          },
          [=](const TrainConfig& config) { return fmt::format("{}", config.*member); }};
}

// A number in [low, high], or above low where `open` says the bound itself is not allowed; `range` says it in
// words.
struct RealRange {
  double low, high;
  bool low_open, high_open;
  const char* range;
};

Field Real(const char* name, double TrainConfig::*member, RealRange range, const char* help) {
  const std::string text = name;
  auto set = [=](TrainConfig& config, const std::string& value) {
    double number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    const bool inside = (range.low_open ? number > range.low : number >= range.low) &&
                        (range.high_open ? number < range.high : number <= range.high);
    if (error != std::errc() || stop != end || !std::isfinite(number) || !inside) {
      ThrowUsage("--{} {}: expected a number {}", text, value, range.range);
    }
    config.*member = number;
  };
  return {text, FieldKind::kNumber, "X", help, {}, set, [=](const TrainConfig& config) {
            return fmt::format("{}", config.*member);
          }};
}

Field List(const char* name, std::vector<uint32_t> TrainConfig::*member, uint32_t low, uint32_t high,
           const char* help) {
  const std::string text = name;
  auto set = [=](TrainConfig& config, const std::string& value) {
    std::vector<uint32_t> numbers;
    for (const std::string& item : SplitList(value)) numbers.push_back(ParseWhole(text, item, low, high));
    config.*member = std::move(numbers);
  };
  return {text, FieldKind::kList, "N[,N…]", help, {}, set, [=](const TrainConfig& config) {
            return fmt::format("{}", fmt::join(config.*member, ","));
          }};
}

Field Choice(const char* name, std::string TrainConfig::*member, std::vector<std::string> choices,
             const char* help) {
  const std::string text = name;
  auto set = [=](TrainConfig& config, const std::string& value) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      ThrowUsage("--{} {}: did you mean '{}'? Valid: {}", text, value, NearestName(value, choices),
                 fmt::join(choices, ", "));
    }
    config.*member = value;
  };
  return {text, FieldKind::kText, "NAME", help, choices, set, [=](const TrainConfig& config) {
            return config.*member;
          }};
}

Field Text(const char* name, const char* placeholder, std::string TrainConfig::*member, const char* help) {
  return {name,
          FieldKind::kText,
          placeholder,
          help,
          {},
          [=](TrainConfig& config, const std::string& value) { config.*member = value; },
          [=](const TrainConfig& config) { return config.*member; }};
}

Field Flag(const char* name, bool TrainConfig::*member, const char* help) {
  const std::string text = name;
  auto set = [=](TrainConfig& config, const std::string& value) {
    if (value != "true" && value != "false") ThrowUsage("--{} {}: expected true or false", text, value);
    config.*member = value == "true";
  };
  return {text, FieldKind::kFlag, "true|false", help, {}, set, [=](const TrainConfig& config) {
            return config.*member ? "true" : "false";
          }};
}

// Methods of the contract; those not in BuiltMethods() are known but refused.
const std::vector<std::string>& KnownMethods() {
  static const std::vector<std::string> methods = {"lgcn",       "l2gcn",   "gcn",    "minibatch",
                                                   "graphsage",  "fastgcn", "ladies", "vrgcn",
                                                   "clustergcn", "sgc",     "ngcn",   "ngcn-layerwise"};
  return methods;
}

Field MethodField() {
  Field field = Choice("method", &TrainConfig::method, BuiltMethods(), "How the network is trained.");
  field.set = [choose = field.set](TrainConfig& config, const std::string& value) {
    const auto& known = KnownMethods();
    const auto& built = BuiltMethods();
    if (std::find(known.begin(), known.end(), value) != known.end() &&
        std::find(built.begin(), built.end(), value) == built.end()) {
      ThrowUsage("--method {}: this build cannot train it; it has: {}", value, fmt::join(built, ", "));
    }
    choose(config, value);
  };
  return field;
}

// Only the first word is checked here; what it asks for is looked up in the data set.
Field SplitField() {
  Field field =
      Text("split", "SPLIT", &TrainConfig::split,
           "Which nodes train, validate and test: paper, public, random:A,B,C, file[:K] or column:NAME; "
           "by default the paper's, else the file's own, else random:0.6,0.2,0.2.");
  field.set = [](TrainConfig& config, const std::string& value) {
    static const std::vector<std::string> heads = {"paper", "public", "random", "file", "column"};
    const std::string head = value.substr(0, value.find(':'));
    if (!value.empty() && std::find(heads.begin(), heads.end(), head) == heads.end()) {
      ThrowUsage(
          "--split {}: did you mean '{}'? Valid: paper, public, random:0.6,0.2,0.2, file[:K], column:NAME",
          value, NearestName(head, heads));
    }
    config.split = value;
  };
  return field;
}

// The seed is the only 64-bit number.
Field SeedField() {
  return {"seed",
          FieldKind::kNumber,
          "N",
          "Everything drawn at random follows from it.",
          {},
          [](TrainConfig& config, const std::string& value) {
            config.seed = ParseWhole<uint64_t>("seed", value, 0, std::numeric_limits<uint64_t>::max());
          },
          [](const TrainConfig& config) { return fmt::format("{}", config.seed); }};
}

std::vector<Field> MakeFields() {
  using C = TrainConfig;
  return {
      MethodField(),
      Choice("preset", &C::preset, {"paper"},
             "Where defaults come from: the paper's settings for each data set."),
      Whole("layers", &C::layers, 1, kMaxLayers, "Graph convolutions, trained one after another."),
      List("hidden", &C::hidden, 1, kMaxWidth, "Width of each layer; one value serves all."),
      List("epochs", &C::epochs, 1, kMaxEpochs, "Epochs of each layer, at most; one value serves all."),
      Whole("batch", &C::batch, 1, kMaxCount, "Nodes in a step."),
      Real("lr", &C::lr, {0, std::numeric_limits<double>::max(), true, false, "above 0"},
           "Adam's learning rate."),
      Flag("drop-last", &C::drop_last, "Leave out an epoch's last batch when it is short."),
      Real("dropout", &C::dropout, {0, 1, false, true, "from 0 to below 1"},
           "Share of hidden values set to 0 in a training step."),
      Real("weight-decay", &C::weight_decay,
           {0, std::numeric_limits<double>::max(), false, false, "of 0 or more"},
           "L2 penalty on the weights."),
      Choice("theta", &C::theta, {"keep", "fresh"}, "Whether the classifier lives on into the next layer."),
      Choice("init", &C::init, {"fan-in", "xavier"}, "How weights start."),
      Choice("norm", &C::norm, {"row+i", "row", "sym", "sum"},
             "How neighbours are averaged (row+i: D⁻¹(A+I)+I)."),
      Choice("setting", &C::setting, {"inductive", "transductive"},
             "Whether training sees the train nodes' subgraph alone or the whole graph."),
      SplitField(),
      Choice("scale", &C::scale, {"none", "standard", "minmax", "row"}, "How features are scaled first."),
      Whole("pca", &C::pca, 0, kMaxWidth,
            "Principal components kept of the features; 0 keeps features as they are."),
      Whole("smooth", &C::smooth, 0, kMaxLayers,
            "Times features are averaged over neighbours before training."),
      Choice("sparse", &C::sparse, {"auto", "always", "never"}, "Whether layer 1 works on sparse features."),
      Choice("features-as", &C::features_as, {"f32", "f16", "bf16"}, "How features are stored in memory."),
      Choice("stop", &C::stop, {"fixed", "early", "learned"},
             "What ends a layer's training; by default the method's own."),
      Whole("patience", &C::patience, 1, kMaxEpochs, "Epochs without improvement that --stop early allows."),
      Choice("watch", &C::watch, {"loss", "val"}, "What --stop early looks at."),
      Text("controller", "FILE", &C::controller, "Learned stopping controller; by default the shipped one."),
      Choice("controller-kind", &C::controller_kind, {"general", "paper"}, "Which shipped controller."),
      List("samples", &C::samples, 1, kMaxCount, "Neighbours or nodes a sampling method draws per layer."),
      Whole("parts", &C::parts, 0, kMaxCount,
            "Clusters clustergcn cuts the graph into; 0: about 100 nodes each."),
      Whole("clusters-per-batch", &C::clusters_per_batch, 1, kMaxCount,
            "Clusters clustergcn joins into one step."),
      Whole("hops", &C::hops, 0, kMaxLayers, "Times sgc aggregates features."),
      List("powers", &C::powers, 0, kMaxLayers, "Powers of the normalised adjacency that ngcn joins."),
      Choice("precision", &C::precision, {"fp32", "tf32", "bf16"},
             "Of matrix products on a CUDA device; a CPU always computes in fp32."),
      SeedField(),
  };
}

}  // namespace

const std::vector<std::string>& BuiltMethods() {
  static const std::vector<std::string> methods = {"lgcn"};
  return methods;
}

const std::vector<Field>& Fields() {
  static const std::vector<Field> fields = MakeFields();
  return fields;
}

const Field& FindField(const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::vector<std::string> names;
  for (const Field& field : Fields()) {
    if (field.name == dashed) return field;
    names.push_back(field.name);
  }
  ThrowUsage("unknown setting '{}': did you mean '{}'?", name, NearestName(dashed, names));
}

}  // namespace l2gcn
