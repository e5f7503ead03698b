#include "report/figure/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace l2gcn {
namespace {

constexpr double kLeft = 76, kTop = 44, kBottom = 58, kRightNoLegend = 24;
constexpr double kLetter = 12, kLegendRow = 18;

// Maps values of one axis to the drawing.
struct ChartAxis {
  bool log = false;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  double from = 0, to = 1;

  bool Shows(double value) const { return std::isfinite(value) && (!log || value > 0); }
  double Scale(double value) const { return log ? std::log10(value) : value; }
  void See(double value) {
    if (!Shows(value)) return;
    low = std::min(low, Scale(value));
    high = std::max(high, Scale(value));
  }
  void Settle() {
    if (low > high) low = 0, high = 1;
    const double margin = high > low ? 0.05 * (high - low) : log ? 0.2 : std::max(0.5, std::abs(high) * 0.1);
    // A margin below zero would suggest values that cannot be.
    low = !log && low >= 0 ? std::max(0.0, low - margin) : low - margin;
    high += margin;
  }
  double At(double value) const { return from + (Scale(value) - low) / (high - low) * (to - from); }
  std::vector<double> Ticks(bool whole) const {
    if (log) return LogTicks(std::pow(10, low), std::pow(10, high));
    std::vector<double> ticks = LinearTicks(low, high);
    if (whole) std::erase_if(ticks, [](double tick) { return std::abs(tick - std::round(tick)) > 1e-9; });
    return ticks;
  }
};

struct Box {
  double x, y, w, h;
  bool Meets(const Box& o) const { return x < o.x + o.w && o.x < x + w && y < o.y + o.h && o.y < y + h; }
};

bool HasPointsAlone(const ChartSeries& series) {
  return series.style == SeriesStyle::kPoints || series.style == SeriesStyle::kHollowPoints;
}

class ChartDrawer {
 public:
  explicit ChartDrawer(const Chart& chart) : chart_(chart) {
    drawing_.width = chart.width;
    drawing_.height = chart.height;
    Measure();
  }

  Drawing Draw() {
    Frame();
    for (size_t s = 0; s < chart_.series.size(); ++s) Series(s);
    for (size_t s = 0; s < chart_.series.size(); ++s) Labels(s);
    Legend();
    Describe();
    return std::move(drawing_);
  }

  // What a script needs: the plot's edges, the axes' ranges and the values.
  nlohmann::ordered_json Data() const {
    nlohmann::ordered_json json = {{"box", {x_.from, y_.to, x_.to, y_.from}},
                                   {"x", {x_.low, x_.high}},
                                   {"y", {y_.low, y_.high}},
                                   {"log", {x_.log, y_.log}},
                                   {"whole", chart_.whole_x},
                                   {"labels", {chart_.x_label, chart_.y_label}}};
    json["series"] = nlohmann::ordered_json::array();
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      const ChartSeries& series = chart_.series[s];
      json["series"].push_back({{"name", ShownText(series.name)},
                                {"c", ColourOf(s)},
                                {"line", !HasPointsAlone(series)},
                                {"x", Short(series.x)},
                                {"y", Short(series.y)}});
    }
    return json;
  }

