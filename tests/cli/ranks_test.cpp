// The program under mpirun: the same files for any number of ranks, independent work shared out, and an end with a
// reason when a rank is lost. Skipped where mpirun or libl2gcn_mpi.so is missing.
#include <unistd.h>

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
    return Shell(Prefix(size) + "$L2GCN " + arguments + " --threads 1 --device cpu");
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
    for (const uint32_t size : {2u, 3u}) {
      const Outcome outcome = Ranks(size, train + kind + " -o many --force");
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      ExpectSameModels("one", "many");
      fs::remove(folder_ / "many.csv");
      ASSERT_EQ(Ranks(size, "predict one -q -o many.csv").status, 0);
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
      "search small -q --rounds 4 --problems 3 --nodes 100 --rollouts 2 --epochs 6 --cost epochs -o ";
  const Outcome found = Shell("$L2GCN " + search + "one.controller --device cpu");
  ASSERT_EQ(found.status, 0) << found.err;
  const Outcome shared = Ranks(2, search + "many.controller");
  ASSERT_EQ(shared.status, 0) << shared.err;
  EXPECT_EQ(Read("one.controller"), Read("many.controller"));
}

TEST_F(RanksTest, AMistakeIsToldOnceAndEndsAll) {
  const Outcome outcome = Ranks(3, "train nowhere -q -o run");
  EXPECT_EQ(outcome.status, 2);
  const size_t first = outcome.err.find("l2gcn: ");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("l2gcn: ", first + 1), std::string::npos) << outcome.err;
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

TEST_F(RanksTest, OtherCommandsRunOnce) {
  const Outcome outcome = Ranks(2, "train small -q --epochs 1 -o run");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Outcome info = Shell(Prefix(2) + "$L2GCN info run --json");
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NO_THROW(info.json()) << info.out;
}

}  // namespace
}  // namespace l2gcn
