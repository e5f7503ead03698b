// A person's own tables: what is read, what is refused, what is remembered. Each case was once read wrongly
// without a word.
#include "data/own_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/edge_text.h"
#include "data/fixtures.h"
#include "data/npy.h"
#include "data/structure.h"
#include "data/table_numbers.h"
#include "data/table_schema.h"
#include "data/table_set.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

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
  EXPECT_EQ(dataset.relations[0].graph.degree(0), 2u);  // in
  EXPECT_EQ(dataset.relations[1].graph.degree(0), 0u);  // out
  EXPECT_EQ(dataset.relations[1].graph.degree(1), 1u);
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
  EXPECT_MENTIONS(Refused("u1,u2\nu2,u3\n", nodes), "Nothing matches, so --allow-unmatched does not help");
  EXPECT_EQ(Open("from,to\nu1,u2\nu2,a\n", nodes).nodes(), 5u);
  EXPECT_MENTIONS(notes_, "warning: edges.csv: 2 of 3 ids have no row in nodes.csv (u1, u2)");
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
  const TableSchema::Column &age = dataset.schema.columns[0], &city = dataset.schema.columns[1];
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
    Listen(context);
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
  EXPECT_MENTIONS(refused("id,age,city,note\na,old,rome,7\nb,new,oslo,8\nc,old,oslo,9\n"),
                  "nodes.csv: column 'age' holds words ('new')");
}

TEST_F(OwnTables, NewTablesAreReadAsTheModelKnowsThem) {
  options_.label_column = "kind";
  const std::string edges = "a,b\nb,c\n";
  const Dataset trained =
      Open(edges, "id,age,vip,city,kind\na,1,True,rome,x\nb,2,False,oslo,y\nc,3,True,rome,x\n");
  EXPECT_EQ(trained.schema.id, "id");
  const TableSchema schema = FitSchema(MakeContext(1), trained, {});
  options_.label_optional = true;
  const auto row_of_a = [&](const std::string& nodes) {
    Dataset dataset = Open(edges, nodes);
    Context context = MakeContext(1);
    Listen(context);
    dataset.features = ApplySchema(context, schema, dataset);
    return Row(dataset, 0);
  };
  const std::vector<float> a = Row(trained, 0);
  EXPECT_EQ(row_of_a("id,age,vip,city\na,1,TRUE,Rome\nb,2,FALSE,oslo\nc,3,TRUE,rome\n"), a) << "another case";
  EXPECT_MENTIONS(notes_, "FALSE for False in column vip");
  EXPECT_EQ(row_of_a("id,age,vip,city\na,1,1,rome\nb,2,0,oslo\nc,3,1,rome\n"), a) << "truth as numbers";
  EXPECT_EQ(row_of_a("id,more,age,vip,city\na,7,1,True,rome\nb,8,2,False,oslo\nc,9,3,True,rome\n"), a);
  EXPECT_MENTIONS(notes_, "nodes.csv: the model was not trained on column more: left out");
  EXPECT_EQ(row_of_a("id,age,vip,city\na,abc,True,rome\nb,2,False,oslo\nc,3,True,rome\n")[0], 2.0f)
      << "a word among numbers is missing: the median";
  EXPECT_MENTIONS(notes_, "column age: 1 cell without a number (abc), counted as missing");
  row_of_a("id,age,vip,city\na,1,wahr,rome\nb,2,falsch,oslo\nc,3,wahr,rome\n");
  EXPECT_MENTIONS(notes_,
                  "column vip: the model knows none of the values in its 3 cells (falsch, wahr), only False");
  EXPECT_MENTIONS(notes_, "warning: ");
}

// The id column stands elsewhere in the new table, and has no usual name.
TEST_F(OwnTables, TheIdColumnOfAModelIsFoundByItsName) {
  options_.id_column = "customer";
  options_.id_optional = true;
  options_.label_column = "kind";
  const std::string edges = "a,b\nb,c\n";
  EXPECT_EQ(Open(edges, "age,customer,kind\n1,a,x\n2,b,y\n3,c,x\n").schema.id, "customer");
  EXPECT_EQ(Open(edges, "person,age,kind\na,1,x\nb,2,y\nc,3,x\n").schema.id, "person") << "it is not there";
  options_.id_optional = false;
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Reopen(); }), "--id customer");
}

