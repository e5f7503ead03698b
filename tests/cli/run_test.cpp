// What can be done with a run: evaluate, predict, embed, info; and with a data set: convert, info.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

class RunTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    MakeSmallSet();
    trained_ = RunWell({"train", "small", "--epochs", "5", "--hidden", "8", "--json", "-o", "run"}).json();
  }
  nlohmann::json trained_;
};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(RunTest, EvaluateAgreesWithTraining) {
  const nlohmann::json scores = RunWell({"evaluate", "run", "--json"}).json();
  for (const char* part : {"train", "val", "test"}) {
    EXPECT_EQ(scores.at("f1").at(part), trained_.at("f1").at(part)) << part;
  }
  const nlohmann::json& test = scores.at("scores").at("test");
  EXPECT_EQ(test.at("classes").size(), 7u);
  uint64_t members = 0;
  for (const nlohmann::json& one : test.at("classes")) members += one.at("count").get<uint64_t>();
  EXPECT_EQ(members, test.at("nodes"));
  EXPECT_GT(test.at("baseline_f1").get<double>(), 0);
  EXPECT_NE(RunWell({"evaluate", "run"}).out.find("majority class"), std::string::npos);
}

TEST_F(RunTest, EvaluateTakesAnotherDataSet) {
  RunWell({"convert", "small", "copy"});
  EXPECT_EQ(RunWell({"evaluate", "run", "copy", "--json"}).json().at("f1"),
            RunWell({"evaluate", "run", "--json"}).json().at("f1"));
  RunWell({"generate", "cora", "--nodes", "300", "--features", "41", "-o", "wide"});
  const Outcome refused = Run({"evaluate", "run", "wide"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("41"), std::string::npos) << refused.err;
}

std::vector<std::string> CsvFields(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

TEST_F(RunTest, PredictionsNameNodePartTruthClassAndEveryProbability) {
  RunWell({"predict", "run", "-o", "p.csv"});
  const std::vector<std::string> lines = Lines(Read("p.csv"));
  ASSERT_EQ(lines.size(), 301u);
  EXPECT_EQ(lines[0].substr(0, 35), "node,split,truth,class,probability,");
  EXPECT_EQ(lines[300].substr(0, 4), "299,");
  const std::vector<std::string> names = CsvFields(lines[0]);
  ASSERT_EQ(names.size(), 12u);
  uint64_t right = 0, test = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = CsvFields(lines[i]);
    ASSERT_EQ(fields.size(), 12u) << lines[i];
    double sum = 0, best = 0;
    for (size_t c = 5; c < 12; ++c) {
      sum += std::stod(fields[c]);
      best = std::max(best, std::stod(fields[c]));
      if (names[c] == fields[3]) {
        EXPECT_EQ(fields[c], fields[4]) << "the class's own probability";
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(best, std::stod(fields[4]));
    if (fields[1] != "test") continue;
    ++test;
    right += fields[2] == fields[3] ? 1 : 0;
  }
  EXPECT_EQ(test, trained_.at("split").at("test"));
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(test),
              trained_.at("f1").at("test").get<double>(), 1e-12);
  EXPECT_EQ(RunWell({"predict", "run", "-o", "-"}).out, Read("p.csv")) << "the same table on standard output";
  EXPECT_EQ(Run({"predict", "run", "-o", "-", "--json"}).status, 2);
  RunWell({"predict", "run", "-o", "p.npy"});
  EXPECT_NE(Read("p.npy").find("'shape': (300, 7)"), std::string::npos);
}

TEST_F(RunTest, ConfusionIsWrittenAsTableAndPicture) {
  const nlohmann::json scores = RunWell({"evaluate", "run", "--confusion", "c.csv", "--json"}).json();
  const std::vector<std::string> lines = Lines(Read("c.csv"));
  ASSERT_EQ(lines.size(), 8u);
  uint64_t cells = 0;
  for (size_t row = 1; row < 8; ++row) {
    const std::vector<std::string> fields = CsvFields(lines[row]);
    for (size_t col = 1; col < 8; ++col) {
      cells += std::stoull(fields[col]);
      EXPECT_EQ(std::stoull(fields[col]), scores.at("confusion").at("test")[row - 1][col - 1]);
    }
  }
  EXPECT_EQ(cells, scores.at("scores").at("test").at("nodes"));
  RunWell({"evaluate", "run", "--confusion", "c.svg"});
  EXPECT_EQ(Read("c.svg").substr(0, 5), "<svg ");
  EXPECT_EQ(Run({"evaluate", "run", "--confusion", "c.txt"}).status, 2);
}

// What a program before splits were stored wrote has no split.npy: its random split was drawn whatever the
// class.
TEST_F(RunTest, RunsWithoutAStoredSplitStillOpen) {
  const std::vector<std::string> train = {"train", "small",    "--preset", "paper",   "--epochs",
                                          "3",     "--hidden", "8",        "--split", "uniform:0.5,0.2,0.3",
                                          "-o",    "old",      "--json"};
  const nlohmann::json before = RunWell(train).json();
  std::filesystem::remove(folder_ / "old/split.npy");
  std::ofstream(folder_ / "old/result.json") << before;  // without checksums
  std::string config = Read("old/config.json");
  config.replace(config.find("uniform:"), 8, "random:");
  config.replace(config.find("\"checksum\""), 10, "\"unsummed\"");
  std::ofstream(folder_ / "old/config.json") << config;
  EXPECT_EQ(RunWell({"evaluate", "old", "--json"}).json().at("f1").at("test"), before.at("f1").at("test"));
  EXPECT_EQ(RunWell({"predict", "old", "-o", "-"}).out.substr(0, 11), "node,split,");
}

TEST_F(RunTest, EmbeddingsOfAnyLayer) {
  RunWell({"embed", "run", "-o", "e.npy", "--layer", "1"});
  EXPECT_NE(Read("e.npy").find("'shape': (300, 8)"), std::string::npos);
  RunWell({"embed", "run", "-o", "e.csv"});
  EXPECT_EQ(Lines(Read("e.csv"))[0], "node,x0,x1,x2,x3,x4,x5,x6,x7");
  const Outcome refused = Run({"embed", "run", "-o", "e.npy", "--layer", "3"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find('3'), std::string::npos) << refused.err;
}

TEST_F(RunTest, AFailedWriteLeavesTheOldFile) {
  RunWell({"embed", "run", "-o", "e.csv"});
  const std::string before = Read("e.csv");
  const std::vector<std::string> files = List();
  Launch full;
  full.file_limit = 1000;
  EXPECT_EQ(Run({"embed", "run", "-o", "e.csv", "--layer", "1"}, full).status, 1);
  EXPECT_EQ(Read("e.csv"), before);
  EXPECT_EQ(List(), files);
}

TEST_F(RunTest, InfoTellsRunsFromDataSets) {
  const nlohmann::json dataset = RunWell({"info", "small", "--json"}).json();
  EXPECT_EQ(dataset.at("kind"), "dataset");
  EXPECT_EQ(dataset.at("dataset").at("features"), 40);
  const nlohmann::json run = RunWell({"info", "run", "--json"}).json();
  EXPECT_EQ(run.at("kind"), "run");
  EXPECT_EQ(run.at("dataset").at("nodes"), 300);
  EXPECT_EQ(run.at("config").at("hidden"), nlohmann::json({8}));
  EXPECT_NE(RunWell({"info", "run"}).out.find("settings"), std::string::npos);
}

// Tables as people have them: ids that are words, a header, a column of class names.
TEST_F(RunTest, EdgeListsAndNodeTablesGoAllTheWayToNamedPredictions) {
  std::ofstream edges(folder_ / "edges.csv"), nodes(folder_ / "nodes.csv");
  edges << "from,to\n";
  nodes << "id,size,weight,kind\n";
  for (int i = 0; i < 60; ++i) {
    edges << "n" << i << ",n" << (i + 2) % 60 << "\n";
    nodes << "n" << i << "," << i % 2 << "," << 1 - i % 2 << "," << (i % 2 == 0 ? "\"cat, big\"" : "dog")
          << "\n";
  }
  edges.close();
  nodes.close();
  const std::vector<std::string> source = {"--edges", "edges.csv", "--nodes", "nodes.csv"};
  const auto with_source = [&](std::vector<std::string> words) {
    words.insert(words.end(), source.begin(), source.end());
    return words;
  };
  EXPECT_EQ(RunWell(with_source({"info", "--json"})).json().at("dataset").at("classes"), 2);
  RunWell(with_source({"train", "--epochs", "60", "--lr", "0.05", "-o", "named"}));
  RunWell({"predict", "named", "-o", "named.csv"});
  EXPECT_EQ(Lines(Read("named.csv"))[0], "node,split,truth,class,probability,\"cat, big\",dog");
  EXPECT_NE(Lines(Read("named.csv"))[1].find(",\"cat, big\",\"cat, big\","), std::string::npos);
  RunWell(with_source({"convert", "tables"}));
  EXPECT_EQ(RunWell({"evaluate", "named", "tables", "--json"}).json().at("f1"),
            RunWell({"evaluate", "named", "--json"}).json().at("f1"));
  EXPECT_EQ(Run({"train", "--nodes", "nodes.csv"}).status, 2) << "a node table without edges";
}

TEST_F(RunTest, ADamagedRunIsRefused) {
  std::filesystem::resize_file(folder_ / "run/model.safetensors", 100);
  const Outcome outcome = Run({"evaluate", "run"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("model.safetensors"), std::string::npos) << outcome.err;
}

TEST_F(RunTest, SeveralSeedsAreChosenByValidationOrByName) {
  RunWell({"train", "small", "--epochs", "2", "--runs", "2", "-o", "two"});
  EXPECT_EQ(RunWell({"evaluate", "two", "--seed", "1", "--json"}).json().at("run"), "two/seed-1");
  const Outcome refused = Run({"evaluate", "two", "--seed", "7"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find('7'), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace l2gcn
