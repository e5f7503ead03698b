// The CUDA twin under the body shared with the CPU, and what only a device has: budgets, layouts, bit
// equality of repeated runs. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <cstring>

#include "form_cases.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

using backend_cases::Shape;
using backend_cases::Tolerance;

constexpr Tolerance kFp32{};
constexpr Tolerance kTf32{3e-3, 3e-3, 1e-2};
constexpr Tolerance kBf16{2e-2, 2e-2, 6e-2};

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!CudaAvailable(&why_not)) GTEST_SKIP() << why_not;
    context_ = MakeContext(2);
    context_.device = DeviceKind::kCuda;
  }
  std::unique_ptr<Backend> Make(Precision precision, SparseChoice sparse = SparseChoice::kNever,
                                FeatureType type = FeatureType::kF32) const {
    BackendOptions options;
    options.precision = precision;
    options.sparse = sparse;
    options.features_as = type;
    return MakeBackend(context_, options);
  }
  Context context_;
};

// Shapes that reach what the small ones do not: many row groups and slices, feature rows too long for shared
// memory, a batch of several passes.
std::vector<Shape> LargeShapes() {
  return {
      {1300, 602, 128, 41, 1024, false, false, false},
      {1200, 512, 512, 121, 1024, false, true, false},
      {700, 3703, 16, 6, 256, true, false, false},
      {400, 2100, 128, 7, 256, false, false, false, 0.2f},
      {6000, 40, 512, 9, 5000, false, false, false},
      {1300, 70, 300, 90, 1024, false, true, false},
      {900, 200, 512, 41, 600, false, false, false, 0.3f},
      {1300, 602, 128, 41, 1024, false, false, false, 0, 0, false, true},
      {1200, 512, 512, 121, 1024, false, true, false, 0, 0, false, true},
      {900, 200, 512, 41, 600, false, false, false, 0, 0, false, true},
  };
}

TEST_F(CudaBackendTest, OperationsMatchTheReference) {
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckOperations(context_, *backend, shape, kFp32);
  }
}

TEST_F(CudaBackendTest, TrainingMatchesTheReferenceStepByStep) {
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckTraining(context_, *backend, shape, kFp32);
  }
}

TEST_F(CudaBackendTest, GradientsMatchFiniteDifferences) {
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckGradient(context_, *backend, shape, kFp32);
  }
}

TEST_F(CudaBackendTest, ScoresOfRowsMatchTheReference) {
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const backend_cases::FormCase& one : backend_cases::ScoringCases())
      backend_cases::CheckScoring(context_, *backend, one, kFp32);
  }
  auto backend = Make(Precision::kFp32);  // by warpgroups, too; their logits are large
  for (const Shape& shape : LargeShapes())
    backend_cases::CheckScoring(context_, *backend, {shape, {}}, {2e-5, 1e-4, 1e-4});
}

// Large shapes and tf32 are trained by warpgroups where the GPU has them.
TEST_F(CudaBackendTest, NaNStaysNaN) {
  for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
      auto backend = Make(precision, sparse);
      for (const backend_cases::FormCase& one : backend_cases::ScoringCases())
        backend_cases::CheckNaNStays(context_, *backend, one);
      for (const Shape& shape : LargeShapes()) backend_cases::CheckNaNStays(context_, *backend, {shape, {}});
    }
  }
}

TEST_F(CudaBackendTest, NarrowPrecisionsStayNear) {
  for (const Shape& shape : backend_cases::Shapes()) {
    backend_cases::CheckOperations(context_, *Make(Precision::kTf32), shape, kTf32);
    backend_cases::CheckTraining(context_, *Make(Precision::kTf32), shape, kTf32);
    backend_cases::CheckOperations(context_, *Make(Precision::kBf16), shape, kBf16);
    backend_cases::CheckTraining(context_, *Make(Precision::kBf16), shape, kBf16);
  }
}

TEST_F(CudaBackendTest, NarrowFeaturesStayNear) {
  for (FeatureType type : {FeatureType::kF16, FeatureType::kBf16}) {
    auto backend = Make(Precision::kFp32, SparseChoice::kNever, type);
    for (const Shape& shape : backend_cases::Shapes()) {
      backend_cases::CheckOperations(context_, *backend, shape, kBf16);
      backend_cases::CheckTraining(context_, *backend, shape, kBf16);
    }
  }
}

