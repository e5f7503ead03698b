// Features that a backend reads where they lie: f16 and bf16 elements, and rows that are prepared as they are
// read, must give the bits that a whole, prepared f32 matrix gives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backend_cases.h"
#include "core/memory_meter.h"
#include "data/prepare.h"
#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/levels.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

using backend_cases::Shape;

class StoredFeaturesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("L2GCN_SIMD", GetParam().c_str(), 1); }
  void TearDown() override { unsetenv("L2GCN_SIMD"); }
};

Features Halves(const Matrix& matrix, FeatureType type) {
  Array<uint16_t> halves = Array<uint16_t>::Allocate(matrix.values.size());
  CpuKernelTable().narrow(halves.size(), matrix.values.data(), type, halves.mutable_data());
  return Features::Stored(type, halves, matrix.rows, matrix.cols);
}

bool SameBits(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols &&
         std::memcmp(a.values.data(), b.values.data(), a.bytes()) == 0;
}

// All operations that read features, with `features` as they are and as one f32 matrix.
void ExpectSameAsWhole(const Context& context, const Shape& shape, const Features& features,
                       const std::string& what) {
  auto backend = MakeBackend(context, {});
  const TensorPtr lazy = backend->Upload(context, features);
  const TensorPtr whole = backend->Upload(context, Features::Dense(features.ToMatrix(context)));
  const DeviceGraphPtr graph = backend->Upload(context, backend_cases::RandomPropagation(shape, 2));
  const auto expect = [&](const Matrix& a, const Matrix& b, const char* operation) {
    EXPECT_TRUE(SameBits(a, b)) << operation << ", " << what << ", " << shape.features << " columns";
  };
  expect(backend->Download(context, *lazy), backend->Download(context, *whole), "download");
  const auto both = [&](const auto& operation, const char* name) {
    expect(operation(*lazy), operation(*whole), name);
  };
  both(
      [&](const Tensor& x) {
        return backend->Download(context, *backend->Aggregate(context, *graph, x, {}));
      },
      "aggregate");
  std::vector<uint32_t> row_of_node(shape.nodes);
  for (uint32_t i = 0; i < shape.nodes; ++i) row_of_node[i] = (i * 7 + 3) % shape.nodes;
  both(
      [&](const Tensor& x) {
        return backend->Download(context, *backend->Aggregate(context, *graph, x, row_of_node));
      },
      "aggregate with row map");
  for (const size_t hidden : {size_t{3}, size_t{shape.features} + 5}) {
    const Matrix w = backend_cases::RandomMatrix(shape.features, hidden, 5);
    both(
        [&](const Tensor& x) { return backend->Download(context, *backend->Forward(context, *graph, x, w)); },
        "forward");
    both([&](const Tensor& x) { return backend->Logits(context, x, w, {}); }, "logits");
  }
  const auto trained = [&](const TensorPtr& x) {
    auto training = backend->BeginLayer(
        context, x, {}, backend_cases::RandomTargets(shape, shape.nodes, 3), backend_cases::SpecOf(shape),
        backend_cases::RandomState(shape.features, shape.hidden, shape.classes, 4));
    std::vector<double> losses(2);
    training->RunEpochs(context, 0, 2, losses);
    return training->Read()["weight"].value;
  };
  expect(trained(lazy), trained(whole), "training");
}

TEST_P(StoredFeaturesTest, LazyRowsGiveTheBitsOfAWholeMatrix) {
  const Context context = MakeContext(2);
  // Narrower than a vector, several vectors, and wide and dense enough that tiles are packed first.
  for (const uint32_t features : {3u, 20u, 100u, 170u}) {
    for (const bool weighted : {false, true}) {
      const Shape shape{400, features, 8, 3, 64, false, weighted, weighted};
      const Matrix rows = backend_cases::RandomMatrix(shape.nodes, features, 1);
      for (const Features& stored :
           {Features::Dense(rows), Halves(rows, FeatureType::kF16), Halves(rows, FeatureType::kBf16)}) {
        const std::string type = std::to_string(static_cast<int>(stored.type()));
        ExpectSameAsWhole(context, shape, stored, "as stored, type " + type);
        for (const Scale scale : {Scale::kStandard, Scale::kRow}) {
          const Model::Preparation fitted = FitPreparation(context, stored, {}, scale, 0, 0);
          ExpectSameAsWhole(context, shape, ApplyPreparation(context, fitted, stored),
                            "scale " + std::to_string(static_cast<int>(scale)) + ", type " + type);
        }
      }
    }
  }
}

