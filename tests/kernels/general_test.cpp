// Layers that are not basic, on the CPU at every instruction-set level.
#include <gtest/gtest.h>

#include <cstdlib>

#include "general_cases.h"
#include "kernels/cpu/fused_step.h"
#include "kernels/cpu/general_step.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layer_training.h"
#include "kernels/levels.h"

namespace l2gcn {
namespace {

using backend_cases::GeneralCase;
using backend_cases::Shape;

class CpuGeneralTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("L2GCN_SIMD", GetParam().c_str(), 1); }
  void TearDown() override { unsetenv("L2GCN_SIMD"); }

  template <class Check>
  static void ForEachCase(const Check& check) {
    const Context context = MakeContext(2);
    for (Choice sparse : {Choice::kAuto, Choice::kOn, Choice::kOff}) {
      BackendOptions options;
      options.sparse = sparse;
      auto backend = MakeBackend(context, options);
      for (const GeneralCase& one : backend_cases::GeneralCases()) check(context, *backend, one);
    }
  }
};

TEST_P(CpuGeneralTest, OperationsMatchTheReference) {
  ForEachCase([](const Context& context, Backend& backend, const GeneralCase& one) {
    backend_cases::CheckGeneralOperations(context, backend, one, {});
  });
}

TEST_P(CpuGeneralTest, NaNStaysNaN) {
  const Context context = MakeContext(2);
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const GeneralCase& one : backend_cases::ScoringCases())
      backend_cases::CheckNaNStays(context, *backend, one);
  }
}

TEST_P(CpuGeneralTest, TrainingMatchesTheReferenceStepByStep) {
  ForEachCase([](const Context& context, Backend& backend, const GeneralCase& one) {
    backend_cases::CheckGeneralTraining(context, backend, one, {});
  });
}

TEST_P(CpuGeneralTest, GradientsMatchFiniteDifferences) {
  ForEachCase([](const Context& context, Backend& backend, const GeneralCase& one) {
    backend_cases::CheckGeneralGradient(context, backend, one, {});
  });
}

// The fused step of a basic layer is an optimisation of the general one: the same losses and weights. (Their dropout reads
// other random numbers.)
TEST_P(CpuGeneralTest, TheFusedStepComputesWhatTheGeneralOneDoes) {
  const Context context = MakeContext(2);
  const CpuKernels& kernels = CpuKernelTable(GetParam());
  for (const Shape& shape : backend_cases::Shapes()) {
    for (const bool decoupled : {false, true}) {
      if (shape.weight_decay == 0 && decoupled) continue;
      const StoredMatrix x(backend_cases::RandomFeatures(shape, 1).ToMatrix(context));
      const Targets targets = backend_cases::RandomTargets(shape, shape.nodes, 3);
      const LayerState start = backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4);
      LayerSpec spec = backend_cases::SpecOf(shape);
      spec.dropout = 0;
      spec.decoupled_weight_decay = decoupled;
      CpuLayerTraining fused(MakeFusedStep(kernels, x, {}, targets, spec, start), spec);
      CpuLayerTraining general(MakeGeneralStep(kernels, InputBlocks(x), {}, targets, spec, start), spec);
      std::vector<double> losses(2), expected(2);
      fused.RunEpochs(context, 0, 2, losses);
      general.RunEpochs(context, 0, 2, expected);
      for (size_t epoch = 0; epoch < 2; ++epoch)
        EXPECT_NEAR(losses[epoch], expected[epoch], 1e-5 * expected[epoch]);
      const LayerState a = fused.Read(), b = general.Read();
      ASSERT_EQ(a.parameters.size(), b.parameters.size());
      for (size_t i = 0; i < a.parameters.size(); ++i) {
        EXPECT_EQ(a.parameters[i].steps, b.parameters[i].steps);
        backend_cases::ExpectNear(reference::Dense(b.parameters[i].v), a.parameters[i].v, 1e-3,
                                  a.parameters[i].name.c_str());
      }
    }
  }
}

