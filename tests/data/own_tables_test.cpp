// A person's own tables: what is read, what is refused, what is remembered. Each case was once read wrongly
// without a word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/samples.h"
#include "data/structure.h"
#include "data/table_schema.h"
#include "data/table_set.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

class OwnTables : public ::testing::Test {
 protected:
  Dataset Open(const std::string& edges, const std::string& nodes = "") {
    options_.edges = folder_.Write("edges.csv", edges).string();
    options_.nodes = nodes.empty() ? "" : folder_.Write("nodes.csv", nodes).string();
    return Reopen();
  }
  Dataset Reopen() {
    notes_.clear();
    Context context = MakeContext(2);
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    return OpenDataset(context, "", options_);
  }
  std::string Refused(const std::string& edges, const std::string& nodes = "") {
    return ErrorOf(ErrorKind::kInput, [&] { Open(edges, nodes); });
  }
  static std::vector<float> Row(const Dataset& dataset, uint32_t node) {
    const Matrix& dense = dataset.features.matrix();
    return {dense.row(node), dense.row(node) + dense.cols};
  }

  TemporaryFolder folder_;
  OpenOptions options_;
  std::string notes_;
};

TEST_F(OwnTables, QuotedNamesInEdgesAreOneName) {
  const Dataset dataset =
      Open("\"Smith, John\",\"Doe, \"\"Jane\"\"\"\n\"Doe, \"\"Jane\"\"\",\"Line\nbreak\"\n");
  ASSERT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.NodeName(0), "Smith, John");
  EXPECT_EQ(dataset.NodeName(1), "Doe, \"Jane\"");
  EXPECT_EQ(dataset.NodeName(2), "Line\nbreak");
}

TEST_F(OwnTables, AQuoteFarDownInALongListIsStillAQuote) {
  std::string edges;
  for (int i = 0; edges.size() < 300000; ++i)
    edges += "u" + std::to_string(i % 50) + ",u" + std::to_string(i % 49) + "\n";
  const Dataset dataset = Open(edges + "\"u, one\",u1\n");
  EXPECT_EQ(dataset.nodes(), 51u);
  EXPECT_EQ(dataset.NodeName(50), "u, one");
}

TEST_F(OwnTables, WholeNumbersWithAPointAreTheSameIds) {
  const Dataset dataset = Open("1.0,2.0\n2.0,3.0\n", "id,x,kind\n1,5,a\n2,6,b\n3,7,a\n");
  ASSERT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.NodeName(0), "1");
  EXPECT_EQ(dataset.features.matrix().row(2)[0], 7.0f);
  const Dataset labels = Open("1,2\n2,3\n", "id,x,kind\n1,5,1.0\n2,6,\n3,7,0.0\n");
  EXPECT_EQ(labels.labels.classes, 2u);
  EXPECT_EQ(labels.labels.classes_of[1], -1);
}

TEST_F(OwnTables, HeadersThatNobodyListedAreHeaders) {
  for (const char* edges :
       {"caller,callee\na1,a2\na2,a3\na3,a1\n", "one end,other end\na1,a2\na2,a3\na3,a1\n",
        ",src,dst\n0,a1,a2\n1,a2,a3\n2,a3,a1\n", "Unnamed: 0,x,y\n0,a1,a2\n1,a2,a3\n2,a3,a1\n",
        "target,source\na1,a2\na2,a3\na3,a1\n"}) {
    const Dataset dataset = Open(edges);
    EXPECT_EQ(dataset.nodes(), 3u) << edges;
    EXPECT_EQ(dataset.edges, 3u) << edges;
    EXPECT_FALSE(dataset.graph.weighted()) << edges;
  }
  // Names without a digit: the node table tells.
  const Dataset known = Open("who,whom\nann,bob\nbob,eve\n", "id,x,kind\nann,1,a\nbob,2,b\neve,3,a\n");
  EXPECT_EQ(known.nodes(), 3u);
}

TEST_F(OwnTables, FirstRowsThatAreNoHeaders) {
  EXPECT_EQ(Open("007,7\n1,2\n3,4\n").nodes(), 6u);
  EXPECT_EQ(Open("+1,2\n3,4\n5,6\n").nodes(), 6u);
  EXPECT_EQ(Open("99999999999999999999,2\n3,4\n5,6\n").nodes(), 6u);
  EXPECT_EQ(Open("node1,node2\nnode2,node3\n").nodes(), 3u) << "names that come again are ids";
  EXPECT_EQ(Open("\xef\xbb\xbf"
                 "0,1\n1,2\n")
                .edges,
            2u)
      << "a byte order mark is no part of an id";
  EXPECT_EQ(Open("\xef\xbb\xbfsource,target\n0,1\n1,2\n").edges, 2u);
}