TEST_P(StoredFeaturesTest, AnotherTypeIsMadeBlockByBlock) {
  const Context context = MakeContext(2);
  const Shape shape{200, 30, 8, 3, 64, false, false, false};
  const Matrix rows = backend_cases::RandomMatrix(shape.nodes, shape.features, 1);
  const Model::Preparation fitted =
      FitPreparation(context, Features::Dense(rows), {}, Scale::kStandard, 4, 1);
  BackendOptions options;
  options.features_as = FeatureType::kBf16;
  auto backend = MakeBackend(context, options);
  const Features projected = ApplyPreparation(context, fitted, Features::Dense(rows));
  const TensorPtr lazy = backend->Upload(context, projected);
  EXPECT_EQ(lazy->cols, 4u);
  EXPECT_EQ(lazy->bytes, size_t{2} * 200 * 4);
  const TensorPtr whole = backend->Upload(context, Features::Dense(projected.ToMatrix(context)));
  EXPECT_TRUE(SameBits(backend->Download(context, *lazy), backend->Download(context, *whole)));
}

INSTANTIATE_TEST_SUITE_P(Levels, StoredFeaturesTest, ::testing::ValuesIn(F32Levels()),
                         [](const auto& info) { return info.param; });

TEST(StoredFeatures, UploadingCopiesNothing) {
  const Context context = MakeContext(1);
  const Matrix rows = backend_cases::RandomMatrix(50, 6, 1);
  auto backend = MakeBackend(context, {});
  const TensorPtr x = backend->Upload(context, Features::Dense(rows));
  Matrix downloaded = backend->Download(context, *x);
  EXPECT_EQ(downloaded.values.data(), rows.values.data());
  downloaded.mutable_row(0)[0] = 99;  // a private copy: neither the tensor nor the data set changes
  EXPECT_NE(rows.row(0)[0], 99);
  EXPECT_NE(backend->Download(context, *x).row(0)[0], 99);
  const TensorPtr half = backend->Upload(context, Halves(rows, FeatureType::kF16));
  EXPECT_EQ(half->bytes, size_t{50} * 6 * 2);
}

// Standardised features are aggregated with one matrix beside the data set's own: the result.
TEST(StoredFeatures, PreparingAndAggregatingNeedsNoSecondMatrix) {
  constexpr size_t kNodes = 120000, kColumns = 96;
  constexpr uint64_t kMatrix = kNodes * kColumns * sizeof(float), kSlack = uint64_t{8} << 20;
  const Context context = MakeContext(2);
  const Features features = Features::Dense(backend_cases::RandomMatrix(kNodes, kColumns, 1));
  Propagation a;
  a.nodes = kNodes;
  a.indptr = Array<uint64_t>::Zeros(kNodes + 1);
  a.row_scale = a.self_scale = Array<float>::Filled(kNodes, 1.0f);
  auto backend = MakeBackend(context, {});
  const DeviceGraphPtr graph = backend->Upload(context, a);
  const uint64_t before = ResidentBytes();
  if (!ResetPeakResidentBytes()) GTEST_SKIP() << "this kernel does not reset the peak";
  const Model::Preparation fitted = FitPreparation(context, features, {}, Scale::kStandard, 0, 0);
  const TensorPtr x = backend->Upload(context, ApplyPreparation(context, fitted, features));
  EXPECT_LT(PeakResidentBytes(), before + kSlack) << "preparing and uploading must not copy";
  const TensorPtr xhat = backend->Aggregate(context, *graph, *x, {});
  EXPECT_LT(PeakResidentBytes(), before + kMatrix + kSlack);
  EXPECT_GT(PeakResidentBytes(), before + kMatrix - kSlack);
}

TEST(StoredFeatures, RowsAndBlocksOfATensor) {
  const Context context = MakeContext(2);
  auto backend = MakeBackend(context, {});
  for (const bool sparse : {false, true}) {
    const Shape shape{80, 11, 8, 3, 64, sparse, false, false};
    const TensorPtr x = backend->Upload(context, backend_cases::RandomFeatures(shape, 1));
    const Matrix all = backend->Download(context, *x);
    const std::vector<uint32_t> some = {79, 0, 33};
    const Matrix picked = backend->Download(context, *x, some);
    ASSERT_EQ(picked.rows, 3u);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(std::equal(all.row(some[i]), all.row(some[i] + 1), picked.row(i)));
    std::vector<float> block(5 * 11, -1.0f);
    backend->ReadRows(context, *x, 40, 5, block.data());
    EXPECT_TRUE(std::equal(block.begin(), block.end(), all.row(40)));
  }
}

}  // namespace
}  // namespace l2gcn
