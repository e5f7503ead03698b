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
  spec.lr = static_cast<float>(config.lr);
  spec.weight_decay = static_cast<float>(config.weight_decay);
  spec.dropout = static_cast<float>(config.dropout);
  return spec;
}

LayerState LayerStart(const TrainConfig& config, uint32_t layer, size_t inputs, size_t classes,
                      const LayerState& previous) {
  const size_t hidden = config.HiddenOf(layer);
  const Init init = ParseInit(config.init);
  LayerState start;
  start.w = InitialWeights(inputs, hidden, init, RandomStream(config.seed, RandomUse::kInitW, layer));
  start.w_m = Matrix::Zeros(inputs, hidden);
  start.w_v = Matrix::Zeros(inputs, hidden);
  if (config.theta == "keep" && previous.theta.rows == hidden) {
    start.theta = previous.theta;
    start.theta_m = previous.theta_m;
    start.theta_v = previous.theta_v;
    start.theta_steps = previous.theta_steps;
  } else {
    start.theta =
        InitialWeights(hidden, classes, init, RandomStream(config.seed, RandomUse::kInitTheta, layer));
    start.theta_m = Matrix::Zeros(hidden, classes);
    start.theta_v = Matrix::Zeros(hidden, classes);
  }
  return start;
}

}  // namespace l2gcn
