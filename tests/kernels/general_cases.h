// The same for layers that are not basic: norms, biases, heads, dropout of the input, inputs side by side. One
// body for every backend, as backend_cases.h.
#pragma once

#include <limits>

#include "backend_cases.h"

namespace l2gcn::backend_cases {

struct GeneralCase {
  Shape shape;
  LayerArchitecture architecture;
  uint32_t parts =
      1;  // powers of the operator side by side, the features themselves first; 1: one aggregation
  bool decoupled = true;
};

inline std::vector<GeneralCase> GeneralCases() {
  constexpr HiddenNorm kNone = HiddenNorm::kNone, kLayer = HiddenNorm::kLayer, kBatch = HiddenNorm::kBatch;
  return {
      {{37, 5, 16, 3, 8, false, false, false}, {true, kNone, 0, 0}},
      {{37, 5, 20, 3, 8, false, false, false}, {false, kLayer, 0, 0}, 2},
      {{200, 23, 19, 7, 64, true, false, false}, {true, kLayer, 33, 0}, 3},
      {{150, 50, 40, 19, 64, false, true, false}, {false, kLayer, 24, 0.3f}, 3},
      {{300, 130, 128, 41, 128, false, false, true}, {true, kNone, 48, 0}},
      {{90, 33, 48, 5, 256, true, true, true}, {false, kNone, 16, 0.5f}},
      {{128, 17, 24, 4, 50, false, false, false, 0.5f, 0.01f, true}, {false, kLayer, 17, 0.2f}, 2},
      {{128, 40, 16, 4, 50, true, false, false, 0.3f, 0.02f, true}, {true, kNone, 0, 0.4f}, 2},
      {{260, 40, 72, 6, 230, false, false, false, 0, 0, false, true}, {false, kLayer, 72, 0.1f}, 4},
      {{150, 50, 40, 19, 64, false, true, false, 0.2f, 0, false, true}, {true, kLayer, 0, 0}},
      {{128, 17, 24, 4, 50, false, false, false, 0.5f, 0.01f}, {true, kLayer, 17, 0.2f}, 2, false},
      {{37, 5, 20, 3, 8, false, false, false}, {false, kBatch, 0, 0}, 2},
      {{200, 23, 19, 7, 64, true, false, false}, {true, kBatch, 33, 0}, 3},
      {{150, 50, 40, 19, 64, false, true, false}, {false, kBatch, 24, 0.3f}, 3},
      {{130, 17, 24, 4, 43, false, false, false, 0.5f, 0.01f, true}, {false, kBatch, 17, 0.2f}, 2},
      {{120, 21, 30, 5, 64, true, false, false}, {false, kNone, 0, 0}, 3},  // side by side and nothing else
      {{120, 21, 30, 2, 64, false, false, false, 0.2f, 0, false, true, true}, {true, kLayer, 17, 0.2f}, 2},
      {{120, 21, 30, 1, 64, false, false, false, 0, 0, false, false, true, Loss::kHuber},
       {true, kBatch, 0, 0}},
      {{120, 21, 30, 5, 64, true, false, false, 0, 0, false, false, true, Loss::kAbsolute},
       {false, kNone, 16, 0}},
  };
}

// Random parameters, of which some do not start at the usual 0 or 1.
inline LayerState RandomState(const LayerArchitecture& architecture, size_t inputs, const Shape& shape) {
  LayerState state;
  uint64_t seed = 4;
  for (const ParameterShape& one : ParametersOf(architecture, inputs, shape.hidden, shape.classes)) {
    const bool scales = one.kind == ParameterKind::kScale || one.kind == ParameterKind::kRunningVariance;
    Matrix value = RandomMatrix(one.rows, one.cols, seed++, one.kind == ParameterKind::kWeight ? 0.4f : 0.3f);
    for (float& x : value.values.mutable_span()) x += scales ? 1 : 0;
    if (one.trained())
      state.Add(one.name, std::move(value));
    else
      state.parameters.push_back({one.name, std::move(value), {}, {}});
  }
  return state;
}

inline LayerState GeneralState(const GeneralCase& one, size_t inputs) {
  return RandomState(one.architecture, inputs, one.shape);
}

inline LayerSpec GeneralSpec(const GeneralCase& one) {
  LayerSpec spec = SpecOf(one.shape);
  spec.architecture = one.architecture;
  spec.decoupled_weight_decay = one.decoupled;
  return spec;
}

// X̂ of a case on the device and in the reference.
struct GeneralInput {
  LayerInput device;
  reference::Dense x;
};

inline GeneralInput InputOf(const Context& context, Backend& backend, const GeneralCase& one) {
  const Features features = RandomFeatures(one.shape, 1);
  const Propagation a = RandomPropagation(one.shape, 2);
  const DeviceGraphPtr graph = backend.Upload(context, a);
  std::vector<TensorPtr> parts = {backend.Upload(context, features)};
  std::vector<reference::Dense> expected = {reference::FromFeatures(features)};
  for (uint32_t part = 1; part < std::max(2u, one.parts); ++part) {
    parts.push_back(backend.Aggregate(context, *graph, *parts.back(), {}));
    expected.push_back(reference::Aggregate(a, expected.back(), {}));
  }
  if (one.parts == 1) return {parts.back(), expected.back()};
  reference::Dense joined(expected[0].rows, expected[0].cols * expected.size());
  for (size_t part = 0; part < expected.size(); ++part)
    for (size_t i = 0; i < joined.rows; ++i)
      for (size_t c = 0; c < expected[0].cols; ++c)
        joined.at(i, part * expected[0].cols + c) = expected[part].at(i, c);
  return {LayerInput(parts), joined};
}

// Transform of all rows and of picked ones, and rows as a tensor of their own.
inline void CheckGeneralOperations(const Context& context, Backend& backend, const GeneralCase& one,
                                   const Tolerance& tolerance) {
  const GeneralInput input = InputOf(context, backend, one);
  const LayerState state = GeneralState(one, input.x.cols);
  const HiddenParameters hidden = state.hidden();
  reference::Dense h =
      reference::Shifted(reference::Multiply(input.x, reference::Dense(hidden.weight)), hidden);
  for (double& value : h.values) value = std::max(value, 0.0);
  ExpectNear(h, backend.Download(context, *backend.Transform(context, input.device, hidden)),
             tolerance.product, "transform");
  const std::vector<uint32_t> rows = {3, 0, one.shape.nodes - 1, 3};
  const auto pick = [&](const reference::Dense& from) {
    reference::Dense picked(rows.size(), from.cols);
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t c = 0; c < from.cols; ++c) picked.at(i, c) = from.at(rows[i], c);
    return picked;
  };
  ExpectNear(pick(h), backend.Download(context, *backend.Transform(context, input.device, hidden, rows)),
             tolerance.product, "transform of rows");
  const Features features = RandomFeatures(one.shape, 1);
  const TensorPtr x = backend.Upload(context, features);
  ExpectNear(pick(reference::FromFeatures(features)),
             backend.Download(context, *backend.PickRows(context, *x, rows)), tolerance.product,
             "picked rows");
}

