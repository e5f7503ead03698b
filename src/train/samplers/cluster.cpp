// clustergcn (Chiang et al., KDD 2019): the graph is cut once by METIS; a step is the subgraph of several
// clusters drawn at random, edges between them included. Its operator is Â of that subgraph, with its own
// degrees, plus λ·diag(Â): the paper's diagonal enhancement (λ = --diagonal), which keeps a node's own
// activation through many layers.
//
// The estimate leaves out every edge between clusters that are not drawn together: a bias the paper accepts,
// made small by METIS and by drawing several clusters.
#include <algorithm>

#include "core/error_format.h"
#include "graph/build.h"
#include "graph/normalise.h"
#include "graph/partition.h"
#include "train/samplers/common.h"

namespace l2gcn {
namespace {

constexpr uint32_t kNodesPerPart = 100;

class ClusterSampler final : public Sampler {
 public:
  ClusterSampler(const Context& context, const SamplingProblem& problem, const TrainConfig& config)
      : problem_(problem),
        config_(config),
        block_(std::make_shared<Block>()),
        last_(std::make_shared<Block>()) {
    const uint32_t nodes = problem.graph.nodes;
    if (config.parts > nodes) {
      ThrowUsage("--parts {}: the graph in training has {} nodes; expected at most one cluster a node",
                 config.parts, nodes);
    }
    parts_ = config.parts > 0 ? config.parts : std::max(1u, (nodes + kNodesPerPart / 2) / kNodesPerPart);
    const std::vector<uint32_t> part_of = PartitionGraph(context, problem.graph, parts_);
    members_.resize(parts_);
    for (uint32_t node = 0; node < nodes; ++node) members_[part_of[node]].push_back(node);
    std::erase_if(members_, [](const auto& part) { return part.empty(); });
    parts_ = static_cast<uint32_t>(members_.size());
    // As many clusters as make a batch, where the user does not say.
    const double per_part = static_cast<double>(nodes) / parts_;
    const double wanted = config.clusters_per_batch > 0 ? config.clusters_per_batch : config.batch / per_part;
    joined_ = static_cast<uint32_t>(std::clamp<double>(std::round(wanted), 1, parts_));
    is_loss_node_.assign(nodes, 0);
    for (uint32_t node : problem.loss_nodes) is_loss_node_[node] = 1;
  }

  uint32_t StepsPerEpoch() const override { return (parts_ + joined_ - 1) / joined_; }

  const MiniBatch& Draw(const Context& context, uint32_t epoch, uint32_t step) override {
    const Permutation shuffle(parts_, RandomStream(config_.seed, RandomUse::kSampler, 0, epoch));
    nodes_.clear();
    for (uint32_t i = step * joined_; i < std::min(parts_, (step + 1) * joined_); ++i) {
      const auto& part = members_[shuffle(i)];
      nodes_.insert(nodes_.end(), part.begin(), part.end());
    }
    std::sort(nodes_.begin(), nodes_.end());
    const Graph sub = InducedSubgraph(context, problem_.graph, nodes_);
    Propagation a = MakePropagation(context, sub, config_.adjacency.front());
    EnhanceDiagonal(config_.diagonal, a);
    FillBlock(context, a, {}, *block_);
    batch_.nodes.assign(problem_.layers, nodes_);
    batch_.blocks.assign(problem_.layers, block_);
    TakeLossNodes(context, a);
    return batch_;
  }

  uint64_t StateBytes() const override { return uint64_t{problem_.graph.nodes} * (sizeof(uint32_t) + 1); }

 private:
  // The last block has rows for the loss nodes alone. A draw without any keeps one node with weight 0 out: it
  // is skipped by the trainer, which sees an empty list.
  void TakeLossNodes(const Context& context, const Propagation& a) {
    std::vector<uint32_t> rows, loss;
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (is_loss_node_[nodes_[i]] != 0) {
        rows.push_back(i);
        loss.push_back(nodes_[i]);
      }
    }
    if (loss.size() < nodes_.size() && !loss.empty()) {
      FillBlock(context, a, rows, *last_);
      batch_.blocks.back() = last_;
    }
    batch_.nodes.push_back(std::move(loss));
  }

  const SamplingProblem& problem_;
  const TrainConfig config_;
  uint32_t parts_ = 1, joined_ = 1;
  std::vector<std::vector<uint32_t>> members_;  // (parts) nodes of each
  std::vector<uint8_t> is_loss_node_;           // (nodes)
  std::vector<uint32_t> nodes_;                 // nodes of the step
  std::shared_ptr<Block> block_, last_;
  MiniBatch batch_;
};

}  // namespace

std::unique_ptr<Sampler> MakeClusterSampler(const Context& context, const SamplingProblem& problem,
                                            const TrainConfig& config) {
  return std::make_unique<ClusterSampler>(context, problem, config);
}

}  // namespace l2gcn
