// Budgets of memory through the program: the same bits, a peak below the budget, and what is refused.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

class MemoryTest : public ProgramTest {
 protected:
  // 23,000 nodes with 602 features: about 150 MiB in memory.
  void MakeLargeSet() { RunWell({"generate", "reddit", "--scale", "0.1", "-o", "large", "-q"}); }
  Outcome Train(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> words = {"train",    "large", "--method",  "lgcn", "--preset", "paper",
                                      "--epochs", "1",     "--threads", "2",    "--device", "cpu",
                                      "-o",       run,     "--json",    "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return RunWell(words);
  }
};

// A sanitiser's own memory is many times such a budget.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(MemoryTest, ABudgetChangesNeitherModelNorPredictions) {
  MakeLargeSet();
  Train("whole", {});
  const nlohmann::json tight = Train("tight", {"--memory", "100M", "--scratch", "."}).json();
  EXPECT_EQ(Read("whole/model.safetensors"), Read("tight/model.safetensors"));
  EXPECT_LE(tight.at("memory").at("peak_rss_bytes").get<uint64_t>(), 100u << 20);
  RunWell({"predict", "whole", "-o", "whole.csv", "-q"});
  RunWell({"predict", "whole", "-o", "tight.csv", "-q", "--memory", "100M", "--scratch", "."});
  EXPECT_EQ(Read("whole.csv"), Read("tight.csv"));
  RunWell({"predict", "whole", "-o", "tight.npy", "-q", "--memory", "100M"});
  RunWell({"predict", "whole", "-o", "whole.npy", "-q"});
  EXPECT_EQ(Read("whole.npy"), Read("tight.npy"));
  RunWell({"embed", "whole", "-o", "whole-e.npy", "-q"});
  RunWell({"embed", "whole", "-o", "tight-e.npy", "-q", "--memory", "100M"});
  EXPECT_EQ(Read("whole-e.npy"), Read("tight-e.npy"));
  EXPECT_EQ(List(), (std::vector<std::string>{"large", "tight", "tight-e.npy", "tight.csv", "tight.npy",
                                              "whole", "whole-e.npy", "whole.csv", "whole.npy"}))
      << "no scratch is left behind";
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Processes that keep every core busy as long as this object lives.
class BusyMachine {
 public:
  BusyMachine() {
    for (pid_t& busy : busy_) {
      busy = fork();
      while (busy == 0) {
      }
    }
  }
  ~BusyMachine() {
    for (const pid_t busy : busy_) kill(busy, SIGKILL), waitpid(busy, nullptr, 0);
  }

 private:
  std::array<pid_t, 4> busy_{};
};

// The budget is kept where the watch over mapped pages gets the processor late.
TEST_F(MemoryTest, ABudgetIsKeptOnABusyMachine) {
  MakeLargeSet();
  const BusyMachine busy;
  for (const uint64_t budget : {80, 120}) {
    const Outcome outcome =
        Train("run", {"--memory", std::to_string(budget) + "M", "--scratch", ".", "--force"});
    EXPECT_LE(outcome.peak_bytes, budget << 20) << budget << " MiB";
    EXPECT_GT(outcome.json().at("disk").at("panels").get<int>(), 0) << budget << " MiB";
  }
}
#endif

// Where few nodes have labels, layers are computed only for nodes that lead to them, and evaluation uses what training
// made.
TEST_F(MemoryTest, ATransductiveRunScoresWhatItTrainedWith) {
  RunWell({"generate", "papers100m", "--scale", "0.001", "--features-as", "f16", "-o", "large", "-q"});
  for (const std::string layers : {"2", "3"}) {
    const auto with = [&](std::vector<std::string> more) {
      const std::vector<std::string> setting = {"--setting", "transductive", "--features-as", "f16",
                                                "--layers",  layers,         "--force"};
      more.insert(more.end(), setting.begin(), setting.end());
      return more;
    };
    const nlohmann::json whole = Train("whole", with({})).json();
    const nlohmann::json tight = Train("tight", with({"--memory", "60M", "--scratch", "."})).json();
    EXPECT_EQ(Read("whole/model.safetensors"), Read("tight/model.safetensors"));
    EXPECT_EQ(whole.at("f1"), tight.at("f1"));
    EXPECT_GT(tight.at("disk").at("panels").get<int>(), 0);
    EXPECT_LT(tight.at("disk").at("panels").get<int>(), layers == "2" ? 8 : 12) << "no layer twice";
    const auto gathered = [](const nlohmann::json& run, size_t layer) {
      return run.at("runs").at(0).at("layers").at(layer).at("gathered_bytes").get<double>();
    };
    const size_t before_last = layers == "2" ? 0 : 1;
    EXPECT_LT(gathered(tight, before_last), 0.7 * gathered(whole, before_last)) << "fewer rows";
  }
}

// What is refused names the least that would do, and that does.
TEST_F(MemoryTest, CommandsThatReadAndWriteDataRefuseABudgetThatIsTooSmall) {
  RunWell({"generate", "cora", "-o", "small", "-q"});
  const std::vector<std::vector<std::string>> commands = {
      {"convert", "small", "copy"},
      {"generate", "reddit", "--scale", "0.1", "-o", "large"},
      {"info", "small"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"-q", "--threads", "2", "--memory", "1K"});
    const Outcome refused = Run(words);
    EXPECT_EQ(refused.status, 2) << words[0];
    const std::string told = "needs at least ";
    const size_t at = refused.err.find(told);
    ASSERT_NE(at, std::string::npos) << refused.err;
    EXPECT_EQ(List(), std::vector<std::string>{"small"});
    words.back() = std::to_string(std::stoi(refused.err.substr(at + told.size())) + 4) + "M";
    RunWell(words);
    std::filesystem::remove_all(folder_ / "copy");
    std::filesystem::remove_all(folder_ / "large");
  }
}

