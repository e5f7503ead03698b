#include "data/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

TEST(Filter, KeptNodesBringEverythingThatIsTheirs) {
  const Context context = MakeContext(1);
  for (const bool sparse : {false, true}) {
    for (const bool multilabel : {false, true}) {
      const Dataset sample = SampleDataset(sparse, multilabel);
      const std::vector<uint32_t> keep = {0, 2, 3};
      const Dataset kept = KeepNodes(context, sample, keep);
      ASSERT_EQ(kept.nodes(), 3u);
      // The edge a–c of the triangle a b c is left, with its weight.
      ExpectSameArray(kept.graph.indptr, ArrayOf<uint64_t>({0, 1, 2, 2}), "indptr");
      ExpectSameArray(kept.graph.indices, ArrayOf<uint32_t>({1, 0}), "indices");
      ExpectSameArray(kept.graph.weights, ArrayOf<float>({2, 2}), "weights");
      EXPECT_EQ(kept.edges, 1u);
      std::vector<float> before(sample.features.cols()), after(kept.features.cols());
      for (uint32_t k = 0; k < 3; ++k) {
        sample.features.ReadRows(keep[k], 1, before.data());
        kept.features.ReadRows(k, 1, after.data());
        EXPECT_EQ(before, after) << "row " << k;
        EXPECT_EQ(kept.NodeName(k), sample.NodeName(keep[k]));
        EXPECT_EQ(kept.node_ids[k], sample.node_ids[keep[k]]);
        EXPECT_EQ(kept.labels.IsLabelled(k), sample.labels.IsLabelled(keep[k]));
      }
      if (multilabel) {
        ExpectSameArray(kept.labels.matrix, ArrayOf<uint8_t>({1, 0, 0, 0, 0, 1}), "labels");
      } else {
        ExpectSameArray(kept.labels.classes_of, ArrayOf<int32_t>({0, 1, -1}), "classes");
      }
      ExpectSameArray(kept.splits[0].roles, ArrayOf<uint8_t>({1, 3, 0}), "roles");
      EXPECT_EQ(kept.class_names, sample.class_names);
      EXPECT_NO_THROW(ValidateDataset(context, kept));
    }
  }
}

TEST(Filter, NodesWithoutIdsKeepTheirNumber) {
  Dataset sample = SampleDataset(false, false);
  sample.node_ids = {};
  const std::vector<uint32_t> keep = {1, 3};
  const Dataset kept = KeepNodes(MakeContext(1), sample, keep);
  ExpectSameArray(kept.node_ids, ArrayOf<int64_t>({1, 3}), "ids");
}

TEST(Filter, SmallDegreesAndSmallComponentsGo) {
  std::string note;
  Context context = MakeContext(1);
  context.on_note = [&](const std::string& text) { note = text; };
  OpenOptions options;
  options.min_degree = 1;
  EXPECT_EQ(ApplyFilters(context, SampleDataset(false, false), options).nodes(), 3u);
  EXPECT_MENTIONS(note, "--min-degree keeps 3 of 4 nodes and 3 of 3 edges");
  options.min_degree = 0;
  options.largest_component = true;
  EXPECT_EQ(ApplyFilters(context, SampleDataset(false, false), options).nodes(), 3u);
  EXPECT_MENTIONS(note, "--largest-component keeps 3 of 4");
  options.min_degree = 9;
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kUsage, [&] { ApplyFilters(context, SampleDataset(false, false), options); }),
      "leaves no node");
}

TEST(Filter, WithoutOptionsNothingIsCopied) {
  const Dataset sample = SampleDataset(true, true);
  const Dataset same = ApplyFilters(MakeContext(1), sample, {});
  EXPECT_EQ(same.graph.indices.data(), sample.graph.indices.data());
  ExpectSameData(sample, same);
}

// Two components of equal size: the one with the smallest node is kept.
TEST(Filter, TiesTakeTheComponentOfTheSmallestNode) {
  Dataset sample = SampleDataset(false, false);
  sample.graph.indptr = ArrayOf<uint64_t>({0, 1, 2, 3, 4});
  sample.graph.indices = ArrayOf<uint32_t>({2, 3, 0, 1});
  sample.graph.weights = {};
  OpenOptions options;
  options.largest_component = true;
  const Dataset kept = ApplyFilters(MakeContext(1), sample, options);
  ExpectSameArray(kept.node_ids, ArrayOf<int64_t>({10, 30}), "ids");
}

}  // namespace
}  // namespace l2gcn
