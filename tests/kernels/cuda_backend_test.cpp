// The CUDA twin under the body shared with the CPU, and what only a device has: budgets, layouts, bit
// equality of repeated runs. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <cstring>

#include "general_cases.h"
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
  std::unique_ptr<Backend> Make(Precision precision, Choice sparse = Choice::kOff,
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
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckOperations(context_, *backend, shape, kFp32);
  }
}

TEST_F(CudaBackendTest, TrainingMatchesTheReferenceStepByStep) {
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes()) {
      backend_cases::CheckTraining(context_, *backend, shape, kFp32);
      if (shape.weight_decay > 0)
        backend_cases::CheckTraining(context_, *backend, shape, kFp32, /*decoupled=*/true);
    }
  }
}

TEST_F(CudaBackendTest, BothWeightDecaysMatchTheReference) {
  backend_cases::CheckWeightDecay(context_, *Make(Precision::kFp32));
}

TEST_F(CudaBackendTest, RunningStatisticsFollowTheBatches) {
  backend_cases::CheckRunningStatistics(context_, *Make(Precision::kFp32), 1e-5);
}

TEST_F(CudaBackendTest, LayersOfAnyArchitectureMatchTheReferenceStepByStep) {
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const backend_cases::GeneralCase& one : backend_cases::GeneralCases()) {
      backend_cases::CheckGeneralOperations(context_, *backend, one, kFp32);
      backend_cases::CheckGeneralTraining(context_, *backend, one, kFp32);
      backend_cases::CheckGeneralGradient(context_, *backend, one, kFp32);
    }
  }
}

TEST_F(CudaBackendTest, GradientsMatchFiniteDifferences) {
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckGradient(context_, *backend, shape, kFp32);
  }
}

TEST_F(CudaBackendTest, ScoresOfRowsMatchTheReference) {
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const backend_cases::GeneralCase& one : backend_cases::ScoringCases())
      backend_cases::CheckScoring(context_, *backend, one, kFp32);
  }
  auto backend = Make(Precision::kFp32);  // by warpgroups, too; their logits are large
  for (const Shape& shape : LargeShapes())
    backend_cases::CheckScoring(context_, *backend, {shape, {}}, {2e-5, 1e-4, 1e-4});
}

