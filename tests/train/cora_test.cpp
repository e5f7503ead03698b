// The authors' set-up for Cora: every step's loss against an independent NumPy implementation (see
// tests/golden/make_step_losses.py), at every instruction-set level. On a generated graph of Cora's shape,
// which every clone has, and on the real Cora where it is found.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/levels.h"
#include "l2gcn/config.h"
#include "l2gcn/train.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

std::string DataDirectory() {
  const char* set = std::getenv("L2GCN_DATA");
  return set != nullptr && *set != '\0' ? set : L2GCN_SOURCE_DIR "/../shared/data";
}

class CoraTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Trains lgcn on a split of the data set `spec` and compares with the losses in tests/golden/NAME.
  // Differences count relative to the loss, or to `floor` where the loss is smaller, and may be `limit`.
  void ExpectGoldenLosses(const std::string& spec, const OpenOptions& options, const std::string& name,
                          const std::string& split, double floor, double limit) {
    setenv("L2GCN_SIMD", GetParam().c_str(), 1);
    const Context context = MakeContext(2);
    const Dataset dataset = OpenDataset(context, spec, options);
    const TrainConfig config =
        ResolveConfig({{"preset", "paper"}, {"method", "lgcn"}, {"split", split}}, dataset);
    ASSERT_EQ(config.lr, 0.005);
    ASSERT_TRUE(config.drop_last);
    std::vector<double> steps;
    FixedEpochs policy;
    FitLayerwise(context, dataset, ResolveSplit(dataset, config.split, 0), config, policy,
                 {.step_losses = &steps});
    unsetenv("L2GCN_SIMD");

    std::ifstream golden(L2GCN_SOURCE_DIR "/tests/golden/" + name);
    std::vector<double> expected;
    for (double loss; golden >> loss;) expected.push_back(loss);
    ASSERT_EQ(expected.size(), 640u);
    ASSERT_EQ(steps.size(), expected.size());
    double worst = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      worst = std::max(worst, std::abs(steps[i] - expected[i]) / std::max(expected[i], floor));
    }
    RecordProperty("worst_relative_difference", std::to_string(worst));
    EXPECT_LE(worst, limit);
  }
};

TEST_P(CoraTest, EveryStepLossMatchesAnIndependentImplementationOnAGeneratedGraph) {
  // Its classes are easily learned. Losses fall to 0.004, gradients with them, and Adam divides by their size:
  // rounding shows more than on the real graph.
  ExpectGoldenLosses("synthetic:cora", {}, "generated_cora_step_losses.txt", "paper", 1, 3e-5);
}

TEST_P(CoraTest, EveryStepLossMatchesAnIndependentImplementation) {
  OpenOptions options;
  options.data_dir = DataDirectory();
  if (!std::filesystem::exists(options.data_dir + "/planetoid/ind.cora.graph")) {
    GTEST_SKIP() << "no planetoid/ind.cora.* in " << options.data_dir << "; set L2GCN_DATA";
  }
  ExpectGoldenLosses("cora", options, "cora_step_losses.txt", "paper", 0, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Levels, CoraTest, ::testing::ValuesIn(F32Levels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace l2gcn
