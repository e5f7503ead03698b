// The program on tables of several node types, from training to predictions on other tables.
#include <fstream>
#include <sstream>

#include "cli/process.h"
#include "data/shop.h"

namespace l2gcn {
namespace {

class NodeTypesTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    Shop::Write(folder_);
  }
  // `command` on the shop's tables.
  static std::vector<std::string> OnTables(std::vector<std::string> command,
                                           const std::vector<std::string>& more = {}) {
    for (const char* word :
         {"--nodes", "user=users.csv", "--nodes", "item=items.csv", "--edges", "user:bought:item=bought.csv"})
      command.emplace_back(word);
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  Outcome Train() {
    return RunWell(OnTables(
        {"train"}, {"--label", "user:churn", "--epochs", "8", "--hidden", "16", "--json", "-o", "run"}));
  }
  static size_t Lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(NodeTypesTest, ARunOpensItsTablesAgainAndPredictsTheLabelledType) {
  const nlohmann::json result = Train().json();
  EXPECT_GT(result.at("f1").at("test").get<double>(), 0.9);
  EXPECT_EQ(result.at("dataset").at("node_types")[0],
            nlohmann::json({{"name", "user"}, {"nodes", Shop::kUsers}, {"labelled", true}}));
  const nlohmann::json again = RunWell({"evaluate", "run", "--json"}).json();
  EXPECT_EQ(again.at("f1").at("test"), result.at("f1").at("test"));
  RunWell({"predict", "run", "-o", "p.csv"});
  EXPECT_EQ(Lines(Read("p.csv")), 1 + Shop::kUsers);
  EXPECT_EQ(RunWell({"predict", "run", "-o", "-"}).out, Read("p.csv"));
}

TEST_F(NodeTypesTest, AModelReadsOtherTablesOfTheSameTypes) {
  Train();
  RunWell({"predict", "run", "-o", "p.csv"});
  std::ifstream in(folder_ / "users.csv");
  std::ofstream out(folder_ / "new.csv");
  for (std::string line; std::getline(in, line);) out << line.substr(0, line.rfind(',')) << "\n";
  out.close();
  RunWell({"predict", "run", "--nodes", "item=items.csv", "--nodes", "user=new.csv", "--edges",
           "user:bought:item=bought.csv", "-o", "new-p.csv"});
  EXPECT_EQ(Lines(Read("new-p.csv")), 1 + Shop::kUsers) << "without labels, types in another order";
  std::ofstream(folder_ / "items.csv") << "item,colour\n1,red\n";
  const Outcome less = Run(OnTables({"predict", "run", "-o", "x.csv"}));
  EXPECT_EQ(less.status, 2);
  EXPECT_NE(less.err.find("is no item"), std::string::npos) << less.err;
}

TEST_F(NodeTypesTest, InfoShowsTheSchemaAndConvertKeepsIt) {
  std::ofstream(folder_ / "shop.yaml")
      << "nodes:\n  user: users.csv\n  item: items.csv\nedges:\n  user:bought:item: bought.csv\n"
         "label: user:churn\n";
  const std::string text = RunWell({"info", "shop.yaml"}).out;
  EXPECT_NE(text.find("node type   user: 500 nodes, with labels\n  node type   item: 250 nodes\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("relation    user:bought:item: 2,500 undirected edges"), std::string::npos) << text;
  RunWell({"convert", "shop.yaml", "native"});
  const nlohmann::json native = RunWell({"info", "native", "--verify", "--json"}).json().at("dataset");
  EXPECT_EQ(native.at("node_types")[1].at("name"), "item");
  EXPECT_EQ(native.at("relations")[0].at("name"), "user:bought:item");
  const Outcome csv = RunWell({"convert", "shop.yaml", "edges.csv"});
  EXPECT_NE(csv.err.find("the types are left out"), std::string::npos) << csv.err;
}

TEST_F(NodeTypesTest, AFileOfTheWholeNameIsOneTable) {
  std::filesystem::rename(folder_ / "bought.csv", folder_ / "a=b.csv");
  std::ofstream(folder_ / "n=1.csv") << "id,kind\n0,a\n1,b\n";
  const Outcome one = Run({"info", "--edges", "a=b.csv", "--nodes", "n=1.csv", "--allow-unmatched"});
  EXPECT_EQ(one.err.find("relation"), std::string::npos) << one.err;
  const Outcome two = Run({"info", "--edges", "a=b.csv", "--edges", "users.csv"});
  EXPECT_NE(two.err.find("of several tables each has a name: --edges NAME=FILE"), std::string::npos)
      << two.err;
}

TEST_F(NodeTypesTest, NothingIsWrittenWhereTablesAreRefused) {
  const auto refused = [this](const std::vector<std::string>& words, const std::string& message) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  };
  const std::vector<std::string> run = {"train", "-o", "run"};
  refused(OnTables(run, {"--label", "people:churn"}), "no node type is called 'people'");
  refused(OnTables(run, {"--label", "churn"}), "--label churn: expected TYPE:COLUMN, such as user:churn");
  refused(OnTables(run, {"--edges", "user:likes:film=bought.csv"}), "no node type is called 'film'");
  refused(OnTables(run, {"--edges", "likes=bought.csv"}), "expected SOURCE:NAME:TARGET");
  refused(OnTables(run, {"--nodes", "user=items.csv"}), "the node type user is given twice");
  refused(OnTables(run, {"--edges", "bought.csv"}), "has no type");
  refused(OnTables({"train", "cora", "-o", "run"}), "not both");
  refused(OnTables(run, {"--label", "user:churn", "--setting", "inductive"}), "use transductive");
  std::ofstream(folder_ / "bought.csv", std::ios::app) << "999,3\n";
  refused(OnTables(run, {"--label", "user:churn"}), "bought.csv: row 2501: '999' is no item");
}

}  // namespace
}  // namespace l2gcn
