// minibatch: every neighbour of every node of the batch, L hops out: exact, and as large as the graph's
// reach.
//
// graphsage (Hamilton et al., NeurIPS 2017): of each node at most S⁽ˡ⁾ neighbours, drawn without replacement,
// and their mean; the node itself enters through the concatenation. The mean of a uniform sample is an
// unbiased estimate of the neighbours' mean. Edge weights are not looked at, as in the paper. A node without
// neighbours has mean 0. samples lists S from the input's layer to the output's, as the authors' program
// does.
//
// A node met twice in a layer is computed once. The destinations are the first sources of their layer.
#include "core/threads.h"
#include "train/samplers/common.h"
#include "train/samplers/pick.h"

namespace l2gcn {
namespace {

class NeighbourSampler final : public Sampler {
 public:
  NeighbourSampler(const SamplingProblem& problem, const TrainConfig& config)
      : problem_(problem),
        order_(problem.loss_nodes, config),
        mean_(config.method == "graphsage"),
        seed_(config.seed),
        index_(problem.graph.nodes),
        blocks_(MakeBlocks(problem.layers)) {
    for (uint32_t l = 0; l < problem.layers; ++l) {
      fanout_.push_back(mean_ ? config.samples[std::min<size_t>(l, config.samples.size() - 1)]
                              : kAllNeighbours);
    }
    batch_.nodes.resize(problem.layers + 1);
    batch_.blocks.assign(blocks_.begin(), blocks_.end());
    if (problem.precomputed) batch_.blocks[0] = nullptr;
  }

  uint32_t StepsPerEpoch() const override { return order_.steps(); }

  const MiniBatch& Draw(const Context& context, uint32_t epoch, uint32_t step) override {
    order_.Take(epoch, step, batch_.nodes.back());
    for (uint32_t l = problem_.layers; l-- > (problem_.precomputed ? 1u : 0u);) {
      const RandomStream stream(seed_, RandomUse::kSampler, l, order_.StepNumber(epoch, step));
      Expand(context, l, stream);
    }
    if (problem_.precomputed) batch_.nodes[0] = batch_.nodes[1];
    return batch_;
  }

  uint64_t StateBytes() const override { return index_.bytes(); }

 private:
  // Block l and its sources, from its destinations.
  void Expand(const Context& context, uint32_t l, const RandomStream& stream) {
    const std::vector<uint32_t>& rows = batch_.nodes[l + 1];
    Block& block = *blocks_[l];
    const Propagation& a = problem_.a;
    const uint32_t own = mean_ ? 0 : 1;  // Â's diagonal is an entry of the block
    block.rows = static_cast<uint32_t>(rows.size());
    block.indptr.resize(rows.size() + 1);
    block.indptr[0] = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      block.indptr[i + 1] = block.indptr[i] + own + std::min(DegreeOf(a, rows[i]), fanout_[l]);
    }
    block.indices.resize(block.indptr[rows.size()]);
    block.values.resize(block.indptr[rows.size()]);
    ParallelFor(context, rows.size(), 64, [&](size_t begin, size_t end) {
      std::vector<uint32_t> picked;
      for (size_t i = begin; i < end; ++i) FillRow(i, rows[i], fanout_[l], stream, picked, block);
    });
    std::vector<uint32_t>& sources = batch_.nodes[l];
    index_.Clear();
    sources.clear();
    for (uint32_t node : rows) index_.Add(node, sources);
    for (uint32_t& node : block.indices) node = index_.Add(node, sources);
    block.cols = static_cast<uint32_t>(sources.size());
  }

  void FillRow(size_t i, uint32_t node, uint32_t fanout, const RandomStream& stream,
               std::vector<uint32_t>& picked, Block& block) const {
    const Propagation& a = problem_.a;
    uint64_t at = block.indptr[i];
    if (!mean_) {
      block.indices[at] = node;
      block.values[at++] = a.self_scale[node];
    }
    const uint32_t degree = DegreeOf(a, node);
    PickDistinct(degree, fanout, stream, i, picked);
    for (uint32_t k : picked) {
      const uint64_t e = a.indptr[node] + k;
      block.indices[at] = a.indices[e];
      block.values[at++] = mean_ ? 1.0f / static_cast<float>(picked.size()) : EntryOf(a, node, e);
    }
  }

  const SamplingProblem& problem_;
  BatchOrder order_;
  bool mean_;
  uint64_t seed_;
  std::vector<uint32_t> fanout_;  // (layers)
  NodeIndex index_;
  std::vector<std::shared_ptr<Block>> blocks_;
  MiniBatch batch_;
};

}  // namespace

std::unique_ptr<Sampler> MakeNeighbourSampler(const SamplingProblem& problem, const TrainConfig& config) {
  return std::make_unique<NeighbourSampler>(problem, config);
}

}  // namespace l2gcn
