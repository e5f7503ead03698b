// The program under mpirun: the same files for any number of ranks, independent work shared out, and an end with a
// reason when a rank is lost. Skipped where mpirun or libl2gcn_mpi.so is missing.
#include <unistd.h>

#include <fstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class RanksTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!fs::exists(fs::path(L2GCN_BINARY).parent_path() / "libl2gcn_mpi.so"))
      GTEST_SKIP() << "this build has no MPI part (scripts/install-deps.sh --mpi)";
    if (Shell("mpirun --version").status != 0) GTEST_SKIP() << "mpirun is not installed";
    MakeSmallSet();
  }

  // The program on `size` ranks, one thread each.
  Outcome Ranks(uint32_t size, const std::string& arguments) const {
    const std::string device = arguments.starts_with("convert ") ? "" : " --device cpu";
    return Shell(Prefix(size) + "$L2GCN " + arguments + " --threads 1" + device);
  }
  static std::string Prefix(uint32_t size) {
    const std::string root = geteuid() == 0 ? "--allow-run-as-root " : "";
    // Open MPI leaves memory behind, which a sanitised build would report as ours.
    return "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" mpirun " + root +
           "--oversubscribe --bind-to none -n " + std::to_string(size) + " ";
  }
  void ExpectSameModels(const std::string& a, const std::string& b) const {
    EXPECT_FALSE(Read(a + "/model.safetensors").empty()) << a;
    EXPECT_EQ(Read(a + "/model.safetensors"), Read(b + "/model.safetensors")) << a << " and " << b;
    EXPECT_EQ(Read(a + "/config.json"), Read(b + "/config.json")) << a << " and " << b;
  }
};

TEST_F(RanksTest, OneTrainingGivesTheSameBytesOnAnyNumberOfRanks) {
  const std::string train = "train small -q --epochs 4 --hidden 20 --preset ";
  for (const std::string kind :
       {"paper --method lgcn", "paper --method l2gcn --setting transductive", "best"}) {
    ASSERT_EQ(Shell("rm -rf one && $L2GCN " + train + kind + " --device cpu -o one").status, 0);
    fs::remove(folder_ / "one.csv");
    RunWell({"predict", "one", "-o", "one.csv"});
    for (const std::string exchange : {"memory", "messages"}) {
      const uint32_t size = exchange == "memory" ? 3 : 2;
      const Outcome outcome = Ranks(size, train + kind + " -o many --force --exchange " + exchange);
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      ExpectSameModels("one", "many");
      fs::remove(folder_ / "many.csv");
      ASSERT_EQ(Ranks(size, "predict one -q -o many.csv --exchange " + exchange).status, 0);
      EXPECT_EQ(Read("one.csv"), Read("many.csv")) << kind << ", " << size << " ranks, " << exchange;
    }
  }
}

// Steps that ranks share, of dense rows. A rank is lost, and the run goes on with others, with rank 0's steps, and alone.
TEST_F(RanksTest, SharedStepsGiveTheSameBytes) {
  ASSERT_EQ(Shell("$L2GCN generate reddit --scale 0.005 -o dense -q").status, 0);
  const std::string shared = " --exchange messages --rank-steps shared",
                    train = "train dense --preset paper --method lgcn --layers 2 --epochs 40,10 --batch 100 ";
  ASSERT_EQ(Shell("$L2GCN " + train + "-q --device cpu -o one").status, 0);
  for (const uint32_t size : {2u, 3u}) {
    const Outcome outcome = Ranks(size, train + "-v -o many --force" + shared);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("steps of layer 1: shared by " + std::to_string(size)), std::string::npos)
        << outcome.err;
    ExpectSameModels("one", "many");
  }
  for (const std::string goes_on : {"mpirun -n 2", "mpirun -n 3 alone", "no mpirun"}) {
    ASSERT_EQ(Shell("rm -rf many many.unfinished").status, 0);
    const Outcome lost =
        Shell(Prefix(2) +
              "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then (while ! ls "
              "many.unfinished/checkpoint/state-* >/dev/null 2>&1; do sleep 0.01; done; kill -9 "
              "$$) & fi; exec $L2GCN " +
              train + "-q --checkpoint-every 2 --threads 1 --device cpu -o many" + shared + "'");
    EXPECT_NE(lost.err.find("rank 1 on "), std::string::npos) << lost.err;
    ASSERT_TRUE(fs::exists(folder_ / "many.unfinished")) << "it ended before it was killed";
    const std::string resume = "train --resume many -q";
    const Outcome resumed = goes_on == "no mpirun" ? Shell("$L2GCN " + resume + " --device cpu")
                            : goes_on == "mpirun -n 2"
                                ? Ranks(2, resume + shared)
                                : Ranks(3, resume + " --exchange messages --rank-steps alone");
    ASSERT_EQ(resumed.status, 0) << goes_on << ": " << resumed.err;
    ExpectSameModels("one", "many");
  }
}

