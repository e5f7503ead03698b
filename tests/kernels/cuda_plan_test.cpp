// Layouts of the training kernel, which need no GPU to be checked.
#include <gtest/gtest.h>

#include "kernels/cuda/train_plan.h"

namespace l2gcn::cuda {
namespace {

constexpr DeviceLimits kHopper{132, 232448, 9}, kAmpere{108, 166912, 8}, kSmall{46, 101376, 8};

std::vector<TrainShape> Shapes() {
  return {{1433, 16, 7, 256, false},
          {500, 16, 3, 1024, false},
          {50, 512, 121, 1024, true},
          {512, 512, 121, 1024, true},
          {602, 128, 41, 1024, false},
          {100, 128, 38, 1024, false},
          {4714, 128, 4, 1024, false},
          {5, 7, 2, 1, false},
          {8, 700, 120, 64, true},
          {100, 128, 38, 100000, false},
          {512, 512, 121, 1024, true, true, true},
          {50, 512, 121, 1024, true, true, true},
          {200, 300, 41, 100, false, true, true}};
}

TEST(TrainPlan, EveryShapeHasAPlanThatCoversIt) {
  for (const DeviceLimits& limits : {kHopper, kAmpere, kSmall}) {
    for (const TrainShape& shape : Shapes()) {
      const TrainPlan plan = ChoosePlan(shape, limits);
      EXPECT_LE(plan.blocks(), limits.multiprocessors);
      EXPECT_LE(plan.shared_bytes, static_cast<size_t>(limits.shared_bytes));
      EXPECT_GE(plan.slices * plan.width, static_cast<int>(shape.hidden));
      EXPECT_GE(plan.passes * plan.row_groups * plan.rows, static_cast<int>(shape.batch));
      EXPECT_GE(plan.features_padded, static_cast<int>(shape.features));
      EXPECT_EQ(1 << plan.log_c_stride, plan.c_stride);
      EXPECT_GE(plan.c_stride, plan.classes_padded);
      EXPECT_GE(plan.share * plan.row_groups * 4, static_cast<int>(plan.slice_floats()));
      EXPECT_EQ(plan.ring_at % 32, 0);
      EXPECT_EQ(plan.h_at % 32, 0);
      EXPECT_EQ(plan.theta_at % 32, 0);
      EXPECT_EQ(plan.labels_at % 4, 0);
      if (limits.major < 9) {
        EXPECT_FALSE(plan.cluster_all);
      }
    }
  }
}

TEST(TrainPlan, RegionsOfSharedMemoryDoNotOverlap) {
  for (const TrainShape& shape : Shapes()) {
    for (const TrainPlan& plan : CandidatePlans(shape, kHopper)) {
      if (plan.warpgroups) continue;
      const int rows_end = plan.x_next + (plan.rows_resident ? plan.rows * plan.x_stride : 0);
      EXPECT_LE(rows_end, plan.ring_at);
      EXPECT_LE(plan.ring_at + std::min(4, plan.chunks) * plan.stage_floats, plan.h_at);
      EXPECT_LE(plan.ring_at + plan.rows * plan.c_stride, plan.h_at);
      EXPECT_LE(plan.h_at + plan.rows * std::max(32, plan.width), plan.theta_at);
      EXPECT_LE(plan.theta_at + plan.width * plan.c_stride, plan.labels_at);
      EXPECT_LE(plan.labels_at * 4 + plan.rows * plan.label_bytes, plan.index_at * 4);
      EXPECT_LE(plan.index_at + 3 * plan.rows, plan.loss_at);
    }
  }
}

// The inbox of a pair reaches from the ring into Θ; the ring's third group of weights into Θ and H.
TEST(TrainPlan, RegionsForWarpgroupsDoNotOverlap) {
  using Tile = WarpgroupTile;
  int seen = 0;
  for (const TrainShape& shape : Shapes()) {
    for (const TrainPlan& plan : CandidatePlans(shape, kHopper)) {
      if (!plan.warpgroups) continue;
      ++seen;
      EXPECT_EQ(plan.row_groups % 2, 0);
      EXPECT_LE(plan.rows * plan.features_padded, plan.ring_at);
      EXPECT_LE(plan.ring_at + plan.rows * plan.c_stride, plan.theta_at);
      EXPECT_LE(Tile::kGroup * Tile::kTile, plan.theta_at - plan.ring_at);
      EXPECT_LE(plan.ring_at + Tile::kInbox, plan.h_at);
      EXPECT_LE(plan.theta_at + plan.width * plan.c_stride, plan.h_at);
      EXPECT_LE(plan.ring_at + 3 * Tile::kGroup * Tile::kTile, plan.labels_at);
      EXPECT_LE(plan.h_at + plan.rows * plan.width, plan.labels_at);
      EXPECT_LE(plan.index_at + 2 * plan.rows, plan.loss_at);
      for (int at : {plan.ring_at, plan.theta_at, plan.h_at}) EXPECT_EQ(at % 256, 0);
      EXPECT_EQ(plan.barriers_at % 2, 0);
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST(TrainPlan, WideLayersTakeWarpgroupsOnHopperAlone) {
  const TrainShape wide{512, 512, 121, 1024, true, true, true};
  EXPECT_TRUE(ChoosePlan(wide, kHopper).warpgroups);
  EXPECT_FALSE(ChoosePlan(wide, kAmpere).warpgroups);
  DeviceLimits alone = kHopper;
  alone.pairs = false;
  EXPECT_FALSE(ChoosePlan(wide, alone).warpgroups);
  TrainShape fp32 = wide;
  fp32.tf32 = false;
  EXPECT_FALSE(ChoosePlan(fp32, kHopper).warpgroups);
}

// Every parameter of a slice has a place of its own.
TEST(TrainPlan, PlacesOfASliceAreDistinct) {
  for (const TrainShape& shape : Shapes()) {
    for (const TrainPlan& plan : CandidatePlans(shape, kHopper)) {
      std::vector<bool> taken(plan.slice_floats(), false);
      const auto take = [&](int at) {
        ASSERT_LT(static_cast<size_t>(at), taken.size());
        EXPECT_FALSE(taken[static_cast<size_t>(at)]);
        taken[static_cast<size_t>(at)] = true;
      };
      for (int unit = 0; unit < plan.width; ++unit) {
        for (int f = 0; f < static_cast<int>(shape.features); ++f) take(plan.WeightAt(f, unit));
        for (int c = 0; c < static_cast<int>(shape.classes); ++c) take(plan.ThetaAt(unit, c));
      }
    }
  }
}

}  // namespace
}  // namespace l2gcn::cuda
