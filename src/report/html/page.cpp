#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace l2gcn {
namespace {

constexpr size_t kMostTableRows = 400;  // of a chart's values beside it
constexpr size_t kRowsOfAPage = 32;     // a table of so many rows is printed on one page

std::string CellHtml(const Cell& cell, const char* tag, const std::string& attributes) {
  std::string html = fmt::format("<{}{}", tag, attributes);
  if (!cell.classes.empty()) html += fmt::format(" class=\"{}\"", cell.classes);
  if (!cell.sort.empty()) html += fmt::format(" data-v=\"{}\"", EscapedText(cell.sort));
  // <bdi>: a name written from right to left does not turn its neighbours around.
  return html +
         fmt::format("><bdi>{}</bdi></{}>", cell.html.empty() ? EscapedText(cell.text) : cell.html, tag);
}

std::string ShortNumber(double value) { return std::isfinite(value) ? fmt::format("{:.5g}", value) : "–"; }

}  // namespace

void Page::Heading(const std::string& text, const std::string& below) {
  body_ += fmt::format("<h1><bdi>{}</bdi></h1>\n<p class=\"muted\">{}</p>\n", EscapedText(text),
                       EscapedText(below));
}

void Page::Section(const std::string& title) {
  const std::string label =
      label_.empty() ? "" : fmt::format(" <small><bdi>{}</bdi></small>", EscapedText(label_));
  if (in_part_) {
    body_ += fmt::format("<h3>{}{}</h3>\n", EscapedText(title), label);
    return;
  }
  const std::string id = fmt::format("part-{}", contents_.size() + 1);
  contents_.emplace_back(id, title);
  body_ += fmt::format("<h2 id=\"{}\">{}{}</h2>\n", id, EscapedText(title), label);
}

void Page::BeginPart(const std::string& id, const std::string& title, const std::string& below) {
  in_part_ = true;
  contents_.emplace_back(id, title);
  body_ += fmt::format(
      "<details class=\"part\" id=\"{}\"><summary><h2><bdi>{}</bdi></h2> <span>{}</span></summary>\n", id,
      EscapedText(title), EscapedText(below));
}

void Page::BeginFold(const std::string& title) {
  body_ += fmt::format("<details class=\"fold\"><summary>{}</summary>\n", EscapedText(title));
}

void Page::EndPart() {
  in_part_ = false;
  body_ += "</details>\n";
}

void Page::Paragraph(const std::string& text) { body_ += fmt::format("<p>{}</p>\n", EscapedText(text)); }

void Page::List(const std::string& title, const std::vector<std::string>& items) {
  body_ += fmt::format("<div class=\"notes\"><p>{}</p><ul>\n", EscapedText(title));
  for (const std::string& item : items) body_ += fmt::format("<li><bdi>{}</bdi></li>\n", EscapedText(item));
  body_ += "</ul></div>\n";
}

void Page::Cards(const std::vector<std::pair<std::string, std::string>>& name_and_value) {
  body_ += "<ul class=\"cards\">\n";
  for (const auto& [name, value] : name_and_value) {
    // A deviation is written smaller than its mean.
    const size_t cut = std::min(value.find(" ±"), value.size());
    body_ += fmt::format("<li><span>{}</span><b>{}<small>{}</small></b></li>\n", EscapedText(name),
                         EscapedText(value.substr(0, cut)), EscapedText(value.substr(cut)));
  }
  body_ += "</ul>\n";
}

void Page::Table(const std::vector<std::string>& head, const std::vector<std::vector<Cell>>& rows,
                 const TableOptions& options) {
  // The caption stands outside of what scrolls, so that it is read whole however wide the table is.
  const std::string id = NewId();
  body_ += fmt::format(
      "<div class=\"table{}\"><p class=\"caption\"><span id=\"{}\">{}</span> <span class=\"more\" "
      "aria-hidden=\"true\">scroll sideways for more →</span></p>\n"
      "<div class=\"scroll\" aria-labelledby=\"{}\"><table class=\"{}{}\" aria-labelledby=\"{}\">\n",
      options.heat || rows.size() <= kRowsOfAPage ? " whole" : "", id, EscapedText(options.caption), id,
      options.sortable ? "sort" : "", options.heat ? " heat" : "", id);
  if (!head.empty()) {
    body_ += "<thead><tr>";
    for (size_t i = 0; i < head.size(); ++i) {
      const bool left = !rows.empty() && i < rows.front().size() && rows.front()[i].classes.starts_with("l");
      body_ += CellHtml({head[i], left ? "l" : ""}, "th", " scope=\"col\"");
    }
    body_ += "</tr></thead>\n";
  }
  body_ += "<tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    body_ += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      body_ += i == 0 ? CellHtml(row[i], "th", " scope=\"row\"") : CellHtml(row[i], "td", "");
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div></div>\n";
}

void Page::Figure(const Chart& chart, const std::string& caption) {
  body_ += "<figure>\n" + ChartToPageSvg(chart);
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>\n", EscapedText(caption));
  body_ += "<details><summary>The values as a table</summary>\n";
  std::vector<std::vector<Cell>> rows;
  size_t left_out = 0;
  for (const ChartSeries& series : chart.series) {
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (rows.size() >= kMostTableRows) {
        ++left_out;
        continue;
      }
      rows.push_back({{series.name}, {ShortNumber(series.x[i])}, {ShortNumber(series.y[i])}});
    }
  }
  Table({"series", chart.x_label, chart.y_label}, rows,
        {left_out > 0 ? fmt::format("The first {} values; {} more are left out", kMostTableRows, left_out)
                      : "Values",
         false, false});
  body_ += "</details></figure>\n";
}

void Page::Data(const std::string& id, const std::string& json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  body_ += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, safe);
}

std::string ContentSecurityPolicy(bool connect) {
  return fmt::format(
      "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; {}base-uri 'none'; form-action "
      "'none'",
      Sha256Base64(ReportStyle()), Sha256Base64(ReportScript()),
      connect ? "connect-src 'self'; img-src 'self'; " : "");
}

std::string Page::Finish(const std::string& footer, const std::string& live) const {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"l2gcn\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">To the content</a>\n<main id=\"content\"",
      ContentSecurityPolicy(!live.empty()), EscapedText(title_), ReportStyle());
  if (!live.empty()) html += fmt::format(" data-live=\"{}\"", EscapedText(live));
  html += ">\n";
  // The list of contents stands below the first heading.
  const size_t first = body_.find("<h2");
  html += body_.substr(0, first);
  if (contents_.size() > 2) {
    html += "<nav aria-label=\"Contents\"><ul>";
    for (const auto& [id, title] : contents_) {
      html += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, EscapedText(title));
    }
    html += "</ul></nav>\n";
  }
  if (first != std::string::npos) html += body_.substr(first);
  html += fmt::format("<footer>{}</footer>\n</main>\n<script>{}</script>\n</body>\n</html>\n",
                      EscapedText(footer), ReportScript());
  return html;
}

std::string PercentText(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.2f} %", 100 * fraction) : "–";
}
std::string CountText(uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}
std::string BytesText(double bytes) {
  if (!std::isfinite(bytes)) return "–";
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}
std::string SecondsText(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  return seconds >= 1000 ? CountText(static_cast<uint64_t>(std::round(seconds))) + " s"
                         : fmt::format("{:.3g} s", seconds);
}
std::string TimeText(std::time_t time) {
  std::tm parts = {};
  char text[64];
  if (gmtime_r(&time, &parts) == nullptr || std::strftime(text, sizeof(text), "%F %H:%M UTC", &parts) == 0)
    return "";
  return text;
}

}  // namespace l2gcn
