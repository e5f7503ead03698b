#include "report/figure/drawing.h"

#include <fmt/format.h>

#include <iterator>

namespace l2gcn {
namespace {

constexpr const char* kPrintSeries[kSeriesColours] = {"#c1121f", "#1f4e9c", "#2a9d8f", "#b07c00", "#7b4ea3",
                                                      "#4c6a78", "#e76f51", "#3a7d44", "#8a6d3b", "#56749b"};

// Advance widths of Helvetica from space to tilde, in thousandths of its height (Adobe's font metrics).
constexpr uint16_t kHelvetica[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double kOtherWidth = 556;

const char* PrintColour(const DrawnItem& item) {
  switch (item.ink) {
    case Ink::kText:
      return "#1a1a1a";
    case Ink::kMuted:
      return "#6b6b6b";
    case Ink::kGrid:
      return "#dddddd";
    case Ink::kSeries:
      return kPrintSeries[item.series % kSeriesColours];
  }
  return "";
}

std::string ClassOf(const DrawnItem& item) {
  switch (item.ink) {
    case Ink::kText:
      return "i-text";
    case Ink::kMuted:
      return "i-muted";
    case Ink::kGrid:
      return "i-grid";
    case Ink::kSeries:
      return fmt::format("s{}", item.series % kSeriesColours);
  }
  return "";
}

// One UTF-8 character from `at` on: its code, and its length in bytes; length 0 where it is not valid.
std::pair<uint32_t, size_t> DecodeAt(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead >= 0xF5) return {0xFFFD, 0};
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {0xFFFD, 0};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (too_long || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {0xFFFD, 0};
  return {code, length};
}

// Marks, embeddings, overrides and isolates of the bidirectional algorithm, and control characters.
bool ControlsText(uint32_t code) {
  return (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7F && code < 0xA0) || code == 0x61C ||
         code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// How SVG writes what stands in a drawing, in print or on a page.
class SvgWriter {
 public:
  explicit SvgWriter(bool page) : page_(page) {}

  std::string Write(const Drawing& drawing, const std::string& attributes) {
    const std::string label = EscapedText(drawing.description);
    Add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\"", drawing.width, drawing.height);
    if (page_) {
      Add(" role=\"img\" aria-label=\"{}\" {}>\n", label, attributes);
    } else {
      Add(" width=\"{:g}\" height=\"{:g}\" font-family=\"Helvetica, Arial, sans-serif\" "
          "role=\"img\">\n<desc>{}</desc>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
          drawing.width, drawing.height, label);
    }
    for (const DrawnItem& item : drawing.items) Item(item);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Colour and, on a page, what scripts look for.
  std::string Paint(const DrawnItem& item, bool stroked) const {
    if (!page_) {
      return stroked ? fmt::format("fill=\"none\" stroke=\"{}\"", PrintColour(item))
                     : fmt::format("fill=\"{}\"", PrintColour(item));
    }
    std::string text =
        fmt::format("class=\"{}{}{}\"", ClassOf(item), stroked ? " st" : " fi", item.on_axis ? " xt" : "");
    if (item.ink == Ink::kSeries) text += fmt::format(" data-s=\"{}\"", item.series);
    if (item.of >= 0) text += fmt::format(" data-k=\"{}\"", item.of);
    if (item.index >= 0) text += fmt::format(" data-i=\"{}\"", item.index);
    return text;
  }

  void Item(const DrawnItem& item) {
    const std::string dash = item.dashed ? " stroke-dasharray=\"5 4\"" : "";
    switch (item.kind) {
      case DrawnItem::Kind::kLine:
        Add("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke-width=\"{:g}\"{} {}/>\n",
            item.x, item.y, item.x2, item.y2, item.size, dash, Paint(item, true));
        break;
      case DrawnItem::Kind::kPath:
        Add("<polyline stroke-width=\"{:g}\" stroke-linejoin=\"round\"{} {} points=\"", item.size, dash,
            Paint(item, true));
        for (size_t i = 0; i < item.xs.size(); ++i)
          Add("{}{:.1f},{:.1f}", i == 0 ? "" : " ", item.xs[i], item.ys[i]);
        out_ += "\"/>\n";
        break;
      case DrawnItem::Kind::kMark:
        MarkItem(item);
        break;
      case DrawnItem::Kind::kText:
        TextItem(item);
        break;
    }
  }

  void MarkItem(const DrawnItem& item) {
    if (item.mark == Mark::kDiamond) {
      Add("<path d=\"M{0:.2f} {1:.2f}l{2:g} {2:g}l-{2:g} {2:g}l-{2:g} -{2:g}z\" {3}/>\n", item.x,
          item.y - item.size, item.size, Paint(item, false));
      return;
    }
    const bool ring = item.mark == Mark::kRing;
    Add("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\"{} {}/>\n", item.x, item.y, item.size,
        ring ? " stroke-width=\"1.6\"" : "", Paint(item, ring));
  }

  void TextItem(const DrawnItem& item) {
    const char* anchor = item.anchor < 0 ? "start" : item.anchor == 0 ? "middle" : "end";
    if (item.upright) {
      Add("<text transform=\"translate({:.2f} {:.2f}) rotate(-90)\"", item.x, item.y);
    } else {
      Add("<text x=\"{:.2f}\" y=\"{:.2f}\"", item.x, item.y);
    }
    Add(" font-size=\"{:g}\" text-anchor=\"{}\"{} {}>{}</text>\n", item.size, anchor,
        item.bold ? " font-weight=\"600\"" : "", Paint(item, false), EscapedText(item.text));
  }

  const bool page_;
  std::string out_;
};

}  // namespace

DrawnItem& Drawing::Line(double x, double y, double to_x, double to_y, Ink ink, double stroke) {
  DrawnItem& item = items.emplace_back();
  item.kind = DrawnItem::Kind::kLine;
  item.x = x, item.y = y, item.x2 = to_x, item.y2 = to_y;
  item.ink = ink;
  item.size = stroke;
  return item;
}

DrawnItem& Drawing::Text(double x, double y, std::string text, int anchor, Ink ink, double size) {
  DrawnItem& item = items.emplace_back();
  item.kind = DrawnItem::Kind::kText;
  item.x = x, item.y = y;
  item.text = std::move(text);
  item.anchor = anchor;
  item.ink = ink;
  item.size = size;
  return item;
}

std::string ShownText(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = DecodeAt(text, at);
    if (length == 0 || ControlsText(code)) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string EscapedText(const std::string& text) {
  std::string out;
  for (const char c : ShownText(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

double TextWidth(const std::string& text, double size) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [code, length] = DecodeAt(text, at);
    width += code >= 32 && code < 127 ? kHelvetica[code - 32] : kOtherWidth;
    at += length == 0 ? 1 : length;
  }
  return width * size / 1000;
}

std::string DrawingToSvg(const Drawing& drawing) { return SvgWriter(false).Write(drawing, ""); }

std::string DrawingToPageSvg(const Drawing& drawing, const std::string& attributes) {
  return SvgWriter(true).Write(drawing, attributes);
}

}  // namespace l2gcn