TEST_F(RanksTest, GpusGiveTheSameBytesOnAnyNumberOfRanks) {
  const std::string train = "train small -q --epochs 4 --hidden 20 --device cuda --preset ";
  const Outcome probe = Shell("$L2GCN " + train + "paper -o probe");
  if (probe.err.find("--device cuda cannot be used: ") != std::string::npos) GTEST_SKIP() << probe.err;
  ASSERT_EQ(probe.status, 0) << probe.err;
  for (const std::string kind :
       {"paper --method lgcn", "paper --method l2gcn --setting transductive", "best"}) {
    ASSERT_EQ(Shell("rm -rf one && $L2GCN " + train + kind + " -o one").status, 0);
    ASSERT_EQ(Shell("rm -f one.csv && $L2GCN predict one -q --device cuda -o one.csv").status, 0);
    for (const uint32_t size : {2u, 3u}) {
      const Outcome outcome = Shell(Prefix(size) + "$L2GCN " + train + kind + " -o many --force");
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      ExpectSameModels("one", "many");
      fs::remove(folder_ / "many.csv");
      ASSERT_EQ(Shell(Prefix(size) + "$L2GCN predict one -q --device cuda -o many.csv").status, 0);
      EXPECT_EQ(Read("one.csv"), Read("many.csv")) << kind << ", " << size << " ranks";
    }
  }
}

TEST_F(RanksTest, SeedsAreSharedOut) {
  const std::string train = "train small -q --preset paper --method l2gcn --epochs 5 --runs 5 -o ";
  ASSERT_EQ(Shell("$L2GCN " + train + "one --device cpu").status, 0);
  const Outcome outcome = Ranks(3, train + "many");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(List("one"), List("many"));
  for (int seed = 0; seed < 5; ++seed)
    ExpectSameModels("one/seed-" + std::to_string(seed), "many/seed-" + std::to_string(seed));
}

TEST_F(RanksTest, ComparisonsAndSearchesAreSharedOut) {
  const std::string compare = "compare small -q --csv --methods lgcn,gcn --runs 2 --epochs 3 ";
  const Outcome one = Shell("$L2GCN " + compare + "--device cpu | cut -d, -f1-4"),
                many = Shell(Prefix(2) + "$L2GCN " + compare + "--threads 1 --device cpu | cut -d, -f1-4");
  EXPECT_EQ(one.out, many.out) << many.err;
  const std::string search =
      "learn-controller small -q --rounds 4 --problems 3 --nodes 100 --rollouts 2 --epochs 6 --cost epochs "
      "-o ";
  const Outcome found = Shell("$L2GCN " + search + "one.controller --device cpu");
  ASSERT_EQ(found.status, 0) << found.err;
  const Outcome shared = Ranks(2, search + "many.controller");
  ASSERT_EQ(shared.status, 0) << shared.err;
  EXPECT_EQ(Read("one.controller"), Read("many.controller"));
}

TEST_F(RanksTest, AMistakeIsToldOnceAndEndsAll) {
  // Found by the work, by the words of the command line, and by a value.
  for (const std::string arguments :
       {"train nowhere -q -o run", "train small --nonsense", "train small --epochs many", "learn small"}) {
    const Outcome outcome = Ranks(3, arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    const size_t first = outcome.err.find("l2gcn: ");
    ASSERT_NE(first, std::string::npos) << arguments << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find("l2gcn: ", first + 1), std::string::npos) << arguments << ": " << outcome.err;
  }
}

TEST_F(RanksTest, HelpIsPrintedOnce) {
  const Outcome outcome = Shell(Prefix(3) + "$L2GCN --help");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, Shell("$L2GCN --help").out);
}

