// A drawing as a PDF of one page: plain operators, no compression, the standard fonts.
#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "report/figure/drawing.h"

namespace l2gcn {
namespace {

// Advance widths of Helvetica from space to tilde, in thousandths of its height (Adobe's font metrics).
constexpr uint16_t kHelvetica[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double kOtherWidth = 556;
constexpr double kDegreesToCircle = 0.5522847498;  // length of a Bézier handle of a quarter circle

struct Rgb {
  double r, g, b;
};
Rgb ColourOf(const DrawnItem& item) {
  constexpr uint32_t kSeries[kSeriesColours] = {0xc1121f, 0x1f4e9c, 0x2a9d8f, 0xb07c00, 0x7b4ea3,
                                                0x4c6a78, 0xe76f51, 0x3a7d44, 0x8a6d3b, 0x56749b};
  const uint32_t code = item.ink == Ink::kText    ? 0x1a1a1au
                        : item.ink == Ink::kMuted ? 0x6b6b6bu
                        : item.ink == Ink::kGrid  ? 0xddddddu
                                                  : kSeries[item.series % kSeriesColours];
  return {(code >> 16) / 255.0, (code >> 8 & 255) / 255.0, (code & 255) / 255.0};
}

// UTF-8 as WinAnsi (Latin-1 and a few signs), which the standard fonts are written in.
std::string ToWinAnsi(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const std::string piece = text.substr(i, length);
    i += length;
    if (length == 1) {
      out += piece;
    } else if (length == 2 && (lead == 0xC2 || lead == 0xC3) && piece.size() == 2) {
      out += static_cast<char>((lead & 3) << 6 | (piece[1] & 0x3F));
    } else {
      out += piece == "–"   ? '\x96'
             : piece == "—" ? '\x97'
             : piece == "…" ? '\x85'
             : piece == "’" ? '\x92'
             : piece == "−" ? '-'
                            : '?';
    }
  }
  return out;
}

double WinAnsiWidth(const std::string& text, double size) {
  double width = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    width += code >= 32 && code < 127 ? kHelvetica[code - 32] : kOtherWidth;
  }
  return width * size / 1000;
}

class PdfPage {
 public:
  explicit PdfPage(const Drawing& drawing) : height_(drawing.height) {
    for (const DrawnItem& item : drawing.items) Item(item);
  }
  std::string Take() { return std::move(out_); }

 private:
  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void Item(const DrawnItem& item) {
    const Rgb c = ColourOf(item);
    Add("{0:.3f} {1:.3f} {2:.3f} RG {0:.3f} {1:.3f} {2:.3f} rg\n", c.r, c.g, c.b);
    switch (item.kind) {
      case DrawnItem::Kind::kLine:
        Add("{:g} w {} 0 d {:.2f} {:.2f} m {:.2f} {:.2f} l S\n", item.size, item.dashed ? "[5 4]" : "[]",
            item.x, height_ - item.y, item.x2, height_ - item.y2);
        break;
      case DrawnItem::Kind::kPath:
        if (item.xs.empty()) break;
        Add("{:g} w 1 j {} 0 d", item.size, item.dashed ? "[5 4]" : "[]");
        for (size_t i = 0; i < item.xs.size(); ++i) {
          Add(" {:.2f} {:.2f} {}", item.xs[i], height_ - item.ys[i], i == 0 ? "m" : "l");
        }
        out_ += " S\n";
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
    const double x = item.x, y = height_ - item.y, r = item.size;
    if (item.mark == Mark::kDiamond) {
      Add("{:.2f} {:.2f} m {:.2f} {:.2f} l {:.2f} {:.2f} l {:.2f} {:.2f} l f\n", x, y + r, x + r, y, x, y - r,
          x - r, y);
      return;
    }
    const double k = kDegreesToCircle * r;
    Add("[] 0 d 1.6 w {:.2f} {:.2f} m {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c ", x + r, y, x + r, y + k,
        x + k, y + r, x, y + r);
    Add("{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c ", x - k, y + r, x - r, y + k, x - r, y);
    Add("{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c ", x - r, y - k, x - k, y - r, x, y - r);
    Add("{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c {}\n", x + k, y - r, x + r, y - k, x + r, y,
        item.mark == Mark::kRing ? "S" : "f");
  }

  void TextItem(const DrawnItem& item) {
    const std::string text = ToWinAnsi(item.text);
    const double shift = item.anchor < 0 ? 0 : WinAnsiWidth(text, item.size) * (item.anchor == 0 ? 0.5 : 1);
    std::string quoted;
    for (const char c : text) {
      if (c == '(' || c == ')' || c == '\\') quoted += '\\';
      quoted += c;
    }
    const double x = item.x - (item.upright ? 0 : shift), y = height_ - item.y - (item.upright ? shift : 0);
    Add("BT /{} {:g} Tf {} {:.2f} {:.2f} Tm ({}) Tj ET\n", item.bold ? "B" : "R", item.size,
        item.upright ? "0 1 -1 0" : "1 0 0 1", x, y, quoted);
  }

  const double height_;
  std::string out_;
};

}  // namespace

double TextWidth(const std::string& text, double size) { return WinAnsiWidth(ToWinAnsi(text), size); }

std::string DrawingToPdf(const Drawing& drawing) {
  const std::string page = PdfPage(drawing).Take();
  const auto font = [](const char* name) {
    return fmt::format("<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>", name);
  };
  const std::vector<std::string> objects = {
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      fmt::format(
          "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:g} {:g}] /Contents 4 0 R /Resources << /Font << "
          "/R 5 0 R /B 6 0 R >> >> >>",
          drawing.width, drawing.height),
      fmt::format("<< /Length {} >>\nstream\n{}endstream", page.size(), page),
      font("Helvetica"),
      font("Helvetica-Bold")};
  std::string pdf = "%PDF-1.4\n";
  std::vector<size_t> offsets;
  for (size_t i = 0; i < objects.size(); ++i) {
    offsets.push_back(pdf.size());
    pdf += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
  }
  const size_t table = pdf.size();
  pdf += fmt::format("xref\n0 {}\n0000000000 65535 f \n", objects.size() + 1);
  for (const size_t offset : offsets) pdf += fmt::format("{:010d} 00000 n \n", offset);
  pdf +=
      fmt::format("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n", objects.size() + 1, table);
  return pdf;
}

}  // namespace l2gcn
