// The program on a person's own tables, from training to predictions.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

// 120 people in two circles of friends; income in another unit than age, a category, missing cells.
class TableTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::ofstream calls(folder_ / "calls.csv"), people(folder_ / "people.csv");
    calls << "caller,callee,minutes\n";
    people << "id,age,income,city,churned\n";
    for (int i = 0; i < 120; ++i) {
      for (const int step : {2, 4, 6})
        calls << "p" << i << ",p" << (i + step) % 120 << "," << 1 + i % 5 << "\n";
      people << "p" << i << "," << (i % 7 == 3 ? "NA" : std::to_string(20 + i % 2 * 15 + i % 9)) << ","
             << 20000 + i % 2 * 40000 + i * 13 % 997 * 10 << ","
             << (i % 3 == 0   ? "rome"
                 : i % 3 == 1 ? "oslo"
                              : "bern")
             << "," << (i % 2 == 0 ? "no" : "yes") << "\n";
    }
  }
  Outcome Train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"train",   "--edges",  "calls.csv", "--nodes",  "people.csv", "--label",
                                      "churned", "--epochs", "40",        "--method", "lgcn",       "--lr",
                                      "0.01",    "--json",   "-o",        "run"};
    words.insert(words.end(), more.begin(), more.end());
    return RunWell(words);
  }
  // people.csv with its columns in another order, without the label and with `change` made to each row.
  void WriteMoved(const std::string& name,
                  const std::function<void(int, std::vector<std::string>&)>& change = {}) {
    std::ifstream in(folder_ / "people.csv");
    std::ofstream out(folder_ / name);
    int number = 0;
    for (std::string line; std::getline(in, line); ++number) {
      std::vector<std::string> cells;
      std::stringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      if (number > 0 && change) change(number - 1, cells);
      out << cells[3] << "," << cells[2] << "," << cells[0] << "," << cells[1] << "\n";
    }
  }
  // node → predicted class
  std::map<std::string, std::string> Classes(const std::string& file) {
    std::stringstream text(Read(file));
    std::string line;
    std::getline(text, line);
    std::vector<std::string> names;
    std::stringstream header(line);
    for (std::string cell; std::getline(header, cell, ',');) names.push_back(cell);
    const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), "class") - names.begin());
    std::map<std::string, std::string> classes;
    while (std::getline(text, line)) {
      std::vector<std::string> cells;
      std::stringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      classes[cells[0]] = cells[at];
    }
    return classes;
  }
};

TEST_F(TableTest, ColumnsOfAnyUnitAreScaledAndTheModelRemembersThem) {
  const nlohmann::json result = Train().json();
  EXPECT_GT(result.at("f1").at("test").get<double>(), 0.95);
  const nlohmann::json config = nlohmann::json::parse(Read("run/config.json"));
  EXPECT_EQ(config.at("config").at("scale"), "standard");
  const nlohmann::json& table = config.at("table");
  EXPECT_EQ(table.at("label"), "churned");
  ASSERT_EQ(table.at("columns").size(), 3u);
  EXPECT_EQ(table.at("columns")[0].at("name"), "age");
  EXPECT_EQ(table.at("columns")[0].at("missing"), 17);
  EXPECT_GT(table.at("columns")[0].at("fill").get<double>(), 19);
  EXPECT_EQ(table.at("columns")[2].at("levels"), nlohmann::json({"bern", "oslo", "rome"}));
}

TEST_F(TableTest, InfoCountsMissingValuesAndTrainNamesTheLabel) {
  const std::vector<std::string> source = {"--edges",    "calls.csv", "--nodes",
                                           "people.csv", "--label",   "churned"};
  std::vector<std::string> words = {"info"};
  words.insert(words.end(), source.begin(), source.end());
  EXPECT_NE(RunWell(words).out.find("missing     age 17"), std::string::npos);
  words[0] = "train";
  words.insert(words.end(), {"--epochs", "2", "--verbose"});
  EXPECT_NE(RunWell(words).err.find("2 classes in column 'churned'"), std::string::npos);
}

