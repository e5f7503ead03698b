// l2gcn train end to end: the shape of its result, the run it writes, and what interrupts it.
#include "l2gcn/train.h"

#include <algorithm>
#include <thread>

#include "cli/process.h"

namespace l2gcn {
namespace {

class TrainTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    MakeSmallSet();
  }
};

const std::vector<std::string> kRunFiles = {"config.json", "log.jsonl", "model.safetensors", "result.json",
                                            "split.npy"};

TEST_F(TrainTest, JsonIsOneObjectOfTheContract) {
  const Outcome outcome =
      RunWell({"train", "small", "--method", "lgcn", "--epochs", "3,2", "--json", "-o", "run"});
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << "one line: " << outcome.out;
  const nlohmann::json result = outcome.json();
  EXPECT_EQ(result.at("method"), "layerwise");
  for (const char* key :
       {"name", "format", "nodes", "edges", "features", "classes", "multilabel", "self_loops", "splits"}) {
    EXPECT_TRUE(result.at("dataset").contains(key)) << key;
  }
  EXPECT_EQ(result.at("dataset").at("nodes"), 300);
  for (const char* part : {"train", "val", "test"}) {
    EXPECT_GE(result.at("f1").at(part).get<double>(), 0) << part;
    EXPECT_LE(result.at("f1").at(part).get<double>(), 1) << part;
    EXPECT_TRUE(result.at("f1_sd").contains(part)) << part;
  }
  EXPECT_EQ(result.at("epochs"), nlohmann::json({3, 2}));
  ASSERT_EQ(result.at("loss").size(), 2u);
  EXPECT_EQ(result.at("loss")[0].size(), 3u);
  EXPECT_EQ(result.at("loss")[1].size(), 2u);
  for (const char* phase :
       {"load", "setup", "aggregate", "train", "transform", "validate", "evaluate", "total"}) {
    EXPECT_GE(result.at("seconds").at(phase).get<double>(), 0) << phase;
  }
  EXPECT_GT(result.at("memory").at("peak_rss_bytes").get<uint64_t>(), 0u);
  EXPECT_TRUE(result.at("memory").contains("peak_device_bytes"));
  ASSERT_EQ(result.at("runs").size(), 1u);
  for (const char* key : {"seed", "f1", "epochs", "loss", "seconds", "run"}) {
    EXPECT_TRUE(result.at("runs")[0].contains(key)) << key;
  }
  EXPECT_EQ(result.at("seed"), 0);
  EXPECT_EQ(result.at("run"), "run");
  EXPECT_EQ(List("run"), kRunFiles);
  nlohmann::json stored = nlohmann::json::parse(Read("run/result.json"));
  EXPECT_EQ(stored.at("files").size(), 4u);
  stored.erase("files");
  stored.erase("checksum");
  EXPECT_EQ(stored, result);
}

// Where nobody says anything, the program and C++ train the same model; python/tests/test_program.py compares Python's.
TEST_F(TrainTest, DefaultsAreThoseOfTheLibrary) {
  RunWell({"train", "small", "--device", "cpu", "-o", "run"});
  const Context context = MakeContext(2);
  const Dataset small = OpenDataset(context, (folder_ / "small").string());
  Trained trained = Train(context, small);
  EvaluateTrained(context, small, trained);
  SaveModel(trained.model, (folder_ / "own").string());
  for (const char* file : {"own/model.safetensors", "own/config.json"})
    EXPECT_EQ(Read(file), Read("run" + std::string(file).substr(3))) << file;
}

