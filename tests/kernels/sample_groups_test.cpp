#include "kernels/cpu/sample_groups.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

// Reddit's first layer: 602 columns, 128 hidden, 41 classes in rows of 48.
constexpr RowCosts kWide{602, 128, 128, 48};

TEST(SampleGroups, PiecesCoverTheGradientInOrder) {
  for (size_t batch : {64u, 512u, 513u, 1024u, 4096u, 5000u, 20000u, 65536u}) {
    const SampleGroups groups(batch, kWide);
    ASSERT_EQ(groups.rows() % kPanelRows, 0u) << batch;
    EXPECT_LE(groups.Count(batch), kMostUnits) << batch;
    EXPECT_LE(groups.tasks(), kMostInUnit) << batch;
    EXPECT_EQ(groups.AllRows().end, kWide.rows());
    size_t row = 0;
    for (size_t piece = 0; piece < groups.pieces(); ++piece) {
      EXPECT_EQ(groups.Piece(piece).begin, row) << batch;
      EXPECT_GT(groups.Piece(piece).end, row) << batch;
      row = groups.Piece(piece).end;
    }
    EXPECT_EQ(row, groups.pieces() > 0 ? kWide.rows() : 0) << batch;
  }
}

TEST(SampleGroups, SmallBatchesAndNarrowLayersHaveFewTasks) {
  EXPECT_EQ(SampleGroups(512, kWide).rows(), kPanelRows);
  EXPECT_EQ(SampleGroups(512, kWide).tasks(), 1u);
  EXPECT_EQ(SampleGroups(1024, kWide).rows(), 2 * kPanelRows);
  EXPECT_EQ(SampleGroups(1024, kWide).pieces(), 10u);
  EXPECT_EQ(SampleGroups(1024, {128, 128, 128, 48}).tasks(), 1u);
  EXPECT_EQ(SampleGroups(1024, {256, 128, 128, 48}).pieces(), 5u);
  EXPECT_EQ(SampleGroups(1 << 20, kWide).tasks(), 1u);  // more panels than a unit has tasks
}

}  // namespace
}  // namespace l2gcn
