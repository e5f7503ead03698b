// Budgets of memory through the program: the same bits, a peak below the budget, and what is refused.
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
  // The watch over mapped pages may come late where others use the machine.
  EXPECT_LE(tight.at("memory").at("peak_rss_bytes").get<uint64_t>(), 110u << 20);
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
  EXPECT_EQ(List(), std::vector<std::string>{"large"});
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

}  // namespace
}  // namespace l2gcn
