#include "train/held_out.h"

#include <algorithm>

#include "config/stop_policies.h"
#include "core/rng.h"

namespace l2gcn {
namespace {

// From so many train nodes on some can be spared, and the whole graph is dear. At a fixed rate no epochs are left to give
// them back in, so there they have to be a fiftieth at most.
constexpr uint64_t kManyTrainNodes = 20000, kManyAtFixedRate = 204800;
constexpr double kHeldShare = 0.1;
constexpr double kMostHeld = 4096;
constexpr uint32_t kHeldOutStream = 20;

}  // namespace

bool HasValidationLabels(const Dataset& dataset, const SplitNodes& nodes) {
  return std::any_of(nodes.val.begin(), nodes.val.end(),
                     [&](uint32_t node) { return dataset.labels.IsLabelled(node); });
}

uint32_t HeldOutCount(const TrainConfig& config, const Dataset& dataset, const SplitNodes& nodes) {
  const auto train = static_cast<double>(nodes.train.size());
  if (config.hold_out) return static_cast<uint32_t>(*config.hold_out * train);
  if (nodes.train.size() < kLeastToHoldOut) return 0;
  const bool validated = HasValidationLabels(dataset, nodes);
  if (!config.FindsRate() && !(validated && !config.transductive)) return 0;
  const uint64_t many = config.FindsRate() ? kManyTrainNodes : kManyAtFixedRate;
  if (nodes.train.size() < many && validated) return 0;
  return static_cast<uint32_t>(std::min(kMostHeld, kHeldShare * train));
}

HeldOut DrawHeldOut(const SplitNodes& nodes, uint32_t count, uint64_t seed) {
  const auto all = static_cast<uint32_t>(nodes.train.size());
  const Permutation order(all, RandomStream(seed, RandomUse::kController, kHeldOutStream));
  std::vector<bool> is_held(all, false);
  for (uint32_t i = 0; i < count; ++i) is_held[order(i)] = true;
  HeldOut out;
  for (uint32_t i = 0; i < all; ++i) (is_held[i] ? out.held : out.others).push_back(i);
  return out;
}

}  // namespace l2gcn
