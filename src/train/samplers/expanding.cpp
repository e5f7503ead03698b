#include "train/samplers/expanding.h"

namespace l2gcn {

ExpandingSampler::ExpandingSampler(const SamplingProblem& problem, const TrainConfig& config)
    : problem_(problem),
      blocks_(MakeBlocks(problem.layers)),
      order_(problem.loss_nodes, config),
      seed_(config.seed),
      samples_(config.samples) {
  batch_.nodes.resize(problem.layers + 1);
  batch_.blocks.assign(blocks_.begin(), blocks_.end());
  if (problem.precomputed) batch_.blocks[0] = nullptr;
}

const MiniBatch& ExpandingSampler::Draw(const Context& context, uint32_t epoch, uint32_t step) {
  order_.Take(epoch, step, batch_.nodes.back());
  for (uint32_t l = problem_.layers; l-- > (problem_.precomputed ? 1u : 0u);) {
    Expand(context, l, RandomStream(seed_, RandomUse::kSampler, l, order_.StepNumber(epoch, step)));
  }
  if (problem_.precomputed) batch_.nodes[0] = batch_.nodes[1];
  return batch_;
}

void ListSources(const std::vector<uint32_t>& rows, NodeIndex& index, std::vector<uint32_t>& sources,
                 Block& block) {
  index.Clear();
  sources.clear();
  for (uint32_t node : rows) index.Add(node, sources);
  for (uint32_t& node : block.indices) node = index.Add(node, sources);
  block.cols = static_cast<uint32_t>(sources.size());
}

}  // namespace l2gcn
