// Theorems 5 and 6 as a figure: the share of graphs told apart, by depth.
#pragma once

#include "report/capacity/capacity.h"
#include "report/figure/chart.h"

namespace l2gcn {

Chart CapacityChart(const CapacityResult& result);

}  // namespace l2gcn
