// Confusion matrices as .csv and as a picture: a cell a pair of classes, darker where more of the true
// class's nodes went; counts stand in the cells while there is room for them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/csv_field.h"
#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/export.h"

namespace l2gcn {
namespace {

constexpr size_t kMostNamed = 60;  // classes with room for their names in a picture

const std::vector<std::string> kOutcomes = {"true negative", "false positive", "false negative",
                                            "true positive"};

// Names of the columns: classes, or the outcomes of a label.
std::vector<std::string> ColumnNames(const Score& score, bool multilabel) {
  if (multilabel) return kOutcomes;
  std::vector<std::string> names;
  for (const Score::Class& one : score.classes) names.push_back(one.name);
  return names;
}

void CheckPresent(const Score& score) {
  if (score.confusion.empty() && !score.classes.empty()) {
    ThrowUsage("a confusion matrix of {} classes is not kept; at most {} are", score.classes.size(),
               kMostConfusion);
  }
}

std::string XmlText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

// White to dark blue.
std::string Shade(double share) {
  const auto mix = [&](int from, int to) { return from + static_cast<int>((to - from) * share + 0.5); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 8), mix(255, 48), mix(255, 107));
}

struct ConfusionLayout {
  double cell, left, top, font;
};

std::string CellSvg(const ConfusionLayout& d, size_t row, size_t col, uint64_t count, uint64_t members) {
  const double share = members == 0 ? 0 : static_cast<double>(count) / static_cast<double>(members);
  const double x = d.left + static_cast<double>(col) * d.cell, y = d.top + static_cast<double>(row) * d.cell;
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#ddd\"/>\n", x,
      y, d.cell, d.cell, Shade(share));
  if (d.cell >= 22 && count > 0) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
                       x + d.cell / 2, y + d.cell / 2 + d.font / 3, share > 0.5 ? "#fff" : "#222", count);
  }
  return svg;
}

}  // namespace

std::string ConfusionToCsv(const Score& score, bool multilabel, bool exact_names) {
  CheckPresent(score);
  CsvNames names(exact_names);
  const std::vector<std::string> columns = ColumnNames(score, multilabel);
  std::string text = multilabel ? "label" : "truth";
  for (const std::string& name : columns) text += "," + names.Cell(name);
  for (size_t row = 0; row < score.classes.size(); ++row) {
    text += "\n" + names.Cell(score.classes[row].name);
    for (size_t col = 0; col < columns.size(); ++col)
      text += fmt::format(",{}", score.confusion[row * columns.size() + col]);
  }
  return text + "\n";
}

std::string ConfusionToSvg(const Score& score, bool multilabel, const std::string& title) {
  CheckPresent(score);
  const std::vector<std::string> columns = ColumnNames(score, multilabel);
  const size_t rows = score.classes.size(), cols = columns.size();
  const bool named = rows <= kMostNamed;
  const double cell = std::clamp(720.0 / static_cast<double>(std::max<size_t>(rows, 1)), 2.0, 56.0);
  const ConfusionLayout d{cell, named ? 160.0 : 40.0, named ? 150.0 : 60.0, std::clamp(cell / 3, 8.0, 13.0)};
  const double width = d.left + cell * static_cast<double>(cols) + 30,
               height = d.top + cell * static_cast<double>(rows) + 30;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"{:.0f}\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n"
      "<text x=\"12\" y=\"22\" font-size=\"14\">{}</text>\n<text x=\"12\" y=\"40\" fill=\"#666\">rows: {}, "
      "columns: {}</text>\n",
      width, height, d.font, XmlText(title), multilabel ? "labels" : "true class",
      multilabel ? "outcomes" : "predicted class");
  for (size_t row = 0; row < rows; ++row) {
    uint64_t all = 0;
    for (size_t col = 0; col < cols; ++col) all += score.confusion[row * cols + col];
    for (size_t col = 0; col < cols; ++col)
      svg += CellSvg(d, row, col, score.confusion[row * cols + col], all);
    if (!named) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", d.left - 6,
                       d.top + (static_cast<double>(row) + 0.5) * cell + d.font / 3,
                       XmlText(score.classes[row].name));
  }
  for (size_t col = 0; named && col < cols; ++col) {
    const double x = d.left + (static_cast<double>(col) + 0.5) * cell + d.font / 3, y = d.top - 6;
    svg += fmt::format("<text transform=\"translate({:.1f},{:.1f}) rotate(-60)\">{}</text>\n", x, y,
                       XmlText(columns[col]));
  }
  return svg + "</svg>\n";
}

void ExportConfusion(const Score& score, bool multilabel, const std::string& title, const std::string& path,
                     bool exact_names) {
  const bool picture = std::filesystem::path(path).extension() == ".svg";
  WriteFileWhole(path, picture ? ConfusionToSvg(score, multilabel, title)
                               : ConfusionToCsv(score, multilabel, exact_names));
}

}  // namespace l2gcn
