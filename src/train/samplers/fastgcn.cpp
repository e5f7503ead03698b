// fastgcn (Chen, Ma and Xiao, ICLR 2018): every layer draws t nodes u, independently and with replacement,
// from q(u) ∝ ‖Â(:, u)‖², one set for all destinations, and estimates
//
//   (Â H)_v ≈ 1/t Σ_j Â(v, u_j) H_{u_j} / q(u_j)
//
// which is unbiased. A destination none of whose neighbours was drawn gets 0. The paper computes Â X of the
// first layer once (precompute), so that an L-layer network draws L − 1 times.
#include "train/samplers/expanding.h"
#include "train/samplers/layer_nodes.h"

namespace l2gcn {
namespace {

class FastGcnSampler final : public ExpandingSampler {
 public:
  FastGcnSampler(const SamplingProblem& problem, const TrainConfig& config)
      : ExpandingSampler(problem, config), drawn_(problem.graph.nodes) {
    SumColumns();
  }

  uint64_t StateBytes() const override { return cumulative_.capacity() * sizeof(double) + drawn_.bytes(); }

 private:
  void Expand(const Context& context, uint32_t l, const RandomStream& stream) override {
    std::vector<uint32_t>& sources = batch_.nodes[l];
    drawn_.Begin({}, sources);
    drawn_.Draw(cumulative_, {}, SamplesOf(l), stream, sources);
    drawn_.FillBlock(context, problem_.a, batch_.nodes[l + 1], false, static_cast<uint32_t>(sources.size()),
                     *blocks_[l]);
  }

  // cumulative_[u] = Σ_{w ≤ u} ‖Â(:, w)‖²
  void SumColumns() {
    const Propagation& a = problem_.a;
    cumulative_.assign(a.nodes, 0.0);
    for (uint32_t v = 0; v < a.nodes; ++v) {
      for (uint64_t e = a.indptr[v]; e < a.indptr[v + 1]; ++e) {
        const double entry = EntryOf(a, v, e);
        cumulative_[a.indices[e]] += entry * entry;
      }
      const double own = a.self_scale[v];
      cumulative_[v] += own * own;
    }
    for (uint32_t u = 1; u < a.nodes; ++u) cumulative_[u] += cumulative_[u - 1];
  }

  std::vector<double> cumulative_;  // (nodes)
  DrawnNodes drawn_;
};

}  // namespace

std::unique_ptr<Sampler> MakeFastGcnSampler(const Context&, const SamplingProblem& problem,
                                            const TrainConfig& config) {
  return std::make_unique<FastGcnSampler>(problem, config);
}

}  // namespace l2gcn