TEST_F(OwnTables, ColumnsOfTheEdgesCanBeNamed) {
  options_.source_column = "b";
  options_.target_column = "a";
  options_.weight_column = "none";
  options_.directed = true;
  const Dataset dataset = Open("a,b,w\n0,1,5\n0,2,6\n");
  EXPECT_EQ(dataset.graph.degree(0), 0u);
  EXPECT_EQ(dataset.graph.degree(1), 1u);
  EXPECT_FALSE(dataset.graph.weighted());
  options_.source_column = "bb";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Reopen(); }), "did you mean b?");
}

TEST_F(OwnTables, TheWeightIsNamedAndNothingIsDroppedInSilence) {
  const Dataset dataset = Open("src,dst,minutes,cost,kind\n0,1,2,3,home\n1,2,4,5,work\n");
  EXPECT_TRUE(dataset.graph.weighted());
  EXPECT_MENTIONS(notes_, "weight minutes; not used: cost, kind");
  Open("src,dst,kind\n0,1,home\n1,2,work\n");
  EXPECT_MENTIONS(notes_, "no weights; not used: kind");
  Open("src,dst,timestamp\n0,1,100\n1,2,200\n");
  EXPECT_MENTIONS(notes_, "not used: timestamp");
  Open("0,1,-2\n1,2,3\n");
  EXPECT_MENTIONS(notes_, "1 of 2 weights are below 0");
  EXPECT_EQ(Open("0;1;0,5\n1;2;0,25\n").graph.weights[0], 0.5f) << "a decimal comma";
  EXPECT_MENTIONS(Refused("0,1,2\n1,2,1e400\n"), "edges.csv:2: column 2: the weight '1e400' is not finite");
}

TEST_F(OwnTables, RaggedRowsAreRefused) {
  EXPECT_MENTIONS(Refused("Smith,Ann\nSmith, John,Ann\n"), "edges.csv:2: 3 cells on the line, expected 2");
  EXPECT_MENTIONS(Refused("0,1\n", "id,x,kind\n0,1,a\n1,2\n"),
                  "nodes.csv:3: 2 cells on the line, expected 3; column kind");
}

TEST_F(OwnTables, IdsThatDoNotMatchAreCountedOrRefused) {
  const std::string nodes = "id,x,kind\na,1,p\nb,2,q\nc,3,p\n";
  EXPECT_MENTIONS(Refused("u1,u2\nu2,u3\n", nodes), "3 of its 3 ids (u1, u2, u3) have no row");
  options_.allow_unmatched = true;
  EXPECT_EQ(Open("u1,u2\nu2,u3\n", nodes).nodes(), 6u);
  options_.allow_unmatched = false;
  std::string many = "id,x,kind\n", edges;
  for (int i = 0; i < 30; ++i) {
    many += "n" + std::to_string(i) + "," + std::to_string(i) + "," + (i % 2 == 0 ? "p" : "q") + "\n";
    if (i > 1) edges += "n" + std::to_string(i) + ",n" + std::to_string(i - 1) + "\n";
  }
  const Dataset dataset = Open(edges + "n2,stranger\n", many);
  EXPECT_EQ(dataset.nodes(), 31u);
  EXPECT_MENTIONS(notes_, "1 of 30 ids have no row in nodes.csv (stranger)");
  EXPECT_MENTIONS(notes_, "1 of 30 rows have no edge (n0)");
}

TEST_F(OwnTables, TheColumnThatMatchesIsNamed) {
  std::string nodes = "id,days,new_id\n", edges = "from,to\n", indexed;
  for (int i = 0; i < 20; ++i) {
    nodes += std::to_string(1000 + 7 * i) + "," + std::to_string(i % 3) + "," + std::to_string(i) + "\n";
    edges += std::to_string(i) + "," + std::to_string((i + 1) % 20) + "\n";
    indexed += std::to_string(i) + "," + std::to_string(1000 + 7 * i) + "," +
               std::to_string(1000 + 7 * ((i + 1) % 20)) + "\n";
  }
  options_.label_column = "days";
  EXPECT_MENTIONS(Refused(edges, nodes), "Column 'new_id' of the table matches: give --id new_id");
  options_.id_column = "new_id";
  EXPECT_EQ(Reopen().nodes(), 20u);
  options_.id_column.clear();
  EXPECT_MENTIONS(Refused(indexed, nodes), "give --source 1 --target 2");
}

