#include "kernels/backend.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backend_cases.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/kernels.h"
#include "kernels/levels.h"
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

TEST_P(CpuBackendTest, OperationsMatchTheReference) {
  const Context context = MakeContext(2);
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const Shape& shape : backend_cases::Shapes())
      backend_cases::CheckOperations(context, *backend, shape, {});
  }
}

TEST_P(CpuBackendTest, TrainingMatchesTheReferenceStepByStep) {
  const Context context = MakeContext(2);
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
    BackendOptions options;
    options.sparse = sparse;
    auto backend = MakeBackend(context, options);
    for (const Shape& shape : backend_cases::Shapes()) {
      backend_cases::CheckTraining(context, *backend, shape, {});
      if (shape.weight_decay > 0)
        backend_cases::CheckTraining(context, *backend, shape, {}, /*decoupled=*/true);
    }
  }
}

TEST_P(CpuBackendTest, GradientsMatchFiniteDifferences) {
  const Context context = MakeContext(2);
  for (Choice sparse : {Choice::kOn, Choice::kOff}) {
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
    const Shape shape{1500, 150, 64, 41, 512, sparse, false, true};  // one worker goes by rows, two by groups
    std::vector<LayerState> states;
    std::vector<double> first_losses;
    for (uint32_t threads : {1u, 2u, 3u, 4u, 7u, 16u}) {
      const Context context = MakeContext(threads);
      BackendOptions options;
      options.sparse = Choice::kOn;
      auto backend = MakeBackend(context, options);
      const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
      const DeviceGraphPtr graph = backend->Upload(context, backend_cases::RandomPropagation(shape, 2));
      const TensorPtr xhat = backend->Aggregate(context, *graph, *x, {});
      auto training =
          backend->BeginLayer(context, xhat, {}, backend_cases::RandomTargets(shape, shape.nodes, 3),
                              backend_cases::SpecOf(shape), backend_cases::RandomState(150, 64, 41, 4));
      std::vector<double> losses(3);
      training->RunEpochs(context, 0, 3, losses);
      if (first_losses.empty()) first_losses = losses;
      EXPECT_EQ(losses, first_losses) << threads << " threads";
      states.push_back(training->Read());
      EXPECT_TRUE(backend_cases::SameBits(states[0]["weight"].value, states.back()["weight"].value))
          << threads << " threads, sparse " << sparse;
      EXPECT_TRUE(backend_cases::SameBits(states[0]["classifier"].value, states.back()["classifier"].value))
          << threads << " threads, sparse " << sparse;
    }
  }
}

// One step over 140,000 samples: groups and tasks are larger then. One thread goes by rows, three by groups.
TEST_P(CpuBackendTest, AHugeBatchGivesTheSameBitsForAnyThreadCount) {
  const Shape shape{140000, 40, 80, 5, 140000, false, false, false};
  const auto one = backend_cases::TrainOnRandomRows(MakeContext(1), {}, shape, 2);
  EXPECT_LT(one.losses[1], one.losses[0]);
  const auto three = backend_cases::TrainOnRandomRows(MakeContext(3), {}, shape, 2);
  EXPECT_TRUE(backend_cases::SameBits(one.state["weight"].value, three.state["weight"].value));
}

TEST_P(CpuBackendTest, NarrowStorageOnlyRounds) {
  const Context context = MakeContext(2);
  struct Case {
    FeatureType type;
    double product;  // a few roundings to 11 and to 8 bits
  };
  for (const Case& c : {Case{FeatureType::kF16, 3e-3}, Case{FeatureType::kBf16, 2e-2}}) {
    BackendOptions options;
    options.features_as = c.type;
    options.sparse = Choice::kOff;
    auto backend = MakeBackend(context, options);
    backend_cases::Tolerance tolerance;
    tolerance.product = c.product;
    tolerance.loss = c.product;
    for (const Shape& shape : backend_cases::Shapes()) {
      backend_cases::CheckOperations(context, *backend, shape, tolerance);
      backend_cases::CheckTraining(context, *backend, shape, tolerance);
    }
  }
}