// A node with a NaN among its features, and one whose squares overflow in a norm: everything computed from them is NaN, and
// so is the loss of a batch they are in. Nothing else is.
inline void CheckNaNStays(const Context& context, Backend& backend, const GeneralCase& one) {
  constexpr uint32_t kNaN = 2, kHuge = 4, kOther = 3;
  const Shape& shape = one.shape;
  Matrix features = RandomMatrix(shape.nodes, shape.features, 1);
  features.mutable_row(kNaN)[shape.features - 1] = std::numeric_limits<float>::quiet_NaN();
  for (uint32_t f = 0; f < shape.features; ++f) features.mutable_row(kHuge)[f] *= 1e25f;
  const TensorPtr x = backend.Upload(context, Features::Dense(features));
  const DeviceGraphPtr graph = backend.Upload(context, RandomPropagation(shape, 2));
  const auto expect = [](const Matrix& h, uint32_t row, bool nan, const char* what) {
    size_t count = 0;
    for (size_t c = 0; c < h.cols; ++c) count += std::isnan(h.row(row)[c]);
    EXPECT_EQ(count, nan ? h.cols : 0) << what << ", row " << row;
  };

  const LayerState state = GeneralState(one, shape.features);
  const Matrix h = backend.Download(context, *backend.Transform(context, x, state.hidden()));
  expect(h, kNaN, true, "transform");
  expect(h, kHuge, one.architecture.norm == HiddenNorm::kLayer, "transform");
  expect(h, kOther, false, "transform");
  for (const uint32_t width : {3u, shape.features + 8}) {  // aggregated after the product, and before it
    const Matrix w = RandomMatrix(shape.features, width, 5);
    expect(backend.Download(context, *backend.Forward(context, *graph, *x, w)), kNaN, true, "forward");
  }

  LayerSpec spec = GeneralSpec(one);
  spec.drop_last = false, spec.architecture.input_dropout = 0;
  for (const uint32_t bad : {kNaN, kOther}) {
    const std::vector<uint32_t> samples = {0, 1, bad, 5};
    auto training = backend.BeginLayer(context, x, Array<uint32_t>::CopyOf(samples),
                                       RandomTargets(shape, samples.size(), 3), spec, state);
    double loss = 0;
    training->RunEpochs(context, 0, 1, std::span(&loss, 1));
    EXPECT_EQ(std::isnan(loss), bad == kNaN) << "loss of a batch";
  }
}

