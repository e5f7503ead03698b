// vrgcn (Chen, Zhu and Song, ICML 2018): few neighbours, and a control variate from remembered activations H̄:
//
//   (Â H)_v ≈ Σ_{u drawn} d/s Â(v, u) (H_u − H̄_u) + Σ_u Â(v, u) H̄_u,   s of v's d neighbours drawn
//
// The node itself is always taken. The estimate is unbiased whatever H̄ is, and its variance vanishes as H̄
// approaches H. The sum over all neighbours costs d·D a node and no gradient; it is one product per layer
// with the block's remainder, Â(v, u) less the drawn d/s Â(v, u).
//
// Dropout is treated as in the paper's CVD estimator: the noise drop(H) − H of drawn neighbours is scaled by
// √(d/s) instead of d/s, which keeps its variance that of the whole neighbourhood.
//
// The remembered activations of every hidden layer, O(L N D), live as long as the training. The first layer's
// control variate would be the features themselves, which makes it exact: all neighbours are taken there, or
// Â X is computed once (precompute, the paper's choice).
#include <cmath>

#include "core/error_format.h"
#include "core/threads.h"
#include "train/block_network.h"
#include "train/samplers/expanding.h"
#include "train/samplers/pick.h"
#include "train/snapshot.h"

namespace l2gcn {
namespace {

class VrGcnSampler final : public ExpandingSampler {
 public:
  VrGcnSampler(const Context& context, const SamplingProblem& problem, const TrainConfig& config)
      : ExpandingSampler(problem, config),
        dropout_(config.dropout > 0),
        index_(problem.graph.nodes),
        ops_(MakeBlockOps(context)) {
    batch_.offsets.resize(problem.layers);
    for (uint32_t l = 0; l + 1 < problem.layers; ++l) {
      history_.push_back(Matrix::Zeros(problem.graph.nodes, BlockWidth(config.HiddenOf(l))));
    }
  }

  void Observe(const Context& context, const MiniBatch& batch, const BlockNetwork& network) override {
    for (size_t l = 0; l < history_.size(); ++l) {
      const MatrixView<const float> now = network.Activation(l);
      const std::vector<uint32_t>& nodes = batch.nodes[l + 1];
      L2GCN_ASSERT(now.rows == nodes.size() && now.stride == history_[l].cols);
      ParallelFor(context, nodes.size(), 256, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          std::copy_n(now.row(i), now.stride, history_[l].mutable_row(nodes[i]));
        }
      });
    }
  }

  void Save(Snapshot& snapshot) const override {
    for (size_t l = 0; l < history_.size(); ++l) snapshot.Add("history." + std::to_string(l), history_[l]);
  }

  void Restore(const Snapshot& snapshot) override {
    for (size_t l = 0; l < history_.size(); ++l) {
      history_[l] = snapshot.Take("history." + std::to_string(l), history_[l].rows, history_[l].cols);
    }
  }

  uint64_t StateBytes() const override {
    uint64_t bytes = index_.bytes();
    for (const Matrix& layer : history_) bytes += layer.bytes();
    return bytes;
  }

 private:
  // Draws the block, and computes the constant part of the layer's estimate.
  void Expand(const Context& context, uint32_t l, const RandomStream& stream) override {
    const std::vector<uint32_t>& rows = batch_.nodes[l + 1];
    const uint32_t fanout = l == 0 ? kAllNeighbours : SamplesOf(l);
    const Propagation& a = problem_.a;
    Block& block = *blocks_[l];
    block.rows = remainder_.rows = static_cast<uint32_t>(rows.size());
    remainder_.cols = a.nodes;
    block.indptr.resize(rows.size() + 1);
    remainder_.indptr.resize(rows.size() + 1);
    block.indptr[0] = remainder_.indptr[0] = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint32_t degree = DegreeOf(a, rows[i]);
      block.indptr[i + 1] = block.indptr[i] + 1 + std::min(degree, fanout);
      remainder_.indptr[i + 1] =
          remainder_.indptr[i] + (degree > fanout ? degree : 0);  // else nothing remains
    }
    const bool clean = dropout_ && l > 0;
    block.indices.resize(block.indptr[rows.size()]);
    block.values.resize(block.indptr[rows.size()]);
    block.clean.resize(clean ? block.indptr[rows.size()] : 0);
    remainder_.indices.resize(remainder_.indptr[rows.size()]);
    remainder_.values.resize(remainder_.indptr[rows.size()]);
    ParallelFor(context, rows.size(), 64, [&](size_t begin, size_t end) {
      std::vector<uint32_t> picked;
      for (size_t i = begin; i < end; ++i) FillRow(i, rows[i], fanout, stream, picked, block);
    });
    if (l > 0) AddHistory(context, l);
    ListSources(rows, index_, batch_.nodes[l], block);
  }

  void FillRow(size_t i, uint32_t node, uint32_t fanout, const RandomStream& stream,
               std::vector<uint32_t>& picked, Block& block) {
    const Propagation& a = problem_.a;
    const uint32_t degree = DegreeOf(a, node);
    const uint64_t first = a.indptr[node];
    const bool sampled = degree > fanout;
    const float up = sampled ? static_cast<float>(degree) / static_cast<float>(fanout) : 1.0f;
    const float noise = block.clean.empty() ? up : std::sqrt(up);
    uint64_t at = block.indptr[i];
    block.indices[at] = node;
    block.values[at] = a.self_scale[node];
    if (!block.clean.empty()) block.clean[at] = 0;
    ++at;
    const uint64_t rest = remainder_.indptr[i];
    for (uint32_t k = 0; sampled && k < degree; ++k) {
      remainder_.indices[rest + k] = a.indices[first + k];
      remainder_.values[rest + k] = EntryOf(a, node, first + k);
    }
    PickDistinct(degree, fanout, stream, i, picked);
    for (uint32_t k : picked) {
      const float entry = EntryOf(a, node, first + k);
      block.indices[at] = a.indices[first + k];
      block.values[at] = entry * noise;
      if (!block.clean.empty()) block.clean[at] = entry * (up - noise);
      if (sampled) remainder_.values[rest + k] -= entry * up;
      ++at;
    }
  }

  void AddHistory(const Context& context, uint32_t l) {
    const Matrix& history = history_[l - 1];
    Matrix& offset = batch_.offsets[l];
    if (offset.rows * offset.cols != remainder_.rows * history.cols) {
      offset = {};
      offset = Matrix::Allocate(remainder_.rows, history.cols);
    }
    ops_->Aggregate(context, remainder_.View(), history.values.data(), history.cols, {},
                    offset.values.mutable_data());
  }

  bool dropout_;
  NodeIndex index_;
  std::unique_ptr<BlockOps> ops_;
  Block remainder_;              // (destinations × all nodes) of the current layer
  std::vector<Matrix> history_;  // H̄ of each hidden layer (nodes × padded width)
};

}  // namespace

std::unique_ptr<Sampler> MakeVrGcnSampler(const Context& context, const SamplingProblem& problem,
                                          const TrainConfig& config) {
  return std::make_unique<VrGcnSampler>(context, problem, config);
}

}  // namespace l2gcn
