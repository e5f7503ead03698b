// Shared by samplers: the order of batches, positions of nodes in a list, entries of Â.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/propagation.h"
#include "core/rng.h"
#include "train/sampler.h"

namespace l2gcn {

inline constexpr uint32_t kAllNeighbours = ~uint32_t{0};  // as a fan-out

inline float EntryOf(const Propagation& a, uint32_t row, uint64_t e) {
  float value = a.row_scale[row];
  if (!a.weights.empty()) value *= a.weights[e];
  if (!a.col_scale.empty()) value *= a.col_scale[a.indices[e]];
  return value;
}

inline uint32_t DegreeOf(const Propagation& a, uint32_t row) {
  return static_cast<uint32_t>(a.indptr[row + 1] - a.indptr[row]);
}

// Shuffled mini-batches of the loss nodes: the epoch shuffle of kernels/backend.h.
class BatchOrder {
 public:
  BatchOrder(const std::vector<uint32_t>& nodes, const TrainConfig& config)
      : nodes_(nodes), seed_(config.seed), size_(std::min<size_t>(config.batch, nodes.size())) {
    steps_ =
        static_cast<uint32_t>(config.drop_last ? nodes.size() / size_ : (nodes.size() + size_ - 1) / size_);
  }
  uint32_t steps() const { return steps_; }
  // Counts steps over the whole training: names the step's random streams.
  uint32_t StepNumber(uint32_t epoch, uint32_t step) const { return epoch * steps_ + step; }
  void Take(uint32_t epoch, uint32_t step, std::vector<uint32_t>& out) const {
    const Permutation shuffle(static_cast<uint32_t>(nodes_.size()),
                              RandomStream(seed_, RandomUse::kShuffle, 0, epoch));
    const size_t begin = step * size_, end = std::min(nodes_.size(), begin + size_);
    out.clear();
    for (size_t i = begin; i < end; ++i) out.push_back(nodes_[shuffle(static_cast<uint32_t>(i))]);
  }

 private:
  const std::vector<uint32_t>& nodes_;
  uint64_t seed_;
  size_t size_;
  uint32_t steps_;
};

// Position of each node in a growing list; emptied in constant time.
class NodeIndex {
 public:
  explicit NodeIndex(uint32_t nodes) : stamp_(nodes, 0), position_(nodes) {}
  void Clear() {
    if (++now_ == 0) {
      std::fill(stamp_.begin(), stamp_.end(), 0);
      now_ = 1;
    }
  }
  static constexpr uint32_t kAbsent = ~uint32_t{0};
  uint32_t Find(uint32_t node) const { return stamp_[node] == now_ ? position_[node] : kAbsent; }
  // The node's position in `list`, to which it is added if it is not there yet.
  uint32_t Add(uint32_t node, std::vector<uint32_t>& list) {
    if (stamp_[node] != now_) {
      stamp_[node] = now_;
      position_[node] = static_cast<uint32_t>(list.size());
      list.push_back(node);
    }
    return position_[node];
  }
  size_t bytes() const { return (stamp_.capacity() + position_.capacity()) * sizeof(uint32_t); }

 private:
  std::vector<uint32_t> stamp_, position_;
  uint32_t now_ = 0;
};

// Blocks reused from step to step.
inline std::vector<std::shared_ptr<Block>> MakeBlocks(size_t count) {
  std::vector<std::shared_ptr<Block>> blocks(count);
  for (auto& block : blocks) block = std::make_shared<Block>();
  return blocks;
}

// Uniform in [0, 1) with 53 bits.
inline double UniformDouble(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

// The rows of Â that `rows` names (empty: all), columns as they are.
void FillBlock(const Context& context, const Propagation& a, const std::vector<uint32_t>& rows, Block& block);

}  // namespace l2gcn