// Large shapes and tf32 are trained by warpgroups where the GPU has them.
TEST_F(CudaBackendTest, NaNStaysNaN) {
  for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    for (Choice sparse : {Choice::kOn, Choice::kOff}) {
      auto backend = Make(precision, sparse);
      for (const backend_cases::GeneralCase& one : backend_cases::ScoringCases())
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
    auto backend = Make(Precision::kFp32, Choice::kOff, type);
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
  outcome.features =
      backend->Download(context, *backend->Transform(context, xhat, outcome.state["weight"].value));
  return outcome;
}

void ExpectAgreement(const Outcome& expected, const Outcome& actual, double loss, double weights) {
  ASSERT_EQ(expected.losses.size(), actual.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(expected.losses[i], actual.losses[i], loss * std::abs(expected.losses[i])) << "step " << i;
  }
  ExpectNearly(expected.state["classifier"].value, actual.state["classifier"].value, weights, "theta");
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
      EXPECT_TRUE(SameBits(a.state["weight"].value, b.state["weight"].value));
      EXPECT_TRUE(SameBits(a.state["classifier"].v, b.state["classifier"].v));
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
    EXPECT_TRUE(SameBits(resident.state["weight"].value, budgeted.state["weight"].value));
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
  EXPECT_LT(training->Read()["weight"].steps, 10000u);
}

// ---- layers of any architecture ----------------------------------------------------------------------------

struct GeneralCase {
  const char* name;
  Shape shape;
  LayerArchitecture architecture;
  uint32_t powers = 0;  // Â X … beside X
  Choice sparse = Choice::kOff;
  bool decoupled = true;
};

constexpr HiddenNorm kNone = HiddenNorm::kNone, kLayer = HiddenNorm::kLayer, kBatch = HiddenNorm::kBatch;
using Architecture = LayerArchitecture;

std::vector<GeneralCase> GeneralCases() {
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
      {"bias", dense, Architecture{true, kNone, 0, 0}},
      {"norm", dense, Architecture{false, kLayer, 0, 0}},
      {"head", dense, Architecture{false, kNone, 24, 0}},
      {"head with bias", dense, Architecture{true, kNone, 24, 0}},
      {"head with norm", dense, Architecture{true, kLayer, 50, 0}},
      {"input dropout", dense, Architecture{false, kNone, 0, 0.3f}},
      {"input dropout of sparse rows", sparse, Architecture{false, kNone, 0, 0.3f}, 0, Choice::kOn},
      {"dropout", dropping, Architecture{true, kLayer, 24, 0}},
      {"weight decay", decaying, Architecture{true, kLayer, 24, 0}},
      {"L2 penalty", decaying, Architecture{true, kLayer, 24, 0}, 0, Choice::kOff, false},
      {"batch norm", dense, Architecture{false, kBatch, 0, 0}},
      {"head with batch norm", dropping, Architecture{true, kBatch, 50, 0.1f}},
      {"batch norm without a short batch", decaying, Architecture{false, kBatch, 24, 0}},
      {"joined sparse and dense with batch norm", sparse, Architecture{false, kBatch, 0, 0.3f}, 2},
      {"everything with batch norm", all, Architecture{true, kBatch, 96, 0.3f}, 2},
      {"chunks of several rows a warp with batch norm",
       {9000, 20, 24, 5, 8500, false, false, false},
       Architecture{true, kBatch, 16, 0}},
      {"labels", many, Architecture{true, kLayer, 0, 0}},
      {"class weights", weighted, Architecture{true, kNone, 0, 0}},
      {"labels and class weights", both, Architecture{true, kLayer, 16, 0}},
      {"joined, else plain", dropping, {}, 2},
      {"joined sparse and dense", sparse, Architecture{false, kLayer, 0, 0.3f}, 2},
      {"joined sparse alone", sparse, Architecture{false, kLayer, 0, 0.3f}, 2, Choice::kOn},
      {"nine parts", dense, Architecture{true, kNone, 0, 0.2f}, 8},
      {"everything", all, Architecture{true, kLayer, 96, 0.3f}, 2},
      {"wide",
       {2500, 602, 512, 41, 1100, false, false, true, 0.5f},
       Architecture{true, kLayer, 512, 0.3f},
       2},
      {"chunks of several rows a warp",
       {9000, 20, 24, 5, 8500, false, false, false},
       Architecture{true, kLayer, 16, 0}},
  };
}

LayerState RandomGeneralState(const GeneralCase& c) {
  return backend_cases::RandomState(c.architecture, size_t{c.shape.features} * (c.powers + 1), c.shape);
}

