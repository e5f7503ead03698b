#include "train/layer_setup.h"

#include "core/rng.h"
#include "train/initialise.h"

namespace l2gcn {

LayerSpec LayerSpecOf(const TrainConfig& config, uint32_t layer) {
  LayerSpec spec;
  spec.layer = layer;
  spec.seed = config.seed;
  spec.batch = config.batch;
  spec.drop_last = config.drop_last;
  spec.lr = static_cast<float>(config.lr.value_or(0));
  spec.weight_decay = static_cast<float>(config.weight_decay);
  spec.decoupled_weight_decay = config.decoupled_weight_decay;
  spec.dropout = static_cast<float>(config.dropout);
  spec.architecture = ArchitectureOf(config);
  return spec;
}

namespace {

RandomUse StreamOf(const std::string& name) {
  return name == "weight"       ? RandomUse::kInitW
         : name == "classifier" ? RandomUse::kInitTheta
                                : RandomUse::kInitHead;
}

Matrix StartOf(const TrainConfig& config, uint32_t layer, const ParameterShape& shape) {
  if (shape.kind == ParameterKind::kWeight)
    return InitialWeights(shape.rows, shape.cols, config.xavier,
                          RandomStream(config.seed, StreamOf(shape.name), layer));
  const bool one = shape.kind == ParameterKind::kScale || shape.kind == ParameterKind::kRunningVariance;
  return {Array<float>::Filled(shape.rows * shape.cols, one ? 1.0f : 0.0f), shape.rows, shape.cols};
}

}  // namespace

LayerState LayerStart(const TrainConfig& config, uint32_t layer, size_t inputs, size_t classes,
                      const LayerState& previous) {
  const Parameter* const theta = previous.Find("classifier");
  const bool keeps = HasBasicLayers(config) && !config.fresh_theta && theta != nullptr &&
                     theta->value.rows == config.HiddenOf(layer);
  LayerState start;
  for (const ParameterShape& shape :
       ParametersOf(ArchitectureOf(config), inputs, config.HiddenOf(layer), classes)) {
    if (keeps && shape.name == "classifier") {
      start.parameters.push_back(*theta);
    } else if (shape.trained()) {
      start.Add(shape.name, StartOf(config, layer, shape));
    } else {
      start.parameters.push_back({shape.name, StartOf(config, layer, shape), {}, {}});
    }
  }
  return start;
}

}  // namespace l2gcn
