#include "train/evaluation_nodes.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "train/evaluator.h"
#include "train/held_out.h"

namespace l2gcn {
namespace {

// At most so many nodes, drawn from a stream of their own; and at most this share of a layer's training, by the
// arithmetic of a forward pass, unless all evaluations together cost next to nothing.
constexpr uint32_t kMostNodes = 1024, kNodesStream = 22;
constexpr double kForwardShare = 0.45, kEvaluationShare = 0.05, kLikelyEvaluations = 20, kFreeFlops = 5e7;

}  // namespace

EvaluationNodes ChooseEvaluationNodes(const TrainConfig& config, const Dataset& dataset,
                                      const SplitNodes& nodes) {
  EvaluationNodes chosen;
  if (const uint32_t count = HeldOutCount(config, dataset, nodes); count > 0) {
    HeldOut split = DrawHeldOut(nodes, count, config.seed);
    chosen.held = std::move(split.held);
    chosen.others = std::move(split.others);
    return chosen;
  }
  const auto count = static_cast<uint32_t>(std::count_if(
      nodes.val.begin(), nodes.val.end(), [&](uint32_t node) { return dataset.labels.IsLabelled(node); }));
  if (count == 0) CheckValidationNodes(dataset, nodes);
  const Permutation order(count, RandomStream(config.seed, RandomUse::kController, kNodesStream));
  for (uint32_t i = 0; i < std::min(count, kMostNodes); ++i) chosen.validation.push_back(order(i));
  std::sort(chosen.validation.begin(), chosen.validation.end());
  return chosen;
}

uint32_t EpochsBetweenEvaluations(const EvaluationNodes& nodes, size_t trained, const LayerInput& xhat,
                                  uint32_t hidden, uint32_t head) {
  const auto count = static_cast<double>(nodes.count());
  const double inputs = xhat.ElementsPerRow();
  const double flops = count * 2 * hidden * (inputs + head);
  if (flops * kLikelyEvaluations <= kFreeFlops) return 1;
  const double share = kForwardShare * count / (kEvaluationShare * static_cast<double>(trained));
  return static_cast<uint32_t>(std::max(1.0, std::ceil(share)));
}

}  // namespace l2gcn