// Three epochs, step by step against the reference, and the weights they end with.
inline void CheckGeneralTraining(const Context& context, Backend& backend, const GeneralCase& one,
                                 const Tolerance& tolerance) {
  const GeneralInput input = InputOf(context, backend, one);
  std::vector<uint32_t> samples;
  for (uint32_t i = 0; i < one.shape.nodes; ++i) {
    if (i % 5 != 2) samples.push_back(one.shape.nodes - 1 - i);
  }
  const Targets targets = RandomTargets(one.shape, samples.size(), 3);
  const LayerState start = GeneralState(one, input.x.cols);
  LayerSpec spec = GeneralSpec(one);
  spec.schedule = {2, 4};  // as in CheckTraining
  auto training =
      backend.BeginLayer(context, input.device, Array<uint32_t>::CopyOf(samples), targets, spec, start);
  std::vector<double> losses(3), steps;
  training->RunEpochs(context, 0, 2, std::span(losses).first(2), &steps);
  training->RunEpochs(context, 2, 1, std::span(losses).last(1), &steps);
  reference::GeneralLayer oracle(start);
  std::vector<double> expected;
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<double> more = oracle.RunEpoch(input.x, samples, targets, spec, epoch);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_NEAR(losses[epoch], more.back(), 4 * tolerance.loss * std::abs(more.back())) << "epoch " << epoch;
  }
  ASSERT_EQ(steps.size(), expected.size());
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_NEAR(steps[i], expected[i], 4 * tolerance.loss * std::abs(expected[i])) << "step " << i;
  const LayerState end = training->Read();
  for (const Parameter& parameter : end.parameters) {
    EXPECT_EQ(parameter.steps, parameter.trained() ? expected.size() : 0) << parameter.name;
    if (!parameter.trained())
      ExpectNear(oracle.parameters[parameter.name].value, parameter.value, 4 * tolerance.loss,
                 parameter.name.c_str());
  }
}

// The layers above, and the basic layer in every shape.
inline std::vector<GeneralCase> ScoringCases() {
  std::vector<GeneralCase> cases = GeneralCases();
  for (const Shape& shape : Shapes()) cases.push_back({shape, {}});
  return cases;
}

