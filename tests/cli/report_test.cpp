// What can be seen of a training: its page, its event files, the figures of a comparison, the capacity of
// networks.
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
  for (const char* name : {"f1.svg", "f1.pdf", "memory.svg", "memory.pdf"}) {
    EXPECT_FALSE(Read(std::string("compared/") + name).empty()) << name;
  }
  RunWell({"report", "compared", "-o", "compared.html"});
  EXPECT_NE(Read("compared.html").find("Test F1 against training time"), std::string::npos);
}

TEST_F(ReportCommandTest, CapacityPrintsItsCounts) {
  const std::vector<std::string> small = {"capacity", "--most-nodes", "5", "--layers", "2", "--widths",
                                          "8",        "--seeds",      "1", "--steps",  "5"};
  EXPECT_NE(RunWell(small).out.find("n=5: 34 graphs"), std::string::npos);
  std::vector<std::string> json = small;
  json.push_back("--json");
  EXPECT_EQ(RunWell(json).json().at("sets")[1].at("colour_classes").at("constant"), nlohmann::json({31, 34}));
  EXPECT_EQ(Run({"capacity", "--most-nodes", "9"}).status, 2);
  EXPECT_EQ(Run({"capacity", "--activation", "rely"}).status, 2);
}

}  // namespace
}  // namespace l2gcn
