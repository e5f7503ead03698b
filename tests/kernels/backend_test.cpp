#include "kernels/backend.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backend_cases.h"
#include "kernels/cpu/kernels.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

using backend_cases::Shape;

// Every case on every level of this processor.
class CpuBackendTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("L2GCN_SIMD", GetParam().c_str(), 1); }
  void TearDown() override { unsetenv("L2GCN_SIMD"); }
};

TEST_P(CpuBackendTest, VerbsMatchTheReference) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckVerbs(context, *backend, shape, {});
  }
}

TEST_P(CpuBackendTest, TrainingMatchesTheReferenceStepByStep) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckTraining(context, *backend, shape, {});
  }
}

TEST_P(CpuBackendTest, GradientsMatchFiniteDifferences) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckGradient(context, *backend, shape, {});
  }
}

TEST_P(CpuBackendTest, BitsDoNotDependOnTheThreadCount) {
  // Large enough that every thread is woken.
  for (bool sparse : {false, true}) {
    const Shape shape{1500, 301, 64, 41, 512, sparse, false, true};
    std::vector<LayerState> states;
    std::vector<double> first_losses;
    for (uint32_t threads : {1u, 2u, 3u, 4u}) {
      const Context context = MakeContext(threads);
      BackendOptions options;
      options.sparse = SparseChoice::kAlways;
      auto backend = MakeBackend(context, options);
      const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
      const DeviceGraphPtr graph = backend->Upload(context, backend_cases::RandomPropagation(shape, 2));
      const TensorPtr xhat = backend->Aggregate(context, *graph, *x, {});
      auto training =
          backend->BeginLayer(context, xhat, {}, backend_cases::RandomTargets(shape, shape.nodes, 3),
                              backend_cases::SpecOf(shape), backend_cases::RandomState(301, 64, 41, 4));
      std::vector<double> losses(3);
      training->RunEpochs(context, 0, 3, losses);
      if (first_losses.empty()) first_losses = losses;
      EXPECT_EQ(losses, first_losses) << threads << " threads";
      states.push_back(training->Read());
      const auto same = [&](const Matrix& a, const Matrix& b) {
        return a.bytes() == b.bytes() && std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0;
      };
      EXPECT_TRUE(same(states[0].w, states.back().w)) << threads << " threads, sparse " << sparse;
      EXPECT_TRUE(same(states[0].theta, states.back().theta)) << threads << " threads, sparse " << sparse;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuBackendTest, ::testing::ValuesIn(CpuKernelLevels()),
                         [](const auto& info) { return info.param; });

TEST(CpuKernelTable, UnknownLevelIsAUsageError) {
  try {
    CpuKernelTable("sse9");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos);
  }
}

TEST(LayerTraining, CancellationStopsBetweenSteps) {
  std::atomic<bool> cancel{true};
  Context context = MakeContext(2);
  context.cancel = &cancel;
  auto backend = MakeBackend(MakeContext(1), {});
  const Shape shape = backend_cases::Shapes()[0];
  const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
  auto training = backend->BeginLayer(
      context, x, {}, backend_cases::RandomTargets(shape, shape.nodes, 3), backend_cases::SpecOf(shape),
      backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4));
  std::vector<double> losses(50);
  EXPECT_THROW(training->RunEpochs(context, 0, 50, losses), Error);
  EXPECT_EQ(training->Read().w_steps, 1u);
}

}  // namespace
}  // namespace l2gcn