bool SameBits(const Matrix& a, const Matrix& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0;
}
void ExpectNearly(const Matrix& a, const Matrix& b, double tolerance, const char* what) {
  backend_cases::ExpectNear(reference::Dense(a), b, tolerance, what);
}

struct Outcome {
  LayerState state;
  std::vector<double> losses;
  Matrix features;  // the layer's output
};

// Aggregate, a few epochs, transform.
Outcome TrainOnce(const Context& context, const BackendOptions& options, const Shape& shape,
                  uint32_t epochs = 3) {
  auto backend = MakeBackend(context, options);
  const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
  const DeviceGraphPtr graph = backend->Upload(context, backend_cases::RandomPropagation(shape, 2));
  const TensorPtr xhat = backend->Aggregate(context, *graph, *x, {});
  LayerSpec spec = backend_cases::SpecOf(shape);
  spec.lr = 1e-3f;
  auto training =
      backend->BeginLayer(context, xhat, {}, backend_cases::RandomTargets(shape, shape.nodes, 3), spec,
                          backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4));
  Outcome outcome;
  std::vector<double> losses(epochs);
  training->RunEpochs(context, 0, epochs, losses, &outcome.losses);
  outcome.state = training->Read();
  outcome.features = backend->Download(context, *backend->Transform(context, xhat, outcome.state.w));
  return outcome;
}

void ExpectAgreement(const Outcome& expected, const Outcome& actual, double loss, double weights) {
  ASSERT_EQ(expected.losses.size(), actual.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(expected.losses[i], actual.losses[i], loss * std::abs(expected.losses[i])) << "step " << i;
  }
  ExpectNearly(expected.state.theta, actual.state.theta, weights, "theta");
  ExpectNearly(expected.features, actual.features, weights, "output");
}

// Shapes whose float64 reference would take minutes are compared with the CPU twin.
TEST_F(CudaBackendTest, LargeLayersAgreeWithTheCpu) {
  Context cpu = MakeContext(2);
  for (const Shape& shape : LargeShapes()) {
    SCOPED_TRACE(::testing::Message() << shape.features << " x " << shape.hidden << " x " << shape.classes);
    BackendOptions options;
    options.precision = Precision::kFp32;
    const Outcome expected = TrainOnce(cpu, options, shape);
    ExpectAgreement(expected, TrainOnce(context_, options, shape), 1e-4, 1e-3);
    options.precision = Precision::kTf32;
    ExpectAgreement(expected, TrainOnce(context_, options, shape), 5e-3, 2e-2);
  }
}

// tf32 has a kernel of its own for wide layers and large batches; two steps of it are few enough to be
// searched for races.
TEST_F(CudaBackendTest, TwoStepsByWarpgroupsAgreeWithTheCpu) {
  const Shape shape{1024, 512, 512, 121, 1024, false, true, false};
  BackendOptions options;
  options.precision = Precision::kTf32;
  ExpectAgreement(TrainOnce(MakeContext(2), options, shape, 2), TrainOnce(context_, options, shape, 2), 5e-3,
                  2e-2);
}

TEST_F(CudaBackendTest, RepeatedRunsAreBitEqual) {
  for (const Shape& shape : LargeShapes()) {
    for (Precision precision : {Precision::kFp32, Precision::kTf32}) {
      BackendOptions options;
      options.precision = precision;
      const Outcome a = TrainOnce(context_, options, shape), b = TrainOnce(context_, options, shape);
      EXPECT_EQ(a.losses, b.losses);
      EXPECT_TRUE(SameBits(a.state.w, b.state.w));
      EXPECT_TRUE(SameBits(a.state.theta_v, b.state.theta_v));
      EXPECT_TRUE(SameBits(a.features, b.features));
    }
  }
}

// With a budget too small for graph and features, both stay in host memory and nothing else changes.
TEST_F(CudaBackendTest, BudgetGivesTheSameBits) {
  struct Case {
    Shape shape;
    uint64_t mebibytes;
  };
  for (const auto& [shape, mebibytes] : {Case{{3000, 100, 128, 38, 1024, false, false, true}, 20},
                                         Case{{20000, 512, 512, 121, 1024, false, true, false}, 48}}) {
    SCOPED_TRACE(::testing::Message() << shape.features << " x " << shape.hidden << " x " << shape.classes);
    const Outcome resident = TrainOnce(context_, {}, shape);
    Context tight = context_;
    tight.device_memory = mebibytes << 20;
    const Outcome budgeted = TrainOnce(tight, {}, shape);
    EXPECT_EQ(resident.losses, budgeted.losses);
    EXPECT_TRUE(SameBits(resident.state.w, budgeted.state.w));
    EXPECT_TRUE(SameBits(resident.features, budgeted.features));
  }
}

