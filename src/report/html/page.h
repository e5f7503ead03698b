// One self-contained HTML page: style and script inside, nothing fetched. A Content-Security-Policy allows
// the page's own style and script by their SHA-256 and nothing else, so that no name shown in it can run.
//
// All text goes through EscapedText; functions that take HTML say so in their names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/figure/chart.h"

namespace l2gcn {

const char* ReportStyle();
const char* ReportScript();

// The size of a chart where two stand in a row on a wide screen.
inline constexpr double kPairWidth = 540, kPairHeight = 360;

// A cell of a table: text, and how it is shown.
struct Cell {
  std::string text;
  std::string classes = {};  // of the style sheet: "l" left, "w" may wrap, "h1" … "h10" heat, "diag"
  std::string sort = {};     // sorted by this, if not by its text
  std::string html = {};     // instead of text: only what this program made
};

struct TableOptions {
  std::string caption;
  bool sortable = false;
  bool heat = false;
};

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  void Heading(const std::string& text, const std::string& below);
  // A section with an entry in the list of contents.
  void Section(const std::string& title);
  void Subsection(const std::string& title);
  void Paragraph(const std::string& text);
  void Cards(const std::vector<std::pair<std::string, std::string>>& name_and_value);
  void Table(const std::vector<std::string>& head, const std::vector<std::vector<Cell>>& rows,
             const TableOptions& options);
  // The chart, what it shows, and its values as a table for those who read rather than look.
  void Figure(const Chart& chart, const std::string& caption);
  void BeginPair() { body_ += "<div class=\"pair\">\n"; }
  void EndPair() { body_ += "</div>\n"; }
  void AddHtml(const std::string& html) { body_ += html; }
  // Data for the script, as JSON that cannot end the element it stands in.
  void Data(const std::string& id, const std::string& json);

  // `live`: what /version answers while a run goes on; empty for a file that stands alone.
  std::string Finish(const std::string& footer, const std::string& live = "") const;

 private:
  std::string title_;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> contents_;  // (id, title)
};

// The header's value that goes with the page: the same policy, and `connect` for a page served live.
std::string ContentSecurityPolicy(bool connect);

// Base64 of the SHA-256 of a text (FIPS 180-4).
std::string Sha256Base64(std::string_view text);

// 0.8456 → "84.56 %"; NaN → "–"; 1234567 → "1,234,567"; bytes → "12.3 MiB"; seconds with three digits.
std::string PercentText(double fraction);
std::string CountText(uint64_t count);
std::string BytesText(double bytes);
std::string SecondsText(double seconds);

}  // namespace l2gcn