TEST_F(TableTest, PredictionMapsColumnsByName) {
  Train();
  RunWell({"predict", "run", "-o", "p.csv"});
  const auto classes = Classes("p.csv");
  ASSERT_EQ(classes.size(), 120u);
  WriteMoved("moved.csv");
  RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "moved.csv", "-o", "moved-p.csv"});
  EXPECT_EQ(Classes("moved-p.csv"), classes) << "another order, no label";
  // One category less and one the model has never seen.
  WriteMoved("other.csv", [](int i, std::vector<std::string>& cells) {
    if (cells[3] == "rome") cells[3] = i == 0 ? "paris" : "oslo";
  });
  const Outcome other =
      RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "other.csv", "-o", "other-p.csv"});
  EXPECT_EQ(Classes("other-p.csv"), classes);
  EXPECT_NE(other.err.find("paris"), std::string::npos) << other.err;
  std::ofstream(folder_ / "less.csv") << "id,age,city\np0,1,rome\np2,3,oslo\np4,2,oslo\n";
  std::ofstream(folder_ / "few.csv") << "p0,p2\np2,p4\n";
  const Outcome less = Run({"predict", "run", "--edges", "few.csv", "--nodes", "less.csv", "-o", "x.csv"});
  EXPECT_EQ(less.status, 2);
  EXPECT_NE(less.err.find("column 'income' is missing"), std::string::npos) << less.err;
}

// A short table may lack all values of a column, or hold another word in every row.
TEST_F(TableTest, AColumnOfTheModelIsNeverTakenForMissing) {
  Train();
  WriteMoved("empty.csv", [](int, std::vector<std::string>& cells) { cells[1] = cells[3] = ""; });
  RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "empty.csv", "-o", "empty-p.csv"});
  WriteMoved("words.csv",
             [](int i, std::vector<std::string>& cells) { cells[3] = "town" + std::to_string(i); });
  const Outcome words =
      RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "words.csv", "-o", "words-p.csv"});
  EXPECT_NE(
      words.err.find("warning: words.csv: column city: the model knows none of the values in its 120 cells"),
      std::string::npos)
      << words.err;
}

// What a model knows of its table need not be said again: the id column and how words are spelled.
TEST_F(TableTest, ANewTableIsReadAsTheModelKnowsIt) {
  std::ofstream people(folder_ / "customers.csv"), next(folder_ / "next.csv");
  people << "vip,age,customer,churned\n";
  next << "age,since,customer,vip\n";
  for (int i = 0; i < 120; ++i) {
    people << (i % 2 == 0 ? "True" : "False") << "," << 20 + i % 31 << ",p" << i << ","
           << (i % 2 == 0 ? "no" : "yes") << "\n";
    next << 20 + i % 31 << "," << 2000 + i % 20 << ",p" << i << "," << (i % 2 == 0 ? "TRUE" : "FALSE")
         << "\n";
  }
  people.close();
  next.close();
  RunWell({"train", "--edges", "calls.csv", "--nodes", "customers.csv", "--id", "customer", "--label",
           "churned", "--epochs", "20", "--method", "lgcn", "--preset", "paper", "-o", "run"});
  RunWell({"predict", "run", "-o", "old.csv"});
  const Outcome predicted =
      RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "next.csv", "-o", "new.csv"});
  EXPECT_EQ(Classes("new.csv"), Classes("old.csv"));
  EXPECT_NE(predicted.err.find("next.csv: the model was not trained on column since: left out"),
            std::string::npos)
      << predicted.err;
  EXPECT_NE(predicted.err.find("TRUE for True in column vip"), std::string::npos) << predicted.err;
  std::ofstream(folder_ / "added.csv") << "customer,age,vip\nq1,30,TRUE\nq2,40,FALSE\n";
  std::ofstream(folder_ / "added-calls.csv") << "caller,callee,minutes\nq1,p2,1\nq2,p3,2\n";
  const Outcome added =
      Run({"predict", "run", "--edges", "added-calls.csv", "--nodes", "added.csv", "-o", "added-p.csv"});
  EXPECT_EQ(added.status, 2);
  EXPECT_NE(added.err.find("join the new tables to the old ones"), std::string::npos) << added.err;
  EXPECT_NE(added.err.find("customers.csv', 'added.csv')"), std::string::npos) << added.err;
}

