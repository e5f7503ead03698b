// What happens to a device that a method or a search cannot use: the CPU takes over where nobody asked for
// the device, and a request is refused. Decided before any device is touched, so no GPU is needed.
#include <gtest/gtest.h>

#include "l2gcn/compare.h"
#include "l2gcn/config.h"
#include "l2gcn/controller.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "ranks/shared_device.h"
#include "ranks/thread_ranks.h"
#include "report/comparison.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

struct Notes {
  std::vector<std::string> texts;
  Context OnCuda(bool automatic) {
    Context context = MakeContext(1);
    context.device = DeviceKind::kCuda;
    context.device_is_automatic = automatic;
    context.on_note = [this](const std::string& text) { texts.push_back(text); };
    return context;
  }
  int Naming(const std::string& words) const {
    int count = 0;
    for (const std::string& text : texts) count += text.find(words) != std::string::npos ? 1 : 0;
    return count;
  }
};

TrainConfig GcnConfig(const Dataset& dataset) {
  return ResolveConfig(
      {{"method", "gcn"}, {"epochs", "2"}, {"layers", "2"}, {"hidden", "8"}, {"split", "random:0.5,0.2,0.3"}},
      dataset);
}

TEST(DeviceChoice, AutomaticDeviceFallsBackToTheCpuWithOneNote) {
  Notes notes;
  const Dataset dataset = SmallDataset();
  RunOptions run;
  run.write = false;
  run.runs = 2;
  const TrainResult result = RunTraining(notes.OnCuda(true), dataset, GcnConfig(dataset), run);
  EXPECT_EQ(result.device, "cpu");
  EXPECT_EQ(result.seeds.size(), 2u);
  EXPECT_EQ(notes.Naming("method gcn runs on the CPU"), 1);
}

TEST(DeviceChoice, ARequestedDeviceIsRefused) {
  Notes notes;
  const Dataset dataset = SmallDataset();
  RunOptions run;
  run.write = false;
  try {
    RunTraining(notes.OnCuda(false), dataset, GcnConfig(dataset), run);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("method gcn"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--device cpu"), std::string::npos) << error.what();
  }
}

TEST(DeviceChoice, AComparisonRunsOnOneDevice) {
  Notes notes;
  CompareOptions options;
  options.methods = {"lgcn", "gcn"};
  options.overrides = {{"epochs", "2"}, {"layers", "2"}, {"hidden", "8"}, {"split", "random:0.5,0.2,0.3"}};
  const Comparison comparison = MeasureComparison(notes.OnCuda(true), SmallDataset(), options);
  EXPECT_EQ(comparison.device, "cpu");
  EXPECT_EQ(comparison.rows.size(), 2u);
}

TEST(DeviceChoice, SearchPrefersTheCpuUnlessTheDeviceWasAskedFor) {
  Notes notes;
  SearchConfig search;
  search.kind = SearchConfig::Kind::kPaper;
  search.rounds = 2;
  search.warmup = 1;
  search.nodes = 40;
  search.interval = 1;
  search.decisions = 4;
  SearchController(notes.OnCuda(true), {SmallDataset()}, search,
                   {{"layers", "2"}, {"hidden", "8"}, {"split", "random:0.5,0.2,0.3"}});
  EXPECT_EQ(notes.Naming("search runs on the CPU"), 1);
}

// Ranks that share a model compute on GPUs only where each of them has one.
TEST(DeviceChoice, RanksTakeGpusTogetherOrNotAtAll) {
  for (const uint32_t without : {0u, 1u, 3u}) {
    RunAsRanks(3, 1, [&](const Context& given) {
      Context context = given;
      context.device_is_automatic = true;
      context.device = context.ranks->rank() < without ? DeviceKind::kCpu : DeviceKind::kCuda;
      const DeviceKind expected = without == 0 ? DeviceKind::kCuda : DeviceKind::kCpu;
      if (ForSharedModel(context).device != expected) throw std::runtime_error("another device");
    });
  }
  EXPECT_ANY_THROW(RunAsRanks(2, 1, [&](const Context& given) {
    Context context = given;
    if (!context.ranks->leads()) context.device = DeviceKind::kCuda;
    ForSharedModel(context);
  }));
}

}  // namespace
}  // namespace l2gcn
