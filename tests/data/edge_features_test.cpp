#include "data/edge_features.h"

#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/samples.h"
#include "l2gcn/convert.h"

namespace l2gcn {
namespace {

using Row = std::vector<float>;

class EdgeFeatures : public testing::Test {
 protected:
  Dataset Open(const std::string& edges, const std::string& columns, uint32_t threads = 2) {
    options_.edges = folder_.Write("pay.csv", edges).string();
    options_.edge_features = columns;
    Context context = MakeContext(threads);
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    return OpenDataset(context, "", options_);
  }
  std::string Refusal(ErrorKind kind, const std::string& edges, const std::string& columns) {
    return ErrorOf(kind, [&] { Open(edges, columns); });
  }
  static std::vector<std::string> Names(const Dataset& dataset) {
    std::vector<std::string> names;
    for (const TableSchema::Column& column : dataset.schema.columns) names.push_back(column.name);
    return names;
  }
  static Row RowOf(const Dataset& dataset, size_t node) {
    Row row(dataset.features.cols());
    dataset.features.ReadRows(node, 1, row.data());
    return row;
  }

  TemporaryFolder folder_;
  OpenOptions options_;
  std::string notes_;
};

constexpr const char* kPayments =
    "payer,payee,amount,how\n0,1,10,bank\n0,1,20,cash\n0,2,,bank\n1,2,-3,bank\n2,2,7,\n";

TEST_F(EdgeFeatures, NumbersAndWordsOfBothDirections) {
  options_.directed = true;
  const Dataset dataset = Open(kPayments, "amount,how");
  EXPECT_EQ(Names(dataset),
            (std::vector<std::string>{"out.count(amount)", "out.mean(amount)", "out.min(amount)",
                                      "out.max(amount)", "out.share(how=bank)", "out.share(how=cash)",
                                      "in.count(amount)", "in.mean(amount)", "in.min(amount)",
                                      "in.max(amount)", "in.share(how=bank)", "in.share(how=cash)"}));
  // Parallel edges count each, and a self loop is one of both directions. Node 0 has no edge that reaches it: its numbers
  // are marked as missing.
  const float third = 1.0f / 3;
  EXPECT_EQ(RowOf(dataset, 0), (Row{2, 15, 10, 20, 2 * third, third, 0, 0, 1, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(RowOf(dataset, 2), (Row{1, 7, 7, 7, 0, 0, 2, 2, 0, -3, 0, 7, 0, 1, 0}));
  EXPECT_FALSE(dataset.graph.weighted()) << "amount is a feature, not the weight";
  EXPECT_MENTIONS(notes_, "column amount: 1 of 5 edges have no value");
}

TEST_F(EdgeFeatures, UndirectedEdgesCountAtBothEnds) {
  const Dataset dataset = Open(kPayments, "amount");
  EXPECT_EQ(Names(dataset)[1], "edges.mean(amount)");
  EXPECT_EQ(RowOf(dataset, 1), (Row{3, 9, -3, 20}));
  EXPECT_EQ(RowOf(dataset, 2), (Row{2, 2, -3, 7}));
}

TEST_F(EdgeFeatures, StandBehindTheFeaturesOfNodes) {
  options_.nodes = folder_.Write("n.csv", "id,age,kind\n0,30,x\n1,40,y\n2,50,x\n").string();
  const Dataset dataset = Open(kPayments, "all");
  EXPECT_EQ(Names(dataset)[0], "age");
  EXPECT_EQ(RowOf(dataset, 1)[0], 40);
  EXPECT_EQ(dataset.schema.width(), dataset.features.cols());
  options_.nodes.clear();
  options_.features = folder_.Write("f.svm", "0 1:1\n0 3:2\n0 2:5\n").string();
  const Dataset sparse = Open(kPayments, "amount");
  ASSERT_TRUE(sparse.features.stores_sparse());
  EXPECT_EQ(Names(sparse)[3], "edges.count(amount)");
  EXPECT_EQ(RowOf(sparse, 1), (Row{0, 0, 2, 3, 9, -3, 20}));
}

std::string ManyPayments(const char* prefix) {
  std::string text = "payer,payee,amount,how,memo\n";
  const std::string memo(80, '-');  // makes several blocks of few edges
  for (uint32_t i = 0; i < 50000; ++i) {
    const uint32_t a = i * 2654435761u;
    text += prefix + std::to_string(a % 997) + "," + prefix + std::to_string(a / 997 % 991) + "," +
            std::to_string(a % 10007) + "." + std::to_string(i % 1000) + "," +
            (i % 3 == 0 ? "bank" : "cash") + "," + memo + "\n";
  }
  return text;
}

TEST_F(EdgeFeatures, SameForAnyThreadsAndStreamed) {
  options_.directed = true;
  for (const char* prefix : {"", "p"}) {
    const std::string text = ManyPayments(prefix);  // several blocks
    const Dataset one = Open(text, "amount,how", 1);
    ExpectSameFeatures(Open(text, "amount,how", 3).features, one.features);
    const std::string native = (folder_.path() / (std::string("native") + prefix)).string();
    OpenOptions streamed = options_;
    streamed.edges.clear();
    Context context = MakeContext(2);
    context.host_memory = uint64_t{64} << 20;
    ConvertDataset(context, options_.edges, streamed, native, {});
    const Dataset read = OpenDataset(MakeContext(1), native);
    ExpectSameFeatures(read.features, one.features);
    EXPECT_EQ(Names(read), Names(one));
    EXPECT_EQ(read.schema.edge_columns.size(), 2u);
  }
}

TEST_F(EdgeFeatures, NewTablesGetTheColumnsOfTheModel) {
  options_.directed = true;
  const TableSchema schema = Open(kPayments, "all").schema;
  options_ = {};
  options_.directed = true;
  ReuseColumns(schema, options_);
  // Another order, a level that is not known, one that is gone, and a word among numbers.
  const Dataset dataset = Open("payer,payee,how,amount\n0,1,cheque,5\n0,2,bank,lots\n", "");
  std::vector<std::string> names;
  for (const TableSchema::Column& column : schema.columns) names.push_back(column.name);
  EXPECT_EQ(Names(dataset), names);
  EXPECT_EQ(RowOf(dataset, 0)[0], 1);
  EXPECT_MENTIONS(Refusal(ErrorKind::kInput, "payer,payee,amount\n0,1,5\n", ""), "column 'how' is missing");
}

TEST_F(EdgeFeatures, MistakesAreNamed) {
  EXPECT_MENTIONS(Refusal(ErrorKind::kUsage, kPayments, "amont"), "did you mean amount?");
  EXPECT_MENTIONS(Refusal(ErrorKind::kUsage, kPayments, "payer"), "holds the ids");
  EXPECT_MENTIONS(Refusal(ErrorKind::kInput, "a,b,x\n0,1,2\n1,2,1e400\n", "x"),
                  "pay.csv:3: column x: 1e400 is past what a number can hold");
  EXPECT_MENTIONS(Refusal(ErrorKind::kInput, "source,target,x\n0,1,\n1,2,NA\n", "all"),
                  "no column of the edge list can become features");
  EXPECT_MENTIONS(notes_, "column x is empty and is left out");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [] {
                            OpenOptions options;
                            options.edge_features = "all";
                            OpenDataset(MakeContext(1), "synthetic:cora", options);
                          }),
                  "--edge-features has no effect");
}

}  // namespace
}  // namespace l2gcn
