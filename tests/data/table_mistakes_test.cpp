// Mistakes with tables of one's own that were once read without a word.
#include "data/own_tables.h"

namespace l2gcn {
namespace {

TEST_F(OwnTables, AMissingWeightIsNamedWhereverItStands) {
  const char* const expected = "column minutes: the weight is missing; fill it in, ";
  EXPECT_MENTIONS(Refused("from,to,minutes\na,b,\nb,c,3\n"), std::string("edges.csv:2: ") + expected);
  EXPECT_MENTIONS(Refused("from,to,minutes\na,b,2\nb,c,NA\n"), std::string("edges.csv:3: ") + expected);
  EXPECT_FALSE(Open("from,to,seen\na,b,\nb,c,\n").graph.weighted()) << "an empty column holds no weights";
  EXPECT_FALSE(Open("from,to,seen\na,b,\nb,c,often\n").graph.weighted()) << "words are no weights";
  options_.weight_column = "none";
  EXPECT_FALSE(Open("from,to,minutes\na,b,\nb,c,3\n").graph.weighted());
}

TEST_F(OwnTables, SwappedFilesAreRecognised) {
  const std::string calls = "caller,callee,minutes\na,b,2\na,c,3\nb,c,1\n",
                    people = "id,age,kind\na,31,x\nb,45,y\nc,28,x\n";
  const auto refused = [&] { return ErrorOf(ErrorKind::kUsage, [&] { Open(people, calls); }); };
  EXPECT_MENTIONS(refused(), "look swapped: rows of ");
  EXPECT_MENTIONS(refused(), "nodes.csv with --edges and ");
  options_.label_column = "kind";
  EXPECT_MENTIONS(refused(), "look swapped") << "the label is in the other file";
  EXPECT_EQ(Open(calls, people).nodes(), 3u);
  options_.label_column = "";
  EXPECT_MENTIONS(Refused("0,1\n1,2\n2,0\n", "id,age,kind\n0,1,x\n1,2,y\n2,0\n"), "nodes.csv:4")
      << "another mistake stays what it is";
}

TEST_F(OwnTables, WhereTheLabelsAreIsReported) {
  const std::string edges = "a,b\nb,c\n";
  Open(edges, "id,age,city,team\na,1,rome,x\nb,2,oslo,y\nc,3,rome,x\n");
  EXPECT_MENTIONS(notes_,
                  "nodes.csv: labels are in column team, the last (--label names another column, or none)");
  options_.label_column = "team";
  Reopen();
  EXPECT_EQ(notes_.find("labels are in"), std::string::npos) << "who names the column knows it";
  options_.label_column = "";
  EXPECT_TRUE(Open(edges, "id,p,q\na,1,0\nb,0,1\nc,1,1\n").labels.multilabel);
  EXPECT_MENTIONS(notes_, "nodes.csv: all columns but the ids hold 0 and 1: each is a label");
}

TEST_F(OwnTables, ATableMayHaveNoLabels) {
  options_.label_column = "none";
  const Dataset dataset = Open("a,b\nb,c\n", "id,age,team\na,1,none\nb,2,x\nc,3,x\n");
  EXPECT_EQ(dataset.labels.classes, 0u);
  ASSERT_EQ(dataset.schema.columns.size(), 2u);
  EXPECT_EQ(dataset.schema.columns[1].name, "team");
  EXPECT_EQ(Open("a,b\nb,c\n", "id,age,none\na,1,y\nb,2,x\nc,3,x\n").labels.classes, 2u)
      << "a column of that name";
}

TEST_F(OwnTables, ColumnsThatAModelDoesNotKnowBecomeNoFeatures) {
  options_.feature_columns = {"age"};
  options_.label_column = "team";
  const Dataset dataset =
      Open("a,b\nb,c\n", "id,age,city,part,team\na,1,rome,train,x\nb,2,oslo,test,y\nc,3,rome,train,x\n");
  ASSERT_EQ(dataset.schema.columns.size(), 1u);
  EXPECT_EQ(dataset.schema.columns[0].name, "age");
  EXPECT_EQ(dataset.splits.size(), 1u) << "a split is none the less one";
  EXPECT_MENTIONS(notes_, "nodes.csv: the model was not trained on column city: left out");
  EXPECT_EQ(notes_.find("one-hot"), std::string::npos) << notes_;
}

}  // namespace
}  // namespace l2gcn
