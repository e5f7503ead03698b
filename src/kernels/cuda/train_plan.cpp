#include "kernels/cuda/train_plan.h"

#include <algorithm>
#include <utility>

#include "core/error_format.h"

namespace l2gcn::cuda {
namespace {

// Measured on an H200 (docs/performance.md); they only rank plans.
constexpr double kStepOverhead = 2.0;  // latency of the chain of products and loads, µs
constexpr double kGridBarrier = 1.0, kClusterBarrier = 0.4;  // µs
constexpr double kBlockBytesPerMicrosecond = 60e3;           // through one multiprocessor
constexpr double kCacheBytesPerMicrosecond = 4.5e6;          // through L2
constexpr double kBlockFlopsPerMicrosecond = 1.2e6;          // tf32, one multiprocessor, small tiles
constexpr double kWarpgroupFlopsPerMicrosecond = 2.4e6;      // likewise, by warpgroups
constexpr double kPairing = 1.0;                             // barriers and exchange of a pair of blocks, µs

constexpr int kLargestCluster = 16;
constexpr int kFactorFloats = 14;       // Adam's powers and factors
constexpr size_t kWholeLogits = 16384;  // floats a block may read to sum its rows' logits by itself

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }

template <int kRows, int kWidth>
bool LayOutTile(const TrainShape& shape, const DeviceLimits& limits, TrainPlan& plan) {
  using Tile = TrainTile<kRows, kWidth>;
  plan.features_padded = RoundUp(static_cast<int>(shape.features), 8);
  plan.classes_padded = RoundUp(static_cast<int>(shape.classes), 8);
  plan.x_stride = RoundUp(plan.features_padded, 32);
  plan.c_stride = 32;
  for (plan.log_c_stride = 5; plan.c_stride < plan.classes_padded; ++plan.log_c_stride) plan.c_stride *= 2;
  plan.label_bytes = shape.multilabel ? RoundUp(static_cast<int>(shape.classes), 16) : 4;
  plan.chunks = (plan.features_padded + Tile::kChunk - 1) / Tile::kChunk;
  plan.share = (static_cast<int>(plan.slice_floats() / 4) + plan.row_groups - 1) / plan.row_groups;
  plan.stage_floats = Tile::kChunk * kWidth + (plan.rows_resident ? 0 : kRows * Tile::kChunk);
  const int ring = std::max({std::min(Tile::kStages, plan.chunks) * plan.stage_floats,
                             Tile::kSplits * kRows * Tile::kScratchStride, kRows * plan.c_stride});
  plan.x_next = plan.rows_resident && plan.rows_twice ? kRows * plan.x_stride : 0;
  plan.ring_at = plan.x_next + (plan.rows_resident ? kRows * plan.x_stride : 0);
  plan.h_at = plan.ring_at + RoundUp(ring, 32);
  plan.theta_at = plan.h_at + kRows * Tile::kHiddenStride;
  plan.labels_at = plan.theta_at + kWidth * plan.c_stride;
  plan.index_at = plan.labels_at + kRows * plan.label_bytes / 4;
  plan.loss_at = RoundUp(plan.index_at + 3 * kRows, 4);
  plan.shared_bytes = sizeof(float) * static_cast<size_t>(plan.loss_at + kTrainWarps + kFactorFloats);
  return plan.shared_bytes <= static_cast<size_t>(limits.shared_bytes);
}

bool LayOutWarpgroups(const TrainShape& shape, const DeviceLimits& limits, TrainPlan& plan) {
  using Tile = WarpgroupTile;
  plan.features_padded = RoundUp(static_cast<int>(shape.features), 32);
  plan.classes_padded = RoundUp(static_cast<int>(shape.classes), 8);
  plan.x_stride = plan.features_padded;
  plan.c_stride = 32;
  for (plan.log_c_stride = 5; plan.c_stride < plan.classes_padded; ++plan.log_c_stride) plan.c_stride *= 2;
  plan.label_bytes = shape.multilabel ? RoundUp(static_cast<int>(shape.classes), 16) : 4;
  plan.chunks = plan.features_padded / 32;
  plan.share = (static_cast<int>(plan.slice_floats() / 4) + plan.row_groups - 1) / plan.row_groups;
  plan.stage_floats = Tile::kTile;
  plan.x_next = 0;
  plan.ring_at = Tile::kRows * plan.x_stride;
  const int theta = Tile::kWidth * plan.c_stride;
  plan.theta_at = plan.ring_at + std::max(Tile::kRows * plan.c_stride, Tile::kInbox - theta);
  plan.h_at = plan.theta_at + theta;
  plan.labels_at = plan.h_at + Tile::kRows * Tile::kWidth;
  const int label_rows = shape.multilabel ? (Tile::kRows + plan.slices - 1) / plan.slices : Tile::kRows;
  plan.index_at = plan.labels_at + label_rows * plan.label_bytes / 4;
  plan.loss_at = plan.index_at + 2 * Tile::kRows;
  plan.barriers_at = plan.loss_at + RoundUp(kTrainWarps + kFactorFloats, 2);
  plan.shared_bytes = sizeof(float) * static_cast<size_t>(plan.barriers_at + 2 * Tile::kBarriers);
  return plan.features_padded <= Tile::kMaxFeatures && plan.c_stride <= Tile::kMaxClasses &&
         plan.shared_bytes <= static_cast<size_t>(limits.shared_bytes);
}

}  // namespace

