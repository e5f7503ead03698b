#include "run/progress_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/files.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

// Each line holds what is new: put together they are the whole history, and nothing stays behind.
TEST(ProgressLog, GrowsWithTheTrainingAndGoesWithIt) {
  const fs::path root = fs::temp_directory_path() / ("l2gcn-progress-" + std::to_string(getpid()));
  RunOptions options;
  options.output = (root / "run").string();
  options.dataset_spec = "small";
  Context context = MakeContext(1);
  std::string text;
  const fs::path file = root / "run.unfinished/progress.jsonl";
  // Told before the log: what is read here is a report behind, and the last one is missing.
  context.on_progress = [&](const Progress&) {
    if (fs::exists(file)) text = ReadTextFile(file);
  };
  TrainConfig config = SmallConfig();
  config.val_every = 2;
  const TrainResult result = RunTraining(context, SmallDataset(), config, options);
  EXPECT_FALSE(fs::exists(root / "run.unfinished"));
  EXPECT_TRUE(fs::exists(root / "run/result.json"));
  std::stringstream lines(text);
  std::vector<std::string> events;
  std::vector<double> losses, scores;
  double elapsed = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    events.push_back(json.at("event"));
    EXPECT_GE(json.value("elapsed", elapsed), elapsed);
    elapsed = json.value("elapsed", elapsed);
    if (json.contains("validation") && json.at("layer") == 1) scores.push_back(json.at("validation")[1]);
    if (json.value("layer", 0) != 1 || !json.contains("losses")) continue;
    for (const auto& point : json.at("losses")) {
      EXPECT_EQ(point[0], losses.size() + 1);
      losses.push_back(point[1]);
    }
  }
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[0], "begin");
  EXPECT_EQ(events[1], "seed");
  EXPECT_GT(elapsed, 0);
  std::vector<double> expected;
  for (const SeedResult::ValidationPoint& point : result.seeds.front().validation) {
    if (point.layer == 1) expected.push_back(point.f1);
  }
  EXPECT_EQ(scores, expected);
  EXPECT_EQ(losses, result.seeds.front().layers.front().losses);
  fs::remove_all(root);
}

}  // namespace
}  // namespace l2gcn
