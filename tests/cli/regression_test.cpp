// The program on a table of numbers to predict: training, scores, predictions and a report.
#include <fstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

class RegressionProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::ofstream edges(folder_ / "e.csv"), nodes(folder_ / "n.csv");
    nodes << "id,a,b,price,rent\n";
    for (int i = 0; i < 150; ++i) {
      edges << i << "," << (i + 1) % 150 << "\n";
      const double a = i * 37 % 101 / 10.0, b = i * 53 % 89 / 10.0;
      nodes << i << "," << a << "," << b << ",";
      if (i % 11 != 0) nodes << 3 * a - b + 0.25;
      nodes << "," << a + b << "\n";
    }
  }
  Outcome Train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train",      "--edges",  "e.csv", "--nodes", "n.csv", "--label",
                                      "price,rent", "--epochs", "20",    "--json",  "-o",    "run"};
    words.insert(words.end(), more.begin(), more.end());
    return RunWell(words);
  }
};

TEST_F(RegressionProgramTest, ScoresAreR2InPlaceOfF1AndEvaluateAgrees) {
  const nlohmann::json result = Train().json();
  EXPECT_FALSE(result.contains("f1"));
  EXPECT_GT(result.at("r2").at("test").get<double>(), 0.3);
  for (const char* name : {"mae", "rmse", "spearman"}) EXPECT_TRUE(result.at(name).at("test").is_number());
  EXPECT_EQ(result.at("baseline").at("name"), "train mean");
  EXPECT_EQ(result.at("dataset").at("task"), "regression");
  const nlohmann::json scores = RunWell({"evaluate", "run", "--json"}).json();
  EXPECT_EQ(scores.at("r2").at("test"), result.at("r2").at("test"));
  ASSERT_EQ(scores.at("scores").at("test").at("targets").size(), 2u);
  EXPECT_EQ(scores.at("scores").at("test").at("targets")[0].at("target"), "price");
}

TEST_F(RegressionProgramTest, PredictionsHaveAColumnForEachTarget) {
  Train();
  RunWell({"predict", "run", "-o", "p.csv"});
  const std::string text = Read("p.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')), "node,split,price_true,rent_true,price,rent");
  RunWell({"report", "run", "-o", "r.html"});
  EXPECT_NE(Read("r.html").find("Residuals of price"), std::string::npos);
  EXPECT_NE(RunWell({"info", "run"}).out.find("R²"), std::string::npos);
  EXPECT_NE(RunWell({"evaluate", "run"}).out.find("Spearman"), std::string::npos);
}

}  // namespace
}  // namespace l2gcn
