// Edge types, several weights and directions of a person's tables become relations.
#include "data/edge_relations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/relations.h"
#include "l2gcn/convert.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn {
namespace {

constexpr const char* kTyped =
    "from,to,kind,strength\n1,2,likes,0.5\n2,3,cites,2\n1,3,likes,1.5\n3,1,cites,4\n2,1,likes,0.25\n";

class EdgeRelations : public ::testing::Test {
 protected:
  Dataset Open(const std::string& edges) {
    options_.edges = folder_.Write("edges.csv", edges).string();
    notes_.clear();
    Context context = MakeContext(2);
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    context.on_warning = [this](const std::string& text) { notes_ += "warning: " + text + "\n"; };
    return OpenDataset(context, "", options_);
  }
  std::string Refused(ErrorKind kind, const std::string& edges) {
    return ErrorOf(kind, [&] { Open(edges); });
  }
  // "0>1 1>0:2": the entries of a graph, with weights where there are some.
  static std::string EntriesOf(const Graph& graph) {
    std::string text;
    for (uint32_t u = 0; u < graph.nodes; ++u) {
      for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
        text += fmt::format("{}{}>{}", text.empty() ? "" : " ", u, graph.indices[e]);
        if (graph.weighted()) text += fmt::format(":{}", graph.weights[e]);
      }
    }
    return text;
  }
  static std::vector<std::string> NamesOf(const Dataset& dataset) {
    std::vector<std::string> names;
    for (const Relation& relation : dataset.relations) names.push_back(relation.name);
    return names;
  }

  TemporaryFolder folder_;
  OpenOptions options_;
  std::string notes_;
};

TEST_F(EdgeRelations, EachTypeIsOneInTheOrderOfNames) {
  options_.edge_type_column = "kind";
  options_.weight_column = "none";
  const Dataset dataset = Open(kTyped);
  ASSERT_EQ(NamesOf(dataset), (std::vector<std::string>{"cites", "likes"}));
  EXPECT_EQ(EntriesOf(dataset.relations[0].graph), "0>2 1>2 2>0 2>1");
  EXPECT_EQ(EntriesOf(dataset.relations[1].graph), "0>1 0>2 1>0 2>0");
  EXPECT_EQ(EntriesOf(dataset.graph), "0>1 0>2 1>0 1>2 2>0 2>1");
  EXPECT_FALSE(dataset.graph.directed);
  EXPECT_MENTIONS(notes_, "type kind");
}

TEST_F(EdgeRelations, WeightsOfATypeAreItsOwn) {
  options_.edge_type_column = "kind";
  options_.weight_column = "strength";
  const Dataset dataset = Open(kTyped);
  EXPECT_EQ(EntriesOf(dataset.relations[1].graph), "0>1:0.5 0>2:1.5 1>0:0.5 2>0:1.5");
  EXPECT_EQ(EntriesOf(dataset.graph), "0>1:0.5 0>2:4 1>0:0.5 1>2:2 2>0:4 2>1:2");
}

TEST_F(EdgeRelations, DirectionsOfEachTypeAreTwo) {
  options_.edge_type_column = "kind";
  options_.weight_column = "none";
  options_.directed = true;
  const Dataset dataset = Open(kTyped);
  ASSERT_EQ(NamesOf(dataset), (std::vector<std::string>{"cites/in", "cites/out", "likes/in", "likes/out"}));
  EXPECT_EQ(EntriesOf(dataset.relations[0].graph), "0>2 2>1");
  EXPECT_EQ(EntriesOf(dataset.relations[1].graph), "1>2 2>0");
  EXPECT_TRUE(dataset.relations[0].graph.directed);
  EXPECT_EQ(EntriesOf(dataset.graph), "0>1 0>2 1>0 1>2 2>0 2>1");
  EXPECT_FALSE(dataset.graph.directed);
  EXPECT_EQ(dataset.edges, 3u);
}