// Rank 2 is killed once there is a checkpoint; the run goes on with another number of ranks.
TEST_F(RanksTest, ALostRankEndsTheJobAndTheRunGoesOn) {
  const std::string train =
      "train small --preset paper --method lgcn --epochs 8000,20 --checkpoint-every 100 -q ";
  ASSERT_EQ(Shell("$L2GCN " + train + "--device cpu -o one").status, 0);
  const Outcome lost =
      Shell(Prefix(3) +
            "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 2 ]; then (while ! ls "
            "many.unfinished/checkpoint/state-* >/dev/null 2>&1; do sleep 0.02; done; kill -9 $$) & "
            "fi; exec $L2GCN " +
            train + "--threads 1 --device cpu -o many'");
  EXPECT_NE(lost.status, 0);
  EXPECT_NE(lost.err.find("rank 2 on "), std::string::npos) << lost.err;
  EXPECT_NE(lost.err.find("it was killed or crashed"), std::string::npos) << lost.err;
  ASSERT_TRUE(fs::exists(folder_ / "many.unfinished")) << "it ended before it was killed";
  const Outcome resumed = Ranks(2, "train --resume many -q");
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  ExpectSameModels("one", "many");
}

// Ranks of different kinds, by a wrapper that looks at the number that mpirun gives.
TEST_F(RanksTest, AnotherBuildIsRefused) {
  if (fs::exists(fs::path(L2GCN_BINARY).parent_path() / "libl2gcn.so"))
    GTEST_SKIP() << "the build id is that of the shared library";
  // The program with another identity: one byte of what the linker wrote behind "GNU".
  std::string program = Read(L2GCN_BINARY);
  const std::string note("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
  const size_t at = program.find(note);
  if (at == std::string::npos) GTEST_SKIP() << "the linker gave the program no build id";
  program[at + note.size()] = static_cast<char>(program[at + note.size()] ^ 1);
  fs::create_directories(folder_ / "other");
  std::ofstream(folder_ / "other/l2gcn", std::ios::binary) << program;
  fs::permissions(folder_ / "other/l2gcn", fs::perms::owner_all);
  fs::copy_file(fs::path(L2GCN_BINARY).parent_path() / "libl2gcn_mpi.so", folder_ / "other/libl2gcn_mpi.so");
  const Outcome outcome =
      Shell(Prefix(2) +
            "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then L2GCN=other/l2gcn; fi; exec "
            "$L2GCN train small -q --epochs 1 --device cpu -o run'");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("has another build than rank 0"), std::string::npos) << outcome.err;
}

TEST_F(RanksTest, OtherOptionsAreRefused) {
  // Not by mpirun's own `:`, at which that of Debian 13 ends with a segmentation fault.
  const auto train = [&](const std::string& on_rank_1) {
    return Shell(Prefix(2) +
                 "sh -c 'more=\"--epochs 1\"; if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then more=\"" +
                 on_rank_1 + "\"; fi; exec $L2GCN train small -q --preset paper --device cpu -o run $more'");
  };
  const Outcome value = train("--epochs 2");
  EXPECT_EQ(value.status, 2) << value.err;
  EXPECT_NE(value.err.find("rank 1 on "), std::string::npos) << value.err;
  EXPECT_NE(value.err.find("was given other options than rank 0"), std::string::npos) << value.err;
  EXPECT_NE(value.err.find("'--epochs 2' where that has '--epochs 1'"), std::string::npos) << value.err;
  const Outcome more = train("--epochs 1 --memory 1G");
  EXPECT_EQ(more.status, 2) << more.err;
  EXPECT_NE(more.err.find("'--memory' where that has 'nothing more'"), std::string::npos) << more.err;
  EXPECT_EQ(List(), std::vector<std::string>{"small"});
}

TEST_F(RanksTest, OtherDataIsRefused) {
  fs::create_directories(folder_ /
                         "elsewhere");  // where rank 1 works, and finds another set under the same path
  RunWell({"generate", "cora", "--nodes", "300", "--edges", "900", "--features", "40", "--seed", "5", "-o",
           "elsewhere/small"});
  const Outcome outcome = Shell(Prefix(2) +
                                "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then cd elsewhere; fi; exec "
                                "$L2GCN train /proc/self/cwd/small -q --epochs 1 --device cpu -o run'");
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("has another data set than rank 0"), std::string::npos) << outcome.err;
}

TEST_F(RanksTest, AllTakeTheInstructionsThatAllHave) {
  const std::string train = "train small -q --preset paper --epochs 3 --device cpu -o ";
  ASSERT_EQ(Shell("L2GCN_SIMD=baseline $L2GCN " + train + "one").status, 0);
  const Outcome outcome =
      Shell(Prefix(2) +
            "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then export L2GCN_SIMD=baseline; fi; exec "
            "$L2GCN " +
            train + "many'");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ExpectSameModels("one", "many");
}

