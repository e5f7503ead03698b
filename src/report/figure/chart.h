// Charts over linear or logarithmic axes: lines, points and bars of error, with a legend or names beside the
// points. Ticks are round numbers; a logarithmic axis says that it is one.
#pragma once

#include <string>
#include <vector>

#include "report/figure/drawing.h"

namespace l2gcn {

enum class SeriesStyle { kLine, kDashedLine, kLineAndPoints, kPoints, kHollowPoints };

struct ChartSeries {
  std::string name;
  std::vector<double> x, y;
  SeriesStyle style = SeriesStyle::kLine;
  int colour = -1;                  // −1: the next one
  std::vector<double> error;        // half the length of a bar at each point, or empty
  std::vector<std::string> labels;  // beside each point, or empty
  bool in_legend = true;
};

struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<ChartSeries> series;
  bool whole_x = false;  // x counts things: ticks are whole numbers
  double width = 720, height = 440;
};

// Round numbers 1, 2 or 5 · 10ᵏ apart inside low … high, about `count` of them.
std::vector<double> LinearTicks(double low, double high, int count = 5);
// Powers of ten, or 1, 2 and 5 times those where there are few; round numbers where the range is narrow.
std::vector<double> LogTicks(double low, double high);
// Decimals that write a round number exactly, and the number as text; never "-0".
int DecimalsOf(double value);
std::string TickText(double value, int decimals);

Drawing DrawChart(const Chart& chart);
std::string ChartToSvg(const Chart& chart);
// For a page, with what its script needs to show values and to zoom.
std::string ChartToPageSvg(const Chart& chart);

}  // namespace l2gcn
