#include "kernels/cpu/row_cuts.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

TEST(RowCuts, PiecesCoverAllRowsInOrderAndEveryShareHasAsMany) {
  for (const RowCosts& costs :
       {RowCosts{602, 128, 128, 48}, RowCosts{500, 16, 16, 16}, RowCosts{16, 16, 16, 16},
        RowCosts{0, 16, 16, 16}, RowCosts{6, 256, 256, 16}, RowCosts{5000000, 16, 16, 16}}) {
    for (size_t workers : {1u, 2u, 3u, 7u, 16u, 64u}) {
      const std::vector<size_t> ends = CutRows(costs, workers);
      ASSERT_FALSE(ends.empty());
      EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
      EXPECT_EQ(ends.back(), costs.rows());
      EXPECT_LT(ends.size(), 0xFFFFu);
      const size_t shares = std::min(workers, std::max<size_t>(1, costs.rows() / 8));
      EXPECT_EQ(ends.size() % shares, 0u);
    }
  }
}

TEST(RowCuts, SharesCostTheSame) {
  const RowCosts costs{602, 128, 128, 48};
  const std::vector<size_t> ends = CutRows(costs, 16);
  const auto cost_before = [](size_t row) { return row <= 602 ? row * 128 : 602 * 128 + (row - 602) * 48; };
  const size_t pieces = ends.size() / 16;
  size_t before = 0;
  for (size_t share = 1; share <= 16; ++share) {
    const size_t here = cost_before(ends[share * pieces - 1]);
    EXPECT_NEAR(static_cast<double>(here - before), (602 * 128 + 128 * 48) / 16.0, 2 * 128);
    before = here;
  }
}

}  // namespace
}  // namespace l2gcn