TEST_F(OwnTables, NewNodesWithEdgesToOldOnesAreJoined) {
  options_.label_column = "kind";
  options_.model_edges = "calls.csv";
  options_.model_nodes = "people.csv";
  const std::string message = Refused("n1,a\nn2,b\nn1,n2\n", "id,age,kind\nn1,1,x\nn2,2,y\n");
  EXPECT_MENTIONS(message, "join the new tables to the old ones");
  EXPECT_MENTIONS(message, "('people.csv', '" + options_.nodes + "')");
  EXPECT_MENTIONS(message, "--nodes all-nodes.csv --edges all-edges.csv");
}

TEST_F(OwnTables, IdsThatDifferOnlyInSpellingAreNamed) {
  const std::string edges = "P1,P2\nP2,P3\n";
  EXPECT_MENTIONS(
      Refused(edges, "id,x,kind\np1,1,a\np2,2,b\np3,3,a\n"),
      "3 of them match if case is ignored ('P1' in edges.csv, 'p1' in nodes.csv): write the ids alike");
  EXPECT_MENTIONS(Refused("007,008\n008,009\n", "id,x,kind\n7,1,a\n8,2,b\n9,3,a\n"),
                  "match if leading zeros are ignored ('007' in edges.csv, '7' in nodes.csv)");
  EXPECT_MENTIONS(Refused("A07,A08\n", "id,x,kind\na07,1,a\na08,2,b\n"), "if case is ignored");
  options_.allow_unmatched = true;
  EXPECT_MENTIONS(Refused(edges, "id,x,kind\np1,1,a\np2,2,b\np3,3,a\n"), "--allow-unmatched does not help");
}

TEST_F(OwnTables, AColumnOfMostlyNumbersIsOneOfNumbers) {
  std::string edges, nodes = "id,age,rate,price,mass,code,mixed,kind\n";
  for (int i = 0; i < 300; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 300);
    nodes += fmt::format("{},{},{}%,\"${},{:03}.50\",1e{} kg,{},{},{}\n", i,
                         i == 250 ? "abc" : std::to_string(i % 70), i, 1 + i % 9, i, i % 20,
                         i % 50 == 0 ? "A" : std::to_string(i % 5),
                         i % 2 == 0   ? std::to_string(i)
                         : i % 4 == 1 ? "low"
                                      : "high",
                         i % 2 == 0 ? "a" : "b");
  }
  const Dataset dataset = Open(edges, nodes);
  ASSERT_EQ(dataset.schema.columns.size(), 6u);
  for (const size_t c : {0u, 1u, 2u, 3u}) EXPECT_FALSE(dataset.schema.columns[c].category) << c;
  EXPECT_EQ(dataset.schema.columns[0].missing, 1u);
  EXPECT_EQ(dataset.schema.columns[2].unit, "$");
  EXPECT_TRUE(dataset.schema.columns[4].category) << "few different numbers beside a word are codes";
  EXPECT_TRUE(dataset.schema.columns[5].category) << "half of the cells are words";
  EXPECT_MENTIONS(notes_,
                  "column age: 299 of 300 filled cells are numbers; the 1 other (abc) counts as missing");
  EXPECT_MENTIONS(notes_, "column rate: numbers with the unit % are read as numbers");
  EXPECT_MENTIONS(notes_, "column mass: numbers with the unit kg are read as numbers");
}

