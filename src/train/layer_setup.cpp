#include "train/layer_setup.h"

#include <algorithm>

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
  spec.dropout = static_cast<float>(config.dropout);
  spec.architecture = ArchitectureOf(config);
  return spec;
}

namespace {

// Biases and shifts start at 0, gains at 1.
Trainable StartOfAffine(size_t rows, size_t width) {
  Trainable affine{Matrix::Zeros(rows, width), Matrix::Zeros(rows, width), Matrix::Zeros(rows, width)};
  if (rows == 2) std::fill_n(affine.value.mutable_row(0), width, 1.0f);
  return affine;
}

// What the architecture adds to W and Θ; Θ itself is new and as high as the last hidden layer is wide.
void AddParts(const TrainConfig& config, uint32_t layer, size_t hidden, size_t classes, LayerState& start) {
  const LayerArchitecture form = ArchitectureOf(config);
  const size_t width = form.head > 0 ? form.head : hidden, rows = form.affine_rows();
  start.theta =
      InitialWeights(width, classes, config.init, RandomStream(config.seed, RandomUse::kInitTheta, layer));
  start.theta_m = Matrix::Zeros(width, classes);
  start.theta_v = Matrix::Zeros(width, classes);
  start.theta_steps = 0;
  if (rows > 0) start.affine = StartOfAffine(rows, hidden), start.bias = StartOfAffine(1, classes);
  if (form.head == 0) return;
  start.head = {
      InitialWeights(hidden, width, config.init, RandomStream(config.seed, RandomUse::kInitHead, layer)),
      Matrix::Zeros(hidden, width), Matrix::Zeros(hidden, width)};
  if (rows > 0) start.head_affine = StartOfAffine(rows, width);
}

}  // namespace

LayerState LayerStart(const TrainConfig& config, uint32_t layer, size_t inputs, size_t classes,
                      const LayerState& previous) {
  const size_t hidden = config.HiddenOf(layer);
  LayerState start;
  start.w = InitialWeights(inputs, hidden, config.init, RandomStream(config.seed, RandomUse::kInitW, layer));
  start.w_m = Matrix::Zeros(inputs, hidden);
  start.w_v = Matrix::Zeros(inputs, hidden);
  if (config.theta == ThetaStart::kKeep && previous.theta.rows == hidden) {
    start.theta = previous.theta;
    start.theta_m = previous.theta_m;
    start.theta_v = previous.theta_v;
    start.theta_steps = previous.theta_steps;
  } else {
    start.theta =
        InitialWeights(hidden, classes, config.init, RandomStream(config.seed, RandomUse::kInitTheta, layer));
    start.theta_m = Matrix::Zeros(hidden, classes);
    start.theta_v = Matrix::Zeros(hidden, classes);
  }
  if (!HasBasicLayers(config)) AddParts(config, layer, hidden, classes, start);
  return start;
}

}  // namespace l2gcn
