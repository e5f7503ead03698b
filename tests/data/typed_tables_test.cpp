// Several types of nodes, each with a table of its own.
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/samples.h"
#include "data/table_schema.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn {
namespace {

class TypedTables : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("users.csv",
                  "id,age,city,churn,part\n7,31,rome,yes,train\n9,,oslo,no,test\n3,52,rome,,none\n");
    folder_.Write("items.csv", "id,price,name\nbook,12.5,a\n7,3,b\n");
    folder_.Write("bought.csv", "user,item\n7,7\n9,book\n7,book\n7,book\n");
    folder_.Write("knows.csv", "from,to,weight\n7,9,2\n9,7,3\n");
    options_.node_tables = {Table("user", "users.csv"), Table("item", "items.csv")};
    options_.edge_tables = {Table("user:bought:item", "bought.csv"), Table("user:knows:user", "knows.csv")};
    options_.label_column = "user:churn";
  }
  OpenOptions::Table Table(const std::string& name, const std::string& file) const {
    return {name, (folder_.path() / file).string()};
  }
  Dataset Open(const std::string& spec = "") {
    Context context = MakeContext(2);
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    return OpenDataset(context, spec, options_);
  }
  std::string Refused(ErrorKind kind = ErrorKind::kUsage) {
    return ErrorOf(kind, [this] { Open(); });
  }
  static std::vector<float> Row(const Dataset& dataset, uint32_t node) {
    const Matrix dense = dataset.features.ToMatrix(MakeContext(1));
    return {dense.row(node), dense.row(node) + dense.cols};
  }
  static std::vector<std::string> ColumnNames(const Dataset& dataset) {
    std::vector<std::string> names;
    for (const TableSchema::Column& column : dataset.schema.columns) names.push_back(column.name);
    return names;
  }

  TemporaryFolder folder_;
  OpenOptions options_;
  std::string notes_;
};

TEST_F(TypedTables, NodesAreNumberedTypeAfterTypeWithIdsOfTheirOwn) {
  const Dataset dataset = Open();
  ASSERT_EQ(dataset.nodes(), 5u);
  ASSERT_EQ(dataset.node_types.size(), 2u);
  EXPECT_EQ(dataset.node_types[1].name, "item");
  EXPECT_EQ(dataset.node_types[1].first, 3u);
  EXPECT_EQ(dataset.node_types[1].count, 2u);
  EXPECT_TRUE(dataset.node_types[0].labelled);
  EXPECT_FALSE(dataset.node_types[1].labelled);
  const std::vector<std::string> names = {"7", "9", "3", "book", "7"};
  for (uint32_t node = 0; node < 5; ++node) EXPECT_EQ(dataset.NodeName(node), names[node]);
  EXPECT_TRUE(dataset.IsPredicted(2));
  EXPECT_FALSE(dataset.IsPredicted(3));
  EXPECT_EQ(dataset.name, "bought");
}

