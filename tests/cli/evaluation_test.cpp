// How results are judged and said: splits, baselines, thresholds, class weights, curves, and runs repeated.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

using Json = nlohmann::json;

class EvaluationTest : public ProgramTest {
 protected:
  // 120 people in a ring, one in six of the rare kind, told apart by two numbers; folder_/edges.csv,
  // nodes.csv.
  void MakeTables() const {
    std::ofstream edges(folder_ / "edges.csv"), nodes(folder_ / "nodes.csv");
    edges << "from,to\n";
    nodes << "id,a,b,kind\n";
    for (int i = 0; i < 120; ++i) {
      const bool rare = i % 6 == 0;
      edges << "n" << i << ",n" << (i + 6) % 120 << "\n";
      nodes << "n" << i << "," << (rare ? 0.6 : 0.3) + 0.05 * (i % 5) << "," << i % 7 * 0.1 << ","
            << (rare ? "rare" : "common") << "\n";
    }
  }
  std::vector<std::string> WithTables(std::vector<std::string> words) const {
    words.insert(words.end(), {"--edges", "edges.csv", "--nodes", "nodes.csv"});
    return words;
  }
  static bool Holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(EvaluationTest, TrainingSaysWhatItLearnsFromAndWhatGuessingScores) {
  MakeTables();
  const Outcome outcome =
      RunWell(WithTables({"train", "--epochs", "3", "--threads", "1", "--device", "cpu", "-v", "-o", "run"}));
  EXPECT_TRUE(Holds(outcome.err, "120 nodes with a label, 0 without; 2 classes")) << outcome.err;
  EXPECT_TRUE(Holds(outcome.err, "split random:0.6,0.2,0.2: 72 train, 24 val, 24 test")) << outcome.err;
  EXPECT_TRUE(Holds(outcome.out, "83.33  (majority class common)")) << outcome.out;
  EXPECT_TRUE(Holds(outcome.err, "1 thread\n")) << outcome.err;
  const Json result = Json::parse(Read("run/result.json"));
  EXPECT_EQ(result.at("baseline").at("name"), "majority class common");
  EXPECT_NEAR(result.at("baseline").at("test").get<double>(), 20.0 / 24, 1e-12);
  EXPECT_EQ(result.at("split").at("name"), "random:0.6,0.2,0.2");
  EXPECT_EQ(result.at("split").at("train"), 72);
  EXPECT_EQ(result.at("split").at("unlabelled"), 0);
}

TEST_F(EvaluationTest, AModelThatDoesNotBeatGuessingIsSaidSo) {
  MakeTables();
  const Outcome outcome =
      RunWell(WithTables({"train", "--preset", "paper", "--epochs", "1", "--lr", "1e-9", "-v", "-o", "run"}));
  EXPECT_TRUE(Holds(outcome.out, "not beaten, --verbose has advice")) << outcome.out;
  EXPECT_TRUE(Holds(outcome.err, "does not beat")) << outcome.err;
  EXPECT_TRUE(Holds(outcome.err, "majority class common")) << outcome.err;
}

TEST_F(EvaluationTest, EdgesAloneSayWhyTheyCannotBeTrained) {
  MakeTables();
  const Outcome outcome = Run({"train", "edges.csv"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(Holds(outcome.err, "has no labels")) << outcome.err;
  EXPECT_TRUE(Holds(outcome.err, "--labels")) << outcome.err;
}

// Row of the confusion matrix and the predictions must agree with the thresholds that the model keeps.
TEST_F(EvaluationTest, WeightsAndThresholdsFindTheRareClass) {
  MakeTables();
  const std::vector<std::string> plain = {"train", "--epochs", "40", "--lr", "0.01", "--scale", "standard"};
  std::vector<std::string> helped = plain;
  helped.insert(helped.end(), {"--class-weights", "balanced", "--threshold", "auto", "-o", "helped"});
  RunWell(WithTables(helped));
  const Json scores = RunWell({"evaluate", "helped", "--json"}).json();
  ASSERT_EQ(scores.at("thresholds").size(), 1u);
  const Json config = Json::parse(Read("helped/config.json"));
  EXPECT_EQ(config.at("thresholds"), scores.at("thresholds"));
  EXPECT_GT(scores.at("scores").at("val").at("classes")[1].at("recall").get<double>(), 0.5);
  const double threshold = scores.at("thresholds")[0].get<double>();
  std::stringstream lines(RunWell({"predict", "helped", "-o", "-"}).out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "node,split,truth,class,probability,common,rare");
  while (std::getline(lines, line)) {
    const double rare = std::stod(line.substr(line.rfind(',') + 1));
    if (std::abs(rare - threshold) < 1e-6) continue;
    std::stringstream words(line);
    std::string chosen;
    for (int field = 0; field < 4; ++field) std::getline(words, chosen, ',');
    EXPECT_EQ(chosen == "rare", rare > threshold) << line << " at " << threshold;
  }
  std::vector<std::string> fixed = plain;
  fixed.insert(fixed.end(), {"--threshold", "0.001", "-o", "fixed"});
  RunWell(WithTables(fixed));
  EXPECT_EQ(
      RunWell({"evaluate", "fixed", "--json"}).json().at("scores").at("all").at("classes")[1].at("recall"),
      1);
}

TEST_F(EvaluationTest, WeightsComeFromAFileByClassName) {
  MakeTables();
  std::ofstream(folder_ / "weights.csv") << "class,weight\nrare,5\ncommon,1\n";
  RunWell(WithTables({"train", "--epochs", "3", "--class-weights", "weights.csv", "-o", "weighted"}));
  RunWell(WithTables({"train", "--epochs", "3", "-o", "plain"}));
  EXPECT_NE(Read("weighted/model.safetensors"), Read("plain/model.safetensors"));
  std::ofstream(folder_ / "weights.csv") << "class,weight\nrar,5\ncommon,1\n";
  const Outcome unknown = Run(WithTables({"train", "--class-weights", "weights.csv", "-o", "x"}));
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(Holds(unknown.err, "did you mean 'rare'")) << unknown.err;
  std::ofstream(folder_ / "weights.csv") << "class,weight\nrare,5\n";
  const Outcome missing = Run(WithTables({"train", "--class-weights", "weights.csv", "-o", "x"}));
  EXPECT_TRUE(Holds(missing.err, "no weight for class 'common'")) << missing.err;
}

TEST_F(EvaluationTest, ThresholdsAreForTwoClassesOrLabelSets) {
  MakeSmallSet();
  const Outcome outcome = Run({"train", "small", "--threshold", "auto", "-o", "run"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(Holds(outcome.err, "7 classes")) << outcome.err;
  EXPECT_EQ(Run({"train", "small", "--threshold", "2"}).status, 2);
}

TEST_F(EvaluationTest, TheValidationCurveIsKept) {
  MakeSmallSet();
  const Json result = RunWell({"train", "small", "--preset", "paper", "--method", "lgcn", "--epochs", "4,6",
                               "--val-every", "2", "--json", "-o", "run"})
                          .json();
  const Json& curve = result.at("runs")[0].at("validation");
  ASSERT_EQ(curve.size(), 5u);
  EXPECT_EQ(curve[0].at("epoch"), 2);
  EXPECT_EQ(curve[4].at("layer"), 2);
  EXPECT_EQ(curve[4].at("epoch"), 6);
  std::stringstream lines(Read("run/log.jsonl"));
  std::vector<double> logged;
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    if (event.contains("val_f1")) logged.push_back(event.at("val_f1").get<double>());
  }
  ASSERT_EQ(logged.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(logged[i], curve[i].at("f1").get<double>());
}

TEST_F(EvaluationTest, AConfigurationRepeatsARunAndFlagsOverrideIt) {
  MakeSmallSet();
  RunWell(
      {"train", "small", "--method", "lgcn", "--epochs", "3", "--hidden", "9", "--seed", "4", "-o", "first"});
  RunWell({"train", "--config", "first/config.json", "-o", "second"});
  EXPECT_EQ(Read("first/model.safetensors"), Read("second/model.safetensors"));
  EXPECT_EQ(Read("first/config.json"), Read("second/config.json"));
  EXPECT_EQ(Read("first/split.npy"), Read("second/split.npy"));
  const Json other = RunWell({"train", "small", "--config", "first/config.json", "--method", "gcn",
                              "--epochs", "2", "--json", "-o", "third"})
                         .json();
  EXPECT_EQ(other.at("method"), "gcn");
  EXPECT_EQ(other.at("epochs"), Json({2}));
  EXPECT_EQ(Json::parse(Read("third/config.json")).at("config").at("hidden"), Json({9}));
  std::ofstream(folder_ / "plain.json") << "{\"hidden\": [5], \"epochs\": [2]}";
  EXPECT_TRUE(Holds(Run({"train", "--config", "plain.json"}).err, "name one")) << "no data set beside it";
  RunWell({"train", "small", "--config", "plain.json", "-o", "fourth"});
  EXPECT_EQ(Json::parse(Read("fourth/config.json")).at("config").at("hidden"), Json({5}));
  EXPECT_EQ(Run({"train", "--config", "absent.json"}).status, 2);
}

TEST_F(EvaluationTest, CompareRefusesWhatNoMethodTakes) {
  MakeSmallSet();
  const Outcome outcome = Run({"compare", "small", "--methods", "lgcn,gcn", "--parts", "3"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(Holds(outcome.err, "it is for clustergcn")) << outcome.err;
}

TEST_F(EvaluationTest, InfoCountsClassesAndDegrees) {
  MakeTables();
  const Json counts = RunWell(WithTables({"info", "--json"})).json().at("counts");
  EXPECT_EQ(counts.at("labelled"), 120);
  EXPECT_EQ(counts.at("classes")[1].at("name"), "rare");
  EXPECT_EQ(counts.at("classes")[1].at("count"), 20);
  EXPECT_EQ(counts.at("degree").at("max"), 2);
  EXPECT_TRUE(Holds(RunWell(WithTables({"info"})).out, "rare"));
}

TEST_F(EvaluationTest, InfoCountsALargeStoredSetWhenAsked) {
  RunWell(
      {"generate", "pubmed", "--nodes", "1000001", "--edges", "1000001", "--features", "1", "-o", "large"});
  EXPECT_TRUE(RunWell({"info", "large", "--json"}).json().at("counts").is_null());
  EXPECT_TRUE(Holds(RunWell({"info", "large"}).out, "with --counts"));
  const Json counts = RunWell({"info", "large", "--counts", "--json"}).json().at("counts");
  EXPECT_EQ(counts.at("labelled").get<uint64_t>() + counts.at("unlabelled").get<uint64_t>(), 1000001u);
  EXPECT_NEAR(counts.at("degree").at("mean").get<double>(), 2.0, 1e-5);
  EXPECT_LE(counts.at("degree").at("min"), counts.at("degree").at("median"));
  EXPECT_LE(counts.at("degree").at("median"), counts.at("degree").at("max"));
}

TEST_F(EvaluationTest, MeansOfEpochsAreRounded) {
  MakeSmallSet();
  const std::string out = RunWell({"train", "small", "--stop", "early", "--patience", "1", "--lr", "0.5",
                                   "--epochs", "9", "--runs", "3", "-o", "run"})
                              .out;
  const size_t at = out.find("epochs");
  const std::string epochs = out.substr(at, out.find('\n', at) - at);
  for (size_t dot = epochs.find('.'); dot != std::string::npos; dot = epochs.find('.', dot + 1)) {
    EXPECT_FALSE(dot + 2 < epochs.size() && std::isdigit(epochs[dot + 2])) << epochs;
  }
}

TEST_F(EvaluationTest, CompletionKnowsNamesTargetsAndMethods) {
  const std::string bash = RunWell({"completion", "bash"}).out;
  EXPECT_TRUE(Holds(bash, "citeseer"));
  EXPECT_TRUE(Holds(bash, "table-sota"));
  EXPECT_TRUE(Holds(bash, "'compare --methods')"));
  EXPECT_TRUE(Holds(bash, "clustergcn"));
}

}  // namespace
}  // namespace l2gcn