LayerInput GeneralInput(const Context& context, Backend& backend, const GeneralCase& c) {
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
Outcome TrainGeneral(const Context& context, BackendOptions options, const GeneralCase& c, uint32_t epochs,
                     uint32_t times = 1) {
  options.sparse = c.sparse;
  auto backend = MakeBackend(context, options);
  const LayerInput x = GeneralInput(context, *backend, c);
  std::vector<uint32_t> samples;
  for (uint32_t i = 0; i < c.shape.nodes; ++i) {
    if (i % 7 != 3) samples.push_back(c.shape.nodes - 1 - i);
  }
  LayerSpec spec = backend_cases::SpecOf(c.shape);
  spec.lr = 1e-3f;
  spec.architecture = c.architecture;
  spec.decoupled_weight_decay = c.decoupled;
  auto training = backend->BeginLayer(context, x, Array<uint32_t>::CopyOf(samples),
                                      backend_cases::RandomTargets(c.shape, samples.size(), 3), spec,
                                      RandomGeneralState(c));
  Outcome outcome;
  std::vector<double> losses(epochs);
  for (uint32_t time = 0; time < times; ++time)
    training->RunEpochs(context, time * epochs, epochs, losses, &outcome.losses);
  EXPECT_EQ(losses.back(), outcome.losses.back());
  outcome.state = training->Read();
  outcome.features = backend->Download(context, *backend->Transform(context, x, outcome.state.hidden()));
  return outcome;
}

// Every matrix of a state, by name.
std::vector<std::pair<std::string, Matrix>> MatricesOf(const LayerState& state) {
  std::vector<std::pair<std::string, Matrix>> all;
  for (const Parameter& parameter : state.parameters) {
    all.emplace_back(parameter.name, parameter.value);
    if (!parameter.trained()) continue;
    all.emplace_back(parameter.name + ".m", parameter.m);
    all.emplace_back(parameter.name + ".v", parameter.v);
  }
  return all;
}

// A first step of Adam is the rate times the sign of a gradient: where that is all but 0, devices may differ in
// the sign, so values may lie two steps apart. Moments tell gradients apart.
constexpr double kFirstSteps = 2.5e-3;

void ExpectStates(const LayerState& expected, const LayerState& actual, double values, double moments) {
  ASSERT_EQ(expected.parameters.size(), actual.parameters.size());
  for (size_t i = 0; i < expected.parameters.size(); ++i)
    EXPECT_EQ(expected.parameters[i].steps, actual.parameters[i].steps) << expected.parameters[i].name;
  const auto a = MatricesOf(expected), b = MatricesOf(actual);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool moment = a[i].first.ends_with(".m") || a[i].first.ends_with(".v");
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
    if (!a[i].first.ends_with(".m")) continue;
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
TEST_F(CudaBackendTest, OneStepOfEveryArchitectureIsTheCpus) {
  for (GeneralCase c : GeneralCases()) {
    SCOPED_TRACE(c.name);
    c.shape.batch = c.shape.nodes;
    BackendOptions options;
    options.precision = Precision::kFp32;
    const Outcome expected = TrainGeneral(MakeContext(2), options, c, 1);
    const Outcome fp32 = TrainGeneral(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], fp32.losses[0], 1e-5 * std::abs(expected.losses[0]));
    ExpectStates(expected.state, fp32.state, 1e-3, 1e-4);
    ExpectNearly(expected.features, fp32.features, 2e-2, "output");
    options.precision = Precision::kTf32;
    const Outcome tf32 = TrainGeneral(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], tf32.losses[0], 2e-3 * std::abs(expected.losses[0]));
    ExpectMomentsInNorm(expected.state, tf32.state, 6e-2);
    options.precision = Precision::kBf16;
    const Outcome bf16 = TrainGeneral(context_, options, c, 1);
    EXPECT_NEAR(expected.losses[0], bf16.losses[0], 2e-2 * std::abs(expected.losses[0]));
    ExpectMomentsInNorm(expected.state, bf16.state, 2e-1);
  }
}

// Batch norm divides by the deviation of few rows, which makes more of TF32's rounding.
TEST_F(CudaBackendTest, EpochsOfEveryArchitectureAreTheCpus) {
  for (const GeneralCase& c : GeneralCases()) {
    SCOPED_TRACE(c.name);
    BackendOptions options;
    options.precision = Precision::kFp32;
    const Outcome expected = TrainGeneral(MakeContext(2), options, c, 2, 2);
    ExpectAgreement(expected, TrainGeneral(context_, options, c, 2, 2), 1e-4, 3e-3);
    options.precision = Precision::kTf32;
    const double loss = c.architecture.norm == HiddenNorm::kBatch ? 2e-2 : 5e-3;
    ExpectAgreement(expected, TrainGeneral(context_, options, c, 2, 2), loss, 3e-2);
  }
}

TEST_F(CudaBackendTest, ArchitecturesWithNarrowFeaturesStayNear) {
  for (FeatureType type : {FeatureType::kF16, FeatureType::kBf16}) {
    for (const GeneralCase& c : GeneralCases()) {
      SCOPED_TRACE(c.name);
      BackendOptions options;
      options.precision = Precision::kFp32;
      options.features_as = type;
      ExpectAgreement(TrainGeneral(MakeContext(2), options, c, 2), TrainGeneral(context_, options, c, 2),
                      1e-3, 2e-2);
    }
  }
}