TEST_F(CudaBackendTest, BudgetIsKeptOrRefused) {
  const Shape shape{3000, 100, 128, 38, 1024, false, false, true};
  Context context = context_;
  context.device_memory = uint64_t{20} << 20;
  auto backend = MakeBackend(context, {});
  const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
  const DeviceGraphPtr graph = backend->Upload(context, backend_cases::RandomPropagation(shape, 2));
  const TensorPtr xhat = backend->Aggregate(context, *graph, *x, {});
  EXPECT_LE(backend->PeakDeviceBytes(), context.device_memory);
  EXPECT_GT(backend->PeakDeviceBytes(), 0u);
  context.device_memory = 100 << 10;
  try {
    TrainOnce(context, {}, shape);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_NE(std::string(error.what()).find("--device-memory"), std::string::npos) << error.what();
  }
}

TEST_F(CudaBackendTest, CancellationStopsBetweenLaunches) {
  std::atomic<bool> cancel{true};
  auto backend = Make(Precision::kTf32);
  const Shape shape = backend_cases::Shapes()[0];
  const TensorPtr x = backend->Upload(context_, backend_cases::RandomFeatures(shape, 1));
  auto training = backend->BeginLayer(
      context_, x, {}, backend_cases::RandomTargets(shape, shape.nodes, 3), backend_cases::SpecOf(shape),
      backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4));
  context_.cancel = &cancel;
  std::vector<double> losses(5000);
  EXPECT_THROW(training->RunEpochs(context_, 0, 5000, losses), Error);
  EXPECT_LT(training->Read().w_steps, 10000u);
}

// ---- layers of any form ------------------------------------------------------------------------------------

struct FormCase {
  const char* name;
  Shape shape;
  LayerArchitecture form;
  uint32_t powers = 0;  // Â X … beside X
  SparseChoice sparse = SparseChoice::kNever;
};

LayerArchitecture Form(bool bias, bool norm, uint32_t head, float input_dropout) {
  LayerArchitecture form;
  form.bias = bias;
  form.norm = norm;
  form.head = head;
  form.input_dropout = input_dropout;
  return form;
}

std::vector<FormCase> FormCases() {
  const Shape dense{300, 37, 40, 7, 128, false, false, true};
  Shape sparse = dense, dropping = dense, decaying = dense, many = dense, weighted = dense, both = dense;
  sparse.sparse = true;
  dropping.dropout = 0.5f;
  decaying.weight_decay = 0.1f;
  decaying.drop_last = true;
  many.multilabel = true;
  many.classes = 45;
  weighted.class_weights = true;
  both.multilabel = both.class_weights = true;
  Shape all{700, 130, 200, 41, 256, true, false, true, 0.5f, 0.01f, false, true};
  return {
      {"bias", dense, Form(true, false, 0, 0)},
      {"norm", dense, Form(false, true, 0, 0)},
      {"head", dense, Form(false, false, 24, 0)},
      {"head with bias", dense, Form(true, false, 24, 0)},
      {"head with norm", dense, Form(true, true, 50, 0)},
      {"input dropout", dense, Form(false, false, 0, 0.3f)},
      {"input dropout of sparse rows", sparse, Form(false, false, 0, 0.3f), 0, SparseChoice::kAlways},
      {"dropout", dropping, Form(true, true, 24, 0)},
      {"weight decay", decaying, Form(true, true, 24, 0)},
      {"labels", many, Form(true, true, 0, 0)},
      {"class weights", weighted, Form(true, false, 0, 0)},
      {"labels and class weights", both, Form(true, true, 16, 0)},
      {"joined, else plain", dropping, {}, 2},
      {"joined sparse and dense", sparse, Form(false, true, 0, 0.3f), 2},
      {"joined sparse alone", sparse, Form(false, true, 0, 0.3f), 2, SparseChoice::kAlways},
      {"nine parts", dense, Form(true, false, 0, 0.2f), 8},
      {"everything", all, Form(true, true, 96, 0.3f), 2},
      {"wide", {2500, 602, 512, 41, 1100, false, false, true, 0.5f}, Form(true, true, 512, 0.3f), 2},
      {"chunks of several rows a warp",
       {9000, 20, 24, 5, 8500, false, false, false},
       Form(true, true, 16, 0)},
  };
}

