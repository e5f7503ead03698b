// gcn (Kipf and Welling, ICLR 2017): every step is the whole graph, exact. sgc and ngcn train on it as well.
//
// All layers share one block; its transpose is built once, unless Â is symmetric. Activations of all nodes of
// all layers live at once: O(L N D).
#include <numeric>

#include "core/threads.h"
#include "train/samplers/common.h"

namespace l2gcn {
namespace {

class FullBatchSampler final : public Sampler {
 public:
  explicit FullBatchSampler(const SamplingProblem& problem) : problem_(problem) {}

  uint32_t StepsPerEpoch() const override { return 1; }

  const MiniBatch& Draw(const Context& context, uint32_t, uint32_t) override {
    if (batch_.nodes.empty()) Build(context);
    return batch_;
  }

  uint64_t StateBytes() const override { return bytes_; }

 private:
  void Build(const Context& context) {
    const uint32_t first = problem_.precomputed ? 1 : 0;
    std::vector<uint32_t> all(problem_.graph.nodes);
    std::iota(all.begin(), all.end(), 0u);
    const bool every_node = problem_.loss_nodes.size() == all.size();
    const uint32_t layers = problem_.layers + (problem_.prediction_head ? 1 : 0);
    batch_.blocks.assign(layers, nullptr);
    if (problem_.layers == first) {
      batch_.nodes.assign(layers + 1, problem_.loss_nodes);
      return;
    }
    batch_.nodes.assign(layers, all);
    batch_.nodes.push_back(problem_.loss_nodes);
    const bool inner = layers > first + 1;  // some layer's outputs are all nodes
    const auto whole = inner || every_node ? MakeWhole(context, {}) : nullptr;
    for (uint32_t l = first; l < problem_.layers; ++l) batch_.blocks[l] = whole;
    if (!every_node)
      batch_.blocks.back() =
          problem_.prediction_head ? PickLossNodes() : MakeWhole(context, problem_.loss_nodes);
  }

  // The loss nodes' rows as they are.
  std::shared_ptr<const Block> PickLossNodes() const {
    auto block = std::make_shared<Block>();
    block->rows = static_cast<uint32_t>(problem_.loss_nodes.size());
    block->cols = problem_.graph.nodes;
    block->indptr.resize(size_t{block->rows} + 1);
    std::iota(block->indptr.begin(), block->indptr.end(), uint64_t{0});
    block->indices = problem_.loss_nodes;
    block->values.assign(block->rows, 1.0f);
    return block;
  }

  std::shared_ptr<const Block> MakeWhole(const Context& context, const std::vector<uint32_t>& rows) {
    auto block = std::make_shared<Block>();
    const Propagation& a = problem_.a;
    FillBlock(context, a, rows, *block);
    bytes_ += block->bytes();
    // D^-½(A+I)D^-½ and A+I are symmetric where A is.
    const bool scales_alike =
        !a.col_scale.empty() || std::equal(a.row_scale.begin() + 1, a.row_scale.end(), a.row_scale.begin());
    block->symmetric = rows.empty() && !problem_.graph.directed && scales_alike;
    if (!block->symmetric) {
      auto transpose = std::make_shared<Block>();
      TransposeBlock(*block, *transpose);
      bytes_ += transpose->bytes();
      block->transpose = std::move(transpose);
    }
    return block;
  }

  const SamplingProblem& problem_;
  MiniBatch batch_;
  uint64_t bytes_ = 0;
};

}  // namespace

void FillBlock(const Context& context, const Propagation& a, const std::vector<uint32_t>& rows,
               Block& block) {
  const size_t count = rows.empty() ? a.nodes : rows.size();
  block.rows = static_cast<uint32_t>(count);
  block.cols = a.nodes;
  block.indptr.resize(count + 1);
  block.indptr[0] = 0;
  const auto node = [&](size_t i) { return rows.empty() ? static_cast<uint32_t>(i) : rows[i]; };
  for (size_t i = 0; i < count; ++i) block.indptr[i + 1] = block.indptr[i] + 1 + DegreeOf(a, node(i));
  block.indices.resize(block.indptr[count]);
  block.values.resize(block.indptr[count]);
  ParallelFor(context, count, 512, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      uint64_t at = block.indptr[i];
      block.indices[at] = node(i);
      block.values[at++] = a.self_scale[node(i)];
      for (uint64_t e = a.indptr[node(i)]; e < a.indptr[node(i) + 1]; ++e, ++at) {
        block.indices[at] = a.indices[e];
        block.values[at] = EntryOf(a, node(i), e);
      }
    }
  });
}

std::unique_ptr<Sampler> MakeFullBatchSampler(const Context&, const SamplingProblem& problem,
                                              const TrainConfig&) {
  return std::make_unique<FullBatchSampler>(problem);
}

}  // namespace l2gcn
