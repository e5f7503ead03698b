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
#include "train/samplers/expanding.h"
#include "train/samplers/pick.h"

namespace l2gcn {
namespace {

class NeighbourSampler final : public ExpandingSampler {
 public:
  // `mean`: a few neighbours and their mean; otherwise all neighbours, weighed as Â weighs them.
  NeighbourSampler(const SamplingProblem& problem, const TrainConfig& config, bool mean)
      : ExpandingSampler(problem, config), mean_(mean), index_(problem.graph.nodes) {}

  uint64_t StateBytes() const override { return index_.bytes(); }

 private:
  void Expand(const Context& context, uint32_t l, const RandomStream& stream) override {
    const std::vector<uint32_t>& rows = batch_.nodes[l + 1];
    const uint32_t fanout = mean_ ? SamplesOf(l) : kAllNeighbours;
    Block& block = *blocks_[l];
    const Propagation& a = problem_.a;
    const uint32_t own = mean_ ? 0 : 1;  // Â's diagonal is an entry of the block
    block.rows = static_cast<uint32_t>(rows.size());
    block.indptr.resize(rows.size() + 1);
    block.indptr[0] = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      block.indptr[i + 1] = block.indptr[i] + own + std::min(DegreeOf(a, rows[i]), fanout);
    }
    block.indices.resize(block.indptr[rows.size()]);
    block.values.resize(block.indptr[rows.size()]);
    ParallelFor(context, rows.size(), 64, [&](size_t begin, size_t end) {
      std::vector<uint32_t> picked;
      for (size_t i = begin; i < end; ++i) FillRow(i, rows[i], fanout, stream, picked, block);
    });
    ListSources(rows, index_, batch_.nodes[l], block);
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

  bool mean_;
  NodeIndex index_;
};

}  // namespace

std::unique_ptr<Sampler> MakeMinibatchSampler(const Context&, const SamplingProblem& problem,
                                              const TrainConfig& config) {
  return std::make_unique<NeighbourSampler>(problem, config, false);
}

std::unique_ptr<Sampler> MakeGraphSageSampler(const Context&, const SamplingProblem& problem,
                                              const TrainConfig& config) {
  return std::make_unique<NeighbourSampler>(problem, config, true);
}

}  // namespace l2gcn
