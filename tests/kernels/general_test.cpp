// Layers that are not basic, on the CPU at every instruction-set level.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "general_cases.h"
#include "kernels/cpu/kernels.h"
#include "kernels/levels.h"

namespace l2gcn {
namespace {

using backend_cases::GeneralCase;

class CpuGeneralTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("L2GCN_SIMD", GetParam().c_str(), 1); }
  void TearDown() override { unsetenv("L2GCN_SIMD"); }

  template <class Check>
  static void ForEachCase(const Check& check) {
    const Context context = MakeContext(2);
    for (SparseChoice sparse : {SparseChoice::kAuto, SparseChoice::kAlways, SparseChoice::kNever}) {
      BackendOptions options;
      options.sparse = sparse;
      auto backend = MakeBackend(context, options);
      for (const GeneralCase& one : backend_cases::GeneralCases()) check(context, *backend, one);
    }
  }
};

TEST_P(CpuGeneralTest, OperationsMatchTheReference) {
  ForEachCase([](const Context& context, Backend& backend, const GeneralCase& one) {
    backend_cases::CheckGeneralVerbs(context, backend, one, {});
  });
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

TEST_P(CpuGeneralTest, ScoresOfRowsMatchTheReference) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
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
  const LayerArchitecture architecture{false, HiddenNorm::kLayer, 48, 0.3f};
  for (bool sparse : {false, true}) {
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
