// Ranks that compute on a GPU against one process on it, bit by bit. Threads stand for ranks, and share one GPU. Skips
// where there is none.
#include "kernels/ranks_cases.h"

namespace l2gcn {
namespace {

using ranks_cases::Body;
using ranks_cases::Compare;
using ranks_cases::CompareFeatures;
using ranks_cases::CompareForms;
using ranks_cases::CompareFullGraph;
using ranks_cases::CompareOperations;
using ranks_cases::CompareSubgraph;
using ranks_cases::CompareTraining;
using ranks_cases::ExpectSeen;
using ranks_cases::SeenAlone;

struct CudaRanksCase {
  FeatureType type;
  Precision precision;
};

class CudaRanksTest : public ::testing::TestWithParam<CudaRanksCase> {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!CudaAvailable(&why_not)) GTEST_SKIP() << why_not;
  }
  const Compare compare_ = [](const Body& body) {
    BackendOptions options;
    options.features_as = GetParam().type;
    options.precision = GetParam().precision;
    Context alone = MakeContext(2);
    alone.device = DeviceKind::kCuda;
    const std::vector<Matrix> expected = SeenAlone(alone, options, body);
    for (const uint32_t size : {2u, 3u}) {
      ExpectSeen(
          expected, size, DeviceKind::kCuda, "memory",
          [&](const Context& context) { return MakeBackend(context, options); }, body);
    }
  };
};

TEST_P(CudaRanksTest, EveryOperationHasTheBitsOfOneProcess) { CompareOperations(compare_); }
TEST_P(CudaRanksTest, RowsOfASubgraph) { CompareSubgraph(compare_); }
TEST_P(CudaRanksTest, TilesOfAFullGraph) { CompareFullGraph(compare_); }
TEST_P(CudaRanksTest, SparseAndPreparedFeatures) { CompareFeatures(compare_); }
TEST_P(CudaRanksTest, RowsTravelToTraining) { CompareTraining(compare_); }
TEST_P(CudaRanksTest, LayersOfAnyForm) { CompareForms(compare_); }

INSTANTIATE_TEST_SUITE_P(Types, CudaRanksTest,
                         ::testing::Values(CudaRanksCase{FeatureType::kF32, Precision::kTf32},
                                           CudaRanksCase{FeatureType::kBf16, Precision::kTf32},
                                           CudaRanksCase{FeatureType::kF16, Precision::kFp32},
                                           CudaRanksCase{FeatureType::kF32, Precision::kBf16}));

}  // namespace
}  // namespace l2gcn
