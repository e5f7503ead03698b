// What a method is: one row of a table. Every column says how methods differ in one respect, and the rest of
// the program asks for columns, never for names. A new sampling method is its own file in train/samplers and
// one row in methods.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/context.h"

namespace l2gcn {

class Sampler;           // train/sampler.h
struct SamplingProblem;  // train/sampler.h

// Makes the sampler that draws the blocks of a conventional training. The problem must outlive the sampler.
using SamplerMaker = std::unique_ptr<Sampler>(const Context& context, const SamplingProblem& problem,
                                              const TrainConfig& config);

enum class TrainingLoop {
  kLayerwise,        // one layer after another: train/layerwise_trainer.h
  kConventional,     // all layers at once, through sampled blocks: train/conventional_trainer.h
  kPowersLayerwise,  // one layer-wise network for each power of Â, then one classifier:
                     // train/ngcn_layerwise.cpp
};

// The operator that a trained model applies to the whole graph.
enum class MethodOperator {
  kNormalised,        // Â as --adjacency says
  kEnhancedDiagonal,  // Â + λ·diag(Â), λ as --diagonal says
  kNeighbourMean,     // the mean over a node's neighbours, without the node itself
};

// What a layer's weights multiply.
enum class WeightShape {
  kAggregated,        // the aggregated row: (in × out)
  kOwnAndAggregated,  // the node's own row beside the aggregated one: (2·in × out)
};

// How the layers' output becomes logits.
enum class PredictionHead {
  kClassifier,    // X Θ, a classifier behind the last layer
  kLastLayer,     // Â X Θ, the last layer itself
  kHops,          // Âᴷ X Θ of the features, with no hidden layer; K as --hops says
  kJoinedPowers,  // one classifier over the joined outputs of one network for each power of Â
};

struct Method {
  const char* name;
  const char* sentence;  // for people
  TrainingLoop loop;
  SamplerMaker* sampler;  // of a conventional training; otherwise null
  MethodOperator op;
  WeightShape weights;
  PredictionHead prediction_head;
  std::vector<DeviceKind> devices;    // where it can be trained
  StopRule stop;                      // if the user names none
  bool compared;                      // `compare` includes it if the user names no methods
  std::vector<std::string> settings;  // fields it takes that some other methods do not take
  // Defaults of the method for a data set of this preset_row; applied after the data set's own row.
  void (*preset)(const std::string& preset_row, TrainConfig& config);
};

// All methods, the default one first.
std::span<const Method> Methods();

// A name of the paper for layer-wise training with one stopping rule.
struct MethodAlias {
  const char* name;
  const char* sentence;
  const char* method;
  StopRule stop;
  bool compared;
};

// What a user's word for a method means.
struct NamedMethod {
  const Method& method;
  std::optional<StopRule> stop;  // that the word implies
};
// Throws Error(kUsage) that names the nearest method if there is none of this name.
NamedMethod FindNamedMethod(const std::string& name);
const Method& FindMethod(const std::string& name);
// What ends a layer where the user names no rule.
StopRule OwnStop(const std::string& method);

// Names for code that has to choose one method: the paper's figures and the rollouts of a search. Nothing
// outside this file, the table and the presets spells a method's name (tests/structure checks it).
namespace method_names {
inline constexpr char kLayerwise[] = "layerwise";
inline constexpr char kL2gcn[] = "l2gcn";
inline constexpr char kLgcn[] = "lgcn";
inline constexpr char kGcn[] = "gcn";
inline constexpr char kMinibatch[] = "minibatch";
inline constexpr char kGraphSage[] = "graphsage";
inline constexpr char kFastGcn[] = "fastgcn";
inline constexpr char kVrGcn[] = "vrgcn";
inline constexpr char kNgcn[] = "ngcn";
inline constexpr char kNgcnLayerwise[] = "ngcn-layerwise";
}  // namespace method_names

}  // namespace l2gcn