 private:
  // Six significant digits are more than a reader of a chart sees, and keep pages small.
  static nlohmann::ordered_json Short(const std::vector<double>& values) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const double value : values) {
      if (!std::isfinite(value)) {
        list.push_back(nullptr);
      } else {
        list.push_back(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
      }
    }
    return list;
  }

  uint32_t ColourOf(size_t series) const {
    const int chosen = chart_.series[series].colour;
    return chosen >= 0 ? static_cast<uint32_t>(chosen) : static_cast<uint32_t>(series);
  }

  void Measure() {
    double legend = 0;
    size_t named = 0;
    for (const ChartSeries& series : chart_.series) {
      if (!series.in_legend || series.name.empty()) continue;
      ++named;
      legend = std::max(legend, TextWidth(series.name, kLetter) + 40);
    }
    legend_ = named > 1;
    x_.log = chart_.log_x, y_.log = chart_.log_y;
    Fit(x_, chart_, true);
    Fit(y_, chart_, false);
    x_.from = kLeft, x_.to = chart_.width - (legend_ ? std::min(legend, 240.0) + 10 : kRightNoLegend);
    y_.from = chart_.height - kBottom, y_.to = kTop;
  }

  static void Fit(ChartAxis& axis, const Chart& chart, bool is_x) {
    for (const ChartSeries& series : chart.series) {
      const std::vector<double>& values = is_x ? series.x : series.y;
      for (size_t i = 0; i < values.size(); ++i) {
        const double error = !is_x && i < series.error.size() ? series.error[i] : 0;
        axis.See(values[i] - error);
        axis.See(values[i] + error);
      }
    }
    axis.Settle();
  }

  void Frame() {
    drawing_.Text(kLeft, 24, chart_.title, -1, Ink::kText, 15).bold = true;
    const std::vector<double> xs = x_.Ticks(chart_.whole_x), ys = y_.Ticks(false);
    for (const double tick : xs) {
      const double at = x_.At(tick);
      drawing_.Line(at, y_.to, at, y_.from, Ink::kGrid).on_axis = true;
      drawing_.Text(at, y_.from + 18, TextOf(tick, xs, x_), 0, Ink::kMuted).on_axis = true;
    }
    for (const double tick : ys) {
      const double at = y_.At(tick);
      drawing_.Line(x_.from, at, x_.to, at, Ink::kGrid);
      drawing_.Text(x_.from - 8, at + 4, TextOf(tick, ys, y_), 1, Ink::kMuted);
    }
    drawing_.Line(x_.from, y_.from, x_.to, y_.from, Ink::kMuted);
    drawing_.Line(x_.from, y_.from, x_.from, y_.to, Ink::kMuted);
    drawing_.Text((x_.from + x_.to) / 2, chart_.height - 16, AxisName(chart_.x_label, chart_.log_x), 0);
    drawing_.Text(18, (y_.from + y_.to) / 2, AxisName(chart_.y_label, chart_.log_y), 0).upright = true;
  }

  static std::string AxisName(const std::string& label, bool log) {
    return log ? label + " (log scale)" : label;
  }
  // Ticks of a linear axis have equally many decimals, those of a logarithmic one as many as each needs.
  static std::string TextOf(double tick, const std::vector<double>& ticks, const ChartAxis& axis) {
    int decimals = DecimalsOf(tick);
    for (const double other : ticks) decimals = axis.log ? decimals : std::max(decimals, DecimalsOf(other));
    return TickText(tick, decimals);
  }

  bool Shows(const ChartSeries& series, size_t i) const {
    return x_.Shows(series.x[i]) && y_.Shows(series.y[i]);
  }

  void Series(size_t s) {
    const ChartSeries& series = chart_.series[s];
    const uint32_t colour = ColourOf(s);
    const bool points = HasPointsAlone(series);
    if (!points) {
      DrawnItem& path = drawing_.items.emplace_back();
      path.kind = DrawnItem::Kind::kPath;
      path.ink = Ink::kSeries, path.series = colour, path.size = 1.8;
      path.dashed = series.style == SeriesStyle::kDashedLine;
      for (size_t i = 0; i < series.x.size(); ++i) {
        if (!Shows(series, i)) continue;
        path.xs.push_back(x_.At(series.x[i]));
        path.ys.push_back(y_.At(series.y[i]));
      }
    }
    for (size_t i = 0; i < series.error.size(); ++i) ErrorBar(series, i, colour);
    if (!points && series.style != SeriesStyle::kLineAndPoints) return;
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!Shows(series, i)) continue;
      DrawnItem& mark = Point(x_.At(series.x[i]), y_.At(series.y[i]), series.style, colour);
      mark.index = static_cast<int64_t>(i), mark.of = static_cast<int64_t>(s);
    }
  }

  DrawnItem& Point(double x, double y, SeriesStyle style, uint32_t colour) {
    DrawnItem& mark = drawing_.items.emplace_back();
    mark.kind = DrawnItem::Kind::kMark;
    mark.ink = Ink::kSeries, mark.series = colour;
    mark.mark = style == SeriesStyle::kHollowPoints ? Mark::kRing : Mark::kDisc;
    mark.x = x, mark.y = y;
    // A ring goes around a disc at the same place.
    mark.size = style == SeriesStyle::kLineAndPoints ? 3.2 : style == SeriesStyle::kHollowPoints ? 6.6 : 4.4;
    taken_.push_back({x - 6, y - 6, 12, 12});
    return mark;
  }

  void ErrorBar(const ChartSeries& series, size_t i, uint32_t colour) {
    if (!Shows(series, i) || !(series.error[i] > 0) || !y_.Shows(series.y[i] - series.error[i])) return;
    const double x = x_.At(series.x[i]);
    DrawnItem& bar = drawing_.Line(x, y_.At(series.y[i] - series.error[i]), x,
                                   y_.At(series.y[i] + series.error[i]), Ink::kSeries, 1.4);
    bar.series = colour;
  }

  // Names stand to the right of their point, or where they meet nothing.
  void Labels(size_t s) {
    const ChartSeries& series = chart_.series[s];
    const uint32_t colour = ColourOf(s);
    for (size_t i = 0; i < series.labels.size(); ++i) {
      if (!Shows(series, i)) continue;
      const double x = x_.At(series.x[i]), y = y_.At(series.y[i]), w = TextWidth(series.labels[i], 11);
      const Box places[] = {{x + 9, y - 6, w, 12},      {x - 9 - w, y - 6, w, 12}, {x - w / 2, y - 21, w, 12},
                            {x - w / 2, y + 10, w, 12}, {x + 9, y - 19, w, 12},    {x + 9, y + 8, w, 12},
                            {x - 9 - w, y - 19, w, 12}, {x - 9 - w, y + 8, w, 12}};
      const Box* chosen = &places[0];
      for (const Box& place : places) {
        const bool inside = place.x > x_.from && place.x + w < drawing_.width - 4 && place.y > y_.to - 8;
        const bool free =
            std::none_of(taken_.begin(), taken_.end(), [&](const Box& b) { return b.Meets(place); });
        if (inside && free) {
          chosen = &place;
          break;
        }
      }
      taken_.push_back(*chosen);
      DrawnItem& text = drawing_.Text(chosen->x, chosen->y + 10, series.labels[i], -1, Ink::kSeries, 11);
      text.series = colour, text.index = static_cast<int64_t>(i);
    }
  }

  void Legend() {
    if (!legend_) return;
    double y = kTop + 8;
    for (size_t s = 0; s < chart_.series.size(); ++s) {
      const ChartSeries& series = chart_.series[s];
      if (!series.in_legend || series.name.empty()) continue;
      const double x = x_.to + 16;
      if (HasPointsAlone(series)) {
        Point(x + 8, y, series.style, ColourOf(s));
      } else {
        DrawnItem& line = drawing_.Line(x, y, x + 16, y, Ink::kSeries, 2);
        line.series = ColourOf(s);
        line.dashed = series.style == SeriesStyle::kDashedLine;
        if (series.style == SeriesStyle::kLineAndPoints) Point(x + 8, y, series.style, ColourOf(s));
      }
      drawing_.Text(x + 22, y + 4, series.name);
      y += kLegendRow;
    }
  }

  void Describe() {
    std::string text = fmt::format("{}: {} against {}.", chart_.title, AxisName(chart_.y_label, chart_.log_y),
                                   AxisName(chart_.x_label, chart_.log_x));
    for (const ChartSeries& series : chart_.series) {
      if (series.y.empty()) continue;
      text += fmt::format(" {}: {} points, last {:.4g}.", series.name, series.y.size(), series.y.back());
    }
    drawing_.description = text;
  }

  const Chart& chart_;
  Drawing drawing_;
  ChartAxis x_, y_;
  bool legend_ = false;
  std::vector<Box> taken_;
};

}  // namespace

