#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/reader.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

struct RealSet {
  const char* path;
  const char* format;
  uint32_t nodes;
  uint64_t edges;
  size_t features;
  uint32_t classes;
  bool multilabel;
  uint64_t self_loops;
  size_t splits;
};

class RealDataTest : public ::testing::TestWithParam<RealSet> {};

// Counts of the README beside the data.
TEST_P(RealDataTest, CountsAreThoseOfTheReadme) {
  L2GCN_NEEDS_REAL_DATA();
  const RealSet& expected = GetParam();
  const Dataset dataset = OpenDataset(MakeContext(2), (RealData() / expected.path).string());
  EXPECT_EQ(dataset.format, expected.format);
  EXPECT_EQ(dataset.nodes(), expected.nodes);
  EXPECT_EQ(dataset.edges, expected.edges);
  EXPECT_EQ(dataset.features.cols(), expected.features);
  EXPECT_EQ(dataset.labels.classes, expected.classes);
  EXPECT_EQ(dataset.labels.multilabel, expected.multilabel);
  EXPECT_EQ(dataset.self_loops, expected.self_loops);
  EXPECT_EQ(dataset.splits.size(), expected.splits);
}

INSTANTIATE_TEST_SUITE_P(
    Everything, RealDataTest,
    ::testing::Values(RealSet{"planetoid/ind.cora", "planetoid", 2708, 5278, 1433, 7, false, 0, 2},
                      RealSet{"planetoid/ind.citeseer.x", "planetoid", 3327, 4552, 3703, 6, false, 124, 2},
                      RealSet{"planetoid/ind.pubmed.graph", "planetoid", 19717, 44324, 500, 3, false, 3, 2},
                      RealSet{"npz/gnn-benchmark-cora.npz", "npz-benchmark", 2708, 5278, 1433, 7, false, 0,
                              0},
                      RealSet{"npz/amazon_photo.npz", "npz-objects", 7650, 119081, 745, 8, false, 1, 0},
                      RealSet{"npz/tolokers.npz", "npz-arrays", 11758, 519000, 10, 2, false, 0, 10},
                      RealSet{"musae-facebook", "table", 22470, 170823, 4714, 4, false, 179, 0},
                      RealSet{"ppi-largest", "table", 3480, 53377, 50, 121, true, 1429, 0}));

TEST(Open, RealDetails) {
  L2GCN_NEEDS_REAL_DATA();
  const Context context = MakeContext(2);
  const Dataset photo = OpenDataset(context, (RealData() / "npz/amazon_photo.npz").string());
  EXPECT_EQ(photo.changes.entries_read, 143663u);
  EXPECT_EQ(photo.class_names.size(), 8u);
  const Dataset cora = OpenDataset(context, (RealData() / "npz/gnn-benchmark-cora.npz").string());
  EXPECT_EQ(cora.node_names.size(), 2708u);
  EXPECT_EQ(cora.class_names.size(), 7u);
  EXPECT_EQ(cora.features.csr().nnz(), 49216u);
  const Dataset facebook = OpenDataset(context, (RealData() / "musae-facebook").string());
  EXPECT_EQ(facebook.features.csr().nnz(), 314583u);
  EXPECT_EQ(facebook.class_names,
            (std::vector<std::string>{"company", "government", "politician", "tvshow"}));
  EXPECT_TRUE(facebook.node_ids.empty());
  const Dataset ppi = OpenDataset(context, (RealData() / "ppi-largest").string());
  uint64_t labels = 0;
  for (const uint8_t label : ppi.labels.matrix) labels += label;
  EXPECT_NEAR(static_cast<double>(labels) / ppi.nodes(), 34.8, 0.05);
  EXPECT_TRUE(ppi.node_ids.empty());
  EXPECT_EQ(ppi.labels.matrix[17 * 121], 1);  // the first row of the label file is of node 17
  EXPECT_EQ(ppi.labels.matrix[18 * 121], 0);
  EXPECT_FALSE(ppi.graph.weighted());
}

TEST(Open, NamesAreFoundWherePlanetoidWins) {
  L2GCN_NEEDS_REAL_DATA();
  OpenOptions options;
  options.data_dir = RealData().string();
  Context context = MakeContext(1);
  std::string notes;
  context.on_note = [&](const std::string& note) { notes += note + "\n"; };
  EXPECT_EQ(OpenDataset(context, "cora", options).format, "planetoid");
  EXPECT_MENTIONS(notes, "cora found at");
  EXPECT_EQ(OpenDataset(context, "tolokers", options).format, "npz-arrays");
  EXPECT_EQ(OpenDataset(context, "ppi-largest", options).format, "table");
  const std::string message = ErrorOf(ErrorKind::kInput, [&] { OpenDataset(context, "coro", options); });
  EXPECT_MENTIONS(message, "did you mean cora?");
  bool found = false;
  for (const KnownDataset& known : ListDatasets(options)) {
    found = found || (known.name == "pubmed" && known.format == "planetoid" && !known.found_at.empty());
  }
  EXPECT_TRUE(found);
}

TEST(Open, SyntheticAndDefault) {
  const Dataset demo = OpenDataset(MakeContext(2), "");
  EXPECT_EQ(demo.nodes(), 19717u);
  EXPECT_EQ(OpenDataset(MakeContext(2), "synthetic:cora").nodes(), 2708u);
}

TEST(Open, DescribesItself) {
  const nlohmann::json json = nlohmann::json::parse(DescribeDatasetJson(SampleDataset(true, false)));
  EXPECT_EQ(json["nodes"], 4);
  EXPECT_EQ(json["edges"], 3);
  EXPECT_EQ(json["features"], 5);
  EXPECT_EQ(json["self_loops"], 1);
  EXPECT_EQ(json["splits"], (std::vector<std::string>{"paper", "file:0"}));
}

TEST(Open, OptionsSurviveJson) {
  OpenOptions options;
  options.format = "table";
  options.edges = "e.csv";
  options.label_column = "kind";
  options.min_degree = 3;
  options.largest_component = true;
  const OpenOptions back = OpenOptionsFromJson(OpenOptionsToJson(options), "run");
  EXPECT_EQ(back.format, "table");
  EXPECT_EQ(back.edges, "e.csv");
  EXPECT_EQ(back.label_column, "kind");
  EXPECT_EQ(back.min_degree, 3u);
  EXPECT_TRUE(back.largest_component);
  EXPECT_THROW(OpenOptionsFromJson("[", "run"), Error);
}

TEST(Open, UnknownFilesAndFormatsAreAnswered) {
  TemporaryFolder folder;
  folder.Write("x.bin", "what is this");
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), (folder.path() / "x.bin").string()); }),
      "not recognised");
  OpenOptions options;
  options.format = "npx";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] { OpenDataset(MakeContext(1), (folder.path() / "x.bin").string(), options); }),
                  "--format npx: unknown");
}

}  // namespace
}  // namespace l2gcn
