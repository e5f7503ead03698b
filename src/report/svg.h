// Plain SVG charts: lines or markers over linear or logarithmic axes, with a legend. Self-contained text.
#pragma once

#include <string>
#include <vector>

namespace l2gcn {

struct ChartSeries {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> size;  // marker areas relative to each other; empty: a line
  bool ours = false;         // drawn in the paper's red
};

struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<ChartSeries> series;
};

std::string ChartToSvg(const Chart& chart);

}  // namespace l2gcn
