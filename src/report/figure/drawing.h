// A drawing as a list of lines, marks and texts, written as SVG: for print, or for a page that is light or
// dark. The origin is the upper left corner; lengths are points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l2gcn {

// Colours by meaning: in print they are fixed, on a page the style sheet decides.
enum class Ink : uint8_t { kText, kMuted, kGrid, kSeries };

enum class Mark : uint8_t { kDisc, kRing, kDiamond };

struct DrawnItem {
  enum class Kind : uint8_t { kLine, kPath, kMark, kText } kind = Kind::kLine;
  Ink ink = Ink::kText;
  uint32_t series = 0;    // of Ink::kSeries: which colour
  double x = 0, y = 0;    // mark, text, first end of a line
  double x2 = 0, y2 = 0;  // second end of a line
  double size = 1;        // stroke width, radius of a mark, or height of text
  bool dashed = false;
  Mark mark = Mark::kDisc;
  int anchor = -1;       // text: −1 begins at x, 0 is centred, 1 ends there
  bool upright = false;  // text turned by 90 degrees, reading upwards
  bool bold = false;
  bool on_axis = false;         // a tick of the x axis, which scripts of a page may redraw
  int64_t index = -1, of = -1;  // of the point in its series, and of the series in its chart
  std::string text;             // text
  std::vector<double> xs, ys;   // path
};

struct Drawing {
  double width = 720, height = 440;
  std::string description;  // for those who cannot see it
  std::vector<DrawnItem> items;

  DrawnItem& Line(double x, double y, double x2, double y2, Ink ink, double stroke = 1);
  DrawnItem& Text(double x, double y, std::string text, int anchor = -1, Ink ink = Ink::kText,
                  double size = 12);
};

// Number of different series colours.
inline constexpr uint32_t kSeriesColours = 10;

// `text` as it may be shown: bytes that are not UTF-8, control characters and characters that control the
// direction of text become U+FFFD, so that a name cannot reorder its neighbours.
std::string ShownText(const std::string& text);
// ShownText with the five characters that HTML and SVG give a meaning replaced.
std::string EscapedText(const std::string& text);

// About how wide a text is in Helvetica of that height.
double TextWidth(const std::string& text, double size);

std::string DrawingToSvg(const Drawing& drawing);

// SVG to be put into a page: colours are classes (i-text, i-muted, i-grid, s0 … s9), items of series carry
// data-s (colour), data-k (series) and data-i (point); `attributes` go into the <svg> tag.
std::string DrawingToPageSvg(const Drawing& drawing, const std::string& attributes);

}  // namespace l2gcn
