// What can be seen of a training: its page, its event files, the figures of a comparison, the capacity of
// networks.
#include <fmt/format.h>

#include <fstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

using ReportCommandTest = ProgramTest;

TEST_F(ReportCommandTest, TrainWritesThePageAndEventFiles) {
  MakeSmallSet();
  RunWell(
      {"train", "small", "--epochs", "5", "--hidden", "8", "-o", "run", "--report", "--tensorboard", "logs"});
  EXPECT_NE(Read("run/report.html").find("Map of the embeddings"), std::string::npos);
  size_t events = 0;
  for (const std::string& name : List("logs")) events += name.find("tfevents") != std::string::npos ? 1 : 0;
  EXPECT_EQ(events, 1u);
  const nlohmann::json wrote =
      RunWell({"report", "run", "-o", "page.html", "--map", "pca", "--no-ceilings", "--json"}).json();
  EXPECT_EQ(wrote.at("bytes"), Read("page.html").size());
  EXPECT_EQ(Run({"report", "nothing"}).status, 2);
  EXPECT_EQ(Run({"report"}).status, 2);
  EXPECT_EQ(Run({"serve", "nothing", "--port", "0"}).status, 2);
}

TEST_F(ReportCommandTest, CompareWritesFiguresAndTheirReport) {
  MakeSmallSet();
  const nlohmann::json printed = RunWell({"compare", "small", "--methods", "lgcn,gcn", "--epochs", "2",
                                          "--hidden", "8", "--json", "-o", "compared"})
                                     .json();
  EXPECT_EQ(nlohmann::json::parse(Read("compared/result.json")), printed);
  EXPECT_EQ(List("compared"),
            (std::vector<std::string>{"comparison.txt", "f1.svg", "memory.svg", "result.json"}));
  RunWell({"report", "compared", "-o", "compared.html"});
  EXPECT_NE(Read("compared.html").find("Test F1 against training time"), std::string::npos);
}

// Both ways to a page tell what loading the tables changed.
TEST_F(ReportCommandTest, ThePageHasTheNotesFromLoading) {
  std::string nodes = "id,x,y,topic\n", edges = "source,target\n0,1\n0,1\n2,2\n";
  for (int i = 0; i < 40; ++i) {
    nodes += fmt::format("{},{},{},{}\n", i, i % 2 + 0.01 * i, i % 7, i % 2 == 0 ? "even" : "odd");
    edges += fmt::format("{},{}\n", i, (i + 2) % 40);
  }
  std::ofstream(folder_ / "nodes.csv") << nodes;
  std::ofstream(folder_ / "edges.csv") << edges;
  RunWell({"train", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "topic", "--epochs", "2",
           "--preset", "paper", "-o", "run", "--report"});
  RunWell({"report", "run", "-o", "page.html", "--no-ceilings"});
  for (const char* page : {"run/report.html", "page.html"})
    EXPECT_NE(Read(page).find("1 duplicates dropped, 1 self loops dropped"), std::string::npos) << page;
}

TEST_F(ReportCommandTest, PdfNamesAreRefusedWithTheWayToConvert) {
  const std::vector<std::vector<std::string>> commands = {{"report", "run", "-o", "page.pdf"},
                                                          {"compare", "-o", "figure.pdf"},
                                                          {"reproduce", "fig-loss", "-o", "loss.pdf"}};
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.status, 2) << command.front();
    EXPECT_NE(outcome.err.find("SVG"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("rsvg-convert -f pdf"), std::string::npos) << outcome.err;
    for (const std::string& name : List()) EXPECT_EQ(name.find("pdf"), std::string::npos) << name;
  }
}

TEST_F(ReportCommandTest, TheoremsPrintTheirCounts) {
  const std::vector<std::string> small = {"reproduce", "theorems", "--most-nodes", "5", "--layers", "2",
                                          "--widths",  "8",        "--seeds",      "1", "--steps",  "5"};
  EXPECT_NE(RunWell(small).out.find("n=5: 34 graphs"), std::string::npos);
  std::vector<std::string> json = small;
  json.push_back("--json");
  EXPECT_EQ(RunWell(json).json().at("theorems").at("sets")[1].at("colour_classes").at("constant"),
            nlohmann::json({31, 34}));
  EXPECT_EQ(Run({"reproduce", "theorems", "--most-nodes", "9"}).status, 2);
  EXPECT_EQ(Run({"reproduce", "theorems", "--activation", "rely"}).status, 2);
}

}  // namespace
}  // namespace l2gcn