TEST_F(TypedTables, ColumnsLieSideBySideAndAreZeroForOtherTypes) {
  const Dataset dataset = Open();
  EXPECT_EQ(ColumnNames(dataset),
            (std::vector<std::string>{"user.age", "user.city", "item.price", "item.name", "type"}));
  // age, its mark, oslo, rome | price, a, b | item, user
  EXPECT_EQ(Row(dataset, 0), (std::vector<float>{31, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(Row(dataset, 1), (std::vector<float>{0, 1, 1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(Row(dataset, 3), (std::vector<float>{0, 0, 0, 0, 12.5, 1, 0, 1, 0}));
  EXPECT_EQ(dataset.schema.columns[2].node_type, "item");
  EXPECT_EQ(dataset.schema.columns[4].node_type, "");
  EXPECT_EQ(dataset.schema.ignored, std::vector<std::string>{"user.part"});
}

TEST_F(TypedTables, EachTripleIsARelationOverAllNodes) {
  const Dataset dataset = Open();
  ASSERT_EQ(dataset.relations.size(), 2u);
  EXPECT_EQ(dataset.relations[0].name, "user:bought:item");
  const Graph& bought = dataset.relations[0].graph;
  EXPECT_EQ(bought.nodes, 5u);
  EXPECT_EQ(bought.entries(), 6u);
  EXPECT_EQ(bought.degree(0), 2u);
  EXPECT_EQ(bought.indices[bought.indptr[1]], 3u) << "user 9 bought the book";
  EXPECT_FALSE(bought.weighted());
  EXPECT_EQ(dataset.relations[1].graph.weights[0], 3.0f);
  EXPECT_EQ(dataset.edges, 4u);
  ASSERT_TRUE(dataset.graph.weighted());
  EXPECT_EQ(dataset.graph.weights[0], 3.0f) << "user 7 to 9";
  EXPECT_EQ(dataset.graph.weights[1], 1.0f);
}

TEST_F(TypedTables, DirectionsMakeTwoRelationsOfEach) {
  options_.directed = true;
  const Dataset dataset = Open();
  ASSERT_EQ(dataset.relations.size(), 4u);
  EXPECT_EQ(dataset.relations[0].name, "user:bought:item/in");
  EXPECT_EQ(dataset.relations[1].graph.degree(0), 2u) << "user 7 bought two items";
  EXPECT_EQ(dataset.relations[1].graph.degree(3), 0u);
  EXPECT_FALSE(dataset.graph.directed);
}

TEST_F(TypedTables, LabelsAndSplitsAreThoseOfTheLabelledType) {
  const Dataset dataset = Open();
  EXPECT_EQ(dataset.schema.label, "user:churn");
  EXPECT_EQ(std::vector<int32_t>(dataset.labels.classes_of.begin(), dataset.labels.classes_of.end()),
            (std::vector<int32_t>{1, 0, -1, -1, -1}));
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(dataset.splits[0].name, "column:part");
  EXPECT_EQ(dataset.splits[0].roles[1], static_cast<uint8_t>(Role::kTest));
  EXPECT_EQ(dataset.splits[0].roles[4], 0);
}

TEST_F(TypedTables, MediansAreThoseOfTheTypesOwnNodes) {
  const Dataset dataset = Open();
  const std::vector<uint8_t> all(5, 1);
  const TableSchema schema = FitSchema(MakeContext(1), dataset, all);
  EXPECT_EQ(schema.columns[0].fill, 41.5f);
  EXPECT_EQ(schema.columns[2].fill, 7.75f);
}

// The columns of an edge table may stand in any order where they are called as the types are.
TEST_F(TypedTables, EdgeColumnsAreFoundByTheNamesOfTheTypes) {
  folder_.Write("bought.csv", "when,item_id,user_id\n1,7,7\n2,book,9\n");
  const Dataset dataset = Open();
  EXPECT_EQ(dataset.relations[0].graph.entries(), 4u);
  EXPECT_EQ(dataset.relations[0].graph.indices[0], 4u);
}

TEST_F(TypedTables, IdsMayBeNamedForEachTypeAndStandAlone) {
  folder_.Write("items.csv", "item\nbook\n7\n");
  folder_.Write("users.csv", "age,uid,churn\n31,7,yes\n30,9,no\n");
  options_.id_column = "user:uid";
  const Dataset dataset = Open();
  EXPECT_EQ(dataset.nodes(), 4u);
  EXPECT_EQ(dataset.NodeName(2), "book");
  EXPECT_EQ(ColumnNames(dataset), (std::vector<std::string>{"user.age", "type"}));
  options_.id_column = "uid";
  EXPECT_MENTIONS(Refused(), "--id uid: expected TYPE:COLUMN");
}

TEST_F(TypedTables, AnIdThatNoTableHasIsRefusedWithItsRow) {
  folder_.Write("bought.csv", "user,item\n7,7\n9,lamp\n");
  const std::string message = Refused(ErrorKind::kInput);
  EXPECT_MENTIONS(message, "bought.csv: row 2: 'lamp' is no item");
  EXPECT_MENTIONS(message, "items.csv has no such id in column id");
  options_.allow_unmatched = true;
  EXPECT_EQ(Open().relations[0].graph.entries(), 2u);
  EXPECT_MENTIONS(notes_, "bought.csv: 1 of 2 edges");
  folder_.Write("bought.csv", "user,item\n7,desk\n9,lamp\n");
  EXPECT_MENTIONS(Refused(ErrorKind::kInput), "of no edge both ids");
}

TEST_F(TypedTables, MistakesInTheOptionsAreNamed) {
  const OpenOptions good = options_;
  const auto refused = [&](const std::function<void()>& change) {
    options_ = good;
    change();
    return Refused();
  };
  const auto relation = [&](const std::string& name) {
    return refused([&] { options_.edge_tables[0].name = name; });
  };
  EXPECT_MENTIONS(relation("user:bought:itm"), "no node type is called 'itm'");
  EXPECT_MENTIONS(relation("user:bought:itm"), "there are user, item");
  EXPECT_MENTIONS(relation("bought"), "expected SOURCE:NAME:TARGET");
  EXPECT_MENTIONS(relation("user::item"), "expected SOURCE:NAME:TARGET");
  EXPECT_MENTIONS(relation("user:a:b:item"), "expected SOURCE:NAME:TARGET");
  EXPECT_MENTIONS(relation("user:knows:user"), "given twice");
  EXPECT_MENTIONS(refused([&] { options_.node_tables[1].name = "user"; }),
                  "the node type user is given twice");
  EXPECT_MENTIONS(refused([&] { options_.node_tables[1].name = "a:b"; }), "'a:b' is no name of a node type");
  EXPECT_MENTIONS(refused([&] { options_.label_column = "people:churn"; }),
                  "no node type is called 'people'");
  EXPECT_MENTIONS(refused([&] { options_.label_column = "churn"; }), "--label churn: expected TYPE:COLUMN");
  EXPECT_MENTIONS(refused([&] { options_.label_column = "user:churned"; }), "--label churned");
  EXPECT_MENTIONS(refused([&] { options_.nodes = "n.csv"; }), "--nodes n.csv has no type");
  EXPECT_MENTIONS(refused([&] { options_.edge_tables.clear(); }), "no edge table");
  EXPECT_MENTIONS(refused([&] { options_.node_tables.clear(); }), "no node table");
  EXPECT_MENTIONS(refused([&] { options_.features = "f.npy"; }), "--features");
  EXPECT_MENTIONS(refused([&] { options_.edge_type_column = "kind"; }), "--edge-type has no effect");
  EXPECT_MENTIONS(refused([&] { options_.weight_column = "a,b"; }), "--weight a,b");
}

TEST_F(TypedTables, MistakesInTheTablesAreNamed) {
  folder_.Write("items.csv", "id,price,name\n");
  EXPECT_MENTIONS(Refused(ErrorKind::kInput), "items.csv");
  folder_.Write("items.csv", "id,price,name\nbook,1,a\nbook,2,b\n");
  EXPECT_MENTIONS(Refused(ErrorKind::kInput), "items.csv: row 2: the id book stands twice");
  folder_.Write("items.csv", "id,price,name\nbook,1,a\n,2,b\n");
  EXPECT_MENTIONS(Refused(ErrorKind::kInput), "items.csv: row 2 has no id");
}

TEST_F(TypedTables, TypesSurviveTheNativeStoreAndFilters) {
  const Dataset dataset = Open();
  const std::string native = (folder_.path() / "native").string();
  SaveDataset(MakeContext(1), dataset, native);
  const Dataset stored = OpenDataset(MakeContext(1), native);
  ExpectSameData(dataset, stored);
  ASSERT_EQ(stored.node_types.size(), 2u);
  EXPECT_EQ(stored.node_types[1].first, 3u);
  EXPECT_TRUE(stored.node_types[0].labelled);
  EXPECT_EQ(stored.schema.columns[2].node_type, "item");
  OpenOptions options;
  options.min_degree = 1;
  const Dataset kept = OpenDataset(MakeContext(1), native, options);
  EXPECT_EQ(kept.node_types[0].count, 2u) << "user 3 bought nothing";
  EXPECT_EQ(kept.node_types[1].first, 2u);
}

TEST_F(TypedTables, OptionsAreStoredWithARun) {
  const OpenOptions stored = OpenOptionsFromJson(OpenOptionsToJson(options_), "test");
  EXPECT_EQ(stored.node_tables, options_.node_tables);
  EXPECT_EQ(stored.edge_tables, options_.edge_tables);
  EXPECT_EQ(stored.label_column, "user:churn");
}

class SchemaFiles : public TypedTables {
 protected:
  void SetUp() override {
    TypedTables::SetUp();
    tables_ = options_;
    options_ = {};
    folder_.Write("shop.yaml",
                  "nodes:\n  user: users.csv\n  item: items.csv\nedges:\n  user:bought:item: bought.csv\n"
                  "  user:knows:user: knows.csv\nlabel: user:churn\n");
  }
  std::string Schema(const std::string& name) const { return (folder_.path() / name).string(); }
  OpenOptions tables_;
};

TEST_F(SchemaFiles, NameTheSameTables) {
  const Dataset from_path = Open(Schema("shop.yaml"));
  options_.schema = Schema("shop.yaml");
  const Dataset from_option = Open();
  EXPECT_EQ(from_path.name, "shop");
  options_ = tables_;
  Dataset from_tables = Open();
  from_tables.name = "shop";
  ExpectSameData(from_path, from_tables);
  ExpectSameData(from_option, from_tables);
  folder_.Write("shop.json",
                "{\"nodes\": {\"user\": \"users.csv\", \"item\": \"items.csv\"},\n"
                "\t\"edges\": {\"user:bought:item\": \"bought.csv\", \"user:knows:user\": \"knows.csv\"},\n"
                "\t\"label\": \"user:churn\"}\n");
  options_ = {};
  ExpectSameData(Open(Schema("shop.json")), from_tables);
}

TEST_F(SchemaFiles, OptionsMayAddAndRepeatButNotContradict) {
  options_.schema = Schema("shop.yaml");
  options_.node_tables = {Table("user", "users.csv")};
  options_.label_column = "user:churn";
  EXPECT_EQ(Open().nodes(), 5u);
  options_.node_tables = {Table("user", "items.csv")};
  EXPECT_MENTIONS(Refused(), "--nodes user=");
  options_.node_tables = {};
  options_.label_column = "user:city";
  EXPECT_MENTIONS(Refused(), "--label user:city: ");
  options_.label_column = "";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Open("cora"); }), "not both");
}

TEST_F(SchemaFiles, MistakesInTheFileAreNamed) {
  options_.schema = Schema("shop.yaml");
  const auto refused = [&](const std::string& text) {
    folder_.Write("shop.yaml", text);
    return Refused(ErrorKind::kInput);
  };
  EXPECT_MENTIONS(refused("nodes: [a"), "no valid YAML or JSON");
  EXPECT_MENTIONS(refused("nodes: a.csv\n"), "expected names and files under nodes");
  EXPECT_MENTIONS(refused("node:\n  user: users.csv\n"), "'node' is unknown");
  EXPECT_MENTIONS(refused("nodes:\n  user: [1]\n"), "shop.yaml:2: expected a word under nodes");
  EXPECT_MENTIONS(refused("nodes:\n  user: users.csv\n"), "expected files under nodes and under edges");
  EXPECT_MENTIONS(refused("words\n"), "expected nodes, edges and label");
  EXPECT_MENTIONS(refused(std::string(5000, '[')), "no valid YAML or JSON");
}

DatasetArrays TwoTypes(const std::vector<int64_t>& source, const std::vector<int64_t>& target) {
  DatasetArrays arrays;
  arrays.node_types.resize(2);
  arrays.node_types[0] = {"user", 3, Features::Dense({ArrayOf<float>({1, 2, 3}), 3, 1}), {}, true};
  arrays.node_types[1].name = "item";
  arrays.node_types[1].count = 2;
  arrays.relations.push_back({"user:bought:item", source, target, {}});
  return arrays;
}

TEST(TypedArrays, BecomeADatasetOfSeveralTypes) {
  const std::vector<int64_t> source = {0, 2}, target = {1, 0};
  const Dataset dataset = MakeDataset(MakeContext(1), TwoTypes(source, target));
  EXPECT_EQ(dataset.nodes(), 5u);
  EXPECT_EQ(dataset.features.cols(), 3u);
  EXPECT_EQ(dataset.graph.indices[0], 4u);
  EXPECT_EQ(dataset.schema.columns[0].name, "user.0");
  EXPECT_FALSE(dataset.IsPredicted(3));
}

TEST(TypedArrays, MistakesAreNamed) {
  const std::vector<int64_t> source = {0, 3}, target = {1, 0};
  const auto refused = [&](ErrorKind kind, DatasetArrays arrays) {
    return ErrorOf(kind, [&] { MakeDataset(MakeContext(1), std::move(arrays)); });
  };
  EXPECT_MENTIONS(refused(ErrorKind::kInput, TwoTypes(source, target)),
                  "user:bought:item source[1] is 3; expected a node from 0 to 2");
  DatasetArrays arrays = TwoTypes(target, target);
  arrays.node_types[0].count = 4;
  EXPECT_MENTIONS(refused(ErrorKind::kInput, arrays), "the features of user has 3 values; expected 4");
  arrays = TwoTypes(target, target);
  arrays.node_types[1].count = 0;
  EXPECT_MENTIONS(refused(ErrorKind::kInput, arrays), "the node type item has no nodes");
  arrays = TwoTypes(target, target);
  arrays.relations[0].name = "user:item";
  EXPECT_MENTIONS(refused(ErrorKind::kUsage, arrays), "expected SOURCE:NAME:TARGET");
}

}  // namespace
}  // namespace l2gcn
