// The default settings on data sets that are small, lopsided or lack something: training ends with a finite model, and where
// that is no better than one answer for every node, a note says so.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/rng.h"
#include "l2gcn/error.h"
#include "l2gcn/make_dataset.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

struct OddCase {
  const char* name;
  uint32_t nodes, columns, classes;
  uint32_t labelled;  // nodes with a label, the first ones
  uint32_t edges;     // drawn between nodes of one class
  double share = 0;   // of the nodes, in class 0; 0: classes are equal
  Overrides overrides = {};
  bool learnable = true;  // whether the model has to beat the baseline
};

// Class c has a bump in column c mod columns. With many columns features are sparse words: five drawn ones and the bump.
Dataset MakeOdd(const Context& context, const OddCase& odd) {
  const RandomStream random(7, RandomUse::kGenerator, 900);
  std::vector<int64_t> classes(odd.nodes, -1), source, target;
  std::vector<uint32_t> truth(odd.nodes);
  const auto rare = odd.classes > 1 ? odd.classes - 1 : 1;
  for (uint32_t i = 0; i < odd.nodes; ++i) {
    truth[i] = odd.share == 0 ? i % odd.classes : random.Uniform(i) < odd.share ? 0 : 1 + i % rare;
    if (i < odd.labelled) classes[i] = truth[i];
  }
  for (uint32_t e = 0; source.size() < odd.edges; ++e) {
    const auto a = random.Below(1000 + 2 * e, odd.nodes), b = random.Below(1001 + 2 * e, odd.nodes);
    if (truth[a] != truth[b]) continue;
    source.push_back(static_cast<int64_t>(a));
    target.push_back(static_cast<int64_t>(b));
  }
  DatasetArrays arrays;
  arrays.source = source, arrays.target = target, arrays.classes_of = classes;
  arrays.nodes = odd.nodes, arrays.classes = odd.classes;
  const bool words = odd.columns > 1000;
  if (words) {
    std::vector<uint64_t> indptr = {0};
    std::vector<uint32_t> columns;
    for (uint32_t i = 0; i < odd.nodes; ++i) {
      std::vector<uint32_t> row = {truth[i]};
      for (uint32_t word = 0; word < 5; ++word)
        row.push_back(
            static_cast<uint32_t>(odd.classes + word * 1000 + random.Below(50000 + 5 * i + word, 1000)));
      columns.insert(columns.end(), row.begin(), row.end());
      indptr.push_back(columns.size());
    }
    arrays.features =
        Features::Sparse({odd.nodes, odd.columns, Array<uint64_t>::CopyOf(indptr),
                          Array<uint32_t>::CopyOf(columns), Array<float>::Filled(columns.size(), 1.0f)});
  } else {
    Matrix x = Matrix::Zeros(odd.nodes, odd.columns);
    for (uint32_t i = 0; i < odd.nodes; ++i) {
      for (uint32_t c = 0; c < odd.columns; ++c)
        x.mutable_row(i)[c] = random.Uniform(90000 + i * odd.columns + c) - 0.5f;
      x.mutable_row(i)[truth[i] % odd.columns] += 1.0f + static_cast<float>(truth[i] / odd.columns);
    }
    arrays.features = Features::Dense(std::move(x));
  }
  return MakeDataset(context, arrays);
}

class OddData : public ::testing::TestWithParam<OddCase> {};

TEST_P(OddData, TheDefaultGivesASensibleModel) {
  const OddCase& odd = GetParam();
  Context context = MakeContext(2);
  std::string notes;
  context.on_note = [&](const std::string& note) { notes += note + '\n'; };
  const Dataset dataset = MakeOdd(context, odd);
  RunOptions options;
  options.write = false;
  std::vector<Trained> trained;
  options.on_seed = [&](const Trained& seed) { trained.push_back(seed); };
  const TrainResult result = RunTraining(context, dataset, ResolveConfig(odd.overrides, dataset), options);

  ASSERT_EQ(trained.size(), 1u);
  const Matrix logits = PredictLogits(context, trained.front().model, dataset, &trained.front().split);
  for (const float logit : logits.values.span()) ASSERT_TRUE(std::isfinite(logit));
  const SeedResult& seed = result.seeds.front();
  const bool tested = seed.test_nodes > 0;
  const double f1 = tested ? seed.f1_test : seed.f1_val,
               baseline = tested ? seed.baseline_test : seed.baseline_val;
  if (std::isnan(f1)) return;  // nothing to score
  EXPECT_EQ(f1 <= baseline, notes.find("does not beat") != std::string::npos)
      << f1 << " against " << baseline;
  if (odd.learnable) {
    EXPECT_GT(f1, baseline);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OddData,
    ::testing::Values(
        OddCase{"TenLabels", 300, 8, 2, 10, 900, 0, {{"split", "random:0.4,0.2,0.4"}}},
        OddCase{"OneClass", 60, 4, 1, 60, 120, 0, {}, false},
        OddCase{"NoValidation", 200, 6, 3, 200, 600, 0, {{"split", "random:0.6,0,0.4"}}},
        OddCase{"FewNodesNoValidation", 24, 6, 3, 24, 40, 0, {{"split", "random:0.6,0,0.4"}}},
        OddCase{"HundredClasses", 1000, 100, 100, 1000, 3000}, OddCase{"OneColumn", 300, 1, 3, 300, 900},
        OddCase{"ManySparseColumns", 400, 100000, 4, 400, 1200, 0, {{"hidden", "16"}, {"head", "16"}}},
        OddCase{"Imbalanced", 600, 6, 3, 600, 1800, 0.97}, OddCase{"NoEdges", 300, 6, 3, 300, 0}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace l2gcn
