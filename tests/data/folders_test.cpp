#include "data/folders.h"

#include <gtest/gtest.h>

#include "data/bundle.h"
#include "data/fixtures.h"
#include "data/npy.h"
#include "data/samples.h"
#include "data/writers.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

Dataset OpenFolder(const fs::path& path) { return OpenDataset(MakeContext(2), path.string()); }

TEST(GraphSaint, FolderWithRolesAndLabelsFromOne) {
  TemporaryFolder folder;
  const Context context = MakeContext(1);
  Dataset graph = SampleDataset(false, false);
  graph.graph.weights = {};
  WriteNpz(context, graph, folder.path() / "adj_full.npz", false);
  WriteNpy<double>(folder.path() / "feats.npy", std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  folder.Write("class_map.json", R"({"0": 1, "1": 2, "3": 1, "2": 2})");
  folder.Write("role.json", R"({"tr": [0, 1], "va": [2], "te": [3]})");
  const Dataset dataset = OpenFolder(folder.path());
  EXPECT_EQ(dataset.format, "graphsaint");
  EXPECT_EQ(dataset.edges, 3u);
  EXPECT_EQ(dataset.labels.classes, 2u);
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(dataset.splits[0].roles[3], static_cast<uint8_t>(Role::kTest));
  folder.Write("class_map.json", R"({"0": [1, 0], "1": [0, 1], "2": [1, 1], "3": [0, 0]})");
  EXPECT_TRUE(OpenFolder(folder.path()).labels.multilabel);
  folder.Write("role.json", R"({"tr": [0, 9]})");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }), "node 9 in a set of 4");
  folder.Write("class_map.json", R"({"0": [1, 0], "1": [0]})");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }),
                  "node 1 has 1 labels, the others 2");
}

TEST(GraphSage, PositionsIdsAndMaps) {
  TemporaryFolder folder;
  // Text ids with numbers in the links: positions, as networkx 1 wrote them.
  folder.Write(
      "toy-G.json",
      R"({"directed": false, "graph": {"name": "x"}, "nodes": [{"id": "p", "val": false, "test": false},
                  {"id": "q", "val": true, "test": false}, {"id": "r", "test": true, "val": false}],
                  "links": [{"source": 0, "target": 1, "train_removed": true}, {"source": 1, "target": 2}, {"source": 2, "target": 2}]})");
  folder.Write("toy-id_map.json", R"({"p": 2, "q": 1, "r": 0})");
  folder.Write("toy-class_map.json", R"({"p": [1, 0], "q": [0, 1], "r": [1, 1]})");
  WriteNpy<float>(folder.path() / "toy-feats.npy", std::vector<float>{30, 20, 10}, {3, 1});
  const Dataset dataset = OpenFolder(folder.path());
  EXPECT_EQ(dataset.name, "toy");
  EXPECT_EQ(dataset.format, "graphsage");
  EXPECT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.edges, 2u);
  EXPECT_EQ(dataset.self_loops, 1u);
  EXPECT_EQ(dataset.NodeName(2), "r");
  EXPECT_EQ(dataset.features.matrix().row(0)[0], 10.0f);
  EXPECT_TRUE(dataset.labels.multilabel);
  EXPECT_EQ(dataset.splits[0].roles[0], static_cast<uint8_t>(Role::kTrain));
  EXPECT_EQ(dataset.splits[0].roles[1], static_cast<uint8_t>(Role::kVal));
  // Numbers that are other numbers' positions: nothing can tell which is meant.
  folder.Write("toy-G.json",
               R"({"nodes": [{"id": 1}, {"id": 0}, {"id": 2}], "links": [{"source": 0, "target": 2}]})");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }),
                  "could mean ids or positions");
  folder.Write("toy-G.json", R"({"nodes": [{"id": 0}], "links": [{"source": 0, "target": 5}]})");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }), "does not exist");
  folder.Write("toy-G.json", R"({"nodes": [{"id": 0)");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }), "no valid JSON");
}

TEST(GraphSaint, RolesAndClassesSaySomethingOnce) {
  TemporaryFolder folder;
  Dataset graph = SampleDataset(false, false);
  graph.graph.weights = {};
  WriteNpz(MakeContext(1), graph, folder.path() / "adj_full.npz", false);
  const auto refused = [&](const char* classes, const char* roles) {
    folder.Write("class_map.json", classes);
    folder.Write("role.json", roles);
    return ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); });
  };
  const char* classes = R"({"0": 1, "1": 2, "2": 2, "3": 1})";
  EXPECT_MENTIONS(refused(classes, R"({"tr": [0, 1], "va": [1], "te": [3]})"),
                  "node 1 is for train and for validation");
  EXPECT_MENTIONS(refused(R"({"0": 1, "0": 2, "1": 1, "2": 1, "3": 1})", R"({"tr": [0]})"),
                  "'0' stands twice");
  EXPECT_MENTIONS(refused(R"({"0": -1, "1": 2, "2": 1, "3": 1})", R"({"tr": [0]})"),
                  "node 0 has the class -1");
}