TEST_P(CpuBackendTest, NarrowingRoundsToNearestEven) {
  // Values with their f16 and bf16 bits: exact, ties to even both ways, subnormal halves, the largest half.
  const std::vector<float> values = {0.0f,           -1.0f,    1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f,
                                     1.0f + 0x1p-8f, 0x1p-24f, -0x1p-15f,       65504.0f};
  const std::vector<uint16_t> f16 = {0x0000, 0xBC00, 0x3C00, 0x3C02, 0x3C04, 0x0001, 0x8200, 0x7BFF};
  const std::vector<uint16_t> bf16 = {0x0000, 0xBF80, 0x3F80, 0x3F80, 0x3F80, 0x3380, 0xB800, 0x4780};
  const CpuKernels& kernels = CpuKernelTable();
  for (size_t repeat : {1u, 5u}) {  // shorter and longer than a vector
    std::vector<float> in;
    for (size_t i = 0; i < repeat; ++i) in.insert(in.end(), values.begin(), values.end());
    std::vector<uint16_t> out(in.size());
    kernels.narrow(in.size(), in.data(), FeatureType::kF16, out.data());
    for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], f16[i % f16.size()]) << in[i];
    std::vector<float> back(PadWidth(in.size()));
    kernels.gather(1, in.size(), out.data(), FeatureType::kF16, nullptr, back.data(), back.size());
    EXPECT_EQ(back[5], 0x1p-24f);
    EXPECT_EQ(back[7], 65504.0f);
    kernels.narrow(in.size(), in.data(), FeatureType::kBf16, out.data());
    for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], bf16[i % bf16.size()]) << in[i];
  }
}

TEST_P(CpuBackendTest, PermuteIsThePermutation) {
  // The last two are orders of windows.
  for (const auto& [size, columns] : std::vector<std::pair<uint32_t, size_t>>{
           {1, 3}, {2, 3}, {17, 3}, {1000, 3}, {65537, 3}, {65537, 1000}, {7000, 9000}}) {
    const EpochOrder shuffle(size, columns, 100, RandomStream(5, RandomUse::kShuffle, 1, 2));
    const uint32_t begin = size / 3, count = size - begin;
    std::vector<uint32_t> drawn(count);
    CpuKernelTable().permute(shuffle, begin, count, drawn.data());
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(drawn[i], shuffle(begin + i)) << size << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuBackendTest, ::testing::ValuesIn(F32Levels()),
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

// Non-zeros are counted up to the limit and no further, by any number of threads.
TEST(AggregatedOffsets, AreEmptyWhereThereAreMoreThanAsked) {
  CsrMatrix x{300, 40, Array<uint64_t>::Allocate(301), Array<uint32_t>::Allocate(600),
              Array<float>::Allocate(600)};
  for (uint32_t row = 0; row <= 300; ++row) x.indptr.mutable_data()[row] = 2 * row;
  for (uint32_t e = 0; e < 600; ++e) {
    x.indices.mutable_data()[e] = (e / 2 * 7 + e % 2 * 11) % 40;
    x.values.mutable_data()[e] = 1;
  }
  const Propagation own = [] {  // the nodes alone, so that each row keeps its two
    Propagation a;
    a.nodes = 300;
    a.indptr = Array<uint64_t>::Zeros(301);
    a.row_scale = Array<float>::Zeros(300);
    a.self_scale = Array<float>::Zeros(300);
    return a;
  }();
  for (const uint32_t threads : {1u, 3u}) {
    const Context context = MakeContext(threads);
    const Array<uint64_t> offsets = AggregatedOffsets(context, own, x, {}, 600);
    ASSERT_EQ(offsets.size(), 301u);
    EXPECT_EQ(offsets[300], 600u);
    EXPECT_TRUE(AggregatedOffsets(context, own, x, {}, 599).empty());
  }
}

TEST(CpuBackend, AValueTooLargeForF16IsAnInputError) {
  const Context context = MakeContext(1);
  BackendOptions options;
  options.features_as = FeatureType::kF16;
  Matrix large = Matrix::Zeros(3, 4);
  large.values.mutable_data()[9] = 7e4f;
  const Features features = Features::Dense(large);
  try {
    MakeBackend(context, options)->Upload(context, features);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_NE(std::string(error.what()).find("row 2 column 1"), std::string::npos) << error.what();
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
  EXPECT_EQ(training->Read()["weight"].steps, 1u);
}

}  // namespace
}  // namespace l2gcn
