// fastgcn (Chen, Ma and Xiao, ICLR 2018): every layer draws t nodes u, independently and with replacement,
// from q(u) ∝ ‖Â(:, u)‖², one set for all destinations, and estimates
//
//   (Â H)_v ≈ 1/t Σ_j Â(v, u_j) H_{u_j} / q(u_j)
//
// which is unbiased. A destination none of whose neighbours was drawn gets 0. The paper computes Â X of the
// first layer once (precompute), so that an L-layer network draws L − 1 times.
#include "train/samplers/layer_nodes.h"

namespace l2gcn {
namespace {

class FastGcnSampler final : public Sampler {
 public:
  FastGcnSampler(const SamplingProblem& problem, const TrainConfig& config)
      : problem_(problem),
        order_(problem.loss_nodes, config),
        seed_(config.seed),
        samples_(config.samples),
        drawn_(problem.graph.nodes),
        blocks_(MakeBlocks(problem.layers)) {
    batch_.nodes.resize(problem.layers + 1);
    batch_.blocks.assign(blocks_.begin(), blocks_.end());
    if (problem.precomputed) batch_.blocks[0] = nullptr;
    SumColumns();
  }

  uint32_t StepsPerEpoch() const override { return order_.steps(); }

  const MiniBatch& Draw(const Context& context, uint32_t epoch, uint32_t step) override {
    order_.Take(epoch, step, batch_.nodes.back());
    for (uint32_t l = problem_.layers; l-- > (problem_.precomputed ? 1u : 0u);) {
      const RandomStream stream(seed_, RandomUse::kSampler, l, order_.StepNumber(epoch, step));
      const uint32_t count = samples_[std::min<size_t>(l, samples_.size() - 1)];
      std::vector<uint32_t>& sources = batch_.nodes[l];
      drawn_.Begin({}, sources);
      for (const auto& [node, times] : DrawFrom(cumulative_, count, stream)) {
        const double before = node == 0 ? 0 : cumulative_[node - 1];
        const double q = (cumulative_[node] - before) / cumulative_.back();
        drawn_.Add(node, static_cast<float>(times / (count * q)), sources);
      }
      drawn_.FillBlock(context, problem_.a, batch_.nodes[l + 1], false, static_cast<uint32_t>(sources.size()),
                       *blocks_[l]);
    }
    if (problem_.precomputed) batch_.nodes[0] = batch_.nodes[1];
    return batch_;
  }

  uint64_t StateBytes() const override { return cumulative_.capacity() * sizeof(double) + drawn_.bytes(); }

 private:
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

  const SamplingProblem& problem_;
  BatchOrder order_;
  uint64_t seed_;
  std::vector<uint32_t> samples_;
  std::vector<double> cumulative_;  // (nodes)
  DrawnNodes drawn_;
  std::vector<std::shared_ptr<Block>> blocks_;
  MiniBatch batch_;
};

}  // namespace

std::unique_ptr<Sampler> MakeFastGcnSampler(const SamplingProblem& problem, const TrainConfig& config) {
  return std::make_unique<FastGcnSampler>(problem, config);
}

}  // namespace l2gcn
