// Every training parameter, declared once: the struct holds the value, the field table (Fields()) its name,
// default, range and sentence. Command line, config.json, Python and help all read that table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/choices.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// The method that is trained if nobody names one.
std::string DefaultMethod();

// Settings as resolved: what a training uses, to the last value. TrainConfig{} is the paper's basic layer and no default for
// any data; ResolveConfig({}, dataset) is the default, for the program, Python and C++ alike.
struct TrainConfig {
  // What is trained
  std::string method = DefaultMethod();
  bool best_preset = false;  // defaults come from preset best, not paper
  uint32_t layers = 2;
  std::vector<uint32_t> hidden = {128};  // one value serves all layers
  std::vector<uint32_t> epochs = {80};   // likewise; the cap where a stopping rule may end a layer earlier
  uint32_t batch = 1024;
  std::optional<double> lr = 0.001;  // no value: estimated for each layer
  bool drop_last = false;
  double dropout = 0;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;  // taken from the weights apart from Adam (AdamW), not an L2 penalty
  // What a layer has besides W and Θ; all off: the layer of the paper
  uint32_t hops = 1;  // a layer reads [X,] ÂX, …, Âʰᵒᵖˢ X side by side; sgc: Âʰᵒᵖˢ X alone
  bool self_features = false;                  // whether X itself is among them
  bool raw_features = false;                   // whether deeper layers read the input features X⁰ as well
  bool bias = false;                           // added to every product
  HiddenNorm hidden_norm = HiddenNorm::kNone;  // before each ReLU
  bool architecture_trial =
      false;                 // whether short trainings may replace adjacency and hidden_norm, seed by seed
  double input_dropout = 0;  // share of a layer's input set to 0 in a training step
  uint32_t head = 0;         // width of a hidden layer between each layer and its classifier; 0: none
  PredictFrom predict_from = PredictFrom::kLast;
  Choice correct = Choice::kOff;  // Correct & Smooth
  bool fresh_theta =
      false;            // whether a layer's classifier starts anew, not with the weights of the one below
  bool xavier = false;  // weights start uniform in ±√(6 / (fan_in + fan_out)), not in ±1/√fan_in
  // On what
  // Operators lie side by side: one for each relation and adjacency. Relations are named as in Dataset::relations; kAllEdges
  // is all edges together, as is an empty list; kAutoRelations alone: short trainings choose, seed by seed.
  std::vector<std::string> relations;
  std::vector<Adjacency> adjacency = {Adjacency::kRowPlusI};
  bool transductive = false;  // training sees the whole graph, not the subgraph of the train nodes
  std::string split;          // "": the default order of ResolveSplit
  Scale scale = Scale::kNone;
  uint32_t pca = 0;               // 0: features as they are
  uint32_t smooth = 0;            // times features are averaged over neighbours before training
  Choice sparse = Choice::kAuto;  // whether sparse features stay sparse once aggregated
  FeatureType features_as = FeatureType::kF32;
  Loss loss = Loss::kSquared;  // of a regression
  // For rare classes
  // What classes count in the loss: all the same, balanced, or by a table of class,weight.
  bool balanced_classes = false;
  std::string class_weights_file;
  // Probability above which a label is on, or class 1 of two is chosen. No value: one half, or what is chosen on the
  // validation nodes.
  std::optional<double> threshold;
  bool choose_threshold = false;
  // When a layer ends
  std::optional<StopRule> stop;   // no value: the method's own
  uint32_t patience = 10;         // early: epochs without improvement
  Watch watch = Watch::kLoss;     // early
  std::string controller_file;    // controller; "": the one that ships with the library, general or
  bool paper_controller = false;  // … the one of the paper
  std::optional<double>
      hold_out;  // share of the train nodes kept from the steps, to decide by; no value: automatic
  // What the sampled and conventional methods need besides
  std::vector<uint32_t> samples = {
      25};  // neighbours (graphsage, vrgcn) or nodes (fastgcn, ladies) drawn per layer, input first
  bool precompute = false;          // layer 1 reads Â X, computed once, and is not sampled
  uint32_t parts = 0;               // clustergcn: clusters the graph is cut into; 0: about 100 nodes each
  uint32_t clusters_per_batch = 0;  // clustergcn: clusters joined into one step; 0: as many as fill a batch
  double diagonal = 1;              // clustergcn: λ of Â + λ·diag(Â)
  std::vector<uint32_t> powers = {0, 1, 2, 3};  // ngcn: powers of Â, one network each
  // A seed whose loss or weights become NaN or infinite begins again at a third of the rate, at most 3 times.
  bool restart_on_nan = false;
  // What is recorded
  uint32_t val_every = 0;  // epochs between two scores of the validation nodes, off the clock; 0: none
  Precision precision = Precision::kTf32;
  uint64_t seed = 0;

