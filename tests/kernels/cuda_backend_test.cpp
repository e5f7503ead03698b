// The CUDA twin under the body shared with the CPU, and what only a device has: budgets, layouts, bit
// equality of repeated runs. Skips where there is no card.
#include <gtest/gtest.h>

#include <cstring>

#include "backend_cases.h"
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

TEST_F(CudaBackendTest, VerbsMatchTheReference) {
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    auto backend = Make(Precision::kFp32, sparse);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckVerbs(context_, *backend, shape, kFp32);
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

TEST_F(CudaBackendTest, NarrowPrecisionsStayNear) {
  for (const Shape& shape : backend_cases::Shapes()) {
    backend_cases::CheckVerbs(context_, *Make(Precision::kTf32), shape, kTf32);
    backend_cases::CheckTraining(context_, *Make(Precision::kTf32), shape, kTf32);
    backend_cases::CheckVerbs(context_, *Make(Precision::kBf16), shape, kBf16);
    backend_cases::CheckTraining(context_, *Make(Precision::kBf16), shape, kBf16);
  }
}

TEST_F(CudaBackendTest, NarrowFeaturesStayNear) {
  for (FeatureType type : {FeatureType::kF16, FeatureType::kBf16}) {
    auto backend = Make(Precision::kFp32, SparseChoice::kNever, type);
    for (const Shape& shape : backend_cases::Shapes()) {
      backend_cases::CheckVerbs(context_, *backend, shape, kBf16);
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
  outcome.features = backend->Download(context, *backend->Transform(context, *xhat, outcome.state.w));
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

}  // namespace
}  // namespace l2gcn
