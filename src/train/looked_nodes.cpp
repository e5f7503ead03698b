#include "train/looked_nodes.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "train/held_out.h"
#include "train/validation_probe.h"

namespace l2gcn {
namespace {

// At most so many nodes, drawn from a stream of their own; and at most this share of a layer's training, by the
// arithmetic of a forward pass, unless all looks together are next to nothing.
constexpr uint32_t kMostLooked = 1024, kLookStream = 22;
constexpr double kForwardShare = 0.45, kLookShare = 0.05, kLikelyLooks = 20, kFreeFlops = 5e7;

}  // namespace

LookedNodes ChooseLookedNodes(const TrainConfig& config, const Dataset& dataset, const SplitNodes& nodes) {
  LookedNodes looked;
  if (const uint32_t count = HeldOutCount(config, dataset, nodes); count > 0) {
    HeldOut split = DrawHeldOut(nodes, count, config.seed);
    looked.held = std::move(split.held);
    looked.others = std::move(split.others);
    return looked;
  }
  const auto count = static_cast<uint32_t>(std::count_if(
      nodes.val.begin(), nodes.val.end(), [&](uint32_t node) { return dataset.labels.IsLabelled(node); }));
  if (count == 0) CheckValidationNodes(dataset, nodes);
  const Permutation order(count, RandomStream(config.seed, RandomUse::kController, kLookStream));
  for (uint32_t i = 0; i < std::min(count, kMostLooked); ++i) looked.validation.push_back(order(i));
  std::sort(looked.validation.begin(), looked.validation.end());
  return looked;
}

uint32_t EpochsBetweenLooks(const LookedNodes& looked, size_t trained, const Tensor& xhat, uint32_t hidden,
                            uint32_t head) {
  const auto count = static_cast<double>(looked.count());
  const double inputs = xhat.sparse ? static_cast<double>(xhat.nonzeros) / static_cast<double>(xhat.rows)
                                    : static_cast<double>(xhat.cols);
  const double flops = count * 2 * hidden * (inputs + head);
  if (flops * kLikelyLooks <= kFreeFlops) return 1;
  const double share = kForwardShare * count / (kLookShare * static_cast<double>(trained));
  return static_cast<uint32_t>(std::max(1.0, std::ceil(share)));
}

}  // namespace l2gcn