// Logits of all rows by the weights of a layer.
inline reference::Dense LogitsOf(const LayerState& state, const reference::Dense& x) {
  const auto hidden = [](const reference::Dense& from, const HiddenParameters& layer) {
    reference::Dense h = reference::Shifted(reference::Multiply(from, reference::Dense(layer.weight)), layer);
    for (double& value : h.values) value = std::max(value, 0.0);
    return h;
  };
  reference::Dense h = hidden(x, state.hidden());
  const Head head = state.head();
  if (head.hidden.weight.rows > 0) h = hidden(h, head.hidden);
  reference::Dense z = reference::Multiply(h, reference::Dense(head.theta));
  for (size_t i = 0; head.bias.rows > 0 && i < z.rows; ++i)
    for (size_t c = 0; c < z.cols; ++c) z.at(i, c) += double{head.bias.values[c]};
  return z;
}

// What Backend::Score should find in rows of logits, and how many answers hang on the last digits.
struct ExpectedScores {
  std::vector<double> losses, misses;
  int64_t true_positive = 0, false_positive = 0, false_negative = 0, unsure = 0;
};
inline ExpectedScores ExpectScores(const reference::Dense& z, std::span<const uint32_t> rows,
                                   const Targets& targets) {
  ExpectedScores expected;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double* row = z.values.data() + rows[i] * z.cols;
    double loss = 0, miss = 0;
    if (targets.regression()) {
      double present = 0;
      for (size_t c = 0; c < z.cols; ++c) {
        const double truth = targets.values[i * z.cols + c];
        if (std::isnan(truth)) continue;
        const double d = row[c] - truth;
        loss += targets.loss == Loss::kSquared    ? d * d
                : targets.loss == Loss::kAbsolute ? std::abs(d)
                : std::abs(d) <= 1                ? d * d / 2
                                                  : std::abs(d) - 0.5;
        ++present;
      }
      loss = present > 0 ? loss / present : 0;
      miss = loss / (1 + loss);
    } else if (targets.multilabel) {
      double both = 0, said = 0, true_ones = 0;
      for (size_t c = 0; c < z.cols; ++c) {
        const bool on = targets.matrix[i * z.cols + c] != 0;
        loss += (std::log1p(std::exp(-std::abs(row[c]))) + std::max(row[c], 0.0) - (on ? row[c] : 0)) /
                static_cast<double>(z.cols);
        expected.true_positive += row[c] > 0 && on;
        expected.false_positive += row[c] > 0 && !on;
        expected.false_negative += row[c] <= 0 && on;
        expected.unsure += std::abs(row[c]) < 1e-4;
        both += row[c] > 0 && on;
        said += row[c] > 0;
        true_ones += on;
      }
      if (said + true_ones > 0) miss = 1 - 2 * both / (said + true_ones);
    } else {
      const auto truth = static_cast<size_t>(targets.classes_of[i]);
      const double top = *std::max_element(row, row + z.cols);
      double sum = 0;
      for (size_t c = 0; c < z.cols; ++c) sum += std::exp(row[c] - top);
      loss = std::log(sum) + top - row[truth];
      miss = 1 - std::exp(-loss);
      const bool right = row[truth] == top;
      expected.true_positive += right;
      expected.false_positive += !right;
      expected.false_negative += !right;
      expected.unsure += std::count_if(row, row + z.cols, [&](double x) { return top - x < 1e-4; }) > 1;
    }
    expected.losses.push_back(loss);
    expected.misses.push_back(miss);
  }
  return expected;
}

// The losses of rows follow from their margins, which are there if they were wanted.
inline void CheckMargins(const RowScores& found, bool were_wanted) {
  ASSERT_EQ(found.margins.rows, were_wanted ? found.losses.size() : 0);
  for (size_t i = 0; i < found.margins.rows; ++i) {
    double sum = 0;
    for (size_t c = 0; c < found.margins.cols; ++c) sum += std::exp(double{found.margins.row(i)[c]});
    EXPECT_NEAR(double{found.losses[i]}, std::log(sum), 1e-4 * std::max(1.0, std::log(sum)));
  }
}