Trainable RandomTrainable(size_t rows, size_t cols, uint64_t seed, float middle = 0) {
  Trainable out{backend_cases::RandomMatrix(rows, cols, seed, 0.3f), Matrix::Zeros(rows, cols),
                Matrix::Zeros(rows, cols)};
  for (size_t c = 0; c < cols && rows > 0; ++c) out.value.values.mutable_data()[c] += middle;
  return out;
}

LayerState RandomFormState(const FormCase& c) {
  const size_t inputs = size_t{c.shape.features} * (c.powers + 1), hidden = c.shape.hidden;
  const size_t top = c.form.head > 0 ? c.form.head : hidden, rows = c.form.affine_rows();
  const float middle = rows == 2 ? 1 : 0;
  LayerState state = backend_cases::RandomState(inputs, hidden, c.shape.classes, 4);
  state.theta = backend_cases::RandomMatrix(top, c.shape.classes, 5, 0.4f);
  state.theta_m = state.theta_v = Matrix::Zeros(top, c.shape.classes);
  if (rows > 0) {
    state.affine = RandomTrainable(rows, hidden, 6, middle);
    state.bias = RandomTrainable(1, c.shape.classes, 7);
  }
  if (c.form.head > 0) state.head = RandomTrainable(hidden, top, 8);
  if (c.form.head > 0 && rows > 0) state.head_affine = RandomTrainable(rows, top, 9, middle);
  return state;
}

LayerInput FormInput(const Context& context, Backend& backend, const FormCase& c) {
  TensorPtr x = backend.Upload(context, backend_cases::RandomFeatures(c.shape, 1));
  if (c.powers == 0) return x;
  const DeviceGraphPtr graph = backend.Upload(context, backend_cases::RandomPropagation(c.shape, 2));
  std::vector<TensorPtr> parts = {x};
  // Aggregated every time from X: the random operator is no contraction.
  for (uint32_t power = 0; power < c.powers; ++power)
    parts.push_back(backend.Aggregate(context, *graph, *parts[power % 2], {}));
  return LayerInput(parts);
}

// Trains `epochs` epochs at a time, as often as `times` says; every second sample row is skipped.
Outcome TrainForm(const Context& context, BackendOptions options, const FormCase& c, uint32_t epochs,
                  uint32_t times = 1) {
  options.sparse = c.sparse;
  auto backend = MakeBackend(context, options);
  const LayerInput x = FormInput(context, *backend, c);
  std::vector<uint32_t> samples;
  for (uint32_t i = 0; i < c.shape.nodes; ++i) {
    if (i % 7 != 3) samples.push_back(c.shape.nodes - 1 - i);
  }
  LayerSpec spec = backend_cases::SpecOf(c.shape);
  spec.lr = 1e-3f;
  spec.architecture = c.form;
  auto training =
      backend->BeginLayer(context, x, Array<uint32_t>::CopyOf(samples),
                          backend_cases::RandomTargets(c.shape, samples.size(), 3), spec, RandomFormState(c));
  Outcome outcome;
  std::vector<double> losses(epochs);
  for (uint32_t time = 0; time < times; ++time)
    training->RunEpochs(context, time * epochs, epochs, losses, &outcome.losses);
  EXPECT_EQ(losses.back(), outcome.losses.back());
  outcome.state = training->Read();
  outcome.features = backend->Download(context, *backend->Transform(context, x, outcome.state.block()));
  return outcome;
}

// Every matrix of a state, by name.
std::vector<std::pair<std::string, Matrix>> MatricesOf(const LayerState& s) {
  std::vector<std::pair<std::string, Matrix>> all = {
      {"w", s.w},         {"w_m", s.w_m},         {"w_v", s.w_v},
      {"theta", s.theta}, {"theta_m", s.theta_m}, {"theta_v", s.theta_v}};
  const auto add = [&](const std::string& name, const Trainable& from) {
    all.emplace_back(name, from.value);
    all.emplace_back(name + "_m", from.m);
    all.emplace_back(name + "_v", from.v);
  };
  add("affine", s.affine);
  add("head", s.head);
  add("head_affine", s.head_affine);
  add("bias", s.bias);
  return all;
}

// A first step of Adam is the rate times the sign of a gradient: where that is all but 0, devices may differ in
// the sign, so values may lie two steps apart. Moments tell gradients apart.
constexpr double kFirstSteps = 2.5e-3;

