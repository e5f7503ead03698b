// A few of the faults of scripts/test-faults.sh: system calls of a training that fail or end the process.
#include "cli/process.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class FaultsTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    MakeSmallSet();
    setenv("FAULTS", L2GCN_FAULTS, 1);
  }
  // The small training with the n-th call of these kinds hit.
  Outcome Hit(const std::string& kinds, int n, const std::string& how) {
    return Shell("L2GCN_FAULT_KINDS=" + kinds + " L2GCN_FAULT_AT=" + std::to_string(n) +
                 " L2GCN_FAULT_HOW=" + how + " L2GCN_FAULT_COUNT=" + CountFile() +
                 " LD_PRELOAD=$FAULTS $L2GCN train small --epochs 3 --hidden 8 --runs 2 "
                 "--checkpoint-every 1 --device cpu --threads 1 -q -o run");
  }
  void TearDown() override {
    fs::remove(CountFile());
    ProgramTest::TearDown();
  }
  std::string CountFile() const { return folder_.string() + ".count"; }
  int Calls() const { return std::stoi(Read("../" + folder_.filename().string() + ".count")); }
  std::string Models() const {
    return Read("run/seed-0/model.safetensors") + Read("run/seed-1/model.safetensors");
  }
};

TEST_F(FaultsTest, FailedCallsAreToldAndWhatFollowsGivesTheSameBytes) {
  const std::string kinds = "open,write,sync,rename,mkdir";
  ASSERT_EQ(Hit(kinds, 0, "fail").status, 0);
  const std::string whole = Models();
  const int calls = Calls();
  ASSERT_GT(calls, 40) << "the library was not loaded";
  for (int n = 1; n <= calls; n += calls / 9) {
    for (const char* how : {"fail", "kill"}) {
      fs::remove_all(folder_ / "run");
      fs::remove_all(folder_ / "run.unfinished");
      const Outcome outcome = Hit(kinds, n, how);
      if (std::string(how) == "fail") {
        EXPECT_LE(outcome.status, 2) << n << outcome.err;
        EXPECT_TRUE(outcome.status == 0 || !outcome.err.empty()) << n;
      }
      // A run that is whole has no checkpoint any more: it only gets its name.
      if (fs::exists(folder_ / "run.unfinished/result.json") ||
          fs::exists(folder_ / "run.unfinished/checkpoint/begun.json")) {
        RunWell({"train", "--resume", "run", "-q"});
      } else if (!fs::exists(folder_ / "run")) {
        EXPECT_EQ(Hit(kinds, 0, "fail").status, 0);
      }
      EXPECT_EQ(Models(), whole) << how << " " << n;
      EXPECT_EQ(List(), (std::vector<std::string>{"run", "small"})) << how << " " << n;
    }
  }
}

// A run from disk: after a failed call nothing is left in scratch, and after a kill the run goes on.
TEST_F(FaultsTest, RunsFromDiskCleanUpOrGoOn) {
  RunWell({"generate", "papers100m", "--scale", "0.001", "--features-as", "f16", "-o", "large", "-q"});
  const auto hit = [&](int n, const std::string& how) {
    return Shell(
        "L2GCN_FAULT_KINDS=open,write,sync,rename,mkdir L2GCN_FAULT_AT=" + std::to_string(n) +
        " L2GCN_FAULT_HOW=" + how + " L2GCN_FAULT_COUNT=" + CountFile() +
        " LD_PRELOAD=$FAULTS $L2GCN train large --method lgcn --preset paper --epochs 1 --device cpu "
        "--setting transductive --features-as f16 --layers 2 --memory 60M --scratch . --threads 1 -q -o run");
  };
  const Outcome whole_run = hit(0, "fail");
  ASSERT_EQ(whole_run.status, 0) << whole_run.err;
  const std::string whole = Read("run/model.safetensors");
  const int calls = Calls();
  std::vector<int> places;
  for (int n = 3; n <= calls; n += calls / 5) places.push_back(n);
  for (int n = calls - 3; n <= calls; ++n) places.push_back(n);  // where the run gets its name
  for (const int n : places) {
    for (const char* how : {"fail", "kill"}) {
      fs::remove_all(folder_ / "run");
      fs::remove_all(folder_ / "run.unfinished");
      const Outcome outcome = hit(n, how);
      if (std::string(how) == "fail") {
        EXPECT_LE(outcome.status, 2) << n << outcome.err;
        EXPECT_TRUE(outcome.status == 0 || !outcome.err.empty()) << n;
        for (const std::string& name : List()) EXPECT_EQ(name.find("l2gcn-"), std::string::npos) << n << name;
      }
      if (fs::exists(folder_ / "run.unfinished/result.json") ||
          fs::exists(folder_ / "run.unfinished/checkpoint/begun.json")) {
        RunWell({"train", "--resume", "run", "-q", "--memory", "60M", "--scratch", "."});
      } else if (!fs::exists(folder_ / "run")) {
        EXPECT_EQ(hit(0, "fail").status, 0);
      }
      EXPECT_EQ(Read("run/model.safetensors"), whole) << how << " " << n;
      EXPECT_EQ(List(), (std::vector<std::string>{"large", "run", "small"})) << how << " " << n;
    }
  }
}

TEST_F(FaultsTest, MemoryThatCannotBeHadIsTold) {
  ASSERT_EQ(Hit("memory", 0, "fail").status, 0);
  const int calls = Calls();
  for (int n = 40; n <= calls; n += calls / 6) {
    fs::remove_all(folder_ / "run");
    fs::remove_all(folder_ / "run.unfinished");
    const Outcome outcome = Hit("memory", n, "fail");
    EXPECT_LE(outcome.status, 2) << n << ": " << outcome.err;
    EXPECT_TRUE(outcome.status == 0 || !outcome.err.empty()) << n;
  }
}

}  // namespace
}  // namespace l2gcn