// Rows scored between two epochs, picked ones in an order of their own and all of them: by the weights as they are,
// and training goes on as if nobody had looked.
inline void CheckScoring(const Context& context, Backend& backend, const GeneralCase& one,
                         const Tolerance& tolerance) {
  const GeneralInput input = InputOf(context, backend, one);
  const LayerState start = GeneralState(one, input.x.cols);
  const Targets targets = RandomTargets(one.shape, one.shape.nodes, 3);
  std::vector<uint32_t> some, all;
  for (uint32_t i = 0; i < one.shape.nodes; ++i) {
    all.push_back(i);
    if (i % 3 == 1) some.push_back(one.shape.nodes - 1 - i);
  }
  const Targets wanted = RandomTargets(one.shape, some.size(), 5);
  const auto scored = backend.PrepareScoring(context, input.device, Array<uint32_t>::CopyOf(some), wanted,
                                             !wanted.multilabel && !wanted.regression());
  const auto scored_all = backend.PrepareScoring(context, input.device, {}, targets);
  const auto train = [&](bool looks) {
    auto training = backend.BeginLayer(context, input.device, {}, targets, GeneralSpec(one), start);
    std::vector<double> losses(1);
    for (uint32_t epoch = 0; epoch < 2; ++epoch) {
      training->RunEpochs(context, epoch, 1, losses);
      if (!looks) continue;
      const reference::Dense z = LogitsOf(training->Read(), input.x);
      const auto check = [&](const RowsToScore& rows, const ExpectedScores& expected) {
        const RowScores found = backend.Score(context, *training, rows);
        ASSERT_EQ(found.losses.size(), expected.losses.size());
        for (size_t i = 0; i < found.losses.size(); ++i)
          EXPECT_NEAR(double{found.losses[i]}, expected.losses[i],
                      8 * tolerance.loss * std::max(1.0, expected.losses[i]));
        ASSERT_EQ(found.misses.size(), expected.misses.size());
        double apart = 0;  // an answer that hangs on the last digits moves a row's miss by 1 at most
        for (size_t i = 0; i < found.misses.size(); ++i)
          apart +=
              std::max(0.0, std::abs(double{found.misses[i]} - expected.misses[i]) - 16 * tolerance.loss);
        EXPECT_LE(apart, static_cast<double>(expected.unsure));
        const auto near = [&](uint64_t count, int64_t wanted_count) {
          EXPECT_LE(std::abs(static_cast<int64_t>(count) - wanted_count), expected.unsure);
        };
        near(found.true_positive, expected.true_positive);
        near(found.false_positive, expected.false_positive);
        near(found.false_negative, expected.false_negative);
        EXPECT_EQ(found.losses, backend.Score(context, *training, rows).losses);
        CheckMargins(found, rows.margins);
      };
      check(*scored, ExpectScores(z, some, wanted));
      check(*scored_all, ExpectScores(z, all, targets));
    }
    return training->Read();
  };
  ExpectSameState(train(true), train(false));
}

// One step with a strong decay of either type, of a basic layer and of one with everything: every parameter against the
// reference, which spares biases and norms.
inline void CheckWeightDecay(const Context& context, Backend& backend) {
  for (const bool decoupled : {false, true}) {
    for (const LayerArchitecture& architecture :
         {LayerArchitecture{}, LayerArchitecture{true, HiddenNorm::kNone, 13, 0},
          LayerArchitecture{false, HiddenNorm::kBatch, 13, 0}}) {
      const GeneralCase one{{60, 11, 14, 4, 60, false, false, false, 0, 0.8f}, architecture, 1, decoupled};
      const GeneralInput input = InputOf(context, backend, one);
      const Targets targets = RandomTargets(one.shape, one.shape.nodes, 3);
      const LayerState start = GeneralState(one, input.x.cols);
      auto training = backend.BeginLayer(context, input.device, {}, targets, GeneralSpec(one), start);
      double loss = 0;
      training->RunEpochs(context, 0, 1, {&loss, 1});
      reference::GeneralLayer oracle(start);
      oracle.RunEpoch(input.x, {}, targets, GeneralSpec(one), 0);
      const LayerState end = training->Read();
      for (const Parameter& parameter : end.parameters)
        ExpectNear(oracle.parameters[parameter.name].value, parameter.value, 2e-4, parameter.name.c_str());
    }
  }
}