TEST(GraphSage, AGraphNeedsNodesAndNodesOneRole) {
  TemporaryFolder folder;
  folder.Write("toy-class_map.json", "{}");
  const auto refused = [&](const char* graph) {
    folder.Write("toy-G.json", graph);
    return ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); });
  };
  EXPECT_MENTIONS(refused(R"({"links": []})"), "names no nodes");
  EXPECT_MENTIONS(refused(R"({"nodes": [{"id": 0, "val": true, "test": true}], "links": []})"),
                  "for validation and for test");
}

TEST(DglPpi, PartsStandSideBySide) {
  TemporaryFolder folder;
  for (const char* part : {"train", "valid", "test"}) {
    folder.Write(
        std::string(part) + "_graph.json",
        R"({"directed": true, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]})");
    WriteNpy<float>(folder.path() / (std::string(part) + "_feats.npy"), std::vector<float>{1, 2, 3, 4},
                    {2, 2});
    WriteNpy<int64_t>(folder.path() / (std::string(part) + "_labels.npy"),
                      std::vector<int64_t>{1, 0, 1, 0, 1, 1}, {2, 3});
  }
  const Dataset dataset = OpenFolder(folder.path());
  EXPECT_EQ(dataset.format, "dgl-ppi");
  EXPECT_EQ(dataset.preset_row, "ppi");
  EXPECT_EQ(dataset.nodes(), 6u);
  EXPECT_EQ(dataset.edges, 3u);
  EXPECT_EQ(dataset.labels.classes, 3u);
  EXPECT_EQ(dataset.splits[0].roles[4], static_cast<uint8_t>(Role::kTest));
}

TEST(Ogb, TablesAndSplits) {
  TemporaryFolder folder;
  folder.Write("raw/edge.csv", "0,1\n1,2\n");
  folder.Write("raw/node-feat.csv", "0.5,1\n2,3\n4,5\n");
  folder.Write("raw/node-label.csv", "1\n0\n2\n");
  folder.Write("split/time/train.csv", "0\n");
  folder.Write("split/time/valid.csv", "2\n");
  folder.Write("split/time/test.csv", "1\n");
  const Dataset dataset = OpenFolder(folder.path());
  EXPECT_EQ(dataset.format, "ogb");
  EXPECT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.labels.classes, 3u);
  EXPECT_EQ(dataset.features.matrix().row(0)[0], 0.5f);
  EXPECT_EQ(dataset.splits[0].roles[1], static_cast<uint8_t>(Role::kTest));
  folder.Write("split/time/test.csv", "7\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }), "'7' is no node of 0 to 2");
  folder.Write("raw/edge.csv", "0,1\n1,3\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }),
                  "edge 1 joins nodes 1 and 3");
  folder.Write("raw/node-label.csv", "1\ninf\n2\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }),
                  "node-label.csv:2: column 0: inf is past what a number can hold");
}

TEST(Ogb, SplitsThatTorchWroteLongAgoOrBadly) {
  TemporaryFolder folder;
  folder.Write("raw/edge.csv", "0,1\n1,2\n");
  folder.Write("raw/node-label.csv", "1\n0\n2\n");
  folder.Write("split/time/train.csv", "0\n");
  folder.Write("split/time/valid.csv", "2\n");
  const auto refusal = [&] { return ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder.path()); }); };
  EXPECT_MENTIONS(refusal(), "has neither test.csv.gz nor test.pt");
  folder.Write("split/time/test.pt",
               std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e and more"));
  EXPECT_MENTIONS(refusal(), "torch's form before version 1.6");
  folder.Write("split/time/test.pt", "1\n");
  EXPECT_MENTIONS(refusal(), "is not a file that torch.save wrote");
}