// Fewer rows are made at a time.
TEST_F(MemoryTest, GeneratingUnderABudgetGivesTheSameFiles) {
  const std::vector<std::string> words = {"generate", "amazon670k", "--scale", "0.2", "-q", "-o"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    RunWell(all);
  };
  with({"whole"});
  with({"tight", "--memory", "64M"});
  ASSERT_EQ(List("whole"), List("tight"));
  for (const std::string& name : List("whole"))
    EXPECT_EQ(Read("whole/" + name), Read("tight/" + name)) << name;
}

// Shell words that wait until a run of this name trains its first layer, or give up.
std::string AwaitTraining(const std::string& run) {
  return "n=0; until grep -q losses " + run +
         ".unfinished/progress.jsonl 2> /dev/null || [ $n -ge 20000 ]; do n=$((n + 1)); done;";
}

// The same model, the same panels as an undisturbed run makes, and no scratch left at any time.
TEST_F(MemoryTest, AKilledRunGoesOnAtTheLayerThatItHadReached) {
  MakeLargeSet();
  const std::vector<std::string> from_disk = {"--memory", "100M", "--scratch", "."};
  Train("whole", from_disk);
  // Where the machine is busy the run may end before it is killed.
  const Outcome outcome = Shell(
      "$L2GCN train large --method lgcn --preset paper --epochs 1 --device cpu --memory 100M --scratch . "
      "-o cut -q > /dev/null 2>&1 & p=$!; "
      "until [ -e cut.unfinished/checkpoint/state-0.safetensors ] || ! kill -0 $p 2> /dev/null; do :; done; "
      "kill -9 $p 2> /dev/null; wait $p 2> /dev/null; ls -A >&2; "
      "[ -d cut ] || $L2GCN train --resume cut --device cpu --json -q");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("l2gcn-"), std::string::npos) << outcome.err;
  EXPECT_EQ(Read("whole/model.safetensors"), Read("cut/model.safetensors"));
  EXPECT_EQ(List(), (std::vector<std::string>{"cut", "large", "whole"})) << "nothing is left behind";
  if (outcome.out.empty()) return;
  EXPECT_GT(outcome.json().at("disk").at("panels").get<int>(), 0) << "the budget was forgotten";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(outcome.json().at("memory").at("peak_rss_bytes").get<uint64_t>(), 100u << 20);
#endif
}

TEST_F(MemoryTest, AnInterruptedRunLeavesNoScratch) {
  MakeLargeSet();
  Launch launch;
  launch.interrupt = true;
  Run({"train", "large", "--method", "lgcn", "--preset", "paper", "--epochs", "100000", "--device", "cpu",
       "--memory", "100M", "--scratch", ".", "-o", "run"},
      launch);
  for (const std::string& name : List()) EXPECT_EQ(name.find("l2gcn-"), std::string::npos) << name;
}

TEST_F(MemoryTest, TheProfileTellsTheShareOfTheDisk) {
  MakeLargeSet();
  const Outcome outcome = Train("run", {"--memory", "100M", "--scratch", ".", "--profile"});
  EXPECT_NE(outcome.err.find("% of what the disk can do"), std::string::npos) << outcome.err;
  const nlohmann::json disk = outcome.json().at("disk");
  EXPECT_GT(disk.at("panel_seconds").get<double>(), 0);
  EXPECT_GT(disk.at("read_bytes").get<uint64_t>(), disk.at("panel_read_bytes").get<uint64_t>());
}

