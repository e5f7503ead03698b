// Parts of ValidateDataset (l2gcn/dataset.h), and checks that apply to stored data sets alone.
#pragma once

#include "l2gcn/dataset.h"

namespace l2gcn {

// More classes than any data set has; what is kept for each of them fits into memory.
inline constexpr uint32_t kMostClasses = 1 << 20;

// The largest magnitude that a feature may have, 2⁶⁴: the square of a larger one overflows float32.
inline constexpr float kLargestFeature = 18446744073709551616.0f;

// Names, labels and splits alone: all that drawing a split reads.
void ValidateLabels(const Context& context, const Dataset& dataset);

// Whether the counts that a native directory's manifest has are those of the graph; an undirected graph holds every edge
// in both directions. The graph must be valid.
void CheckStoredCounts(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