// Small sets as NumPy, SciPy and pickle wrote them, one or more of every folder format.
struct Sample {
  const char *seed, *format;
  uint32_t nodes, classes;
  uint64_t edges, features;
};
constexpr Sample kSamples[] = {
    {"folder_graphsaint/single", "graphsaint", 4, 2, 3, 2},
    {"folder_graphsaint/multi", "graphsaint", 4, 2, 3, 2},
    {"folder_graphsage/toy", "graphsage", 3, 2, 2, 1},
    {"folder_graphsage/ppi", "dgl-ppi", 6, 3, 3, 2},
    {"folder_ogb/tables", "ogb", 3, 3, 2, 2},
    {"folder_ogb/binary", "ogb", 3, 2, 2, 2},
    {"folder_ogb/torch", "ogb", 3, 3, 2, 0},
    {"folder_ogb/torch_dict", "ogb", 3, 3, 2, 0},
    {"folder_graphbolt/npy", "graphbolt", 3, 2, 2, 2},
    {"folder_npz_pair/reddit", "reddit-npz", 4, 2, 3, 2},
    {"folder_table/triple", "table", 3, 2, 2, 4},
    {"folder_table/multi", "table", 3, 2, 2, 2},
    {"folder_planetoid/toy", "planetoid", 6, 2, 4, 3},
    {"folder_native/sample", "native", 4, 2, 3, 2},
};

TEST(Folders, SmallSetsOfEveryFormatOpenWithTheirCounts) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.seed);
    TemporaryFolder folder;
    std::ifstream file(fs::path(L2GCN_SOURCE_DIR) / "tests/fuzz/seeds" / sample.seed, std::ios::binary);
    ASSERT_TRUE(file.good());
    UnpackBundle(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()),
                 folder.path());
    const Dataset dataset = OpenFolder(folder.path());
    ValidateDataset(MakeContext(1), dataset);
    EXPECT_EQ(dataset.format, sample.format);
    EXPECT_EQ(dataset.nodes(), sample.nodes);
    EXPECT_EQ(dataset.edges, sample.edges);
    EXPECT_EQ(dataset.features.cols(), sample.features);
    EXPECT_EQ(dataset.labels.classes, sample.classes);
  }
}

class GraphLand : public testing::Test {
 protected:
  GraphLand() {
    folder_.Write("features.csv", ",age,code\n0,30,7\n1,,8\n2,50,7\n3,60,9\n");
    folder_.Write("targets.csv", ",label\n0,1.0\n1,0.0\n2,\n3,1.0\n");
    folder_.Write("edgelist.csv", "source,target\n0,1\n1,2\n");
    folder_.Write("info.yaml",
                  "task: binary_classification\nnumerical_features_names: [age]\n"
                  "categorical_features_names: [code]\nfraction_features_names: []\n");
    folder_.Write("split_masks_RH.csv",
                  ",train,val,test\n0,True,False,False\n1,True,False,False\n"
                  "2,False,True,False\n3,False,False,True\n");
    folder_.Write("split_masks_RL.csv",
                  ",train,val,test\n0,True,False,False\n1,False,True,False\n"
                  "2,False,False,True\n3,False,False,True\n");
  }
  std::string Refusal() {
    return ErrorOf(ErrorKind::kInput, [&] { OpenFolder(folder_.path()); });
  }
  TemporaryFolder folder_;
};

TEST_F(GraphLand, TablesCodesAndSplits) {
  const Dataset dataset = OpenFolder(folder_.path());
  EXPECT_EQ(dataset.format, "graphland");
  EXPECT_EQ(dataset.nodes(), 4u) << "node 3 has no edge";
  ASSERT_EQ(dataset.schema.columns.size(), 2u);
  EXPECT_FALSE(dataset.schema.columns[0].category);
  EXPECT_EQ(dataset.schema.columns[1].levels, (std::vector<std::string>{"7", "8", "9"}));
  EXPECT_EQ(dataset.labels.classes, 2u);
  EXPECT_EQ(dataset.labels.classes_of[2], -1);
  ASSERT_EQ(dataset.splits.size(), 2u);
  EXPECT_EQ(dataset.splits[0].name, "file:RL");
  EXPECT_EQ(dataset.splits[1].roles[2], static_cast<uint8_t>(Role::kVal));
  EXPECT_EQ(CountSplit(dataset, "file:RH").train, 2u);
}

TEST_F(GraphLand, MistakesAreNamedByFileAndRow) {
  folder_.Write("split_masks_RL.csv", ",train,val,test\n0,yes,False,False\n");
  EXPECT_MENTIONS(Refusal(), "split_masks_RL.csv: row 1: column train: 'yes' is neither True nor False");
  folder_.Write("split_masks_RL.csv", ",train,val,test\n9,True,False,False\n");
  EXPECT_MENTIONS(Refusal(), "row 1: there is no node 9");
  folder_.Write("split_masks_RL.csv", ",train,val\n0,True,False\n");
  EXPECT_MENTIONS(Refusal(), "columns train, val and test");
  folder_.Write("info.yaml", "task: [\n");
  EXPECT_MENTIONS(Refusal(), "info.yaml:");
}

}  // namespace
}  // namespace l2gcn