std::vector<double> LinearTicks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low)) return {low};
  const double raw = (high - low) / count, unit = std::pow(10, std::floor(std::log10(raw)));
  const double share = raw / unit;
  const double step = share <= 1 ? unit : share <= 2 ? 2 * unit : share <= 5 ? 5 * unit : 10 * unit;
  if (std::abs(low / step) > 1e15 || std::abs(high / step) > 1e15)
    return {low};  // counting would stand still
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::vector<double> LogTicks(double low, double high) {
  if (!(low > 0) || !std::isfinite(high / low)) return {};  // beyond what a double holds
  const double decades = std::log10(high / low);
  std::vector<double> ticks;
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  const double every = std::max(1.0, std::ceil(decades / 7));
  for (double e = first; e <= last; e += decades > 3 ? every : 1) {
    for (const double times : {1.0, 2.0, 5.0}) {
      if (decades > 3 && times > 1) break;
      const double value = times * std::pow(10, e);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back(value);
    }
  }
  return ticks.size() >= 3 ? ticks : LinearTicks(low, high);
}

int DecimalsOf(double value) {
  int decimals = 0;
  for (double power = 1; decimals < 9; ++decimals, power *= 10) {
    if (std::abs(value - std::round(value * power) / power) <= 1e-6 * std::abs(value)) break;
  }
  return decimals;
}

std::string TickText(double value, int decimals) {
  if (std::abs(value) < 1e-12) value = 0;  // also of −0
  if (std::abs(value) >= 1e7 || (std::abs(value) < 1e-5 && value != 0)) return fmt::format("{:g}", value);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const size_t first = text[0] == '-' ? 1 : 0;
  const size_t point = std::min(text.find('.'), text.size());
  if (point - first <= 4) return text;
  for (size_t i = point; i > first + 3; text.insert(i, ",")) i -= 3;
  return text;
}

Drawing DrawChart(const Chart& chart) { return ChartDrawer(chart).Draw(); }
std::string ChartToSvg(const Chart& chart) { return DrawingToSvg(DrawChart(chart)); }

std::string ChartToPageSvg(const Chart& chart) {
  ChartDrawer drawer(chart);
  const std::string data =
      drawer.Data().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return DrawingToPageSvg(drawer.Draw(), fmt::format("class=\"chart\" data-chart=\"{}\"", EscapedText(data)));
}

}  // namespace l2gcn
