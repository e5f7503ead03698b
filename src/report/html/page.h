// One self-contained HTML page: style and script inside, nothing fetched. A Content-Security-Policy allows
// the page's own style and script by their SHA-256 and nothing else, so that no name shown in it can run.
//
// All text goes through EscapedText; functions that take HTML say so in their names.
#pragma once

#include <cstdint>
#include <ctime>
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
  // A section with an entry in the list of contents. Inside a part it has a smaller heading and no entry.
  void Section(const std::string& title);
  // Stands beside the title of every section that follows, such as the seed that it shows; empty: nothing.
  void LabelSections(std::string label) { label_ = std::move(label); }
  // A part is folded up until the reader opens it; `id` is what links to it name.
  void BeginPart(const std::string& id, const std::string& title, const std::string& below);
  void EndPart();
  // Something long that few read, folded up likewise, inside a section.
  void BeginFold(const std::string& title);
  void EndFold() { body_ += "</details>\n"; }
  void Paragraph(const std::string& text);
  void List(const std::string& title, const std::vector<std::string>& items);
  void Cards(const std::vector<std::pair<std::string, std::string>>& name_and_value);
  void Table(const std::vector<std::string>& head, const std::vector<std::vector<Cell>>& rows,
             const TableOptions& options);
  // The chart, what it shows, and its values as a table for those who read rather than look.
  void Figure(const Chart& chart, const std::string& caption);
  void BeginPair() { body_ += "<div class=\"pair\">\n"; }
  void EndPair() { body_ += "</div>\n"; }
  void AddHtml(const std::string& html) { body_ += html; }
  // An id that no other element of the page has.
  std::string NewId() { return "x" + std::to_string(++ids_); }
  // Data for the script, as JSON that cannot end the element it stands in.
  void Data(const std::string& id, const std::string& json);

  // `live`: what /version answers while a run goes on; empty for a file that stands alone.
  std::string Finish(const std::string& footer, const std::string& live = "") const;

 private:
  std::string title_;
  std::string body_;
  std::string label_;
  bool in_part_ = false;
  uint32_t ids_ = 0;
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
// "2026-03-31 14:05 UTC".
std::string TimeText(std::time_t time);

}  // namespace l2gcn