TEST_F(TrainTest, AProfileHoldsEachLayerAgainstWhatTheMachineCanDo) {
  const Outcome outcome = RunWell(
      {"train", "small", "--method", "lgcn", "--epochs", "2", "--device", "cpu", "--profile", "-o", "run"});
  EXPECT_NE(outcome.err.find("this machine at best"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("GFLOP/s"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(" %)"), std::string::npos) << outcome.err;
}

TEST_F(TrainTest, SeveralSeedsStandSideBySide) {
  const Outcome outcome =
      RunWell({"train", "small", "--epochs", "2", "--runs", "2", "--seed", "5", "--json", "-o", "run"});
  EXPECT_EQ(List("run"), (std::vector<std::string>{"result.json", "seed-5", "seed-6"}));
  EXPECT_EQ(List("run/seed-6"), kRunFiles);
  const nlohmann::json result = outcome.json();
  ASSERT_EQ(result.at("runs").size(), 2u);
  const double first = result.at("runs")[0].at("f1").at("test"),
               second = result.at("runs")[1].at("f1").at("test");
  EXPECT_NEAR(result.at("f1").at("test").get<double>(), (first + second) / 2, 1e-12);
}

TEST_F(TrainTest, RunsWithoutANameAreNumbered) {
  RunWell({"train", "small", "--method", "lgcn", "--epochs", "1"});
  RunWell({"train", "small", "--method", "lgcn", "--epochs", "1"});
  EXPECT_EQ(List("runs"),
            (std::vector<std::string>{"synthetic-cora-layerwise-001", "synthetic-cora-layerwise-002"}));
}

TEST_F(TrainTest, ThreadsChangeNothingAndTooManyAreAWarning) {
  RunWell({"train", "small", "--epochs", "3", "--threads", "1", "-o", "one"});
  const std::string too_many = std::to_string(std::thread::hardware_concurrency() + 3);
  const Outcome outcome = RunWell({"train", "small", "--epochs", "3", "--threads", too_many, "-o", "many"});
  EXPECT_NE(outcome.err.find("warning: --threads " + too_many), std::string::npos) << outcome.err;
  EXPECT_EQ(Read("one/model.safetensors"), Read("many/model.safetensors"));
}

TEST_F(TrainTest, AnExistingRunIsReplacedOnlyByForce) {
  RunWell({"train", "small", "--epochs", "1", "-o", "run"});
  const std::string before = Read("run/model.safetensors");
  const Outcome refused = Run({"train", "small", "--epochs", "2", "-o", "run"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(Read("run/model.safetensors"), before);
  RunWell({"train", "small", "--epochs", "2", "--seed", "1", "-o", "run", "--force"});
  EXPECT_NE(Read("run/model.safetensors"), before);
  EXPECT_EQ(List(), (std::vector<std::string>{"run", "small"}));
}

TEST_F(TrainTest, AnOutputThatCannotBeMadeIsRefused) {
  const Outcome outcome = Run({"train", "small", "--epochs", "1", "-o", "small/dataset.json/run"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("small/dataset.json"), std::string::npos) << outcome.err;
}

TEST_F(TrainTest, SplitsThatCannotTrainAreRefusedOrWarnedOf) {
  const Outcome empty = Run({"train", "small", "--epochs", "1", "--split", "random:0,0.5,0.5"});
  EXPECT_EQ(empty.status, 2);
  EXPECT_NE(empty.err.find("TRAIN above 0"), std::string::npos) << empty.err;
  const Outcome none = Run({"train", "small", "--epochs", "1", "--split", "random:0.001,0.5,0.4"});
  EXPECT_EQ(none.status, 2) << "0.3 of a node rounds to no train node";
  EXPECT_NE(none.err.find("train"), std::string::npos) << none.err;
  const Outcome few = RunWell({"train", "small", "--epochs", "1", "--split", "random:0.02,0.48,0.5"});
  EXPECT_NE(few.err.find("warning"), std::string::npos)
      << "6 train nodes cannot cover 7 classes: " << few.err;
}

TEST_F(TrainTest, QuietSaysNothingButTheResult) {
  const Outcome outcome = RunWell({"train", "small", "--epochs", "60", "--lr", "0.01", "--quiet"});
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("F1"), std::string::npos);
}

// The result first, then what was chosen, then what to type next; the reasons on request.
TEST_F(TrainTest, TheResultIsReadAtAGlance) {
  const std::vector<std::string> words = {"train", "small", "--epochs", "3", "--runs", "2", "-o", "run"};
  const Outcome outcome = RunWell(words);
  size_t at = 0;
  for (const char* part :
       {"F1 (micro, %)", "test ", " ± ", "baseline", "chosen         preset best, stop plateau, lr auto",
        "run            run", "l2gcn predict run -o predictions.csv", "l2gcn report run"}) {
    const size_t found = outcome.out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in " << outcome.out;
    at = found;
  }
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 8) << outcome.out;
  EXPECT_EQ(outcome.err.find("peak memory"), std::string::npos) << outcome.err;
  const std::vector<std::string> more = {"train", "small", "--epochs", "3", "--verbose", "-o", "told"};
  EXPECT_NE(RunWell(more).err.find("peak memory"), std::string::npos);
}

TEST_F(TrainTest, AFullDiskLeavesTheEarlierRunWhole) {
  RunWell({"train", "small", "--epochs", "1", "-o", "run"});
  const std::string before = Read("run/model.safetensors");
  Launch full;
  full.file_limit = 1000;
  const Outcome outcome = Run({"train", "small", "--epochs", "2", "-o", "run", "--force", "--quiet"}, full);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot"), std::string::npos) << outcome.err;
  EXPECT_EQ(Read("run/model.safetensors"), before);
  EXPECT_EQ(List("run"), kRunFiles);
  EXPECT_EQ(List(), (std::vector<std::string>{"run", "small"}));
}

TEST_F(TrainTest, CtrlCLeavesTheEarlierRunWhole) {
  RunWell({"train", "small", "--epochs", "1", "-o", "run"});
  const std::string before = Read("run/model.safetensors");
  Launch interrupted;
  interrupted.interrupt = true;
  const Outcome outcome = Run({"train", "small", "--epochs", "1000000", "-o", "run", "--force", "--method",
                               "lgcn", "--preset", "paper"},
                              interrupted);
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Read("run/model.safetensors"), before);
  EXPECT_EQ(List(), (std::vector<std::string>{"run", "small"}));
}

TEST_F(TrainTest, ATerminalShowsSeedScoreAndTimeLeft) {
  Launch terminal;
  terminal.terminal = true;
  const Outcome outcome =
      Run({"train", "small", "--epochs", "30", "--hidden", "8", "--runs", "2", "-o", "run"}, terminal);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"seed 1/2  train layer 1/2  epoch ", "seed 2/2  train layer 2/2  epoch ",
                           "/30  at most ", " s left  val F1 ", "  loss "})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in " << outcome.err;
  const Outcome fixed = Run({"train", "small", "--epochs", "30", "--stop", "fixed", "-o", "fixed"}, terminal);
  EXPECT_EQ(fixed.err.find("at most"), std::string::npos) << fixed.err;
  EXPECT_EQ(fixed.err.find("seed 1/1"), std::string::npos) << fixed.err;
  const Outcome plain = Run({"train", "small", "--epochs", "30", "-o", "plain"});
  EXPECT_EQ(plain.err.find('\r'), std::string::npos);
}

TEST_F(TrainTest, ATerminalShowsWhichMethodIsCompared) {
  Launch terminal;
  terminal.terminal = true;
  const Outcome outcome =
      Run({"compare", "small", "--methods", "lgcn,gcn", "--runs", "2", "--epochs", "20"}, terminal);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part :
       {"method 1/2  seed 1/2  train layer 1/2  epoch ", "method 2/2  seed 1/2  ", "method 2/2  seed 2/2  "})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in " << outcome.err;
  const Outcome cells =
      Run({"reproduce", "table-epochs", "--quick", "--runs", "1", "--sets", "cora", "-o", "out"}, terminal);
  ASSERT_EQ(cells.status, 0) << cells.err;
  EXPECT_NE(cells.err.find("cell 1/4  train layer 1/2  epoch "), std::string::npos) << cells.err;
  EXPECT_NE(cells.err.find("cell 4/4  aggregate layer 1/2"), std::string::npos) << cells.err;
}

}  // namespace
}  // namespace l2gcn
