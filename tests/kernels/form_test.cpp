// Layers that are not plain, on the CPU at every instruction-set level.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "form_cases.h"
#include "kernels/cpu/kernels.h"
#include "kernels/levels.h"

namespace l2gcn {
namespace {

using backend_cases::FormCase;

class CpuFormTest : public ::testing::TestWithParam<std::string> {
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
      for (const FormCase& one : backend_cases::FormCases()) check(context, *backend, one);
    }
  }
};

TEST_P(CpuFormTest, OperationsMatchTheReference) {
  ForEachCase([](const Context& context, Backend& backend, const FormCase& one) {
    backend_cases::CheckFormOperations(context, backend, one, {});
  });
}

TEST_P(CpuFormTest, NaNStaysNaN) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const FormCase& one : backend_cases::ScoringCases())
      backend_cases::CheckNaNStays(context, *backend, one);
  }
}

TEST_P(CpuFormTest, TrainingMatchesTheReferenceStepByStep) {
  ForEachCase([](const Context& context, Backend& backend, const FormCase& one) {
    backend_cases::CheckFormTraining(context, backend, one, {});
  });
}

TEST_P(CpuFormTest, GradientsMatchFiniteDifferences) {
  ForEachCase([](const Context& context, Backend& backend, const FormCase& one) {
    backend_cases::CheckFormGradient(context, backend, one, {});
  });
}

TEST_P(CpuFormTest, ScoresOfRowsMatchTheReference) {
  const Context context = MakeContext(2);
  for (SparseChoice sparse : {SparseChoice::kAlways, SparseChoice::kNever}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const FormCase& one : backend_cases::ScoringCases())
      backend_cases::CheckScoring(context, *backend, one, {});
  }
}

TEST_P(CpuFormTest, ScoresOfRowsDoNotDependOnTheThreadCount) {
  const FormCase one{{3000, 90, 64, 11, 512, false, false, false}, {}};
  const auto scores = [&](uint32_t threads) {
    const Context context = MakeContext(threads);
    auto backend = MakeBackend(context, {});
    const auto input = backend_cases::InputOf(context, *backend, one);
    const Targets targets = backend_cases::RandomTargets(one.shape, one.shape.nodes, 3);
    const auto training =
        backend->BeginLayer(context, input.device, {}, targets, backend_cases::FormSpec(one),
                            backend_cases::FormState(one, input.x.cols));
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
LayerState TrainedBy(uint32_t threads, const FormCase& one, bool in_two_parts) {
  const Context context = MakeContext(threads);
  auto backend = MakeBackend(context, {});
  const auto input = backend_cases::InputOf(context, *backend, one);
  const Targets targets = backend_cases::RandomTargets(one.shape, one.shape.nodes, 3);
  const LayerSpec spec = backend_cases::FormSpec(one);
  const LayerState start = backend_cases::FormState(one, input.x.cols);
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

void ExpectSameBits(const Matrix& a, const Matrix& b, const char* what) {
  ASSERT_EQ(a.values.size(), b.values.size()) << what;
  if (a.values.size() == 0) return;
  EXPECT_EQ(std::memcmp(a.values.data(), b.values.data(), a.values.bytes()), 0) << what;
}

void ExpectSameState(const LayerState& a, const LayerState& b) {
  ExpectSameBits(a.w, b.w, "W");
  ExpectSameBits(a.w_v, b.w_v, "moments of W");
  ExpectSameBits(a.theta, b.theta, "theta");
  ExpectSameBits(a.affine.value, b.affine.value, "affine");
  ExpectSameBits(a.head.value, b.head.value, "head");
  ExpectSameBits(a.head_affine.v, b.head_affine.v, "moments of the head's affine");
  ExpectSameBits(a.bias.value, b.bias.value, "bias");
}

TEST_P(CpuFormTest, BitsDoNotDependOnTheThreadCountOrOnAStopInBetween) {
  LayerArchitecture form;
  form.norm = true;
  form.head = 48;
  form.input_dropout = 0.3f;
  for (bool sparse : {false, true}) {
    const FormCase one{{1500, 90, 64, 11, 512, sparse, false, true, 0.4f, 0.01f}, form, 3};
    const LayerState alone = TrainedBy(1, one, false);
    for (uint32_t threads : {2u, 3u, 4u}) ExpectSameState(alone, TrainedBy(threads, one, false));
    ExpectSameState(alone, TrainedBy(2, one, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuFormTest, ::testing::ValuesIn(F32Levels()));

}  // namespace
}  // namespace l2gcn