TEST_F(OwnTables, ALabelTableBesideFeaturesMustSpeakOfTheSameNodes) {
  std::string labels = "id,days,mature,new_id\n", edges = "from,to\n", features = "{";
  for (int i = 0; i < 20; ++i) {
    labels +=
        std::to_string(1000 + i) + ",5," + (i % 2 == 0 ? "True" : "False") + "," + std::to_string(i) + "\n";
    edges += std::to_string(i) + "," + std::to_string((i + 1) % 20) + "\n";
    features +=
        (i > 0 ? "," : "") + std::string("\"") + std::to_string(i) + "\": [1, " + std::to_string(i) + "]";
  }
  folder_.Write("set/edges.csv", edges);
  folder_.Write("set/features.json", features + "}");
  folder_.Write("set/target.csv", labels);
  const std::string set = (folder_.path() / "set").string();
  OpenOptions options;
  options.label_column = "mature";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), set, options); }),
                  "give --id new_id");
  options.id_column = "new_id";
  EXPECT_EQ(OpenDataset(MakeContext(1), set, options).nodes(), 20u);
}

TEST_F(OwnTables, MissingValuesAreMarkedAndFilledByTheTrainMedian) {
  options_.label_column = "kind";
  const Dataset dataset =
      Open("a,b\nb,c\nc,d\n", "id,age,city,kind\na,1,rome,x\nb,NA,,y\nc,5,oslo,x\nd,100,rome,y\n");
  ASSERT_EQ(dataset.schema.columns.size(), 2u);
  const TableColumn &age = dataset.schema.columns[0], &city = dataset.schema.columns[1];
  EXPECT_FALSE(age.category) << "NA does not make words of numbers";
  EXPECT_EQ(age.missing, 1u);
  EXPECT_TRUE(city.category);
  EXPECT_EQ(city.levels, (std::vector<std::string>{"oslo", "rome"}));
  EXPECT_EQ(Row(dataset, 1), (std::vector<float>{0, 1, 0, 0, 1}));
  EXPECT_MENTIONS(notes_, "missing in column age 1, city 1");
  const std::vector<uint8_t> train = {1, 1, 1, 0};
  const TableSchema fitted = FitSchema(MakeContext(1), dataset, train);
  EXPECT_EQ(fitted.columns[0].fill, 3.0f) << "the median of 1 and 5; the test node does not count";
  Dataset filled = dataset;
  filled.features = ApplySchema(MakeContext(1), fitted, dataset);
  EXPECT_EQ(Row(filled, 1), (std::vector<float>{3, 1, 0, 0, 1}));
  EXPECT_EQ(Row(filled, 3), (std::vector<float>{100, 0, 0, 1, 0}));
}

TEST_F(OwnTables, ManyDatesAreNoCategories) {
  std::string edges, nodes = "id,since,seen,quarter,kind\n";
  for (int i = 0; i < 60; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 60);
    nodes += fmt::format("{},2024-{:02}-{:02},{}.{}.2023 10:30,2024-0{}-01,{}\n", i, 1 + i % 12, 1 + i % 28,
                         1 + i % 28, 1 + i % 12, 1 + i % 4 * 2, i % 2 == 0 ? "a" : "b");
  }
  const Dataset dataset = Open(edges, nodes);
  EXPECT_EQ(dataset.schema.ignored, (std::vector<std::string>{"since", "seen"}));
  EXPECT_MENTIONS(notes_, "column since holds dates");
  ASSERT_EQ(dataset.schema.columns.size(), 1u);
  EXPECT_EQ(dataset.schema.columns[0].levels.size(), 4u) << "a few dates are categories";
  options_.feature_columns = {"since", "quarter"};
  EXPECT_EQ(Reopen().schema.columns.size(), 2u) << "a model that knows the column has it";
}

