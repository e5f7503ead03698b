// Plans of ranks: that all make the same choices, whatever devices they have. No GPU is touched.
#include "pipeline/memory_plan.h"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/fixtures.h"
#include "l2gcn/config.h"
#include "l2gcn/error.h"
#include "ranks/thread_ranks.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

void Require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

TrainConfig PaperConfig(const Dataset& dataset, const std::string& method = "lgcn") {
  return ResolveConfig({{"method", method}, {"preset", "paper"}, {"split", "random:0.5,0.2,0.3"}}, dataset);
}

// Dense features that are larger than the program.
Dataset WideDataset() {
  constexpr uint32_t kNodes = 50000, kColumns = 300;
  Dataset dataset = SmallDataset();
  Graph ring;
  ring.nodes = kNodes;
  ring.indptr = Array<uint64_t>::Zeros(kNodes + 1);
  ring.indices = Array<uint32_t>::Zeros(kNodes);
  for (uint32_t node = 0; node < kNodes; ++node) {
    ring.indptr.mutable_data()[node + 1] = node + 1;
    ring.indices.mutable_data()[node] = (node + 1) % kNodes;
  }
  dataset.graph = ring;
  dataset.features = Features::Dense(Matrix::Zeros(kNodes, kColumns));
  dataset.labels.multilabel = false;
  dataset.labels.classes = 3;
  dataset.labels.classes_of = Array<int32_t>::Zeros(kNodes);
  return dataset;
}

TEST(MemoryPlan, RanksOfDifferentDevicesPlanTheSame) {
  const Dataset dataset = SmallDataset();
  const TrainConfig config = PaperConfig(dataset);
  RunAsRanks(3, 1, [&](const Context& given) {
    Context context = given;
    context.device_is_automatic = true;
    if (!context.ranks->leads()) context.device = DeviceKind::kCuda;
    const MemoryPlan plan = PlanTraining(context, dataset, config);
    Require(plan.device == DeviceKind::kCpu && plan.ranks == 3, "the CPU, together");
    Require(Placed(context, dataset, plan).device == DeviceKind::kCpu, "where the run computes");
  });
}

// Who makes seeds, or a method whose layers learn together, alone has a plan of its own.
TEST(MemoryPlan, RanksThatShareNoModelPlanAlone) {
  const Dataset dataset = SmallDataset();
  RunAsRanks(3, 1, [&](const Context& given) {
    Context context = given;
    context.device_is_automatic = true;
    if (!context.ranks->leads()) context.device = DeviceKind::kCuda;
    const auto& ranks = static_cast<const ThreadRanks&>(*context.ranks);
    const uint64_t sent = ranks.sent_bytes();
    for (const MemoryPlan& plan : {PlanTraining(context, dataset, PaperConfig(dataset), 5),
                                   PlanTraining(context, dataset, PaperConfig(dataset, "gcn"))}) {
      Require(plan.ranks == 1, "a plan of its own");
      Require(plan.device == context.device, "a device of its own");
    }
    Require(ranks.sent_bytes() == sent, "nothing is agreed on");
  });
}

TEST(MemoryPlan, RanksOnGpusThatGoToDiskTakeTheCpuOrAreRefused) {
  TemporaryFolder folder;
  const Dataset dataset = WideDataset();
  TrainConfig config = PaperConfig(dataset);
  config.transductive = true;
  const auto context_of = [&](const Context& given, bool automatic) {
    Context context = given;
    context.device = DeviceKind::kCuda;
    context.device_is_automatic = automatic;
    context.scratch_directory = folder.path().string();
    return context;
  };
  std::mutex mutex;
  std::vector<std::string> notes;
  const auto plan = [&](const Context& given, bool automatic) {
    Context context = context_of(given, automatic);
    context.on_note = [&](const std::string& text) {
      const std::lock_guard<std::mutex> lock(mutex);
      notes.push_back(text);
    };
    const MemoryPlan roomy = PlanTraining(context, dataset, config);
    Require(roomy.in_memory && roomy.device == DeviceKind::kCuda, "in memory GPUs compute");
    Require(notes.empty(), "with no note");
    // Rank 1 alone goes to disk.
    if (context.ranks->rank() == 1) context.host_memory = roomy.need_bytes * 9 / 10;
    const MemoryPlan narrow = PlanTraining(context, dataset, config);
    Require(narrow.in_memory == (context.ranks->rank() != 1), "rank 1 goes to disk");
    Require(narrow.device == DeviceKind::kCpu, "on the CPU");
    Require(Placed(context, dataset, narrow).device == DeviceKind::kCpu, "where the run computes");
  };
  RunAsRanks(2, 1, [&](const Context& context) { plan(context, true); });
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes.front().find("runs on the CPU"), std::string::npos) << notes.front();
  notes.clear();
  RunAsRanks(2, 1, [&](const Context& context) {
    try {
      plan(context, false);
    } catch (const Error& error) {
      Require(error.kind() == ErrorKind::kUsage, error.what());
      return Require(std::string(error.what()).starts_with("--device cuda: "), error.what());
    }
    Require(false, "a GPU was asked for");
  });
}

}  // namespace
}  // namespace l2gcn
