// How a layer's training is laid over the blocks of one persistent kernel (train_kernel.cuh,
// warpgroup_kernel.cuh).
//
// The blocks form a grid of row groups × slices. A block works on `rows` samples of every batch and on
// `width` of the hidden units: it computes its part of ReLU(X̂W), of the logits and of both gradients.
// Two sums cross blocks: logits over the slices of a row group, gradients over the row groups of a slice. The
// second one is taken by owners: each block of a slice reduces its share of the gradient, makes Adam's step
// and publishes the new weights.
//
// Bytes through L2 per step: slices·B·D (features) + 3·slices·B·C (logits) + 3·row_groups·(D·H + H·C)
// (gradients written and read, weights read back; half of it where blocks are paired), all times 4; the plan
// minimises them within the shared memory of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/rng.h"

namespace l2gcn::cuda {

struct TrainShape {
  uint32_t features = 0;  // D
  uint32_t hidden = 0;    // H
  uint32_t classes = 0;   // C
  uint32_t batch = 0;     // samples of a full batch
  bool multilabel = false;
  bool copied_rows = true;  // feature rows can be copied as they are: dense and fp32
  bool tf32 = false;        // products in tf32
};

struct DeviceLimits {
  int multiprocessors = 0;
  int shared_bytes = 0;  // most a block may ask for
  int major = 0;         // compute capability
  bool pairs = true;     // blocks may be launched in clusters of two (compute capability 9.0)
};

constexpr int kTrainThreads = 512;
constexpr int kTrainWarps = kTrainThreads / 32;

// Everything about a block's tile of rows × hidden units that is fixed when the kernel is compiled.
template <int kRows, int kWidth>
struct TrainTile {
  static constexpr int kHiddenStride = kWidth < 32 ? 32 : kWidth;  // floats of a hidden row in shared memory
  static constexpr int kForwardRows = kWidth == 64 ? 2 : 1;        // 16-row blocks of a warp's tile, forward
  static constexpr int kForwardBlocks = 2;                         // 8-column blocks of it
  static constexpr int kGradientRows = kWidth == 64 ? 2 : 1;       // likewise for the weight gradient
  static constexpr int kGradientBlocks = kWidth == 64 ? 4 : 2;
  static constexpr int kSplits =
      kTrainWarps * 256 * kForwardRows / (kRows * kWidth);  // warps that share a tile, forward
  static constexpr int kChunk = 16 * kSplits;               // features per stage of the weight ring
  static constexpr int kStages = kWidth == 64 ? 5 : 4;      // stages of the ring
  static constexpr int kScratchStride = kWidth + 8;
};

// Likewise for the kernel whose products are made by warpgroups (warpgroup_kernel.cuh). Its tiles have rows
// of 32 floats.
struct WarpgroupTile {
  static constexpr int kRows = 64, kWidth = 64;
  static constexpr int kTile = 64 * 32;  // floats of a tile of 64 rows
  static constexpr int kGroup = 4;  // tiles of weights that come together; there is room for three groups
  static constexpr int kInbox = kTile * 10;  // gradients of the other block of a pair: half of dW and dΘ
  static constexpr int kMaxFeatures = 512, kMaxClasses = 128;  // what a pair's blocks answer for
  static constexpr int kBarriers = 7;
};
// Where column `col` of a row lies in a tile; and where the k-th element of an operand lies in its row.
L2GCN_HOST_DEVICE inline int TilePlace(int row, int col) {
  return row * 32 + (((col >> 2) ^ (row & 7)) << 2) + (col & 3);
}
L2GCN_HOST_DEVICE inline int Turned(int k) { return (k & ~7) | (k >> 1 & 3) | (k & 1) << 2; }

struct TrainPlan {
  int row_groups = 1, slices = 1;
  int rows = 32;   // rows of a batch that a block takes in one pass
  int width = 16;  // hidden units per block; (rows, width) is one of the compiled tiles
  int passes = 1;  // a batch takes
  bool rows_resident =
      true;                // feature rows stay in shared memory from forward to gradient, or are read twice
  bool rows_twice = true;  // two places for feature rows, so that they load a step ahead
  bool whole_logits =
      false;                // every block sums all logits of its rows; else each a share, exchanged once more
  bool warpgroups = false;  // products by warpgroups: tf32 on compute capability 9.0
  bool cluster_all = false;  // one slice, all blocks one cluster, whose hardware barrier they use

  int features_padded = 0;  // to 8: rows of W as stored
  int classes_padded = 0;   // to 8: columns of logits in use
  int x_stride = 0;         // floats of a feature row in shared memory, to 32
  int x_next = 0;           // floats to a second place for feature rows, 0: there is one
  int c_stride = 0;         // between rows of logits and of Θ, everywhere: a power of two from 32
  int log_c_stride = 5;
  int chunks = 1;        // pieces in which W passes through the ring
  int stage_floats = 0;  // in one stage of the ring
  int share = 0;         // quads of a slice a block updates
  int label_bytes = 0;   // that a sample's labels take in shared memory
  // Offsets in floats of the regions of shared memory, and its size.
  int ring_at = 0, h_at = 0, theta_at = 0, labels_at = 0, index_at = 0, loss_at = 0, barriers_at = 0;
  size_t shared_bytes = 0;

  L2GCN_HOST_DEVICE int blocks() const { return row_groups * slices; }
  // Gradients of a slice that meet in L2.
  L2GCN_HOST_DEVICE int partials() const { return warpgroups ? row_groups / 2 : row_groups; }
  // Floats of one slice of the parameters: W's columns (features_padded × width), then Θ's rows (width ×
  // c_stride); for warpgroups both transposed, as tiles.
  L2GCN_HOST_DEVICE size_t slice_floats() const {
    return static_cast<size_t>(features_padded) * width + static_cast<size_t>(width) * c_stride;
  }
  // Where W(feature, unit) and Θ(unit, c) lie in the slice of the unit.
  int WeightAt(int feature, int unit) const {
    if (!warpgroups) return feature * width + unit;
    return feature / 32 * WarpgroupTile::kTile + TilePlace(unit, feature % 32);
  }
  int ThetaAt(int unit, int c) const {
    const int theta = features_padded * width;
    if (!warpgroups) return theta + unit * c_stride + c;
    return theta + unit / 32 * c_stride * 32 + TilePlace(c, Turned(unit % 32));
  }
};

// The layout for a given split; false if it does not fit a block's shared memory.
bool LayOut(const TrainShape& shape, const DeviceLimits& limits, TrainPlan& plan);

// Every split worth considering that fits, each with the least bytes it can be laid out in.
std::vector<TrainPlan> CandidatePlans(const TrainShape& shape, const DeviceLimits& limits);
// Microseconds a step should take.
double PredictStep(const TrainPlan& plan);
// The candidate with the least prediction; Error(kRuntime) where none fits (thousands of classes).
TrainPlan ChoosePlan(const TrainShape& shape, const DeviceLimits& limits);
// One sentence.
std::string DescribePlan(const TrainPlan& plan);

}  // namespace l2gcn::cuda