void ExpectStates(const LayerState& expected, const LayerState& actual, double values, double moments) {
  EXPECT_EQ(expected.w_steps, actual.w_steps);
  EXPECT_EQ(expected.theta_steps, actual.theta_steps);
  const auto a = MatricesOf(expected), b = MatricesOf(actual);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool moment = a[i].first.ends_with("_m") || a[i].first.ends_with("_v");
    double scale = 1e-30;
    for (const float value : a[i].second.values) scale = std::max(scale, std::abs(double{value}));
    ExpectNearly(a[i].second, b[i].second, moment ? moments : std::max(values, kFirstSteps / scale),
                 a[i].first.c_str());
  }
}

// Narrow products may fall on the other side of a ReLU's kink here and there, so that moments are compared as
// wholes: ‖a − b‖ / ‖a‖.
void ExpectMomentsInNorm(const LayerState& expected, const LayerState& actual, double tolerance) {
  const auto a = MatricesOf(expected), b = MatricesOf(actual);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].first.ends_with("_m")) continue;
    ASSERT_EQ(a[i].second.values.size(), b[i].second.values.size()) << a[i].first;
    double all = 1e-30, off = 0;
    for (size_t j = 0; j < a[i].second.values.size(); ++j) {
      const double x = a[i].second.values[j], y = b[i].second.values[j];
      all += x * x;
      off += (x - y) * (x - y);
    }
    EXPECT_LE(std::sqrt(off / all), tolerance) << a[i].first;
  }
}

// A batch that holds all samples: one step, whose moments are the gradient.
TEST_F(CudaBackendTest, OneStepOfEveryFormIsTheCpus) {
  for (FormCase c : FormCases()) {
    SCOPED_TRACE(c.name);
    c.shape.batch = c.shape.nodes;
    BackendOptions options;
    options.precision = Precision::kFp32;
    const Outcome expected = TrainForm(MakeContext(2), options, c, 1);
    const Outcome fp32 = TrainForm(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], fp32.losses[0], 1e-5 * std::abs(expected.losses[0]));
    ExpectStates(expected.state, fp32.state, 1e-3, 1e-4);
    ExpectNearly(expected.features, fp32.features, 2e-2, "output");
    options.precision = Precision::kTf32;
    const Outcome tf32 = TrainForm(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], tf32.losses[0], 2e-3 * std::abs(expected.losses[0]));
    ExpectMomentsInNorm(expected.state, tf32.state, 6e-2);
    options.precision = Precision::kBf16;
    const Outcome bf16 = TrainForm(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], bf16.losses[0], 2e-2 * std::abs(expected.losses[0]));
    ExpectMomentsInNorm(expected.state, bf16.state, 2e-1);
  }
}

TEST_F(CudaBackendTest, EpochsOfEveryFormAreTheCpus) {
  for (const FormCase& c : FormCases()) {
    SCOPED_TRACE(c.name);
    BackendOptions options;
    options.precision = Precision::kFp32;
    const Outcome expected = TrainForm(MakeContext(2), options, c, 2, 2);
    ExpectAgreement(expected, TrainForm(context_, options, c, 2, 2), 1e-4, 3e-3);
    options.precision = Precision::kTf32;
    ExpectAgreement(expected, TrainForm(context_, options, c, 2, 2), 5e-3, 3e-2);
  }
}

TEST_F(CudaBackendTest, FormsWithNarrowFeaturesStayNear) {
  for (FeatureType type : {FeatureType::kF16, FeatureType::kBf16}) {
    for (const FormCase& c : FormCases()) {
      SCOPED_TRACE(c.name);
      BackendOptions options;
      options.precision = Precision::kFp32;
      options.features_as = type;
      ExpectAgreement(TrainForm(MakeContext(2), options, c, 2), TrainForm(context_, options, c, 2), 1e-3,
                      2e-2);
    }
  }
}

TEST_F(CudaBackendTest, FormsRepeatBitByBitHoweverEpochsAreCut) {
  for (const FormCase& c : FormCases()) {
    SCOPED_TRACE(c.name);
    for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
      BackendOptions options;
      options.precision = precision;
      const Outcome a = TrainForm(context_, options, c, 4), b = TrainForm(context_, options, c, 4);
      const Outcome cut = TrainForm(context_, options, c, 1, 4);
      EXPECT_EQ(a.losses, b.losses);
      EXPECT_EQ(a.losses, cut.losses);
      const auto first = MatricesOf(a.state), again = MatricesOf(b.state), in_parts = MatricesOf(cut.state);
      for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(SameBits(first[i].second, again[i].second)) << first[i].first;
        EXPECT_TRUE(SameBits(first[i].second, in_parts[i].second)) << first[i].first;
      }
      EXPECT_TRUE(SameBits(a.features, b.features));
    }
  }
}