TEST_F(OwnTables, NumbersCarryUnits) {
  const auto parse = [](const char* cell, char separator = ',') {
    TableNumber measure;
    return ParseTableNumber(cell, separator, measure) ? fmt::format("{}|{}", measure.number, measure.unit)
                                                      : "none";
  };
  EXPECT_EQ(parse("12%"), "12|%");
  EXPECT_EQ(parse("$12.00"), "12|$");
  EXPECT_EQ(parse("-$1,234.5"), "-1234.5|$");
  EXPECT_EQ(parse("$-5"), "-5|$");
  EXPECT_EQ(parse("12,50 €", ';'), "12.5|€");
  EXPECT_EQ(parse("12\xc2\xa0€"), "12|€");
  EXPECT_EQ(parse("1e3 kg"), "1000|kg");
  EXPECT_EQ(parse("5"), "5|");
  for (const char* cell : {"abc", "$", "%", "", "kg 5", "2024-01-31", "10:30", "1.2.3", "12-14", "inf kg",
                           "--5 kg", "-$-5", "7 days or more"}) {
    EXPECT_EQ(parse(cell), "none") << cell;
  }
}

TEST_F(OwnTables, LabelsThatLookLikeOneClassAreListed) {
  options_.label_column = "left";
  std::string edges, nodes = "id,age,left\n";
  const char* const labels[] = {"yes", "Yes", "YES", "no", "No", "NO", "unknown", "\" yes \""};
  for (int i = 0; i < 80; ++i) {
    edges += fmt::format("{},{}\n", i, (i + 1) % 80);
    nodes += fmt::format("{},{},{}\n", i, 20 + i % 30, labels[i % 8]);
  }
  EXPECT_EQ(Open(edges, nodes).labels.classes, 7u) << "blanks around a label are no part of it";
  EXPECT_MENTIONS(notes_, "nodes.csv: column left: blanks around 10 labels are dropped");
  EXPECT_MENTIONS(
      notes_, "warning: nodes.csv: column left: classes that differ only in case or blanks: NO, No, no; YES");
  EXPECT_MENTIONS(notes_, "unknown reads as if there were no label, but it is a class; --missing unknown");
  options_.missing = "UNKNOWN, age";
  const Dataset known = Reopen();
  EXPECT_EQ(known.labels.classes, 6u);
  EXPECT_EQ(known.labels.classes_of[6], -1);
}

TEST_F(OwnTables, WordsForMissingCountInEveryColumnButTheIds) {
  options_.missing = "unknown";
  const Dataset dataset = Open("unknown,b\nb,c\n", "id,age,kind\nunknown,Unknown,a\nb,2,b\nc,3,UNKNOWN\n");
  EXPECT_FALSE(dataset.schema.columns[0].category);
  EXPECT_EQ(dataset.schema.columns[0].missing, 1u);
  EXPECT_EQ(dataset.labels.classes, 2u);
  EXPECT_EQ(dataset.labels.classes_of[2], -1);
  EXPECT_EQ(dataset.NodeName(0), "unknown");
}

TEST_F(OwnTables, ASeparatorCanBeDeclared) {
  const Dataset dataset =
      Open("sep=;\r\nfrom;to\r\n1;2\r\n2;3\r\n", "sep=;\nid;x;kind\n1;0,5;a\n2;1,5;b\n3;2;a\n");
  EXPECT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.edges, 2u);
  EXPECT_EQ(dataset.features.matrix().row(0)[0], 0.5f);
  EXPECT_EQ(Open("\"sep=|\"\n1|2\n2|3\n").nodes(), 3u);
  EXPECT_EQ(Open("sep=,\na b,c d\nc d,e f\n").NodeName(0), "a b");
  EXPECT_MENTIONS(Refused("sep=;\n1;2\n", "sep=;\nid;x;kind\n1;2;a\n2;3\n"),
                  "nodes.csv:4: 2 cells on the line");
}

