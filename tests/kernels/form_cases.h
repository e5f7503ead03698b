// The same for layers that are not plain: norms, biases, heads, dropout of the input, inputs side by side. One
// body for every backend, as backend_cases.h.
#pragma once

#include <limits>

#include "backend_cases.h"

namespace l2gcn::backend_cases {

struct FormCase {
  Shape shape;
  LayerArchitecture form;
  uint32_t parts =
      1;  // powers of the operator side by side, the features themselves first; 1: one aggregation
};

inline std::vector<FormCase> FormCases() {
  const auto form = [](bool bias, bool norm, uint32_t head, float input_dropout) {
    LayerArchitecture made;
    made.bias = bias, made.norm = norm, made.head = head, made.input_dropout = input_dropout;
    return made;
  };
  return {
      {{37, 5, 16, 3, 8, false, false, false}, form(true, false, 0, 0)},
      {{37, 5, 20, 3, 8, false, false, false}, form(false, true, 0, 0), 2},
      {{200, 23, 19, 7, 64, true, false, false}, form(true, true, 33, 0), 3},
      {{150, 50, 40, 19, 64, false, true, false}, form(false, true, 24, 0.3f), 3},
      {{300, 130, 128, 41, 128, false, false, true}, form(true, false, 48, 0)},
      {{90, 33, 48, 5, 256, true, true, true}, form(false, false, 16, 0.5f)},
      {{128, 17, 24, 4, 50, false, false, false, 0.5f, 0.01f, true}, form(false, true, 17, 0.2f), 2},
      {{128, 40, 16, 4, 50, true, false, false, 0.3f, 0.02f, true}, form(true, false, 0, 0.4f), 2},
      {{260, 40, 72, 6, 230, false, false, false, 0, 0, false, true}, form(false, true, 72, 0.1f), 4},
      {{150, 50, 40, 19, 64, false, true, false, 0.2f, 0, false, true}, form(true, true, 0, 0)},
      {{120, 21, 30, 5, 64, true, false, false},
       form(false, false, 0, 0),
       3},  // side by side and nothing else
  };
}

inline Trainable RandomTrainable(size_t rows, size_t cols, uint64_t seed, float scale) {
  return {RandomMatrix(rows, cols, seed, scale), Matrix::Zeros(rows, cols), Matrix::Zeros(rows, cols)};
}

inline LayerState FormState(const FormCase& one, size_t inputs) {
  const size_t hidden = one.shape.hidden, head = one.form.head, last = head > 0 ? head : hidden;
  const size_t rows = one.form.affine_rows();
  LayerState state = RandomState(inputs, hidden, one.shape.classes, 4);
  const Trainable theta = RandomTrainable(last, one.shape.classes, 14, 0.4f);
  state.theta = theta.value, state.theta_m = theta.m, state.theta_v = theta.v;
  const auto affine = [&](size_t width, uint64_t seed) {
    Trainable made = RandomTrainable(rows, width, seed, 0.3f);
    for (size_t c = 0; rows == 2 && c < width; ++c) made.value.mutable_row(0)[c] += 1;
    return made;
  };
  if (rows > 0)
    state.affine = affine(hidden, 15), state.bias = RandomTrainable(1, one.shape.classes, 16, 0.3f);
  if (head > 0) state.head = RandomTrainable(hidden, head, 17, 0.4f);
  if (head > 0 && rows > 0) state.head_affine = affine(head, 18);
  return state;
}

inline LayerSpec FormSpec(const FormCase& one) {
  LayerSpec spec = SpecOf(one.shape);
  spec.architecture = one.form;
  return spec;
}

// X̂ of a case on the device and in the reference.
struct FormInput {
  LayerInput device;
  reference::Dense x;
};

inline FormInput InputOf(const Context& context, Backend& backend, const FormCase& one) {
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
inline void CheckFormOperations(const Context& context, Backend& backend, const FormCase& one,
                                const Tolerance& tolerance) {
  const FormInput input = InputOf(context, backend, one);
  const LayerState state = FormState(one, input.x.cols);
  const DenseBlock block = state.block();
  reference::Dense h = reference::ApplyAffine(reference::Multiply(input.x, reference::Dense(block.w)),
                                              reference::Dense(block.affine));
  for (double& value : h.values) value = std::max(value, 0.0);
  ExpectNear(h, backend.Download(context, *backend.Transform(context, input.device, block)),
             tolerance.product, "transform");
  const std::vector<uint32_t> rows = {3, 0, one.shape.nodes - 1, 3};
  const auto pick = [&](const reference::Dense& from) {
    reference::Dense picked(rows.size(), from.cols);
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t c = 0; c < from.cols; ++c) picked.at(i, c) = from.at(rows[i], c);
    return picked;
  };
  ExpectNear(pick(h), backend.Download(context, *backend.Transform(context, input.device, block, rows)),
             tolerance.product, "transform of rows");
  const Features features = RandomFeatures(one.shape, 1);
  const TensorPtr x = backend.Upload(context, features);
  ExpectNear(pick(reference::FromFeatures(features)),
             backend.Download(context, *backend.PickRows(context, *x, rows)), tolerance.product,
             "picked rows");
}

// A node with a NaN among its features, and one whose squares overflow in a norm: everything computed from them is NaN, and
// so is the loss of a batch they are in. Nothing else is.
inline void CheckNaNStays(const Context& context, Backend& backend, const FormCase& one) {
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

  const LayerState state = FormState(one, shape.features);
  const Matrix h = backend.Download(context, *backend.Transform(context, x, state.block()));
  expect(h, kNaN, true, "transform");
  expect(h, kHuge, one.form.norm, "transform");
  expect(h, kOther, false, "transform");
  for (const uint32_t width : {3u, shape.features + 8}) {  // aggregated after the product, and before it
    const Matrix w = RandomMatrix(shape.features, width, 5);
    expect(backend.Download(context, *backend.Forward(context, *graph, *x, w)), kNaN, true, "forward");
  }

  LayerSpec spec = FormSpec(one);
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
inline void CheckFormTraining(const Context& context, Backend& backend, const FormCase& one,
                              const Tolerance& tolerance) {
  const FormInput input = InputOf(context, backend, one);
  std::vector<uint32_t> samples;
  for (uint32_t i = 0; i < one.shape.nodes; ++i) {
    if (i % 5 != 2) samples.push_back(one.shape.nodes - 1 - i);
  }
  const Targets targets = RandomTargets(one.shape, samples.size(), 3);
  const LayerState start = FormState(one, input.x.cols);
  LayerSpec spec = FormSpec(one);
  spec.schedule = {2, 4};  // as in CheckTraining
  auto training =
      backend.BeginLayer(context, input.device, Array<uint32_t>::CopyOf(samples), targets, spec, start);
  std::vector<double> losses(3), steps;
  training->RunEpochs(context, 0, 2, std::span(losses).first(2), &steps);
  training->RunEpochs(context, 2, 1, std::span(losses).last(1), &steps);
  reference::FormLayer oracle(start);
  std::vector<double> expected;
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<double> more = oracle.RunEpoch(input.x, samples, targets, spec, epoch);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_NEAR(losses[epoch], more.back(), 4 * tolerance.loss * std::abs(more.back())) << "epoch " << epoch;
  }
  ASSERT_EQ(steps.size(), expected.size());
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_NEAR(steps[i], expected[i], 4 * tolerance.loss * std::abs(expected[i])) << "step " << i;
  EXPECT_EQ(training->Read().w_steps, expected.size());
}

// The forms above, and the plain layer in every shape.
inline std::vector<FormCase> ScoringCases() {
  std::vector<FormCase> cases = FormCases();
  for (const Shape& shape : Shapes()) cases.push_back({shape, {}});
  return cases;
}

// Logits of all rows by the weights of a layer.
inline reference::Dense LogitsOf(const LayerState& state, const reference::Dense& x) {
  const auto hidden = [](const reference::Dense& from, const DenseBlock& block) {
    reference::Dense h = reference::ApplyAffine(reference::Multiply(from, reference::Dense(block.w)),
                                                reference::Dense(block.affine));
    for (double& value : h.values) value = std::max(value, 0.0);
    return h;
  };
  reference::Dense h = hidden(x, state.block());
  if (state.head.value.rows > 0) h = hidden(h, state.head_block());
  reference::Dense z = reference::Multiply(h, reference::Dense(state.theta));
  for (size_t i = 0; state.bias.value.rows > 0 && i < z.rows; ++i)
    for (size_t c = 0; c < z.cols; ++c) z.at(i, c) += double{state.bias.value.values[c]};
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
    if (targets.multilabel) {
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
inline void CheckScoring(const Context& context, Backend& backend, const FormCase& one,
                         const Tolerance& tolerance) {
  const FormInput input = InputOf(context, backend, one);
  const LayerState start = FormState(one, input.x.cols);
  const Targets targets = RandomTargets(one.shape, one.shape.nodes, 3);
  std::vector<uint32_t> some, all;
  for (uint32_t i = 0; i < one.shape.nodes; ++i) {
    all.push_back(i);
    if (i % 3 == 1) some.push_back(one.shape.nodes - 1 - i);
  }
  const Targets wanted = RandomTargets(one.shape, some.size(), 5);
  const auto scored = backend.PrepareScoring(context, input.device, Array<uint32_t>::CopyOf(some), wanted,
                                             !wanted.multilabel);
  const auto scored_all = backend.PrepareScoring(context, input.device, {}, targets);
  const auto train = [&](bool looks) {
    auto training = backend.BeginLayer(context, input.device, {}, targets, FormSpec(one), start);
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
  const LayerState looked = train(true), alone = train(false);
  EXPECT_TRUE(std::equal(looked.w.values.begin(), looked.w.values.end(), alone.w.values.begin()));
  EXPECT_TRUE(std::equal(looked.theta.values.begin(), looked.theta.values.end(), alone.theta.values.begin()));
}

// As CheckGradient, for every weight of the form. The reference is slow: large shapes are left out.
inline void CheckFormGradient(const Context& context, Backend& backend, const FormCase& one,
                              const Tolerance& tolerance) {
  if (one.shape.nodes > 150) return;
  const FormInput input = InputOf(context, backend, one);
  const Targets targets = RandomTargets(one.shape, one.shape.nodes, 3);
  LayerSpec spec = FormSpec(one);
  spec.lr = 0;
  spec.weight_decay = 0;
  spec.batch = one.shape.nodes;
  const LayerState start = FormState(one, input.x.cols);
  auto training = backend.BeginLayer(context, input.device, {}, targets, spec, start);
  double loss = 0;
  training->RunEpochs(context, 0, 1, {&loss, 1});
  const LayerState after = training->Read();
  const auto check = [&](reference::Weights reference::FormLayer::*weights, const Matrix& moment,
                         const char* what) {
    if (moment.values.size() == 0) return;
    double largest = 0;
    for (float m : moment.values) largest = std::max(largest, std::abs(static_cast<double>(m)) / 0.1);
    const RandomStream pick(6, RandomUse::kGenerator, 81);
    for (uint64_t trial = 0; trial < 4; ++trial) {
      const size_t at = pick.Below(trial, moment.values.size());
      const auto loss_at = [&](double offset) {
        reference::FormLayer layer(start);
        (layer.*weights).value.values[at] += offset;
        return layer.RunEpoch(input.x, {}, targets, spec, 0).front();
      };
      const double expected = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
      EXPECT_NEAR(static_cast<double>(moment.values[at]) / 0.1, expected, 2 * tolerance.gradient * largest)
          << what;
    }
  };
  check(&reference::FormLayer::w, after.w_m, "dW");
  check(&reference::FormLayer::theta, after.theta_m, "dTheta");
  check(&reference::FormLayer::affine, after.affine.m, "affine");
  check(&reference::FormLayer::head, after.head.m, "head");
  check(&reference::FormLayer::head_affine, after.head_affine.m, "head's affine");
  check(&reference::FormLayer::bias, after.bias.m, "bias");
}

}  // namespace l2gcn::backend_cases