TEST_F(TableTest, WeightsThatOnlyTheModelOrTheNewEdgesHaveAreAWarning) {
  Train();
  std::stringstream calls(Read("calls.csv"));
  std::ofstream bare(folder_ / "bare.csv");
  for (std::string line; std::getline(calls, line);) bare << line.substr(0, line.rfind(',')) << "\n";
  bare.close();
  const auto told = [&](const char* edges, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"evaluate", "run", "--edges", edges, "--nodes", "people.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return RunWell(words).err;
  };
  EXPECT_NE(
      told("bare.csv", {}).find("warning: bare.csv: the edges have no weights, or all are 1, but the model"),
      std::string::npos);
  EXPECT_EQ(told("calls.csv", {}).find("weights:"), std::string::npos);
  Train({"--weight", "none", "--force"});
  EXPECT_NE(told("calls.csv", {}).find("the model was trained without; --weight none ignores them"),
            std::string::npos);
  EXPECT_EQ(told("calls.csv", {"--weight", "none"}).find("warning"), std::string::npos);
}

TEST_F(TableTest, PredictionsElsewhereSayWhyCorrectAndSmoothIsLeftOut) {
  RunWell({"train", "--edges", "calls.csv", "--nodes", "people.csv", "--label", "churned", "--epochs", "2",
           "--correct", "on", "-o", "run"});
  const std::vector<std::string> words = {"predict", "run",        "--edges", "calls.csv",
                                          "--nodes", "people.csv", "-o",      "p.csv"};
  EXPECT_NE(RunWell(words).err.find(
                "predicted without Correct & Smooth (--correct): it needs train nodes with a label, "
                "and no split says which nodes these are"),
            std::string::npos);
  WriteMoved("moved.csv");
  EXPECT_NE(RunWell({"predict", "run", "--edges", "calls.csv", "--nodes", "moved.csv", "-o", "p.csv"})
                .err.find("and no node has one"),
            std::string::npos);
}

TEST_F(TableTest, ManyClassesAreOneWarning) {
  std::ofstream people(folder_ / "named.csv");
  people << "id,age,name\n";
  for (int i = 0; i < 120; ++i) people << "p" << i << "," << 18 + i % 60 << ",person " << i << "\n";
  people.close();
  const std::string said =
      RunWell({"train", "--edges", "calls.csv", "--nodes", "named.csv", "--label", "name", "--epochs", "1",
               "--method", "lgcn", "--preset", "paper", "-o", "run"})
          .err;
  size_t warnings = 0;
  for (size_t at = said.find("warning: "); at != std::string::npos; at = said.find("warning: ", at + 1))
    ++warnings;
  EXPECT_EQ(warnings, 2u) << said;
  EXPECT_NE(said.find("120 different values in 120 rows make 120 classes"), std::string::npos) << said;
  EXPECT_NE(said.find("classes have no train node in split"), std::string::npos) << said;
}

TEST_F(TableTest, AdviceLeavesOutWhatIsDoneAlready) {
  const std::string said =
      RunWell({"train", "--preset", "paper", "--edges", "calls.csv", "--nodes", "people.csv", "--label",
               "churned", "--epochs", "1", "--lr", "1e-9", "--class-weights", "balanced", "-v", "-o", "bad"})
          .err;
  ASSERT_NE(said.find("does not beat"), std::string::npos) << said;
  EXPECT_EQ(said.find("--class-weights balanced"), std::string::npos) << said;
  EXPECT_EQ(said.find("--scale standard"), std::string::npos) << said;
}