// The folders stand for machines: rank 1 sees no data set but the copy that it is sent.
TEST_F(RanksTest, AMachineWithoutTheDataGetsACopy) {
  const std::string train = " train small -q --preset paper --epochs 3 --device cpu --local-data ";
  ASSERT_EQ(Shell("$L2GCN train small -q --preset paper --epochs 3 --device cpu -o one").status, 0);
  fs::create_directories(folder_ / "far");
  for (int time = 0; time < 2; ++time) {  // the second finds the copies
    const Outcome outcome =
        Shell(Prefix(3) + "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" != 0 ]; then cd far; fi; exec $L2GCN" +
              train + "copies --threads 1 -o many --force'");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    ExpectSameModels("one", "many");
    EXPECT_EQ(List("copies").size(), 1u);
    EXPECT_EQ(List("copies"), List("far/copies"));
  }
}

TEST_F(RanksTest, AFolderForCopiesThatCannotBeMadeIsNamed) {
  ASSERT_EQ(Shell("echo > taken").status, 0);
  const Outcome outcome = Ranks(2, "train small -q --preset paper --epochs 1 --local-data taken/copies");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--local-data taken/copies: rank 0"), std::string::npos) << outcome.err;
}

TEST_F(RanksTest, AnUnknownWishAboutRanksIsRefused) {
  const Outcome outcome = Shell("L2GCN_RANKS=together $L2GCN train small -q --preset paper --epochs 1");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("L2GCN_RANKS=together: the only value is 'alone'"), std::string::npos)
      << outcome.err;
}

TEST_F(RanksTest, ThePlanSaysHowRowsAreReached) {
  for (const std::string exchange : {"memory", "messages"}) {
    const Outcome outcome = Ranks(2, "train small --dry-run --json --exchange " + exchange);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.json().at("plan").at("exchange"), exchange);
  }
}

TEST_F(RanksTest, ThePlanSaysWhoMakesTheSteps) {
  for (const std::string steps : {"auto", "alone", "shared"}) {
    const Outcome outcome = Ranks(2,
                                  "train small --preset paper --hidden 100 --batch 600 --dry-run --json "
                                  "--exchange messages --rank-steps " +
                                      steps);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto last = outcome.json().at("plan").at("steps").back();
    if (steps == "auto") {
      EXPECT_GT(last.at("alone_seconds").get<double>(), 0);
      EXPECT_GT(last.at("shared_seconds").get<double>(), 0);
    } else {
      EXPECT_EQ(last.at("made_by"), steps == "alone" ? "rank 0" : "all");
      EXPECT_EQ(last.at("alone_seconds").get<double>(), 0) << "nothing needs to be measured";
    }
  }
}

// Several seeds are shared out: no rank has a part in another's steps.
TEST_F(RanksTest, SeedsOfTheirOwnHaveAPlanOfTheirOwn) {
  const std::string train =
      "train small --preset paper --method lgcn --epochs 2 --runs 2 --exchange messages --rank-steps shared ";
  const Outcome planned = Ranks(2, train + "--dry-run --json");
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(planned.json().at("plan").at("ranks"), 1);
  EXPECT_FALSE(planned.json().at("plan").contains("steps")) << planned.out;
  const Outcome trained = Ranks(2, train + "-o run");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(trained.err.find("steps of layer"), std::string::npos) << trained.err;
}

TEST_F(RanksTest, ADataSetIsConvertedByRank0) {
  RunWell({"convert", "small", "one"});
  const Outcome outcome = Ranks(3, "convert small many");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string said = "convert is run by rank 0 alone; the other 2 wait";
  const size_t first = outcome.err.find(said);
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(said, first + 1), std::string::npos) << outcome.err;
  EXPECT_EQ(List("one"), List("many"));
  for (const auto& file : fs::directory_iterator(folder_ / "one")) {
    const std::string name = file.path().filename();
    EXPECT_EQ(Read("one/" + name), Read("many/" + name)) << name;
  }
  EXPECT_EQ(Ranks(2, "convert small many -q").status, 2) << "what is there already is not replaced";
}

TEST_F(RanksTest, OtherCommandsRunOnce) {
  const Outcome outcome = Ranks(2, "train small -q --epochs 1 -o run");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Outcome info = Shell(Prefix(2) + "$L2GCN info run --json");
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NO_THROW(info.json()) << info.out;
}

}  // namespace
}  // namespace l2gcn
