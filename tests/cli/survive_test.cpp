// What hostile surroundings do to the program: no finished work is lost, nothing hangs, and it says what is
// wrong.
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "cli/process.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class SurviveTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    MakeSmallSet();
  }
  // Trains the small set in a moment; the end of a shell command.
  static constexpr const char* kTrain = "$L2GCN train small --epochs 3 --hidden 8 -q --device cpu ";
};

#define EXPECT_SAYS(outcome, words) \
  EXPECT_NE((outcome).err.find(words), std::string::npos) << (outcome).status << ": " << (outcome).err

TEST_F(SurviveTest, TrainingsAtOnceTakeDifferentDefaultNames) {
  const std::string one = std::string(kTrain);
  const Outcome outcome = Shell("for s in 1 2 3 4; do " + one + "--seed $s & done; wait");
  EXPECT_EQ(List("runs").size(), 4u) << outcome.err;
}

TEST_F(SurviveTest, OfTwoTrainingsWithOneNameOneIsRefused) {
  const Outcome outcome =
      Shell(std::string(kTrain) + "-o run & p=$!; " + kTrain + "-o run; a=$?; wait $p; b=$?; echo $a $b");
  EXPECT_TRUE(outcome.out.ends_with("0 2\n") || outcome.out.ends_with("2 0\n")) << outcome.out << outcome.err;
  EXPECT_EQ(List("."), (std::vector<std::string>{"run", "small"}));
  EXPECT_EQ(Run({"evaluate", "run"}).status, 0);
}

TEST_F(SurviveTest, StandardErrorThatCannotBeWrittenStopsNothing) {
  EXPECT_EQ(Shell("$L2GCN train small --epochs 3 -o full 2>/dev/full").status, 0);
  EXPECT_EQ(Shell("$L2GCN train small --epochs 3 -o closed 2>&-").status, 0);
  EXPECT_EQ(
      Shell("$L2GCN train small --epochs 3 -o gone 2>&1 >/dev/null | true; test -f gone/result.json").status,
      0);
  EXPECT_EQ(Run({"evaluate", "closed"}).status, 0);
}

// A limit on file sizes raises a signal, which ends a program that does not ignore it.
TEST_F(SurviveTest, AFileSizeLimitIsReportedAndLeavesNothing) {
  const Outcome outcome = Shell("ulimit -f 10; " + std::string(kTrain) + "-o run");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_SAYS(outcome, "File too large");
  EXPECT_SAYS(outcome, "ulimit -f");
  EXPECT_EQ(List(), std::vector<std::string>{"small"});
}

TEST_F(SurviveTest, NamesThatAreNoUtf8GoAllTheWay) {
  std::ofstream edges(folder_ / "edges.csv"), nodes(folder_ / "nodes.csv"), latin(folder_ / "latin.csv");
  edges << "from,to\n";
  nodes << "id,size,kind\n";
  latin << "id,size,kind\n0,1,caf\xe9\n1,0,tea\n";
  for (int i = 0; i < 40; ++i) {
    edges << i << "," << (i + 2) % 40 << "\n";
    nodes << i << "," << i % 2 << "," << (i % 2 == 0 ? "café" : "\x1b[31mred") << "\n";
  }
  edges.close();
  nodes.close();
  latin.close();
  const Outcome refused = Shell("$L2GCN train --edges edges.csv --nodes latin.csv --epochs 2 -o latin");
  EXPECT_EQ(refused.status, 2) << "before any work is done";
  EXPECT_NE(refused.err.find("latin.csv:2"), std::string::npos) << refused.err;
  const Outcome trained =
      Shell("$L2GCN train --edges edges.csv --nodes nodes.csv --epochs 2 --json -o \"$(printf 'r\\351n')\"");
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(trained.json().at("dataset").at("classes"), 2);
  const Outcome shown = Shell("$L2GCN evaluate \"$(printf 'r\\351n')\"");
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out.find('\x1b'), std::string::npos) << "an escape reached the terminal";
}

TEST_F(SurviveTest, FifosWhereFilesAreExpectedAreRefusedAtOnce) {
  RunWell({"train", "small", "--epochs", "2", "-o", "run"});
  for (const char* name : {"x.npz", "x.npy", "c.safetensors"})
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
  EXPECT_EQ(Shell("timeout 20 $L2GCN train x.npz").status, 2);
  EXPECT_EQ(Shell("timeout 20 $L2GCN train small --controller c.safetensors --epochs 2").status, 2);
  for (const char* name : {"run/config.json", "run/result.json"}) {
    fs::rename(folder_ / name, folder_ / "kept");
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    EXPECT_EQ(Shell("timeout 20 $L2GCN evaluate run").status, 2) << name;
    fs::remove(folder_ / name);
    fs::rename(folder_ / "kept", folder_ / name);
  }
}