TEST_F(OwnTables, TablesInOtherFormatsAreNamedWithTheCommandThatConvertsThem) {
  const std::string ods =
      "PK\x03\x04" + std::string(26, '\0') + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet";
  const std::tuple<const char*, std::string, const char*> files[] = {
      {"customers.parquet", "PAR1\x15\0", "pandas.read_parquet('"},
      {"customers.feather", "ARROW1\0\0", "pandas.read_feather('"},
      {"customers.xlsx", std::string("PK\x03\x04\0\0", 6), "pandas.read_excel('"},
      {"renamed.csv", std::string("PK\x03\x04\0\0[Content_Types].xml", 25), "an Excel workbook"},
      {"customers.ods", ods, "engine='odf'"},
      {"customers.xls", "\xd0\xcf\x11\xe0\xa1\xb1", "pandas.read_excel('"},
      {"customers.json", "[{\"id\": 1, \"x\": 2}]", "pandas.read_json('"},
      {"customers.jsonl", "{\"id\": 1}\n{\"id\": 2}\n", "lines=True"},
      {"customers.npy", "\x93NUMPY\x01", "a NumPy array"},
      {"customers.zip", "PK\x03\x04", "a zip archive"},
  };
  for (const auto& [name, text, words] : files) {
    const std::string path = folder_.Write(name, text).string();
    options_.edges = folder_.Write("edges.csv", "0,1\n1,2\n").string();
    options_.nodes = path;
    const std::string nodes = ErrorOf(ErrorKind::kInput, [&] { Reopen(); });
    EXPECT_MENTIONS(nodes, path + ": is ");
    EXPECT_MENTIONS(nodes, words);
    EXPECT_MENTIONS(nodes, "tables are read from text (.csv,");
    options_.edges = path;
    options_.nodes.clear();
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { Reopen(); }), words);
  }
  options_.nodes = folder_.Write("it's.parquet", "PAR1").string();
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { Reopen(); }), "read_parquet('FILE').to_csv('FILE.csv'");
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

TEST_F(OwnTables, ALabelColumnOfManyWholeNumbersOrNamesIsOneWarning) {
  std::string nodes = "id,kind,age,name\n", edges;
  for (int i = 0; i < 60; ++i) {
    nodes += fmt::format("{},{},{},person {}\n", i, i % 2, 18 + i % 25, i);
    edges += fmt::format("{},{}\n", i, (i + 1) % 60);
  }
  options_.label_column = "age";
  Open(edges + "60,0\n", nodes + "60,0,abc,someone\n");
  EXPECT_MENTIONS(notes_, "column age: 26 different numbers in 61 rows")
      << "a word among them changes nothing";
  EXPECT_EQ(Open(edges, nodes).labels.classes, 25u);
  EXPECT_MENTIONS(notes_, "warning: nodes.csv: column age: 25 different numbers in 60 rows make 25 classes");
  options_.label_column = "name";
  EXPECT_EQ(Reopen().labels.classes, 60u);
  EXPECT_MENTIONS(notes_, "warning: nodes.csv: column name: 60 different values in 60 rows make 60 classes");
}