TEST_F(OwnTables, NewTablesAreMatchedByName) {
  options_.label_column = "kind";
  const std::string edges = "a,b\nb,c\n";
  const Dataset trained = Open(edges, "id,age,city,note,kind\na,1,rome,7,x\nb,2,oslo,8,y\nc,3,rome,9,x\n");
  const Context quiet = MakeContext(1);
  const TableSchema schema = FitSchema(quiet, trained, {});
  options_.label_optional = true;
  const auto apply = [&](const std::string& nodes) {
    Dataset dataset = Open(edges, nodes);
    Context context = MakeContext(1);
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    dataset.features = ApplySchema(context, schema, dataset);
    return dataset;
  };
  const Dataset moved = apply("note,city,id,age\n7,rome,a,1\n8,oslo,b,2\n9,rome,c,3\n");
  EXPECT_EQ(moved.labels.classes, 0u) << "no label column is needed";
  for (uint32_t node = 0; node < 3; ++node) EXPECT_EQ(Row(moved, node), Row(trained, node));
  const Dataset other = apply("id,age,city,note\na,1,paris,7\nb,?,oslo,8\nc,3,oslo,9\n");
  EXPECT_EQ(Row(other, 0), (std::vector<float>{1, 0, 0, 7})) << "an unseen category is none of the known";
  EXPECT_EQ(Row(other, 1)[0], 2.0f) << "the median of the training table";
  EXPECT_MENTIONS(notes_, "column city: 1 cell of categories the model has not seen count as other (paris)");
  const auto refused = [&](const std::string& nodes) {
    return ErrorOf(ErrorKind::kInput, [&] { apply(nodes); });
  };
  EXPECT_MENTIONS(refused("id,city,note\na,rome,7\nb,oslo,8\nc,oslo,9\n"), "column 'age' is missing");
  EXPECT_MENTIONS(refused("id,age,city,note,more\na,1,rome,7,1\nb,2,oslo,8,1\nc,3,oslo,9,2\n"),
                  "column 'more' is one too many");
  EXPECT_MENTIONS(refused("id,age,city,note\na,old,rome,7\nb,new,oslo,8\nc,old,oslo,9\n"),
                  "column 'age' holds words ('new')");
}

TEST_F(OwnTables, SchemasSurviveJsonAndTheNativeDirectory) {
  options_.label_column = "kind";
  const Dataset dataset = Open("a,b\nb,c\n", "id,age,city,kind\na,1,rome,x\nb,NA,oslo,y\nc,3,rome,x\n");
  const TableSchema schema = FitSchema(MakeContext(1), dataset, {});
  const TableSchema back = SchemaFromJson(SchemaToJson(schema), "here");
  EXPECT_EQ(SchemaToJson(back), SchemaToJson(schema));
  EXPECT_EQ(back.columns[0].fill, 2.0f);
  SaveDataset(MakeContext(1), dataset, (folder_.path() / "native").string());
  const Dataset native = OpenDataset(MakeContext(1), (folder_.path() / "native").string());
  EXPECT_EQ(SchemaToJson(native.schema), SchemaToJson(dataset.schema));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [] { SchemaFromJson("{}", "here"); }), "here: its table");
}

TEST_F(OwnTables, ALabelColumnOfManyValuesIsAskedAbout) {
  std::string nodes = "id,kind,income\n", edges;
  for (int i = 0; i < 40; ++i) {
    nodes += std::to_string(i) + "," + std::to_string(i % 2) + "," + std::to_string(1000.5 + i * i) + "\n";
    edges += std::to_string(i) + "," + std::to_string((i + 1) % 40) + "\n";
  }
  EXPECT_MENTIONS(
      Refused(edges, nodes),
      "column 'income' has 40 different values in 40 rows, all of them numbers: is it the label?");
  options_.label_column = "kind";
  EXPECT_EQ(Reopen().labels.classes, 2u);
}

TEST_F(OwnTables, NegativeClassesAreClassesOfTheirOwn) {
  options_.label_column = "side";
  const Dataset dataset = Open("0,1\n1,2\n", "id,x,side\n0,1,-1\n1,2,1\n2,3,-1\n");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(dataset.labels.classes_of[0], 0);
}