  bool ChoosesThreshold() const { return choose_threshold && !threshold; }
  bool HasThreshold() const { return choose_threshold || threshold; }
  bool WeighsClasses() const { return balanced_classes || !class_weights_file.empty(); }
  bool FindsRate() const { return !lr.has_value(); }
  bool TriesRelations() const { return relations.size() == 1 && relations.front() == kAutoRelations; }
  uint32_t HiddenOf(uint32_t layer) const {
    return hidden[layer < hidden.size() ? layer : hidden.size() - 1];
  }
  uint32_t EpochsOf(uint32_t layer) const {
    return epochs[layer < epochs.size() ? layer : epochs.size() - 1];
  }
};

// A setting as it is shown to people.
struct FieldText {
  enum class Kind { kText, kNumber, kList, kFlag };  // a flag needs no value on the command line
  // Where a setting can be given. Basic ones are in --help, advanced ones in --help-all under the name of their group. Those
  // that presets decide are for config files (--config FILE) and C++ alone.
  enum class Level { kBasic, kAdvanced, kPreset };

  std::string name;  // as on the command line, without the leading dashes; '_' in files
  Kind kind = Kind::kText;
  std::string placeholder;                // N, X, LIST, NAME …
  std::string help;                       // one sentence
  std::vector<std::string> choices = {};  // valid values, or empty
};

// One parameter of a configuration struct.
template <class Config>
struct FieldOf : FieldText {
  std::function<void(Config&, const std::string&)> set =
      {};                                              // parses and checks the range; throws Error(kUsage)
  std::function<std::string(const Config&)> get = {};  // as text that set() accepts
  std::vector<std::string> methods = {};               // the methods that take it; empty: all of them
  std::string range = {};  // of a number, or of each in a list, in words: "from 1 to 64", "above 0"
  std::string word = {};   // a word that is a value of the number, too: "auto"
  std::string group = {};  // its heading in --help-all: "Architecture"
  Level level = Level::kAdvanced;
};
using Field = FieldOf<TrainConfig>;

const std::vector<Field>& Fields();

// The field called `name` ('_' and '-' are the same). Throws Error(kUsage) naming the nearest.
const Field& FindField(const std::string& name);

// Methods this build can train, the default first.
const std::vector<std::string>& BuiltMethods();

// The same with one sentence each, and those that `compare` takes if nobody names any.
std::vector<std::pair<std::string, std::string>> DescribeMethods();
std::vector<std::string> ComparedMethods();

// (name, value as text): what the user said, in order.
using Overrides = std::vector<std::pair<std::string, std::string>>;

// Defaults ← the preset's row for this data set and method ← what the user said. Throws Error(kUsage) for an
// unknown name (naming the nearest) or a value out of range, for a list that has neither one value nor one
// per layer, for a method this build does not have, and for a setting the method has no use for. The result
// names its stop policy even if the user did not.
TrainConfig ResolveConfig(const Overrides& overrides, const Dataset& dataset);

// Throws Error(kUsage) for what ResolveConfig would have refused: a value out of range, a list that has
// neither one value nor one per layer, settings that exclude each other. Every call that takes a TrainConfig
// does this first, so that a struct filled by hand is as safe as a resolved one.
void Validate(const TrainConfig& config);

// All fields as one JSON object, and back.
std::string ConfigToJson(const TrainConfig& config);
TrainConfig ConfigFromJson(const std::string& text, const std::string& where);

// What `stored` says and then what `flags` say. Of what was stored, settings are left out that the method has no use for or
// that have no effect beside the flags; where the method is another, also what ended a layer.
Overrides JoinOverrides(const Overrides& stored, const Overrides& flags);

// `text` as a whole number from low to high. Throws Error(kUsage) naming `--name`, the text and the range.
uint64_t ParseWholeNumber(const std::string& name, const std::string& text, uint64_t low, uint64_t high);
// Likewise as a finite number; `range` ("from 0 to 1") only appears in the message.
double ParseNumber(const std::string& name, const std::string& text, const std::string& range = "");

// The candidate nearest to `word` by edit distance (a swap of neighbours counts one); "" if there is none.
std::string NearestName(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace l2gcn