// Batch norm's running statistics after k steps over all rows with a rate of 0: 0.9ᵏ of where they began and the rest of
// the mean and the unbiased variance of the columns of X̂W. A batch of one row has variance 0 and moves no weight of W.
inline void CheckRunningStatistics(const Context& context, Backend& backend, double tolerance) {
  for (const uint32_t rows : {1u, 2u, 33u, 300u}) {
    const GeneralCase one{{rows, 9, 21, 3, rows, false, false, false}, {false, HiddenNorm::kBatch, 0, 0}};
    const Matrix features = RandomMatrix(rows, 9, 1);
    const TensorPtr x = backend.Upload(context, Features::Dense(features));
    const LayerState start = GeneralState(one, 9);
    LayerSpec spec = GeneralSpec(one);
    spec.lr = 0;
    constexpr uint32_t kSteps = 3;
    std::vector<double> losses(kSteps);
    auto training = backend.BeginLayer(context, x, {}, RandomTargets(one.shape, rows, 3), spec, start);
    training->RunEpochs(context, 0, kSteps, losses);
    for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss)) << rows;
    const reference::Dense y =
        reference::Multiply(reference::Dense(features), reference::Dense(start["weight"].value));
    reference::Dense mean(1, y.cols), var(1, y.cols);
    const double left = std::pow(0.9, kSteps), n = rows;
    for (size_t c = 0; c < y.cols; ++c) {
      double sum = 0, squares = 0;
      for (size_t i = 0; i < rows; ++i) sum += y.at(i, c);
      for (size_t i = 0; i < rows; ++i) squares += (y.at(i, c) - sum / n) * (y.at(i, c) - sum / n);
      const double unbiased = rows > 1 ? squares / (n - 1) : 0;
      mean.at(0, c) = left * double{start["norm.running_mean"].value.values[c]} + (1 - left) * sum / n;
      var.at(0, c) = left * double{start["norm.running_var"].value.values[c]} + (1 - left) * unbiased;
    }
    const LayerState end = training->Read();
    ExpectNear(mean, end["norm.running_mean"].value, tolerance, "running mean");
    ExpectNear(var, end["norm.running_var"].value, tolerance, "running variance");
    for (const float m : end["weight"].m.values) {
      EXPECT_TRUE(rows == 1 ? m == 0 : std::isfinite(m));
    }
  }
}

// As CheckGradient, for every parameter. The reference is slow: large shapes are left out.
inline void CheckGeneralGradient(const Context& context, Backend& backend, const GeneralCase& one,
                                 const Tolerance& tolerance) {
  if (one.shape.nodes > 150) return;
  const GeneralInput input = InputOf(context, backend, one);
  const Targets targets = RandomTargets(one.shape, one.shape.nodes, 3);
  LayerSpec spec = GeneralSpec(one);
  spec.lr = 0;
  spec.weight_decay = 0;
  spec.batch = one.shape.nodes;
  const LayerState start = GeneralState(one, input.x.cols);
  auto training = backend.BeginLayer(context, input.device, {}, targets, spec, start);
  double loss = 0;
  training->RunEpochs(context, 0, 1, {&loss, 1});
  const LayerState after = training->Read();
  for (const Parameter& parameter : after.parameters) {
    if (!parameter.trained()) continue;
    const Matrix& moment = parameter.m;
    double largest = 0;
    for (float m : moment.values) largest = std::max(largest, std::abs(static_cast<double>(m)) / 0.1);
    const RandomStream pick(6, RandomUse::kGenerator, 81);
    for (uint64_t trial = 0; trial < 4; ++trial) {
      const size_t at = pick.Below(trial, moment.values.size());
      const auto loss_at = [&](double offset) {
        reference::GeneralLayer layer(start);
        layer.parameters[parameter.name].value.values[at] += offset;
        return layer.RunEpoch(input.x, {}, targets, spec, 0).front();
      };
      const double expected = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
      EXPECT_NEAR(static_cast<double>(moment.values[at]) / 0.1, expected, 2 * tolerance.gradient * largest)
          << parameter.name;
    }
  }
}

}  // namespace l2gcn::backend_cases