TEST_F(OwnTables, BareMatricesAreRowsOfNodesInOrder) {
  options_.edges = folder_.Write("e.csv", "0,1\n1,2\n2,3\n").string();
  options_.features =
      folder_.Write("f.txt", "1.000000000000000000e+00 5.0\n1.0 6.0\n2.0 7.0\n2.0 8.0\n").string();
  options_.labels = folder_.Write("l.txt", "3\n0\n3\n0\n").string();
  const Dataset dataset = Reopen();
  EXPECT_EQ(dataset.nodes(), 4u);
  EXPECT_EQ(dataset.features.matrix().row(3)[1], 8.0f);
  EXPECT_EQ(dataset.labels.classes_of[0], dataset.labels.classes_of[2]);
  options_.labels = folder_.Write("m.csv", "1,0,1\n0,1,0\n1,1,0\n0,0,0\n").string();
  const Dataset many = Reopen();
  EXPECT_TRUE(many.labels.multilabel);
  EXPECT_EQ(many.labels.matrix[2], 1);
  options_.labels = folder_.Write("o.csv", "1,0\n0,1\n1,0\n0,1\n").string();
  EXPECT_FALSE(Reopen().labels.multilabel) << "one 1 in every row is a class";
  options_.edges = folder_.Write("one.csv", "1,2\n2,3\n3,4\n").string();
  const Dataset from_one = Reopen();
  EXPECT_EQ(from_one.nodes(), 4u);
  EXPECT_EQ(from_one.NodeName(3), "4");
  options_.edges = folder_.Write("far.csv", "1,2\n2,30\n").string();
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { Reopen(); }), "have 4 rows");
}

TEST_F(OwnTables, NoIdsForcesRowsInOrder) {
  options_.edges = folder_.Write("e.csv", "0,1\n1,2\n").string();
  options_.features = folder_.Write("f.csv", "10,1\n11,2\n12,3\n").string();
  options_.no_ids = true;
  const Dataset dataset = Reopen();
  EXPECT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(Row(dataset, 2), (std::vector<float>{12, 3}));
}

TEST_F(OwnTables, WhatIsNoTextTableIsSaidSo) {
  EXPECT_MENTIONS(Refused("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
                  "pointer of Git LFS");
  EXPECT_MENTIONS(Refused(std::string("\xff\xfe"
                                      "0\0,\0",
                                      6)),
                  "UTF-16");
  EXPECT_MENTIONS(Refused(std::string("0,1\n\0\0", 6)), "zero byte");
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kInput,
              [&] { OpenDataset(MakeContext(1), folder_.Write("e.csv.gz", "\x1f\x8c 0,1\n").string()); }),
      "is called .gz but does not begin like one");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput,
                          [&] { OpenDataset(MakeContext(1), folder_.Write("e.csv.zst", "0,1\n").string()); }),
                  "is called .zst");
  EXPECT_MENTIONS(Refused("0,1\n", "id,name,kind\n"), "nodes.csv: holds a header and no rows");
  EXPECT_MENTIONS(Refused("source,target\n"), "holds a header and no edges");
  EXPECT_MENTIONS(Refused("0,1\n", "id,name,kind\n0,caf\xe9,a\n1,b,c\n"),
                  "nodes.csv:2: byte 0xe9 is not UTF-8");
  EXPECT_MENTIONS(Refused("0,1\n", "id,x,kind\n0,1e400,a\n1,2,b\n"), "nodes.csv:2: column x: 1e400 is past");
  EXPECT_EQ(Open("0,1\r1,2\r2,3\r").edges, 3u) << "carriage returns alone end lines";
}

TEST_F(OwnTables, SvmlightColumnsHaveOneValue) {
  options_.edges = folder_.Write("e.csv", "0,1\n").string();
  options_.features = folder_.Write("f.svm", "0 1:2 3:1\n1 2:1 1:5 2:7\n").string();
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { Reopen(); }), "f.svm:2: column 2 has two values");
}

TEST_F(OwnTables, AGraphWithoutFeaturesGetsThemFromItsStructure) {
  const Dataset dataset = Open("0,1\n1,2\n2,0\n3,4\n");
  const Dataset made = WithStructure(MakeContext(1), dataset), again = WithStructure(MakeContext(3), dataset);
  ASSERT_GT(made.features.cols(), 10u);
  EXPECT_TRUE(made.structure);
  EXPECT_GT(Row(made, 0)[0], Row(made, 3)[0]) << "degree 2 above degree 1";
  for (uint32_t node = 0; node < 5; ++node) EXPECT_EQ(Row(made, node), Row(again, node));
}

}  // namespace
}  // namespace l2gcn