TEST_P(CpuGeneralTest, BothWeightDecaysMatchTheReference) {
  const Context context = MakeContext(2);
  auto backend = MakeBackend(context, {});
  backend_cases::CheckWeightDecay(context, *backend);
}

TEST_P(CpuGeneralTest, RunningStatisticsFollowTheBatches) {
  const Context context = MakeContext(2);
  auto backend = MakeBackend(context, {});
  backend_cases::CheckRunningStatistics(context, *backend, 1e-5);
}

TEST_P(CpuGeneralTest, ScoresOfRowsMatchTheReference) {
  const Context context = MakeContext(2);
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const GeneralCase& one : backend_cases::ScoringCases())
      backend_cases::CheckScoring(context, *backend, one, {});
  }
}

TEST_P(CpuGeneralTest, ScoresOfRowsDoNotDependOnTheThreadCount) {
  const GeneralCase one{{3000, 90, 64, 11, 512, false, false, false}, {}};
  const auto scores = [&](uint32_t threads) {
    const Context context = MakeContext(threads);
    auto backend = MakeBackend(context, {});
    const auto input = backend_cases::InputOf(context, *backend, one);
    const Targets targets = backend_cases::RandomTargets(one.shape, one.shape.nodes, 3);
    const auto training =
        backend->BeginLayer(context, input.device, {}, targets, backend_cases::GeneralSpec(one),
                            backend_cases::GeneralState(one, input.x.cols));
    return backend->Score(context, *training, *backend->PrepareScoring(context, input.device, {}, targets));
  };
  const RowScores alone = scores(1);
  for (uint32_t threads : {2u, 5u}) {
    const RowScores together = scores(threads);
    EXPECT_EQ(alone.losses, together.losses);
    EXPECT_EQ(alone.true_positive, together.true_positive);
  }
}

// Weights after two epochs, from the beginning and from a state read in between.
LayerState TrainedBy(uint32_t threads, const GeneralCase& one, bool in_two_parts) {
  const Context context = MakeContext(threads);
  auto backend = MakeBackend(context, {});
  const auto input = backend_cases::InputOf(context, *backend, one);
  const Targets targets = backend_cases::RandomTargets(one.shape, one.shape.nodes, 3);
  const LayerSpec spec = backend_cases::GeneralSpec(one);
  const LayerState start = backend_cases::GeneralState(one, input.x.cols);
  auto training = backend->BeginLayer(context, input.device, {}, targets, spec, start);
  std::vector<double> losses(2);
  if (!in_two_parts) {
    training->RunEpochs(context, 0, 2, losses);
    return training->Read();
  }
  training->RunEpochs(context, 0, 1, std::span(losses).first(1));
  const LayerState between = training->Read();
  auto again = backend->BeginLayer(context, input.device, {}, targets, spec, between);
  again->RunEpochs(context, 1, 1, std::span(losses).last(1));
  return again->Read();
}

TEST_P(CpuGeneralTest, BitsDoNotDependOnTheThreadCountOrOnAStopInBetween) {
  for (const auto& [norm, sparse] :
       {std::pair(HiddenNorm::kLayer, false), std::pair(HiddenNorm::kLayer, true),
        std::pair(HiddenNorm::kBatch, false)}) {
    const LayerArchitecture architecture{false, norm, 48, 0.3f};
    const GeneralCase one{{1500, 90, 64, 11, 512, sparse, false, true, 0.4f, 0.01f}, architecture, 3};
    const LayerState alone = TrainedBy(1, one, false);
    for (uint32_t threads : {2u, 3u, 4u})
      backend_cases::ExpectSameState(alone, TrainedBy(threads, one, false));
    backend_cases::ExpectSameState(alone, TrainedBy(2, one, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuGeneralTest, ::testing::ValuesIn(F32Levels()));

}  // namespace
}  // namespace l2gcn
