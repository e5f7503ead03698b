// One body for every backend: small random problems, checked against kernels/reference.h and by finite
// differences. backend_test.cpp runs it on the CPU at every instruction-set level, cuda_backend_test on a
// GPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/rng.h"
#include "graph/normalise.h"
#include "kernels/backend.h"
#include "kernels/reference.h"

namespace l2gcn::backend_cases {

struct Tolerance {
  double product = 2e-5;   // relative, of aggregates, transforms and logits
  double loss = 2e-5;      // relative, of a step's loss over a short training
  double gradient = 1e-4;  // of a finite difference, relative to the largest gradient
};

struct Shape {
  uint32_t nodes, features, hidden, classes, batch;
  bool sparse, multilabel, weighted;
  float dropout = 0, weight_decay = 0;
  bool drop_last = false;
  bool class_weights = false;  // of a regression: weights of nodes
  bool regression = false;
  Loss loss = Loss::kSquared;
};

inline std::vector<Shape> Shapes() {
  return {
      {37, 5, 16, 3, 8, false, false, false},
      {200, 23, 16, 7, 64, true, false, false},
      {150, 50, 40, 19, 64, false, true, false},
      {300, 130, 128, 41, 128, false, false, true},
      {90, 33, 48, 5, 256, true, true, true},
      {128, 17, 24, 4, 50, false, false, false, 0.5f, 0.01f, true},
      {128, 40, 16, 4, 50, true, false, false, 0.3f, 0.0f, true},
      {250, 30, 16, 5, 200, false, false, false},  // gradients by groups of samples, narrow
      {260, 40, 72, 6, 230, false, false, false},  // and wide
      {600, 6, 256, 2, 512, false, false, false},  // few inputs: long shares of Θ
      {200, 23, 16, 7, 64, true, false, false, 0, 0, false, true},
      {260, 40, 72, 6, 100, false, false, false, 0, 0, false, true},
      {150, 50, 40, 19, 64, false, true, false, 0, 0, false, true},
      {130, 23, 16, 1, 64, false, false, false, 0, 0, false, false, true},
      {130, 23, 16, 3, 50, true, false, false, 0.3f, 0, false, true, true, Loss::kHuber},
      {200, 23, 40, 19, 64, false, false, false, 0, 0, true, true, true, Loss::kAbsolute},
  };
}

inline Matrix RandomMatrix(size_t rows, size_t cols, uint64_t seed, float scale = 1) {
  Matrix out = Matrix::Allocate(rows, cols);
  const RandomStream stream(seed, RandomUse::kGenerator, 77);
  for (size_t i = 0; i < rows * cols; ++i) out.values.mutable_data()[i] = scale * (2 * stream.Uniform(i) - 1);
  return out;
}

inline Features RandomFeatures(const Shape& shape, uint64_t seed) {
  if (!shape.sparse) return Features::Dense(RandomMatrix(shape.nodes, shape.features, seed));
  const RandomStream stream(seed, RandomUse::kGenerator, 78);
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (uint32_t i = 0; i < shape.nodes; ++i) {
    for (uint32_t j = 0; j < shape.features; ++j) {
      const uint64_t at = uint64_t{i} * shape.features + j;
      if (stream.Uniform(2 * at) < 0.15f) {
        indices.push_back(j);
        values.push_back(stream.Uniform(2 * at + 1) + 0.1f);
      }
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({shape.nodes, shape.features, Array<uint64_t>::CopyOf(indptr),
                           Array<uint32_t>::CopyOf(indices), Array<float>::CopyOf(values)});
}

// A symmetric random graph with isolated nodes, as the operator of a random normalisation.
inline Propagation RandomPropagation(const Shape& shape, uint64_t seed) {
  const RandomStream stream(seed, RandomUse::kGenerator, 79);
  std::vector<std::vector<uint32_t>> neighbours(shape.nodes);
  for (uint32_t i = 0; i < shape.nodes; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      if (i % 11 != 0 && j % 11 != 0 && stream.Uniform(uint64_t{i} * shape.nodes + j) < 0.06f) {
        neighbours[i].push_back(j);
        neighbours[j].push_back(i);
      }
    }
  }
  std::vector<uint64_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (auto& list : neighbours) {
    std::sort(list.begin(), list.end());
    indices.insert(indices.end(), list.begin(), list.end());
    indptr.push_back(indices.size());
  }
  Propagation a;
  a.nodes = shape.nodes;
  a.indptr = Array<uint64_t>::CopyOf(indptr);
  a.indices = Array<uint32_t>::CopyOf(indices);
  if (shape.weighted) a.weights = RandomMatrix(1, std::max<size_t>(1, indices.size()), seed + 1).values;
  a.row_scale = RandomMatrix(1, shape.nodes, seed + 2).values;
  if (shape.multilabel) a.col_scale = RandomMatrix(1, shape.nodes, seed + 3).values;
  a.self_scale = RandomMatrix(1, shape.nodes, seed + 4).values;
  return a;
}

inline Targets RandomTargets(const Shape& shape, size_t samples, uint64_t seed) {
  const RandomStream stream(seed, RandomUse::kGenerator, 80);
  Targets targets;
  targets.multilabel = shape.multilabel;
  targets.classes = shape.classes;
  if (shape.regression) {
    targets.loss = shape.loss;
    targets.values = Array<float>::Allocate(samples * shape.classes);
    for (size_t i = 0; i < targets.values.size(); ++i)
      targets.values.mutable_data()[i] = stream.Below(i, 5) == 0 ? std::nanf("") : 4 * stream.Uniform(i) - 2;
    if (!shape.class_weights) return targets;
    targets.node_weights = Array<float>::Allocate(samples);
    for (size_t i = 0; i < samples; ++i)
      targets.node_weights.mutable_data()[i] = 0.2f + 5 * stream.Uniform(1000000 + i);
    return targets;
  }
  if (shape.multilabel) {
    targets.matrix = Array<uint8_t>::Allocate(samples * shape.classes);
    for (size_t i = 0; i < targets.matrix.size(); ++i)
      targets.matrix.mutable_data()[i] = stream.Uniform(i) < 0.3f;
  } else {
    targets.classes_of = Array<int32_t>::Allocate(samples);
    for (size_t i = 0; i < samples; ++i) {
      targets.classes_of.mutable_data()[i] = static_cast<int32_t>(stream.Below(i, shape.classes));
    }
  }
  if (shape.class_weights) {
    targets.weights = Array<float>::Allocate(shape.classes);
    for (uint32_t c = 0; c < shape.classes; ++c)
      targets.weights.mutable_data()[c] = 0.2f + 5 * stream.Uniform(1000000 + c);
  }
  return targets;
}

inline LayerState RandomState(size_t features, size_t hidden, size_t classes, uint64_t seed) {
  LayerState state;
  state.Add("weight", RandomMatrix(features, hidden, seed, 0.4f));
  state.Add("classifier", RandomMatrix(hidden, classes, seed + 1, 0.4f));
  return state;
}

inline LayerSpec SpecOf(const Shape& shape) {
  LayerSpec spec;
  spec.layer = 1;
  spec.seed = 9;
  spec.batch = shape.batch;
  spec.drop_last = shape.drop_last;
  spec.lr = 0.01f;
  spec.dropout = shape.dropout;
  spec.weight_decay = shape.weight_decay;
  return spec;
}

// A short training on random rows, on as many threads as the context has: its losses, and the weights it ends with.
struct ShortTraining {
  std::vector<double> losses;
  LayerState state;
};
inline ShortTraining TrainOnRandomRows(const Context& context, const BackendOptions& options,
                                       const Shape& shape, uint32_t epochs) {
  auto backend = MakeBackend(context, options);
  const TensorPtr x = backend->Upload(context, RandomFeatures(shape, 1));
  auto training = backend->BeginLayer(context, x, {}, RandomTargets(shape, shape.nodes, 3), SpecOf(shape),
                                      RandomState(shape.features, shape.hidden, shape.classes, 4));
  ShortTraining done;
  done.losses.resize(epochs);
  training->RunEpochs(context, 0, epochs, done.losses);
  done.state = training->Read();
  return done;
}
inline bool SameBits(const Matrix& a, const Matrix& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0);
}
// Every parameter with its moments and steps, bit by bit.
inline void ExpectSameState(const LayerState& a, const LayerState& b) {
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (size_t i = 0; i < a.parameters.size(); ++i) {
    const Parameter &one = a.parameters[i], &other = b.parameters[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.steps, other.steps) << one.name;
    EXPECT_TRUE(SameBits(one.value, other.value)) << one.name;
    EXPECT_TRUE(SameBits(one.m, other.m)) << one.name;
    EXPECT_TRUE(SameBits(one.v, other.v)) << one.name;
  }
}

inline void ExpectNear(const reference::Dense& expected, const Matrix& actual, double tolerance,
                       const char* what) {
  ASSERT_EQ(expected.rows, actual.rows) << what;
  ASSERT_EQ(expected.cols, actual.cols) << what;
  double scale = 1e-30, worst = 0;
  for (double value : expected.values) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double error = std::abs(expected.values[i] - static_cast<double>(actual.values[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : 1e30;
  }
  EXPECT_LE(worst / scale, tolerance) << what;
}

// Aggregate, Transform, Forward in both orders, Logits of picked rows.
inline void CheckOperations(const Context& context, Backend& backend, const Shape& shape,
                            const Tolerance& tolerance) {
  const Features features = RandomFeatures(shape, 1);
  const Propagation a = RandomPropagation(shape, 2);
  const reference::Dense x = reference::FromFeatures(features);
  const TensorPtr device_x = backend.Upload(context, features);
  const DeviceGraphPtr graph = backend.Upload(context, a);
  const TensorPtr aggregated = backend.Aggregate(context, *graph, *device_x, {});
  const reference::Dense xhat = reference::Aggregate(a, x, {});
  ExpectNear(xhat, backend.Download(context, *aggregated), tolerance.product, "aggregate");

  std::vector<uint32_t> row_of_node(shape.nodes);
  for (uint32_t i = 0; i < shape.nodes; ++i) row_of_node[i] = (i * 7 + 3) % shape.nodes;
  ExpectNear(reference::Aggregate(a, x, row_of_node),
             backend.Download(context, *backend.Aggregate(context, *graph, *device_x, row_of_node)),
             tolerance.product, "aggregate with row map");

  const std::vector<uint32_t> some = {shape.nodes - 1, 3, 0, shape.nodes / 2};
  const DeviceGraphPtr rows_of_some = backend.Upload(context, RowsOf(context, a, some));
  reference::Dense xhat_of_some(some.size(), shape.features);
  for (size_t i = 0; i < some.size(); ++i)
    for (size_t f = 0; f < shape.features; ++f) xhat_of_some.at(i, f) = xhat.at(some[i], f);
  ExpectNear(xhat_of_some,
             backend.Download(context, *backend.Aggregate(context, *rows_of_some, *device_x, {})),
             tolerance.product, "aggregate of some rows");

  const Matrix of_all = backend.Download(context, *device_x),
               of_some = backend.Download(context, *device_x, some);
  for (size_t i = 0; i < some.size(); ++i)
    for (size_t f = 0; f < shape.features; ++f)
      EXPECT_EQ(of_some.row(i)[f], of_all.row(some[i])[f]) << "download of some rows";

  const Matrix w = RandomMatrix(shape.features, shape.hidden, 5);
  const reference::Dense h = reference::Transform(xhat, reference::Dense(w));
  const TensorPtr device_h = backend.Transform(context, aggregated, w);
  ExpectNear(h, backend.Download(context, *device_h), tolerance.product, "transform");
  ExpectNear(h, backend.Download(context, *backend.Forward(context, *graph, *device_x, w)),
             4 * tolerance.product, "forward");
  const Matrix narrow = RandomMatrix(shape.features, 3, 6);
  ExpectNear(reference::Transform(xhat, reference::Dense(narrow)),
             backend.Download(context, *backend.Forward(context, *graph, *device_x, narrow)),
             4 * tolerance.product, "narrow forward");
  const Matrix theta = RandomMatrix(shape.hidden, shape.classes, 7);
  const std::vector<uint32_t> rows = {3, 0, shape.nodes - 1};
  const reference::Dense logits = reference::Multiply(h, reference::Dense(theta));
  reference::Dense picked(rows.size(), shape.classes);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t c = 0; c < shape.classes; ++c) picked.at(i, c) = logits.at(rows[i], c);
  ExpectNear(logits, backend.Logits(context, *device_h, theta, {}), tolerance.product, "logits");
  ExpectNear(picked, backend.Logits(context, *device_h, theta, rows), tolerance.product, "logits of rows");
}

// Three epochs, step by step against the reference, with a sample list that skips and reorders rows.
inline void CheckTraining(const Context& context, Backend& backend, const Shape& shape,
                          const Tolerance& tolerance, bool decoupled = false) {
  const Features features = RandomFeatures(shape, 1);
  const Propagation a = RandomPropagation(shape, 2);
  const TensorPtr device_x = backend.Upload(context, features);
  const DeviceGraphPtr graph = backend.Upload(context, a);
  const TensorPtr aggregated = backend.Aggregate(context, *graph, *device_x, {});
  const reference::Dense xhat = reference::Aggregate(a, reference::FromFeatures(features), {});
  std::vector<uint32_t> samples;
  for (uint32_t i = 0; i < shape.nodes; ++i) {
    if (i % 5 != 2) samples.push_back(shape.nodes - 1 - i);
  }
  const Targets targets = RandomTargets(shape, samples.size(), 3);
  const LayerState start = RandomState(shape.features, shape.hidden, shape.classes, 4);
  LayerSpec spec = SpecOf(shape);
  spec.decoupled_weight_decay = decoupled;
  spec.schedule = {2, 4};  // the rate is level for two epochs and falls in the third
  auto training =
      backend.BeginLayer(context, aggregated, Array<uint32_t>::CopyOf(samples), targets, spec, start);
  std::vector<double> losses(3), steps;
  training->RunEpochs(context, 0, 2, std::span(losses).first(2), &steps);
  training->RunEpochs(context, 2, 1, std::span(losses).last(1), &steps);
  reference::Layer oracle(start);
  std::vector<double> expected;
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<double> more = oracle.RunEpoch(xhat, samples, targets, spec, epoch);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_NEAR(losses[epoch], more.back(), tolerance.loss * std::abs(more.back())) << "epoch " << epoch;
  }
  ASSERT_EQ(steps.size(), expected.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(steps[i], expected[i], tolerance.loss * std::abs(expected[i])) << "step " << i;
  }
  const LayerState end = training->Read();
  EXPECT_EQ(end["weight"].steps, expected.size());
  EXPECT_EQ(end["classifier"].steps, expected.size());
}

// Adam's first moment after one step from zero is 0.1 × the gradient. It must equal the finite difference of
// the reference loss, taken in double so that the step is too small to cross a kink of ReLU.
inline void CheckGradient(const Context& context, Backend& backend, const Shape& shape,
                          const Tolerance& tolerance) {
  const Features features = RandomFeatures(shape, 1);
  const Propagation a = RandomPropagation(shape, 2);
  const TensorPtr xhat =
      backend.Aggregate(context, *backend.Upload(context, a), *backend.Upload(context, features), {});
  const reference::Dense x(backend.Download(context, *xhat));
  const Targets targets = RandomTargets(shape, shape.nodes, 3);
  LayerSpec spec = SpecOf(shape);
  spec.lr = 0;
  spec.weight_decay = 0;
  spec.batch = shape.nodes;
  const LayerState start = RandomState(shape.features, shape.hidden, shape.classes, 4);
  auto training = backend.BeginLayer(context, xhat, {}, targets, spec, start);
  double loss = 0;
  training->RunEpochs(context, 0, 1, {&loss, 1});
  const LayerState after = training->Read();
  const auto check = [&](reference::Dense reference::Layer::*weights, const Matrix& moment,
                         const char* what) {
    double largest = 0;
    for (float m : moment.values) largest = std::max(largest, std::abs(static_cast<double>(m)) / 0.1);
    const RandomStream pick(6, RandomUse::kGenerator, 81);
    for (uint64_t trial = 0; trial < 12; ++trial) {
      const size_t at = pick.Below(trial, moment.values.size());
      const auto loss_at = [&](double offset) {
        reference::Layer layer(start);
        (layer.*weights).values[at] += offset;
        return layer.RunEpoch(x, {}, targets, spec, 0).front();
      };
      const double expected = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
      EXPECT_NEAR(static_cast<double>(moment.values[at]) / 0.1, expected, tolerance.gradient * largest)
          << what;
    }
  };
  check(&reference::Layer::w, after["weight"].m, "dW");
  check(&reference::Layer::theta, after["classifier"].m, "dTheta");
}

// A small training: five classes, 16 hidden values.
inline Targets FiveClassTargets(uint32_t samples) {
  std::vector<int32_t> classes(samples);
  for (uint32_t i = 0; i < samples; ++i) classes[i] = static_cast<int32_t>(Scramble(i) % 5);
  Targets targets;
  targets.classes = 5;
  targets.classes_of = Array<int32_t>::CopyOf(classes);
  return targets;
}

inline LayerState FiveClassStart(size_t inputs) {
  LayerState state;
  state.Add("weight", RandomMatrix(inputs, 16, 1, 0.1f));
  state.Add("classifier", RandomMatrix(16, 5, 2, 0.1f));
  return state;
}

}  // namespace l2gcn::backend_cases