TEST_F(SurviveTest, DeepJsonIsRefused) {
  const Outcome trained = RunWell({"train", "small", "--epochs", "2", "-o", "run", "--json"});
  std::ofstream(folder_ / "run/result.json") << trained.out;  // without checksums, which would tell before
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const char* name : {"run/config.json", "run/result.json", "small/dataset.json"}) {
    const std::string before = Read(name);
    std::ofstream(folder_ / name) << "{\"format\": \"l2gcn-model\", \"config\": " << deep << "}";
    const Outcome outcome = Run({"evaluate", "run"});
    EXPECT_EQ(outcome.status, 2) << name;
    EXPECT_SAYS(outcome, "nested deeper");
    std::ofstream(folder_ / name) << before;
  }
}

TEST_F(SurviveTest, OutputsThatCannotBeAreRefusedBeforeTheWork) {
  EXPECT_SAYS(Run({"learn-controller", "small", "-o", "/dev/null", "--force"}), "never replaced");
  EXPECT_SAYS(Run({"convert", "small", "/dev/null", "--to", "npz", "--force"}), "never replaced");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(Run({"learn-controller", "absent-set", "-o", "no/such/folder/c"}).status, 2);
  EXPECT_SAYS(Run({"learn-controller", "absent-set", "-o", "no/such/folder/c"}), "no such directory");
}

TEST_F(SurviveTest, SeedsOfGeneratedGraphsAreWholeNumbers) {
  for (const char* seed : {"-1", "0x10", "99999999999999999999999", ""}) {
    const Outcome outcome = Run({"info", "synthetic:cora", "--synthetic-seed=" + std::string(seed)});
    EXPECT_EQ(outcome.status, 2) << seed;
  }
}

