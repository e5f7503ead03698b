// Parts of a report about the data set: what it holds, its degrees, its labels; and the map of embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/rng.h"
#include "l2gcn/error.h"
#include "model/decision.h"
#include "report/html/embedding_map.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

constexpr double kMapSide = 720, kMapEdge = 14;
constexpr size_t kMostLabelBars = 60, kMostMapClasses = 60;

// Nodes by degree: exact below 16, then in bins that grow by a quarter.
Chart DegreeChart(const Graph& graph, uint64_t& isolated, uint64_t& most) {
  std::map<double, std::pair<uint64_t, double>> bins;  // lower edge → (nodes, width)
  isolated = most = 0;
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    const uint64_t degree = graph.degree(node);
    most = std::max(most, degree);
    if (degree == 0) {
      ++isolated;
      continue;
    }
    double low = static_cast<double>(degree), width = 1;
    if (degree >= 16) {
      const double k = std::floor(std::log(low / 16) / std::log(1.25) + 1e-9);
      low = std::ceil(16 * std::pow(1.25, k)),
      width = std::max(1.0, std::ceil(16 * std::pow(1.25, k + 1)) - low);
    }
    auto& bin = bins[low];
    ++bin.first;
    bin.second = width;
  }
  Chart chart;
  chart.title = "Nodes by number of neighbours";
  chart.x_label = "neighbours";
  chart.y_label = "nodes for each number";
  chart.log_x = chart.log_y = true;
  ChartSeries series{"nodes", {}, {}, SeriesStyle::kLineAndPoints, 1, {}, {}, true};
  for (const auto& [low, bin] : bins) {
    series.x.push_back(low + (bin.second - 1) / 2);
    series.y.push_back(static_cast<double>(bin.first) / bin.second);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

std::vector<uint64_t> LabelCounts(const Labels& labels, uint32_t nodes, const Split* split, Role role) {
  std::vector<uint64_t> counts(labels.classes, 0);
  for (uint32_t node = 0; node < nodes; ++node) {
    if (!labels.IsLabelled(node)) continue;
    if (split != nullptr && split->roles[node] != static_cast<uint8_t>(role)) continue;
    if (!labels.multilabel) ++counts[static_cast<size_t>(labels.classes_of[node])];
    for (uint32_t c = 0; labels.multilabel && c < labels.classes; ++c) {
      counts[c] += labels.matrix[size_t{node} * labels.classes + c];
    }
  }
  return counts;
}

void AddLabelTable(const Dataset& dataset, const Split& split, Page& page) {
  const std::vector<uint64_t> all = LabelCounts(dataset.labels, dataset.nodes(), nullptr, Role::kNone);
  std::vector<std::vector<uint64_t>> parts;
  for (const Role role : {Role::kTrain, Role::kVal, Role::kTest}) {
    parts.push_back(LabelCounts(dataset.labels, dataset.nodes(), &split, role));
  }
  std::vector<uint32_t> order(all.size());
  for (uint32_t c = 0; c < order.size(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return all[a] > all[b]; });
  const double most = std::max<double>(1, all.empty() ? 1 : static_cast<double>(all[order[0]]));
  std::vector<std::vector<Cell>> rows;
  for (const uint32_t c : order) {
    if (rows.size() == kMostLabelBars) break;
    Cell bar;
    bar.classes = "l";
    bar.html = fmt::format(
        "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
        "class=\"s2 fi\" "
        "width=\"{:.2f}\" height=\"8\"/></svg>",
        100 * static_cast<double>(all[c]) / most);
    bar.sort = fmt::format("{}", all[c]);
    rows.push_back({{dataset.ClassName(c), "w"},
                    {CountText(all[c])},
                    {CountText(parts[0][c])},
                    {CountText(parts[1][c])},
                    {CountText(parts[2][c])},
                    bar});
  }
  const std::string more =
      all.size() > rows.size() ? fmt::format("; the {} most frequent of {}", rows.size(), all.size()) : "";
  page.Table({"label", "nodes", "train", "validation", "test", "of the most frequent"}, rows,
             {"Labels" + more, true, false});
}

uint64_t CountLabelled(const Dataset& dataset) {
  uint64_t count = 0;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) count += dataset.labels.IsLabelled(node) ? 1 : 0;
  return count;
}

// A sample of at most `count` labelled nodes, the same for the same graph.
std::vector<uint32_t> SampleNodes(const Dataset& dataset, uint32_t count) {
  const uint32_t nodes = dataset.nodes();
  std::vector<uint32_t> chosen;
  const Permutation order(nodes, RandomStream(0, RandomUse::kSampler));
  for (uint32_t i = 0; i < nodes && chosen.size() < count; ++i) {
    const uint32_t node = nodes <= count ? i : order(i);
    if (dataset.labels.IsLabelled(node)) chosen.push_back(node);
  }
  return chosen;
}

const char* TaskText(Task task) {
  switch (task) {
    case Task::kClass:
      return "classes";
    case Task::kLabels:
      return "labels, several a node";
    case Task::kRegression:
      break;
  }
  return "targets of a regression";
}

// The label that colours a point: the class, or of several labels the first.
int32_t TruthOf(const Dataset& dataset, uint32_t node) {
  if (!dataset.labels.multilabel) return dataset.labels.classes_of[node];
  for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
    if (dataset.labels.matrix[size_t{node} * dataset.labels.classes + c] != 0) return static_cast<int32_t>(c);
  }
  return -1;
}

void FitToSquare(std::vector<double>& values, double low, double high) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double from = *least, range = std::max(*most - from, 1e-12);
  for (double& value : values) value = low + (value - from) / range * (high - low);
}

}  // namespace