// The same in tables, .npy files and arrays.
TEST_F(OwnTables, MinusOneAmongClassNumbersIsNoLabel) {
  options_.label_column = "kind";
  const Dataset table = Open("0,1\n1,2\n2,3\n", "id,x,kind\n0,1,0\n1,2,-1\n2,3,1\n3,4,2\n");
  EXPECT_EQ(table.labels.classes, 3u);
  EXPECT_EQ(table.labels.classes_of[1], -1);
  EXPECT_MENTIONS(notes_, "nodes.csv: column kind: 1 label of -1 means no label");
  const Dataset words = Open("0,1\n1,2\n2,3\n", "id,x,kind\n0,1,-2\n1,2,-1\n2,3,1\n3,4,2\n");
  EXPECT_EQ(words.labels.classes, 4u) << "scores below -1 are classes by name, and so is -1 among them";
  const std::vector<int64_t> numbers = {0, -1, 1, -1}, signs = {1, -1, 1, -1};
  options_.nodes.clear();
  options_.label_column.clear();
  options_.labels = (folder_.path() / "labels.npy").string();
  WriteNpy<int64_t>(options_.labels, numbers);
  EXPECT_EQ(Reopen().labels.classes, 2u);
  EXPECT_MENTIONS(notes_, "2 labels of -1 mean no label");
  WriteNpy<int64_t>(options_.labels, signs);
  EXPECT_EQ(Reopen().class_names, (std::vector<std::string>{"-1", "1"}));
  DatasetArrays arrays;
  arrays.features = Features::None(4);
  arrays.classes_of = numbers;
  EXPECT_EQ(MakeDataset(MakeContext(1), arrays).labels.classes_of[1], -1);
  arrays.classes_of = signs;
  EXPECT_EQ(MakeDataset(MakeContext(1), arrays).class_names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(MakeDataset(MakeContext(1), arrays).labels.classes_of[1], 0);
}

TEST_F(OwnTables, MinusOneAndOneAloneAreTwoClasses) {
  options_.label_column = "side";
  const Dataset dataset = Open("0,1\n1,2\n", "id,x,side\n0,1,-1\n1,2,1\n2,3,-1\n");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(dataset.labels.classes_of[0], 0);
  EXPECT_MENTIONS(notes_, "-1 and 1 are the only labels: two classes");
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

TEST_F(OwnTables, TriplesAreSparseFeatures) {
  options_.features = folder_.Write("f.csv", "node,feature,value\nb,2,0.5\na,0,1\nb,0,-3\nc,3,2\n").string();
  const Dataset dataset = Open("a,b\nb,c\n");
  const CsrMatrix& csr = dataset.features.csr();
  EXPECT_EQ(csr.cols, 4u);
  ASSERT_EQ(csr.nnz(), 4u);
  EXPECT_EQ(dataset.NodeName(0), "b") << "the first row's";
  ExpectSameArray(csr.indices, ArrayOf<uint32_t>({0, 2, 0, 3}), "columns");
  ExpectSameArray(csr.values, ArrayOf<float>({-3, 0.5, 1, 2}), "values");
  const auto refused = [&](const char* rows) {
    folder_.Write("f.csv", std::string("node,feature,value\n") + rows);
    return Refused("a,b\nb,c\n");
  };
  EXPECT_MENTIONS(refused("a,0,1\nb,1,1\nc,word,1\n"),
                  "f.csv: row 3: column feature: 'word' is no number of a feature");
  EXPECT_MENTIONS(refused("a,0,1\nb,-1,1\n"), "row 2: column feature: '-1'");
  EXPECT_MENTIONS(refused("a,0,1\nb,1,inf\n"), "row 2: column value: 'inf' is no finite number");
  EXPECT_MENTIONS(refused("a,0,1\nb,1,1\nc,1,1\na,0,2\n"),
                  "row 4: node a has a value of feature 0 already, in row 1");
  EXPECT_MENTIONS(refused(",0,1\nb,1,1\n"), "row 1: column node: '' is no node");
}

TEST_F(OwnTables, IdsThatNumPyWroteAsFractionsAreWhole) {
  const Dataset dataset = Open(
      "8.380000000000000000e+02 0.000000000000000000e+00\n0.000000000000000000e+00 "
      "1.000000000000000000e+00\n",
      "id,x,kind\n838,5,a\n0,6,b\n1,7,a\n");
  ASSERT_EQ(dataset.nodes(), 3u);
  EXPECT_EQ(dataset.NodeName(2), "838");
  int64_t id = 0;
  EXPECT_TRUE(ParseId("-1.25e+02", id) && id == -125);
  EXPECT_TRUE(ParseId("1.0e+05", id) && id == 100000);
  for (const char* token :
       {"1.5e+00", "1.25e+01", "1e5", "1.e+05", "1.0e-02", "1.0e+5", "9.3e+18", "1.0e+", "1.0e", "01.0e+01"})
    EXPECT_FALSE(ParseId(token, id)) << token;
}

TEST_F(OwnTables, TextsAreLeftOutWithAHint) {
  std::string nodes = "id,about,town,kind\n", edges;
  for (int i = 0; i < 60; ++i) {
    // Two of three descriptions differ; names of towns are as many words, but come again.
    nodes +=
        fmt::format("{},she likes {} and tea,city of {},{}\n", i, i % 40, i % 25, i % 2 == 0 ? "a" : "b");
    edges += fmt::format("{},{}\n", i, (i + 1) % 60);
  }
  const Dataset dataset = Open(edges, nodes);
  EXPECT_EQ(dataset.schema.ignored, std::vector<std::string>{"about"});
  EXPECT_MENTIONS(notes_, "column about holds texts");
  EXPECT_EQ(dataset.features.cols(), 25u);
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