TEST_F(EdgeRelations, DirectionsAloneAreInAndOut) {
  options_.directed = true;
  const Dataset dataset = Open("a,b\nb,c\nc,b\n");
  ASSERT_EQ(NamesOf(dataset), (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(EntriesOf(dataset.relations[0].graph), "1>0 1>2 2>1");
  EXPECT_EQ(EntriesOf(dataset.relations[1].graph), "0>1 1>2 2>1");
  EXPECT_EQ(EntriesOf(dataset.graph), "0>1 1>0 1>2 2>1");
}

// What runs of earlier versions were trained on.
TEST_F(EdgeRelations, StoredDirectionsOfEarlierVersionsAreOneDirectedGraph) {
  options_ = OpenOptionsFromJson(R"({"directed": true})", "run");
  EXPECT_TRUE(options_.one_way);
  const Dataset dataset = Open("a,b\nb,c\n");
  EXPECT_TRUE(dataset.graph.directed);
  EXPECT_TRUE(dataset.relations.empty());
  EXPECT_EQ(EntriesOf(dataset.graph), "0>1 1>2");
  OpenOptions now;
  now.directed = true;
  EXPECT_FALSE(OpenOptionsFromJson(OpenOptionsToJson(now), "run").one_way);
}

TEST_F(EdgeRelations, SeveralWeightsShareTheRowsOfTheGraph) {
  options_.weight_column = "strength,age";
  const Dataset dataset = Open("from,to,strength,age\n1,2,0.5,3\n2,3,2,1\n");
  ASSERT_EQ(NamesOf(dataset), (std::vector<std::string>{"age", "strength"}));
  EXPECT_EQ(EntriesOf(dataset.relations[0].graph), "0>1:3 1>0:3 1>2:1 2>1:1");
  EXPECT_EQ(EntriesOf(dataset.relations[1].graph), "0>1:0.5 1>0:0.5 1>2:2 2>1:2");
  EXPECT_FALSE(dataset.graph.weighted());
  EXPECT_EQ(dataset.relations[0].graph.indices.data(), dataset.graph.indices.data());
}

TEST_F(EdgeRelations, AColumnWithACommaInItsNameIsOneWeight) {
  options_.weight_column = "a,b";
  const Dataset dataset = Open("from,to,\"a,b\"\n1,2,0.5\n2,3,2\n");
  EXPECT_TRUE(dataset.relations.empty());
  EXPECT_TRUE(dataset.graph.weighted());
}

TEST_F(EdgeRelations, OneTypeSharesTheGraph) {
  options_.edge_type_column = "2";
  const Dataset dataset = Open("1,2,x\n2,3,x\n");
  ASSERT_EQ(NamesOf(dataset), std::vector<std::string>{"x"});
  EXPECT_EQ(dataset.relations[0].graph.indices.data(), dataset.graph.indices.data());
}

TEST_F(EdgeRelations, TheRarestOfManyTypesAreGrouped) {
  std::string edges = "from,to,kind\n";
  for (int e = 0; e < 5000; ++e) edges += fmt::format("{},{},t{}\n", e % 700, (e * 7 + 1) % 700, e);
  for (int k = 0; k < 3; ++k) edges += fmt::format("{},{},often\n", k, k + 5);
  options_.edge_type_column = "kind";
  const Dataset dataset = Open(edges);
  ASSERT_EQ(dataset.relations.size(), kMostEdgeTypes);
  const std::vector<std::string> names = NamesOf(dataset);
  EXPECT_NE(std::find(names.begin(), names.end(), "often"), names.end());
  const auto other = std::find(names.begin(), names.end(), kOtherEdges) - names.begin();
  EXPECT_GT(dataset.relations[static_cast<size_t>(other)].graph.entries(), 1000u);
  EXPECT_MENTIONS(notes_, "warning: ");
  EXPECT_MENTIONS(notes_, "5001 edge types; the 31 most frequent");
}

TEST_F(EdgeRelations, TypesOfAModelAreThoseOfItsTraining) {
  options_.edge_type_column = "kind";
  options_.edge_types = {"cites", "follows"};
  EXPECT_MENTIONS(Refused(ErrorKind::kInput, kTyped), "the model does not know the edge types likes");
  options_.allow_unmatched = true;
  const Dataset fewer = Open(kTyped);
  EXPECT_EQ(NamesOf(fewer), (std::vector<std::string>{"cites", "follows"}));
  EXPECT_EQ(fewer.relations[1].graph.entries(), 0u);
  EXPECT_EQ(EntriesOf(fewer.graph), "0>2:4 1>2:2 2>0:4 2>1:2");
  EXPECT_EQ(fewer.edges, 2u);
  EXPECT_MENTIONS(notes_, "their edges are left out");
  options_.allow_unmatched = false;
  options_.edge_types = {"cites", kOtherEdges};
  const Dataset grouped = Open(kTyped);
  EXPECT_EQ(EntriesOf(grouped.relations[1].graph), "0>1:0.5 0>2:1.5 1>0:0.5 2>0:1.5");
}

TEST_F(EdgeRelations, MistakesAreNamed) {
  options_.edge_type_column = "knd";
  EXPECT_MENTIONS(Refused(ErrorKind::kUsage, kTyped), "did you mean kind?");
  options_.edge_type_column = "from";
  EXPECT_MENTIONS(Refused(ErrorKind::kUsage, kTyped), "holds ids");
  options_.edge_type_column = "kind";
  EXPECT_MENTIONS(Refused(ErrorKind::kInput, "from,to,kind\n1,2,a\n2,3,\n"),
                  "edges.csv:3: column kind: expected an edge type, this cell is empty");
  EXPECT_MENTIONS(Refused(ErrorKind::kInput, "from,to,kind\n1,2,a\n2,3,all\n"), "a relation is called 'all'");
  options_.weight_column = "kind";
  EXPECT_MENTIONS(Refused(ErrorKind::kUsage, kTyped), "name the same column");
  options_.weight_column = "strength,from";
  EXPECT_MENTIONS(Refused(ErrorKind::kUsage, kTyped), "exclude each other");
  options_.edge_type_column = "";
  options_.weight_column = "strength,strength";
  EXPECT_MENTIONS(Refused(ErrorKind::kUsage, kTyped), "named twice");
  options_.weight_column = "strength,kind";
  EXPECT_MENTIONS(Refused(ErrorKind::kInput, kTyped),
                  "edges.csv:2: column kind: the weight 'likes' is no number");
}

// Conversion keeps relations, which a stream of edges does not have.
TEST_F(EdgeRelations, AreConverted) {
  const Context context = MakeContext(2);
  const std::string list = folder_.Write("list.csv", "1,2\n2,3\n3,2\n").string();
  OpenOptions open;
  open.directed = true;
  ConvertDataset(context, list, open, (folder_.path() / "set").string(), {});
  const Dataset stored = OpenDataset(context, (folder_.path() / "set").string());
  EXPECT_EQ(NamesOf(stored), (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(EntriesOf(stored.relations[1].graph), "0>1 1>2 2>1");
}

TEST(ArrayRelations, TypesAndWeightsOfEdges) {
  const std::vector<int64_t> source = {0, 1, 0}, target = {1, 2, 2}, type = {1, 0, 1};
  const std::vector<float> strength = {1, 2, 3}, age = {4, 5, 6};
  DatasetArrays arrays;
  arrays.nodes = 3;
  arrays.features = Features::None(3);
  arrays.source = std::span(source);
  arrays.target = std::span(target);
  arrays.edge_type = std::span(type);
  arrays.edge_type_names = {"b", "a"};
  const Dataset typed = MakeDataset(MakeContext(1), arrays);
  ASSERT_EQ(typed.relations.size(), 2u);
  EXPECT_EQ(typed.relations[0].name, "a");
  EXPECT_EQ(typed.relations[0].graph.entries(), 4u);
  arrays.edge_type_names = {"b"};
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { MakeDataset(MakeContext(1), arrays); }),
                  "edge_type[0] is 1");
  arrays.edge_type_names = {};
  arrays.directed = true;
  EXPECT_EQ(MakeDataset(MakeContext(1), arrays).relations[3].name, "1/out");
  arrays.weight_columns = {{"strength", strength}, {"age", age}};
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { MakeDataset(MakeContext(1), arrays); }),
                  "exclude each other");
  arrays.edge_type = {};
  arrays.directed = false;
  EXPECT_EQ(MakeDataset(MakeContext(1), arrays).relations[0].graph.weights[0], 4.0f);
}

}  // namespace
}  // namespace l2gcn