void AddDataParts(const Dataset& dataset, const Split& split, const std::vector<std::string>& notes,
                  Page& page) {
  page.Section("Data");
  uint64_t isolated = 0, most = 0;
  const Chart degrees = DegreeChart(dataset.graph, isolated, most);
  const double mean =
      dataset.nodes() > 0 ? static_cast<double>(dataset.graph.entries()) / dataset.nodes() : 0;
  page.Paragraph(fmt::format(
      "{}: {} nodes, {} edges, {} {} features, {} {}; {:.2f} neighbours a node on average, at most {}, {} "
      "nodes have none. Split: {}.",
      dataset.name, CountText(dataset.nodes()), CountText(dataset.edges), CountText(dataset.features.cols()),
      dataset.features.is_sparse() ? "sparse" : "dense", CountText(dataset.labels.classes),
      TaskText(dataset.labels.task()), mean, CountText(most), CountText(isolated), split.name));
  if (!notes.empty()) page.List("Notes from loading:", notes);
  page.Figure(degrees,
              "Each dot is a number of neighbours, or a range of them, and how many nodes have each.");
  if (dataset.labels.task() != Task::kRegression) AddLabelTable(dataset, split, page);
}

void AddMap(const Context& context, const OpenedRun& run, const Dataset& dataset, const Matrix& logits,
            const ReportOptions& options, Page& page) {
  const std::vector<uint32_t> nodes = SampleNodes(dataset, options.map_nodes);
  if (nodes.size() < 2) return;
  Matrix rows;
  try {
    const Matrix all = Embed(context, run.model, dataset);
    rows = Matrix::Allocate(nodes.size(), all.cols);
    for (size_t i = 0; i < nodes.size(); ++i) std::copy_n(all.row(nodes[i]), all.cols, rows.mutable_row(i));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return;  // a method without embeddings
  }
  PlanePoints at = PlaceInPlane(context, rows, options.map);
  FitToSquare(at.x, kMapEdge, kMapSide - kMapEdge);
  FitToSquare(at.y, kMapEdge, kMapSide - kMapEdge);
  page.Section("Map of the embeddings");
  const std::string how =
      options.map == "pca" ? "their two leading principal axes" : "t-SNE, begun from their principal axes";
  const uint64_t labelled = CountLabelled(dataset);
  page.Paragraph(
      fmt::format("{} of {} labelled nodes, each a dot placed by {}; near dots have similar embeddings.{}",
                  CountText(nodes.size()), CountText(labelled), how,
                  nodes.size() < labelled ? " Drawn from a random sample." : ""));
  ReportJson data = {{"x", ReportJson::array()}, {"y", ReportJson::array()}, {"t", ReportJson::array()},
                     {"p", ReportJson::array()}, {"n", ReportJson::array()}, {"names", ReportJson::array()}};
  std::string dots;
  std::vector<uint64_t> present(dataset.labels.classes, 0);
  const DecisionRule rule(run.model.multilabel, run.model.classes, run.model.thresholds);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int32_t truth = TruthOf(dataset, nodes[i]);
    const int32_t said =
        dataset.labels.multilabel ? truth : static_cast<int32_t>(rule.ClassOf(logits.row(nodes[i])));
    if (truth >= 0) ++present[static_cast<size_t>(truth)];
    dots += fmt::format("<circle class=\"s{} dot{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n",
                        truth < 0 ? 5u : static_cast<uint32_t>(truth) % kSeriesColours,
                        truth == said ? "" : " wrong", at.x[i], at.y[i]);
    data["x"].push_back(std::round(10 * at.x[i]) / 10);
    data["y"].push_back(std::round(10 * at.y[i]) / 10);
    data["t"].push_back(truth);
    data["p"].push_back(said);
    data["n"].push_back(ShownText(dataset.NodeName(nodes[i])));
  }
  std::string choices = "<option value=\"\">all classes</option>", legend;
  for (uint32_t c = 0; c < dataset.labels.classes && c < 2000; ++c) {
    data["names"].push_back(ShownText(dataset.ClassName(c)));
    if (present[c] == 0) continue;
    choices += fmt::format("<option value=\"{}\">{}</option>", c, EscapedText(dataset.ClassName(c)));
    if (c >= kMostMapClasses) continue;
    legend += fmt::format(
        "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><circle class=\"s{} dot\" cx=\"5\" cy=\"5\" "
        "r=\"5\"/></svg><bdi>{}</bdi></li>",
        c % kSeriesColours, EscapedText(dataset.ClassName(c)));
  }
  const std::string points = page.NewId();
  page.AddHtml(
      fmt::format("<figure><div class=\"tools js-only\"><label>Class <select>{}</select></label>"
                  "<label><input type=\"checkbox\"> mistaken only</label>"
                  "<button class=\"tool\" type=\"button\" data-do=\"in\">Zoom in</button>"
                  "<button class=\"tool\" type=\"button\" data-do=\"out\">Zoom out</button>"
                  "<button class=\"tool\" type=\"button\" data-do=\"all\">Whole map</button></div>\n"
                  "<svg class=\"map\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"Map of {} nodes, "
                  "coloured by class\" data-points=\"{}\">\n{}</svg>\n"
                  "<ul class=\"legend\">{}</ul><figcaption>Colour: the true class{}; a dark edge: the model "
                  "says another. Colours repeat after {} classes.</figcaption></figure>\n",
                  choices, kMapSide, kMapSide, nodes.size(), points, dots, legend,
                  dataset.labels.multilabel ? " (of several, the first)" : "", kSeriesColours));
  page.Data(points, data.dump(-1, ' ', false, ReportJson::error_handler_t::replace));
}

}  // namespace l2gcn
