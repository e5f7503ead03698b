// `reproduce` and `generate` run to success through the program, with what they write.
#include <algorithm>

#include "cli/process.h"

namespace l2gcn {
namespace {

class ReproduceTest : public ProgramTest {};

TEST_F(ReproduceTest, ATableStandsBesideThePapersFigures) {
  const nlohmann::json printed = RunWell({"reproduce", "table-epochs", "--quick", "--runs", "1", "--sets",
                                          "cora", "--json", "-o", "out"})
                                     .json();
  const nlohmann::json& rows = printed.at("table-epochs");
  ASSERT_EQ(rows.size(), 4u);  // three numbers of epochs, and the controller
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row.at("set"), "cora");
    EXPECT_EQ(row.at("runs"), 1);
    EXPECT_GT(row.at("f1").get<double>(), 50) << row;
    EXPECT_GT(row.at("paper_f1").get<double>(), 80) << row;
    EXPECT_GT(row.at("epochs").get<double>(), 0) << row;
    EXPECT_FALSE(row.at("stopped_by_clock").get<bool>());
  }
  EXPECT_TRUE(
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.at("method") == "l2gcn"; }));
  EXPECT_EQ(List("out"), std::vector<std::string>{"table-epochs.json"});
  EXPECT_EQ(nlohmann::json::parse(Read("out/table-epochs.json")), printed);
}

TEST_F(ReproduceTest, AFigureIsDrawn) {
  const Outcome outcome =
      RunWell({"reproduce", "fig-loss", "--quick", "--runs", "1", "--sets", "cora", "-o", "out"});
  EXPECT_NE(outcome.out.find("written: fig-loss-cora.svg"), std::string::npos) << outcome.out;
  EXPECT_EQ(List("out"), (std::vector<std::string>{"fig-loss-cora.svg", "fig-loss.json"}));
  const std::string svg = Read("out/fig-loss-cora.svg");
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  size_t curves = 0;
  for (size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1))
    ++curves;
  EXPECT_GE(curves, 4u);
}

TEST_F(ReproduceTest, ATableIsPrintedForPeople) {
  const std::string text =
      RunWell({"reproduce", "table-ngcn", "--quick", "--runs", "1", "--sets", "cora", "-o", "out"}).out;
  EXPECT_NE(text.find("== table-ngcn (quick) =="), std::string::npos) << text;
  EXPECT_NE(text.find("ngcn-layerwise"), std::string::npos) << text;
}

using GenerateTest = ReproduceTest;

TEST_F(GenerateTest, CountsAreThoseAskedFor) {
  RunWell({"generate", "reddit", "--nodes", "500", "--edges", "2000", "--features", "12", "--classes", "5",
           "-o", "set"});
  const nlohmann::json dataset = RunWell({"info", "set", "--json"}).json().at("dataset");
  EXPECT_EQ(dataset.at("nodes"), 500);
  EXPECT_EQ(dataset.at("edges"), 2000);
  EXPECT_EQ(dataset.at("features"), 12);
  EXPECT_EQ(dataset.at("classes"), 5);
  RunWell({"info", "set", "--verify"});
}

TEST_F(GenerateTest, TheSeedAloneDecides) {
  const auto generate = [&](const char* seed, const char* threads, const char* directory) {
    RunWell({"generate", "cora", "--scale", "0.2", "--seed", seed, "--threads", threads, "-o", directory});
    return Read(std::string(directory) + "/graph_indices.npy") + Read(std::string(directory) + "/labels.npy");
  };
  const std::string first = generate("3", "1", "a");
  EXPECT_EQ(generate("3", "4", "b"), first);
  EXPECT_NE(generate("4", "1", "c"), first);
  EXPECT_EQ(Run({"generate", "cora", "-o", "a"}).status, 2);  // an existing set is not replaced unasked
  RunWell({"generate", "cora", "--scale", "0.2", "-o", "a", "--force"});
}

TEST_F(GenerateTest, FiltersKeepPartOfAGraph) {
  RunWell({"generate", "cora", "--nodes", "400", "--edges", "420", "--features", "10", "-o", "set"});
  const auto nodes = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"convert", "set", "out", "--force"};
    words.insert(words.end(), more.begin(), more.end());
    RunWell(words);
    return RunWell({"info", "out", "--json"}).json().at("dataset").at("nodes").get<uint32_t>();
  };
  EXPECT_EQ(nodes({}), 400u);
  const uint32_t component = nodes({"--largest-component"}), degree = nodes({"--min-degree", "3"});
  EXPECT_LT(component, 400u);
  EXPECT_GT(component, 1u);
  EXPECT_LT(degree, 400u);
  EXPECT_GT(degree, 1u);
}

}  // namespace
}  // namespace l2gcn
