#include "run/run_directory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "l2gcn/error.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-run-" + std::to_string(getpid()));
    fs::create_directories(root_);
    options_.output = (root_ / "run").string();
    options_.dataset_spec = "small";
  }
  void TearDown() override { fs::remove_all(root_); }
  TrainResult Run() { return RunTraining(MakeContext(1), SmallDataset(), SmallConfig(), options_); }
  fs::path root_;
  RunOptions options_;
};

TEST_F(RunDirectoryTest, HoldsTheFourFilesAndOpensAgain) {
  const TrainResult result = Run();
  for (const char* file : {"model.safetensors", "config.json", "result.json", "log.jsonl"}) {
    EXPECT_TRUE(fs::exists(root_ / "run" / file)) << file;
  }
  EXPECT_EQ(OpenRun(options_.output).dataset_spec, "small");
  const auto json = nlohmann::json::parse(ResultToJson(result));
  EXPECT_EQ(json["epochs"], nlohmann::json({12, 12}));
  EXPECT_EQ(json["loss"][1].size(), 12u);
  EXPECT_EQ(json["runs"].size(), 1u);
  EXPECT_EQ(json["f1_sd"]["test"], 0.0);
}

TEST_F(RunDirectoryTest, SeveralSeedsStandBesideEachOther) {
  options_.runs = 3;
  const TrainResult result = Run();
  EXPECT_TRUE(fs::exists(root_ / "run/seed-2/model.safetensors"));
  EXPECT_FALSE(fs::exists(root_ / "run/model.safetensors"));
  EXPECT_EQ(fs::path(OpenRun(options_.output, 1).directory).filename(), "seed-1");
  double best = -1;
  uint64_t best_seed = 0;
  for (const SeedResult& seed : result.seeds) {
    if (seed.f1_val > best) {
      best = seed.f1_val;
      best_seed = seed.seed;
    }
  }
  EXPECT_EQ(fs::path(OpenRun(options_.output).directory).filename(), "seed-" + std::to_string(best_seed));
  EXPECT_THROW(OpenRun(options_.output, 9), Error);
}

// Every file that OpenRun reads; a byte of it changed, the file gone, or that of another seed.
TEST_F(RunDirectoryTest, FilesThatDoNotAgreeWithTheirChecksumsAreRefused) {
  options_.runs = 2;
  Run();
  for (const char* name : {"seed-0/model.safetensors", "seed-0/config.json", "seed-0/split.npy",
                           "seed-0/result.json", "result.json"}) {
    const fs::path path = root_ / "run" / name;
    const std::string bytes = ReadTextFile(path);
    const auto refused = [&](const std::string& how) {
      try {
        OpenRun(options_.output, 0);
        ADD_FAILURE() << name << " " << how;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      }
    };
    std::string changed = bytes;
    changed[bytes.size() - 3] = static_cast<char>(changed[bytes.size() - 3] ^ 2);
    WriteFileWhole(path, changed);
    refused("changed");
    if (std::string(name).starts_with("seed-0/")) {
      WriteFileWhole(path, ReadTextFile(root_ / "run/seed-1" / path.filename()));
      if (path.filename() != "split.npy")
        refused("of another seed");  // both seeds have the split of the data set
      fs::remove(path);
      refused("missing");
    }
    WriteFileWhole(path, bytes);
    OpenRun(options_.output, 0);
  }
}

TEST_F(RunDirectoryTest, RunsWithoutChecksumsAreOpened) {
  const TrainResult result = Run();
  WriteFileWhole(root_ / "run/result.json", ResultToJson(result) + "\n");
  EXPECT_FALSE(OpenRun(options_.output).split.roles.empty());
  EXPECT_EQ(ReadRunResult(options_.output), ResultToJson(result));
}

TEST_F(RunDirectoryTest, AnExistingRunNeedsForceAndOtherDirectoriesAreLeftAlone) {
  Run();
  EXPECT_THROW(Run(), Error);
  options_.force = true;
  Run();
  options_.output = (root_ / "precious").string();
  fs::create_directory(options_.output);
  WriteFileWhole(root_ / "precious/letter.txt", "dear");
  EXPECT_THROW(Run(), Error);
  EXPECT_EQ(ReadTextFile(root_ / "precious/letter.txt"), "dear");
}

// A file-size limit stands in for a full disk: the write fails half way.
TEST_F(RunDirectoryTest, AFailedWriteLeavesTheEarlierRunWhole) {
  Run();
  const std::string before = ReadTextFile(root_ / "run/model.safetensors");
  options_.force = true;
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit tight{512, old.rlim_max};
  auto* old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(Run(), Error);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(ReadTextFile(root_ / "run/model.safetensors"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator{}), 1)
      << "left-overs beside the run";
  OpenRun(options_.output);
}

TEST_F(RunDirectoryTest, CancellationWritesNothing) {
  std::atomic<bool> cancel{true};
  Context context = MakeContext(1);
  context.cancel = &cancel;
  EXPECT_THROW(RunTraining(context, SmallDataset(), SmallConfig(), options_), Error);
  EXPECT_TRUE(fs::is_empty(root_));
}

}  // namespace
}  // namespace l2gcn