TEST_F(TableTest, EvaluateMatchesClassesByName) {
  Train();
  // The same people, but classes in another order of numbers, one of them unknown to the model.
  std::string text = Read("people.csv");
  text.replace(text.find("no", text.find("p8,")), 2, "maybe");
  std::ofstream(folder_ / "three.csv") << text;
  const Outcome scored = RunWell(
      {"evaluate", "run", "--edges", "calls.csv", "--nodes", "three.csv", "--label", "churned", "--json"});
  EXPECT_GT(scored.json().at("f1").at("test").get<double>(), 0.9);
  EXPECT_NE(scored.err.find("does not know the classes maybe"), std::string::npos) << scored.err;
  std::ofstream(folder_ / "others.csv")
      << "id,age,income,city,churned\np0,1,2,rome,a\np2,3,4,oslo,b\np4,3,4,oslo,b\n";
  std::ofstream(folder_ / "few.csv") << "p0,p2\np2,p4\n";
  const Outcome none =
      Run({"evaluate", "run", "--edges", "few.csv", "--nodes", "others.csv", "--label", "churned"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("shares no class with the model"), std::string::npos) << none.err;
}

TEST_F(TableTest, AGraphWithoutFeaturesIsTrainedOnItsStructure) {
  std::ofstream edges(folder_ / "edges.csv"), labels(folder_ / "labels.csv");
  labels << "id,side\n";
  for (int i = 0; i < 200; ++i) {
    const int half = i / 100 * 100;
    for (const int step : {1, 7, 19}) edges << i << "," << half + (i + step) % 100 << "\n";
    labels << i << "," << (i < 100 ? "left" : "right") << "\n";
  }
  edges.close();
  labels.close();
  const Outcome trained =
      RunWell({"train", "--edges", "edges.csv", "--labels", "labels.csv", "--epochs", "40", "--method",
               "lgcn", "--lr", "0.01", "--setting", "transductive", "--json", "-v", "-o", "run"});
  EXPECT_NE(trained.err.find("has no features"), std::string::npos) << trained.err;
  EXPECT_GT(trained.json().at("f1").at("test").get<double>(), 0.9);
  EXPECT_EQ(RunWell({"evaluate", "run", "--json"}).json().at("f1").at("test"),
            trained.json().at("f1").at("test"));
}

TEST_F(TableTest, OptionsForColumnsAreKnownEverywhere) {
  const std::string help = RunWell({"train", "--help-all"}).out;
  for (const char* option : {"--source", "--target", "--weight", "--id", "--no-ids", "--allow-unmatched"})
    EXPECT_NE(help.find(option), std::string::npos) << option;
  const Outcome strangers = Run({"train", "--edges", "people.csv", "--source", "age", "--target", "income",
                                 "--nodes", "people.csv", "--label", "churned"});
  EXPECT_EQ(strangers.status, 2);
  EXPECT_NE(strangers.err.find("--allow-unmatched"), std::string::npos) << strangers.err;
}

// Two kinds of calls: the label follows those of one kind.
TEST_F(TableTest, EdgeTypesAreRelationsOfTheModel) {
  std::ofstream calls(folder_ / "typed.csv");
  calls << "caller,callee,kind\n";
  for (int i = 0; i < 120; ++i) {
    calls << "p" << i << ",p" << (i + 2) % 120 << ",friend\np" << i << ",p" << (i + 1) % 120 << ",work\n";
  }
  calls.close();
  const std::vector<std::string> nodes = {"--nodes", "people.csv", "--label", "churned"};
  std::vector<std::string> words = {"train",    "--edges", "typed.csv", "--edge-type", "kind", "--directed",
                                    "--epochs", "3",       "--json",    "-o",          "run"};
  words.insert(words.end(), nodes.begin(), nodes.end());
  const nlohmann::json result = RunWell(words).json();
  EXPECT_EQ(result.at("dataset").at("relations").size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(Read("run/config.json")).at("relations"),
            nlohmann::json({"friend/in", "friend/out", "work/in", "work/out"}));
  EXPECT_NE(RunWell({"info", "run"}).out.find("relation    friend/in: 120 directed edges"),
            std::string::npos);
  RunWell({"predict", "run", "-o", "p.csv"});
  RunWell({"predict", "run", "--edges", "typed.csv", "--nodes", "people.csv", "-o", "again.csv"});
  EXPECT_EQ(Classes("again.csv"), Classes("p.csv"));
  std::ofstream more(folder_ / "more.csv");
  more << Read("typed.csv") << "p1,p5,enemy\n";
  more.close();
  words = {"predict", "run", "--edges", "more.csv", "--nodes", "people.csv", "-o", "more-p.csv"};
  EXPECT_NE(Run(words).err.find("does not know the edge types enemy"), std::string::npos);
  words.emplace_back("--allow-unmatched");
  RunWell(words);
  EXPECT_EQ(Read("more-p.csv"), Read("again.csv"));
}

TEST_F(TableTest, DirectedAutoTriesDirections) {
  const nlohmann::json result =
      RunWell({"train", "--edges", "calls.csv", "--nodes", "people.csv", "--label", "churned", "--directed",
               "auto", "--epochs", "8", "--json", "-o", "run"})
          .json();
  const nlohmann::json& trials = result.at("runs").at(0).at("trials");
  ASSERT_GE(trials.size(), 3u);
  EXPECT_FALSE(trials[0].contains("relations"));
  EXPECT_EQ(trials[1].at("relations"), nlohmann::json({"all", "in", "out"}));
  EXPECT_EQ(trials[2].at("relations"), nlohmann::json({"in", "out"}));
}

}  // namespace
}  // namespace l2gcn
