#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace l2gcn {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 80, kRight = 170, kTop = 40, kBottom = 60;
constexpr const char* kColours[] = {"#1f4e9c", "#2a9d8f", "#8a6d3b", "#7b4ea3",
                                    "#4c6a78", "#b07c00", "#56749b"};
constexpr const char* kOurs[] = {"#c1121f", "#e76f51", "#9d0208"};

std::string Escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// Maps values of one axis to the drawing, with round ticks.
struct Axis {
  bool log = false;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  double from = 0, to = 1;

  double Scale(double value) const { return log ? std::log10(std::max(value, 1e-12)) : value; }
  void See(double value) {
    low = std::min(low, Scale(value));
    high = std::max(high, Scale(value));
  }
  void Settle() {
    if (low > high) low = 0, high = 1;
    const double margin = high > low ? 0.05 * (high - low) : std::max(0.5, std::abs(high) * 0.1);
    low -= margin;
    high += margin;
  }
  double At(double value) const { return from + (Scale(value) - low) / (high - low) * (to - from); }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (log) {
      for (double e = std::ceil(low); e <= high; ++e) ticks.push_back(std::pow(10, e));
      if (ticks.size() >= 2) return ticks;
      ticks.clear();
      for (int i = 0; i <= 4; ++i) ticks.push_back(std::pow(10, low + (high - low) * i / 4));
      return ticks;
    }
    const double raw = (high - low) / 5, unit = std::pow(10, std::floor(std::log10(raw)));
    const double step = raw / unit < 2 ? 2 * unit : raw / unit < 5 ? 5 * unit : 10 * unit;
    for (double value = std::ceil(low / step) * step; value <= high; value += step) ticks.push_back(value);
    return ticks;
  }
};

}  // namespace

std::string ChartToSvg(const Chart& chart) {
  Axis x, y;
  x.log = chart.log_x;
  y.log = chart.log_y;
  x.from = kLeft, x.to = kWidth - kRight;
  y.from = kHeight - kBottom, y.to = kTop;
  for (const ChartSeries& series : chart.series) {
    for (double value : series.x) x.See(value);
    for (double value : series.y) y.See(value);
  }
  x.Settle();
  y.Settle();
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"22\" "
      "font-size=\"15\">{}</text>\n",
      kWidth, kHeight, kLeft, Escaped(chart.title));
  for (double tick : x.Ticks()) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.3g}</text>\n",
        x.At(tick), kTop, kHeight - kBottom, kHeight - kBottom + 18, tick);
  }
  for (double tick : y.Ticks()) {
    svg += fmt::format(
        "<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.3g}</text>\n",
        y.At(tick), kLeft, kWidth - kRight, kLeft - 6, y.At(tick) + 4, tick);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 18, Escaped(chart.x_label));
  svg += fmt::format("<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     kHeight / 2, Escaped(chart.y_label));
  size_t ours = 0, others = 0;
  double legend = kTop + 10;
  for (const ChartSeries& series : chart.series) {
    const char* colour =
        series.ours ? kOurs[ours++ % std::size(kOurs)] : kColours[others++ % std::size(kColours)];
    if (series.size.empty()) {
      svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" points=\"", colour);
      for (size_t i = 0; i < series.x.size(); ++i)
        svg += fmt::format("{:.1f},{:.1f} ", x.At(series.x[i]), y.At(series.y[i]));
      svg += "\"/>\n";
    }
    for (size_t i = 0; i < series.size.size(); ++i) {
      svg += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.75\"/>\n",
          x.At(series.x[i]), y.At(series.y[i]), 3 + 9 * std::sqrt(std::max(0.0, series.size[i])), colour);
    }
    svg += fmt::format(
        "<rect x=\"{0}\" y=\"{1:.0f}\" width=\"12\" height=\"12\" fill=\"{2}\"/><text x=\"{3}\" "
        "y=\"{4:.0f}\">{5}</text>\n",
        kWidth - kRight + 12, legend - 10, colour, kWidth - kRight + 30, legend, Escaped(series.name));
    legend += 18;
  }
  return svg + "</svg>\n";
}

}  // namespace l2gcn