TEST_F(MemoryTest, ThePlanIsToldWithoutTheWork) {
  MakeLargeSet();
  const auto plan = [&](const std::string& memory) {
    return RunWell({"train", "large", "--method", "lgcn", "--preset", "paper", "--memory", memory,
                    "--dry-run", "--json", "-o", "run"})
        .json()
        .at("plan");
  };
  const nlohmann::json roomy = plan("8G"), tight = plan("100M");
  EXPECT_TRUE(roomy.at("in_memory"));
  EXPECT_FALSE(tight.at("in_memory"));
  EXPECT_EQ(tight.at("memory_bytes"), 100u << 20);
  EXPECT_GE(tight.at("panels").get<int>(), 1);
  EXPECT_GT(tight.at("read_bytes").get<uint64_t>(), 0u);
  EXPECT_GT(tight.at("scratch_bytes").get<uint64_t>(), 0u);
  EXPECT_GT(tight.at("seconds").get<double>(), 0);
  EXPECT_EQ(List(), std::vector<std::string>{"large"});
}

TEST_F(MemoryTest, WhatCannotBeDoneIsRefusedWithTheFigures) {
  MakeLargeSet();
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"train", "large", "--preset", "paper", "-o", "run"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  const std::string small = refused({"--method", "lgcn", "--memory", "20M"});
  EXPECT_NE(small.find("from disk"), std::string::npos) << small;
  EXPECT_NE(small.find("are to be had (--memory)"), std::string::npos) << small;
  const std::string whole = refused({"--method", "graphsage", "--memory", "100M"});
  EXPECT_NE(whole.find("only layer-wise methods train from disk"), std::string::npos) << whole;
  const std::string nowhere = refused({"--method", "lgcn", "--memory", "100M", "--scratch", "missing"});
  EXPECT_NE(nowhere.find("missing"), std::string::npos) << nowhere;
  const Outcome temporary = Shell("TMPDIR=/nonexistent $L2GCN train large --preset paper --memory 20M");
  EXPECT_EQ(temporary.status, 2) << temporary.err;
  EXPECT_NE(temporary.err.find("TMPDIR=/nonexistent: is not a folder"), std::string::npos) << temporary.err;
  EXPECT_EQ(List(), std::vector<std::string>{"large"});
}

TEST_F(MemoryTest, DataCutShortWhileItTrainsIsToldAndNoScratchIsLeft) {
  MakeLargeSet();
  const Outcome outcome = Shell(
      "$L2GCN train large --method lgcn --preset paper --epochs 1 --device cpu --memory 100M --scratch . -o "
      "run -q "
      "& p=$!; " +
      AwaitTraining("run") + " truncate -s 1M large/features.npy; wait $p");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("features.npy: became shorter while it was read"), std::string::npos)
      << outcome.err;
  for (const std::string& name : List()) EXPECT_EQ(name.find("l2gcn-"), std::string::npos) << name;
}

TEST_F(MemoryTest, AFullDiskSaysHowMuchIsMissingAndLeavesNothing) {
  MakeLargeSet();
  Launch launch;
  launch.file_limit = 4 << 20;
  const Outcome outcome = Run({"train", "large", "--method", "lgcn", "--preset", "paper", "--epochs", "1",
                               "--memory", "100M", "--scratch", ".", "-o", "run"},
                              launch);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("scratch"), std::string::npos) << outcome.err;
  EXPECT_EQ(List(), std::vector<std::string>{"large"});
}

// A small disk of its own for scratch and output, where the system lets a user mount one.
TEST_F(MemoryTest, ScratchAndOutputOnANearlyFullDiskAreRefusedOrToldAndLeaveNothing) {
  MakeLargeSet();
  // $1: bytes that others take of the disk's 256 MiB at the beginning; $2: words that run beside the training.
  const std::string script =
      "mkdir -p disk && unshare -rm sh -c 'mount -t tmpfs -o size=256M none disk || exit 77; cd disk; "
      "head -c \"$1\" /dev/zero > others; eval \"$2\"; "
      "$L2GCN train ../large --method lgcn --preset paper --epochs 1 --device cpu --memory 100M --scratch . "
      "-o run -q > /dev/null; status=$?; wait; ls -A; exit $status' sh ";
  const auto with = [&](uint64_t others, const std::string& beside) {
    return Shell(script + std::to_string(others) + " '" + beside + "'");
  };
  const Outcome whole = with(0, ":");
  if (whole.status == 77 || whole.err.find("unshare") != std::string::npos) GTEST_SKIP() << whole.err;
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(whole.out, "others\nrun\n");

  const Outcome full = with(uint64_t{250} << 20, ":");
  EXPECT_EQ(full.status, 2) << full.err;
  EXPECT_NE(full.err.find("of scratch are needed and"), std::string::npos) << full.err;
  EXPECT_EQ(full.out, "others\n");

  // Somebody fills the disk while it trains.
  const Outcome filled =
      with(0, "{ " + AwaitTraining("run") + " cat /dev/zero > more 2> /dev/null; } & sleep 0.1");
  EXPECT_EQ(filled.status, 1) << filled.err;
  EXPECT_TRUE(filled.err.find("no space for scratch") != std::string::npos ||
              filled.err.find("No space left on device") != std::string::npos)
      << filled.err;
  EXPECT_EQ(filled.out.find("l2gcn-"), std::string::npos) << filled.out;
}

}  // namespace
}  // namespace l2gcn
