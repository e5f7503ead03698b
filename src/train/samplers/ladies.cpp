// ladies (Zou et al., NeurIPS 2019): FastGCN's sampling, but each layer draws among the neighbours of its own
// destinations S, from q(u) ∝ Σ_{v ∈ S} Â(v, u)², and normalises the rows of the sampled block.
//
// As in the authors' program the destinations themselves stay sources, so a node never loses its own
// activation: Â's diagonal is exact and only the neighbours are drawn. Before normalising, Â(v, u)·times/(s
// q(u)) is unbiased; after it, every row sums to what the row of Â sums to (1 under norm `row`, the paper's
// case). That ratio estimate is biased by O(1/s) and far less scattered: the paper trades the one for the
// other, and so do we.
#include "train/samplers/expanding.h"
#include "train/samplers/layer_nodes.h"

namespace l2gcn {
namespace {

class LadiesSampler final : public ExpandingSampler {
 public:
  LadiesSampler(const SamplingProblem& problem, const TrainConfig& config)
      : ExpandingSampler(problem, config), drawn_(problem.graph.nodes), reached_(problem.graph.nodes) {}

  uint64_t StateBytes() const override { return drawn_.bytes() + reached_.bytes(); }

 private:
  void Expand(const Context& context, uint32_t l, const RandomStream& stream) override {
    const std::vector<uint32_t>& rows = batch_.nodes[l + 1];
    std::vector<uint32_t>& sources = batch_.nodes[l];
    SumColumns(rows);
    drawn_.Begin(rows, sources);
    if (!candidates_.empty()) drawn_.Draw(cumulative_, candidates_, SamplesOf(l), stream, sources);
    Block& block = *blocks_[l];
    drawn_.FillBlock(context, problem_.a, rows, true, static_cast<uint32_t>(sources.size()), block);
    NormaliseRows(rows, block);
  }

  // Neighbours of `rows` and, cumulatively, the squared norms of their columns in those rows.
  void SumColumns(const std::vector<uint32_t>& rows) {
    const Propagation& a = problem_.a;
    reached_.Clear();
    candidates_.clear();
    cumulative_.clear();
    for (uint32_t v : rows) {
      for (uint64_t e = a.indptr[v]; e < a.indptr[v + 1]; ++e) {
        const uint32_t at = reached_.Add(a.indices[e], candidates_);
        if (at == cumulative_.size()) cumulative_.push_back(0);
        const double entry = EntryOf(a, v, e);
        cumulative_[at] += entry * entry;
      }
    }
    for (size_t i = 1; i < cumulative_.size(); ++i) cumulative_[i] += cumulative_[i - 1];
  }

  void NormaliseRows(const std::vector<uint32_t>& rows, Block& block) const {
    const Propagation& a = problem_.a;
    for (size_t i = 0; i < rows.size(); ++i) {
      double wanted = a.self_scale[rows[i]], sum = 0;
      for (uint64_t e = a.indptr[rows[i]]; e < a.indptr[rows[i] + 1]; ++e) {
        wanted += static_cast<double>(EntryOf(a, rows[i], e));
      }
      for (uint64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e)
        sum += static_cast<double>(block.values[e]);
      if (sum <= 0) continue;
      const auto scale = static_cast<float>(wanted / sum);
      for (uint64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) block.values[e] *= scale;
    }
  }

  DrawnNodes drawn_;
  NodeIndex reached_;
  std::vector<uint32_t> candidates_;  // neighbours of the layer's destinations
  std::vector<double> cumulative_;    // (candidates)
};

}  // namespace

std::unique_ptr<Sampler> MakeLadiesSampler(const Context&, const SamplingProblem& problem,
                                           const TrainConfig& config) {
  return std::make_unique<LadiesSampler>(problem, config);
}

}  // namespace l2gcn
