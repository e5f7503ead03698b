// Validate: every field through its own range check, then what several fields must agree on.
#include <fmt/ranges.h>

#include <algorithm>

#include "config/architecture.h"
#include "config/choice_names.h"
#include "config/methods.h"
#include "config/stop_policies.h"
#include "core/error_format.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

void CheckPerLayer(const char* name, const std::vector<uint32_t>& list, uint32_t layers) {
  if (list.size() != 1 && list.size() != layers) {
    ThrowUsage("--{}: {} values for {} layer{}; expected 1 or {}", name, list.size(), layers,
               layers == 1 ? "" : "s", layers);
  }
}

bool TakesSetting(const char* name, const std::string& method) {
  const std::vector<std::string>& methods = FindField(name).methods;
  return methods.empty() ||
         std::find(methods.begin(), methods.end(), FindMethod(method).name) != methods.end();
}

// Parts of a layer that the method's layers cannot have.
void CheckParts(const TrainConfig& config) {
  const std::pair<const char*, bool> parts[] = {{"self-features", config.self_features},
                                                {"raw-features", config.raw_features},
                                                {"bias", config.bias},
                                                {"hidden-norm", config.hidden_norm != HiddenNorm::kNone},
                                                {"input-dropout", config.input_dropout > 0},
                                                {"head", config.head > 0}};
  for (const auto& [name, on] : parts) {
    if (!on || TakesSetting(name, config.method)) continue;
    ThrowUsage("--{}: method {} has no use for it; it belongs to {}", name, config.method,
               fmt::join(FindField(name).methods, ", "));
  }
  if (config.precompute && config.self_features) {
    ThrowUsage(
        "--precompute with --self-features: layer 1 would need the features as well as Â X; "
        "leave one of them out");
  }
}

// Layers read ÂX, or the blocks of BlocksOfHops.
void CheckInput(const TrainConfig& config) {
  if (config.hops == 0) ThrowUsage("--hops 0: method {} needs 1 or more", config.method);
  if (config.self_features) return;
  if (config.hops > 1)
    ThrowUsage("--hops {}: more than one hop needs --self-features; add it, or use --hops 1", config.hops);
  if (config.raw_features) ThrowUsage("raw_features: needs self_features; add it");
  if (config.architecture_trial) ThrowUsage("architecture_trial: needs self_features; add it");
}

// Sampled and conventional methods have one operator and read one hop.
void CheckOperators(const TrainConfig& config) {
  if (config.hops > 1 && !TakesSetting("hops", config.method))
    ThrowUsage("--hops {}: method {} reads one hop; use --hops 1", config.hops, config.method);
  const size_t operators = OperatorCount(config);
  if (operators == 1 && config.relations.empty()) return;
  const char* name = config.adjacency.size() > 1 ? "adjacency" : "relations";
  if (FindMethod(config.method).loop != TrainingLoop::kLayerwise)
    ThrowUsage("--{}: {} operators, but method {} takes one", name, operators, config.method);
  if (config.TriesRelations() && !config.self_features)
    ThrowUsage("--relations auto: needs --self-features; add it, or name a relation");
  if (operators > 1 && !config.self_features)
    ThrowUsage("--{}: {} operators need --self-features; add it, or name one", name, operators);
}

}  // namespace

void Validate(const TrainConfig& config) {
  TrainConfig scratch;
  for (const Field& field : Fields()) {
    const std::string text = field.get(config);
    if (!text.empty() || !field.get(TrainConfig{}).empty()) field.set(scratch, text);
  }
  CheckPerLayer("hidden", config.hidden, config.layers);
  CheckPerLayer("epochs", config.epochs, config.layers);
  CheckPerLayer("samples", config.samples, config.layers);
  const bool together = FindMethod(config.method).loop == TrainingLoop::kConventional;
  if (together && config.epochs.size() > 1) {
    ThrowUsage("--epochs: {} values, but method {} trains all layers at once; expected 1",
               config.epochs.size(), config.method);
  }
  if (config.precompute && !TakesSetting("precompute", config.method)) {
    ThrowUsage("--precompute: method {} does not read Â X as it is; it is for {}", config.method,
               fmt::join(FindField("precompute").methods, ", "));
  }
  if (config.predict_from == PredictFrom::kMean && HasBasicLayers(config)) {
    ThrowUsage(
        "--predict-from mean: basic layers share one classifier, so there is one answer; it needs --head, "
        "--hidden-norm, "
        "--bias, --self-features or --input-dropout");
  }
  CheckParts(config);
  if (FindMethod(config.method).prediction_head != PredictionHead::kHops) CheckInput(config);
  CheckOperators(config);
  if (config.TriesRelations() && !config.FindsRate())
    ThrowUsage(
        "--relations auto: trials need a rate that is found for each layer; use --lr auto, or name "
        "relations");
  if (config.architecture_trial && !config.FindsRate())
    ThrowUsage("architecture_trial: trials need a rate that is found for each layer; use lr auto");
  if (config.FindsRate() && FindMethod(config.method).loop != TrainingLoop::kLayerwise) {
    ThrowUsage("--lr auto: method {} needs a number; a rate is estimated layer by layer, for {}",
               config.method, fmt::join(FindField("controller").methods, ", "));
  }
  const StopRule stop = config.stop.value_or(OwnStop(config.method));
  if (StopPolicyOf(stop).per_layer && FindMethod(config.method).loop != TrainingLoop::kLayerwise) {
    ThrowUsage("--stop {}: method {} takes fixed or early; this rule decides layer by layer, so it needs {}",
               StopName(stop), config.method, fmt::join(FindField("controller").methods, ", "));
  }
  if (config.FindsRate() && stop != StopRule::kPlateau) {
    ThrowUsage(
        "--lr auto: it goes with --stop plateau, and layers are to end by {}; leave out --stop (and --method "
        "lgcn or l2gcn), or give --lr a number",
        StopName(stop));
  }
}

}  // namespace l2gcn