bool LayOut(const TrainShape& shape, const DeviceLimits& limits, TrainPlan& plan) {
  if (plan.warpgroups) return LayOutWarpgroups(shape, limits, plan);
  if (plan.width == 64) return LayOutTile<64, 64>(shape, limits, plan);
  return plan.width == 32 ? LayOutTile<32, 32>(shape, limits, plan) : LayOutTile<32, 16>(shape, limits, plan);
}

namespace {

// Splits the batch over row groups of plan.rows each, as far as there are multiprocessors for all slices.
void SplitRows(const TrainShape& shape, const DeviceLimits& limits, TrainPlan& plan) {
  const int batch = static_cast<int>(shape.batch), groups = (batch + plan.rows - 1) / plan.rows;
  plan.row_groups = std::min(groups, limits.multiprocessors / plan.slices);
  if (plan.warpgroups)
    plan.row_groups = std::min(RoundUp(groups, 2), limits.multiprocessors / plan.slices & ~1);
  plan.passes = (batch + plan.rows * plan.row_groups - 1) / std::max(1, plan.rows * plan.row_groups);
}

void AddWarpgroupPlan(const TrainShape& shape, const DeviceLimits& limits, std::vector<TrainPlan>& plans) {
  TrainPlan plan;
  plan.warpgroups = true;
  plan.rows = WarpgroupTile::kRows;
  plan.width = WarpgroupTile::kWidth;
  plan.rows_twice = false;
  plan.slices = (static_cast<int>(shape.hidden) + plan.width - 1) / plan.width;
  if (limits.major != 9 || !limits.pairs || !shape.tf32 || !shape.copied_rows || plan.slices < 2 ||
      2 * plan.slices > limits.multiprocessors) {
    return;
  }
  SplitRows(shape, limits, plan);
  if (LayOut(shape, limits, plan)) plans.push_back(plan);
}

}  // namespace

std::vector<TrainPlan> CandidatePlans(const TrainShape& shape, const DeviceLimits& limits) {
  std::vector<TrainPlan> plans;
  for (const auto& [rows, width] : {std::pair{32, 16}, {32, 32}, {64, 64}}) {
    const int slices = (static_cast<int>(shape.hidden) + width - 1) / width;
    const bool wasteful = width / 2 >= static_cast<int>(shape.hidden);
    if (slices > limits.multiprocessors || (wasteful && !plans.empty())) continue;
    TrainPlan plan;
    plan.rows = rows;
    plan.width = width;
    plan.slices = slices;
    SplitRows(shape, limits, plan);
    plan.cluster_all = limits.major >= 9 && slices == 1 && plan.row_groups <= kLargestCluster;
    plan.whole_logits =
        static_cast<size_t>(slices) * static_cast<size_t>(rows) * shape.classes <= kWholeLogits;
    // Feature rows resident twice, else once, else streamed.
    for (int residence = shape.copied_rows ? 2 : 1; residence >= 0; --residence) {
      plan.rows_twice = residence == 2;
      plan.rows_resident = residence > 0;
      if (LayOut(shape, limits, plan)) {
        plans.push_back(plan);
        break;
      }
    }
  }
  AddWarpgroupPlan(shape, limits, plans);
  return plans;
}

double PredictStep(const TrainPlan& plan) {
  const double rows = plan.rows, width = plan.width, d = plan.features_padded, c = plan.classes_padded;
  const double parameters = static_cast<double>(plan.slice_floats());
  const double gradients = plan.warpgroups ? parameters / 2 : parameters;  // added in pairs, weights shared
  const double flops = 2 * rows * (2 * d * width + 3 * width * c);
  const double pass_bytes =
      4 * (rows * d * (plan.rows_resident ? 1 : 2) + gradients + (plan.slices > 1 ? 3 * rows * c : 0));
  const double update_bytes = 4 * 2 * gradients;
  const double bytes = plan.passes * pass_bytes + update_bytes;
  const double blocks = plan.blocks();
  const double moving =
      std::max(bytes / kBlockBytesPerMicrosecond, blocks * bytes / kCacheBytesPerMicrosecond);
  const double meeting = (plan.cluster_all ? 2 * kClusterBarrier : 2 * kGridBarrier) +
                         (plan.slices > 1 ? (plan.whole_logits ? 1 : 2) * plan.passes * kGridBarrier : 0);
  const double rate = plan.warpgroups ? kWarpgroupFlopsPerMicrosecond : kBlockFlopsPerMicrosecond;
  const double pairing = plan.warpgroups ? plan.passes * kPairing : 0;
  return kStepOverhead + meeting + moving + pairing + plan.passes * flops / rate;
}

TrainPlan ChoosePlan(const TrainShape& shape, const DeviceLimits& limits) {
  const std::vector<TrainPlan> plans = CandidatePlans(shape, limits);
  if (plans.empty()) {
    ThrowRuntime(
        "no layout of {} × {} × {} fits this device's shared memory ({} KiB a block); use --device cpu",
        shape.features, shape.hidden, shape.classes, limits.shared_bytes >> 10);
  }
  return *std::min_element(plans.begin(), plans.end(), [&](const TrainPlan& a, const TrainPlan& b) {
    return PredictStep(a) < PredictStep(b);
  });
}

std::string DescribePlan(const TrainPlan& plan) {
  return fmt::format("persistent kernel, {} row groups × {} slices, {} rows × {} hidden units a block{}{}",
                     plan.row_groups, plan.slices, plan.rows, plan.width,
                     plan.warpgroups      ? ", warpgroups in pairs"
                     : plan.rows_resident ? ""
                                          : ", feature rows streamed",
                     plan.passes > 1 ? fmt::format(", {} passes a batch", plan.passes) : "");
}

}  // namespace l2gcn::cuda