TEST_F(SurviveTest, AHangUpStopsLikeCtrlC) {
  const Outcome outcome = Shell(
      "$L2GCN train synthetic:pubmed --epochs 100000 --method lgcn --preset paper -q -o run & p=$!; "
      "while [ ! -d run.unfinished ]; do sleep 0.05; done; sleep 0.5; kill -HUP $p; wait $p; echo $?");
  EXPECT_TRUE(outcome.out.ends_with("130\n")) << outcome.out << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(SurviveTest, LimitsOfMemoryAreToldBeforeTheWorkOrWhenTheyAreMet) {
  const Outcome before = Shell("ulimit -v 75000; $L2GCN train synthetic:ppi --epochs 2 --threads 1 -o run");
  EXPECT_EQ(before.status, 2) << before.err;
  EXPECT_SAYS(before, "needs at least");
  EXPECT_SAYS(before, "ulimit -v");
  const Outcome during = Shell("ulimit -v 160000; $L2GCN train synthetic:ppi --epochs 2 --threads 1 -o run");
  EXPECT_EQ(during.status, 1) << during.err;
  EXPECT_SAYS(during, "GiB were asked for at once");
  EXPECT_EQ(List(), (std::vector<std::string>{"small"}));
  // Threads that cannot be had are done without; what their stacks took may be missed later.
  const Outcome threads = Shell("ulimit -v 400000; $L2GCN train small --epochs 2 --threads 512 -o run");
  EXPECT_TRUE(threads.status == 0 || threads.err.find("out of memory") != std::string::npos) << threads.err;
}
#endif

// A mapped file that shrinks while it is read.
TEST_F(SurviveTest, AFileCutShortWhileItIsReadIsNamed) {
  RunWell({"generate", "pubmed", "--nodes", "60000", "--edges", "300000", "--features", "200", "-o", "big"});
  ASSERT_GT(fs::file_size(folder_ / "big/features_values.npy"), size_t{4} << 20) << "it would be copied";
  const Outcome outcome = Shell(
      "$L2GCN train big --epochs 100000 --method graphsage -q -o run & p=$!; "
      "while [ ! -d run.unfinished ]; do sleep 0.05; done; sleep 1; "
      "for f in big/*.npy; do truncate -s 4096 $f; done; sleep 1.5; kill -INT $p 2>/dev/null; wait $p; echo "
      "$?");
  if (outcome.out.ends_with("130\n")) GTEST_SKIP() << "everything had been copied before";
  EXPECT_TRUE(outcome.out.ends_with("1\n")) << outcome.out << outcome.err;
  EXPECT_SAYS(outcome, "became shorter while it was read");
}

TEST_F(SurviveTest, FinishedSeedsAreKeptAndResumedToTheSameBytes) {
  RunWell({"train", "small", "--epochs", "20", "--runs", "5", "-o", "whole"});
  // Ends the program when the first two seeds are done. On a busy machine the shell may come too late, when
  // the result is written already: it tries again then.
  bool in_time = false;
  for (int attempt = 0; attempt < 20 && !in_time; ++attempt) {
    Shell(
        "rm -rf cut cut.unfinished; $L2GCN train small --epochs 20 --runs 5 -q -o cut & p=$!; "
        "while kill -0 $p && [ ! -e cut.unfinished/checkpoint/seed-1.json ]; do :; done 2>/dev/null; "
        "kill -9 $p; wait $p");
    in_time = !fs::exists(folder_ / "cut") && !fs::exists(folder_ / "cut.unfinished/result.json");
  }
  ASSERT_TRUE(in_time) << "never killed between the second seed and the result";
  EXPECT_SAYS(Run({"evaluate", "cut"}), "--resume");
  EXPECT_SAYS(Run({"train", "small", "--epochs", "20", "-o", "cut"}), "--resume");
  EXPECT_SAYS(Run({"train", "--resume", "cut", "--epochs", "21"}), "--epochs 20");
  EXPECT_SAYS(Run({"train", "other", "--resume", "cut"}), "was begun with data set");
  // From another folder: the data set was named by a path relative to this one.
  const Outcome resumed =
      Shell("mkdir elsewhere && cd elsewhere && $L2GCN train --resume ../cut --threads 1");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  for (const char* seed : {"seed-0", "seed-1", "seed-2", "seed-3", "seed-4"}) {
    for (const char* file : {"model.safetensors", "config.json"}) {
      EXPECT_EQ(Read(std::string("cut/") + seed + "/" + file),
                Read(std::string("whole/") + seed + "/" + file))
          << seed;
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "cut.unfinished"));
  EXPECT_EQ(List("cut"), List("whole"));
  EXPECT_SAYS(Run({"train", "--resume", "cut"}), "finished already");
  EXPECT_EQ(Run({"train", "--resume", "never"}).status, 2);
}

// Budget, scratch folder and device are those of the first command unless another is given.
TEST_F(SurviveTest, AResumedRunHasTheMachineOptionsItWasBegunWith) {
  fs::create_directories(folder_ / "scratch");
  const Outcome stopped = Shell(
      "$L2GCN train small --epochs 100000 --preset paper --method lgcn --checkpoint-every 1 --memory 900M "
      "--scratch "
      "scratch --threads 1 --device cpu -q -o cut & p=$!; "
      "until [ -e cut.unfinished/checkpoint/state-0.safetensors ]; do sleep 0.02; done; kill -INT $p; wait "
      "$p; echo $?");
  ASSERT_TRUE(stopped.out.ends_with("130\n")) << stopped.out << stopped.err;
  const nlohmann::json begun = nlohmann::json::parse(Read("cut.unfinished/checkpoint/begun.json"));
  std::map<std::string, std::string> machine;
  for (const auto& pair : begun.at("machine")) machine[pair.at(0)] = pair.at(1);
  const std::map<std::string, std::string> said = {
      {"memory", "900M"}, {"scratch", folder_ / "scratch"}, {"threads", "1"}, {"device", "cpu"}};
  EXPECT_EQ(machine, said);
  EXPECT_EQ(begun.at("spec"), (folder_ / "small").string());
  const auto plan = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"train", "--resume", "cut", "--dry-run", "--json"});
    return RunWell(words).json().at("plan").at("budget_bytes").get<uint64_t>();
  };
  EXPECT_EQ(plan({}), uint64_t{900} << 20);
  EXPECT_EQ(plan({"--memory", "800M"}), uint64_t{800} << 20);
}

// A data set that was found by name through the environment is found again without it.
TEST_F(SurviveTest, ARunRemembersWhereItsDataSetWasFound) {
  fs::create_directories(folder_ / "sets");
  fs::rename(folder_ / "small", folder_ / "sets/small");
  const Outcome trained = Shell("L2GCN_DATA=sets $L2GCN train small --epochs 2 -q -o run");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(Run({"evaluate", "run"}).status, 0);
  fs::rename(folder_ / "sets", folder_ / "moved");
  EXPECT_EQ(Run({"evaluate", "run"}).status, 2);
  const Outcome moved = Shell("L2GCN_DATA=moved $L2GCN evaluate run");
  EXPECT_EQ(moved.status, 0) << moved.err;
}

}  // namespace
}  // namespace l2gcn