TEST_F(CudaBackendTest, ArchitecturesRepeatBitByBitHoweverEpochsAreCut) {
  for (const GeneralCase& c : GeneralCases()) {
    SCOPED_TRACE(c.name);
    for (Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
      BackendOptions options;
      options.precision = precision;
      const Outcome a = TrainGeneral(context_, options, c, 4), b = TrainGeneral(context_, options, c, 4);
      const Outcome cut = TrainGeneral(context_, options, c, 1, 4);
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
TEST_F(CudaBackendTest, ManyShortStepsOfAGeneralLayer) {
  const GeneralCase c{
      "many steps", {600, 12, 16, 4, 1, false, false, false}, Architecture{true, kLayer, 8, 0.1f}};
  BackendOptions options;
  options.precision = Precision::kFp32;
  const Outcome expected = TrainGeneral(MakeContext(2), options, c, 1),
                actual = TrainGeneral(context_, options, c, 1);
  ASSERT_EQ(expected.losses.size(), actual.losses.size());
  for (size_t i = 0; i < 300; ++i)
    EXPECT_NEAR(expected.losses[i], actual.losses[i], 2e-3 * (1 + std::abs(expected.losses[i]))) << i;
}

TEST_F(CudaBackendTest, JoinPickAndTransformAreTheCpus) {
  const Context cpu = MakeContext(2);
  const Shape shape{400, 37, 48, 5, 64, false, false, true};
  for (bool sparse : {false, true}) {
    for (Choice choice : {Choice::kOff, Choice::kOn}) {
      BackendOptions options;
      options.precision = Precision::kFp32;
      options.sparse = choice;
      Shape at = shape;
      at.sparse = sparse;
      const GeneralCase c{"", at, {}, 2};
      const std::vector<uint32_t> rows = {399, 0, 17, 17, 250, 3};
      const auto all = [&](const Context& context) {
        auto backend = MakeBackend(context, options);
        const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(at, 1));
        const LayerInput joined = GeneralInput(context, *backend, c);
        const Matrix w = backend_cases::RandomMatrix(37, 48, 5),
                     wide = backend_cases::RandomMatrix(111, 48, 5);
        HiddenParameters biased(w), normed(w), wide_normed(wide);
        biased.bias = backend_cases::RandomMatrix(1, 48, 6);
        normed.norm_weight = wide_normed.norm_weight = backend_cases::RandomMatrix(1, 48, 7);
        normed.norm_bias = wide_normed.norm_bias = backend_cases::RandomMatrix(1, 48, 8);
        HiddenParameters batch_normed = wide_normed;
        batch_normed.running_mean = backend_cases::RandomMatrix(1, 48, 9);
        batch_normed.running_var = {Array<float>::Filled(48, 0.7f), 1, 48};
        std::vector<Matrix> results;
        const auto add = [&](const TensorPtr& tensor) {
          results.push_back(backend->Download(context, *tensor));
        };
        add(backend->PickRows(context, *x, rows));
        for (const auto& picked : {std::vector<uint32_t>{}, rows}) {
          add(backend->Transform(context, x, w, picked));
          add(backend->Transform(context, x, biased, picked));
          add(backend->Transform(context, x, normed, picked));
          add(backend->Transform(context, joined, wide, picked));
          add(backend->Transform(context, joined, wide_normed, picked));
          add(backend->Transform(context, joined, batch_normed, picked));
        }
        return results;
      };
      const std::vector<Matrix> expected = all(cpu), actual = all(context_);
      for (size_t i = 0; i < expected.size(); ++i)
        ExpectNearly(expected[i], actual[i], 2e-5, std::to_string(i).c_str());
    }
  }
}

TEST_F(CudaBackendTest, CancellationStopsAGeneralLayerBetweenRounds) {
  std::atomic<bool> cancel{true};
  auto backend = Make(Precision::kTf32);
  const GeneralCase c{"", backend_cases::Shapes()[0], Architecture{true, kLayer, 8, 0}};
  const LayerInput x = GeneralInput(context_, *backend, c);
  LayerSpec spec = backend_cases::SpecOf(c.shape);
  spec.architecture = c.architecture;
  auto training = backend->BeginLayer(
      context_, x, {}, backend_cases::RandomTargets(c.shape, c.shape.nodes, 3), spec, RandomGeneralState(c));
  context_.cancel = &cancel;
  std::vector<double> losses(1000);
  EXPECT_THROW(training->RunEpochs(context_, 0, 1000, losses), Error);
  EXPECT_LT(training->Read()["weight"].steps, 1000u);
}

// Features in host memory are read from there; nothing but the workspace of products differs.
TEST_F(CudaBackendTest, GeneralLayersTrainUnderABudget) {
  const GeneralCase c{
      "", {20000, 512, 64, 12, 1024, false, false, false}, Architecture{true, kLayer, 0, 0.2f}};
  Context tight = context_;
  tight.device_memory = uint64_t{60} << 20;
  BackendOptions options;
  options.precision = Precision::kFp32;
  ExpectAgreement(TrainGeneral(context_, options, c, 1), TrainGeneral(tight, options, c, 1), 1e-4, 1e-3);
}

}  // namespace
}  // namespace l2gcn
