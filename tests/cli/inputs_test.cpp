// Columns that are more than features: those that split, and those of edges.
#include <algorithm>
#include <fstream>
#include <random>

#include "cli/process.h"

namespace l2gcn {
namespace {

// 600 people whose kind shows in nothing but what they pay, and how.
class PaymentsTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::ofstream payments(folder_ / "payments.csv"), people(folder_ / "people.csv"),
        oracle(folder_ / "oracle.csv");
    payments << "payer,payee,amount,how\n";
    people << "id,age,joined,home,kind\n";
    oracle << "id,age,paid,cash,kind\n";
    std::mt19937 random(7);
    for (int i = 0; i < kPeople; ++i) {
      const bool odd = random() % 2 == 0;
      const auto age = 20 + random() % 50;
      double paid = 0, cash = 0;
      for (int k = 0; k < kPayments; ++k) {
        const double amount = (odd ? 14 : 10) + static_cast<double>(random() % 600) / 100;
        const bool in_cash = random() % 10 < (odd ? 8u : 2u);
        payments << i << "," << random() % kPeople << "," << amount << "," << (in_cash ? "cash" : "bank")
                 << "\n";
        paid += amount / kPayments;
        cash += in_cash ? 1.0 / kPayments : 0;
      }
      people << i << "," << age << ",2024-" << (i % 12 < 9 ? "0" : "") << 1 + i % 12 << "-01,h" << i / 3
             << "," << (odd ? "odd" : "even") << "\n";
      oracle << i << "," << age << "," << paid << "," << cash << "," << (odd ? "odd" : "even") << "\n";
    }
  }
  nlohmann::json Train(const std::string& nodes, const std::string& run,
                       const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "train", "--edges", "payments.csv", "--nodes", nodes,      "--directed", "--weight",
        "none",  "--label", "kind",         "--json",  "--output", run};
    words.insert(words.end(), more.begin(), more.end());
    return RunWell(words).json();
  }
  static double TestF1(const nlohmann::json& result) { return result.at("f1").at("test").get<double>(); }

  static constexpr int kPeople = 600, kPayments = 8;
};

TEST_F(PaymentsTest, AttributesOfEdgesTellAsMuchAsAnOracle) {
  const double with = TestF1(Train("people.csv", "with", {"--edge-features", "amount,how"}));
  EXPECT_GT(with, TestF1(Train("people.csv", "without", {})) + 0.1);
  EXPECT_GT(with, TestF1(Train("oracle.csv", "oracle", {})) - 0.01);
}

TEST_F(PaymentsTest, PredictFindsTheColumnsOfNewEdges) {
  Train("people.csv", "run", {"--edge-features", "all", "--epochs", "5"});
  std::ofstream(folder_ / "new.csv") << "how,amount,payer,payee\ncash,15,1,2\ncheque,,2,3\ncard,11,3,1\n";
  std::ofstream(folder_ / "some.csv")
      << "id,age,joined,home\n1,30,2024-01-01,h0\n2,40,2024-02-01,h1\n3,50,2024-03-01,h2\n";
  const std::vector<std::string> words = {"predict",  "run",        "--edges",  "new.csv", "--nodes",
                                          "some.csv", "--directed", "--source", "payer",   "--target",
                                          "payee",    "-o",         "-"};
  const Outcome predicted = RunWell(words);
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 4) << predicted.out;
  std::ofstream(folder_ / "new.csv") << "payer,payee,amount\n1,2,15\n2,3,4\n";
  const Outcome refused = Run(words);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("column 'how' is missing"), std::string::npos) << refused.err;
}

TEST_F(PaymentsTest, RunsRememberSplitsByColumn) {
  const nlohmann::json by_time =
      Train("people.csv", "time", {"--split", "time:joined:0.5,0.25,0.25", "--epochs", "3"});
  EXPECT_EQ(by_time.at("split").at("name"), "time:joined:0.5,0.25,0.25");
  EXPECT_EQ(by_time.at("split").at("train"), 300);
  const nlohmann::json evaluated = RunWell({"evaluate", "time", "--json"}).json();
  EXPECT_EQ(evaluated.at("split"), by_time.at("split").at("name")) << evaluated.dump();
  const nlohmann::json config = nlohmann::json::parse(Read("time/config.json"));
  for (const nlohmann::json& column : config.at("table").at("columns"))
    EXPECT_NE(column.at("name"), "joined");
  const nlohmann::json by_group =
      Train("people.csv", "group", {"--split", "group:home:0.6,0.2,0.2", "--epochs", "3", "--runs", "2"});
  EXPECT_EQ(by_group.at("split").at("train"), 360);
  RunWell({"predict", "group", "-o", "p.csv"});
}

}  // namespace
}  // namespace l2gcn