// Rounds of steps are longer than an epoch here: the loss of every step finds its place.
TEST_F(CudaBackendTest, ManyShortStepsOfAForm) {
  const FormCase c{"many steps", {600, 12, 16, 4, 1, false, false, false}, Form(true, true, 8, 0.1f)};
  BackendOptions options;
  options.precision = Precision::kFp32;
  const Outcome expected = TrainForm(MakeContext(2), options, c, 1),
                actual = TrainForm(context_, options, c, 1);
  ASSERT_EQ(expected.losses.size(), actual.losses.size());
  for (size_t i = 0; i < 300; ++i)
    EXPECT_NEAR(expected.losses[i], actual.losses[i], 2e-3 * (1 + std::abs(expected.losses[i]))) << i;
}

TEST_F(CudaBackendTest, JoinPickAndTransformAreTheCpus) {
  const Context cpu = MakeContext(2);
  const Shape shape{400, 37, 48, 5, 64, false, false, true};
  for (bool sparse : {false, true}) {
    for (SparseChoice choice : {SparseChoice::kNever, SparseChoice::kAlways}) {
      BackendOptions options;
      options.precision = Precision::kFp32;
      options.sparse = choice;
      Shape at = shape;
      at.sparse = sparse;
      const FormCase c{"", at, {}, 2};
      const std::vector<uint32_t> rows = {399, 0, 17, 17, 250, 3};
      const auto all = [&](const Context& context) {
        auto backend = MakeBackend(context, options);
        const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(at, 1));
        const LayerInput joined = FormInput(context, *backend, c);
        const Matrix w = backend_cases::RandomMatrix(37, 48, 5),
                     wide = backend_cases::RandomMatrix(111, 48, 5);
        const Matrix bias = backend_cases::RandomMatrix(1, 48, 6),
                     norm = backend_cases::RandomMatrix(2, 48, 7);
        std::vector<Matrix> results;
        const auto add = [&](const TensorPtr& tensor) {
          results.push_back(backend->Download(context, *tensor));
        };
        add(backend->PickRows(context, *x, rows));
        for (const auto& picked : {std::vector<uint32_t>{}, rows}) {
          add(backend->Transform(context, x, w, picked));
          add(backend->Transform(context, x, {w, bias}, picked));
          add(backend->Transform(context, x, {w, norm}, picked));
          add(backend->Transform(context, joined, wide, picked));
          add(backend->Transform(context, joined, {wide, norm}, picked));
        }
        return results;
      };
      const std::vector<Matrix> expected = all(cpu), actual = all(context_);
      for (size_t i = 0; i < expected.size(); ++i)
        ExpectNearly(expected[i], actual[i], 2e-5, std::to_string(i).c_str());
    }
  }
}

TEST_F(CudaBackendTest, CancellationStopsAFormBetweenRounds) {
  std::atomic<bool> cancel{true};
  auto backend = Make(Precision::kTf32);
  const FormCase c{"", backend_cases::Shapes()[0], Form(true, true, 8, 0)};
  const LayerInput x = FormInput(context_, *backend, c);
  LayerSpec spec = backend_cases::SpecOf(c.shape);
  spec.architecture = c.form;
  auto training = backend->BeginLayer(
      context_, x, {}, backend_cases::RandomTargets(c.shape, c.shape.nodes, 3), spec, RandomFormState(c));
  context_.cancel = &cancel;
  std::vector<double> losses(1000);
  EXPECT_THROW(training->RunEpochs(context_, 0, 1000, losses), Error);
  EXPECT_LT(training->Read().w_steps, 1000u);
}

// Features in host memory are read from there; nothing but the workspace of products differs.
TEST_F(CudaBackendTest, FormsTrainUnderABudget) {
  const FormCase c{"", {20000, 512, 64, 12, 1024, false, false, false}, Form(true, true, 0, 0.2f)};
  Context tight = context_;
  tight.device_memory = uint64_t{60} << 20;
  BackendOptions options;
  options.precision = Precision::kFp32;
  ExpectAgreement(TrainForm(context_, options, c, 1), TrainForm(tight, options, c, 1), 1e-4, 1e-3);
}

}  // namespace
}  // namespace l2gcn
