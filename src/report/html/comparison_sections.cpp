// Parts of a report about several methods: a comparison, and the tables of a reproduction.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/memory_meter.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

// A value of a table as people read it.
std::string ValueText(const std::string& name, const ReportJson& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number()) return value.dump();
  if (name.ends_with("_bytes")) return BytesText(value.get<double>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  return fmt::format("{:.4g}", value.get<double>());
}

// An array of objects with the same keys becomes a table; lists inside are left out.
void AddObjects(const std::string& caption, const ReportJson& list, Page& page) {
  std::vector<std::string> keys, head;
  for (const auto& [key, value] : list.front().items()) {
    if (value.is_structured()) continue;
    keys.push_back(key);
    head.push_back(key);
  }
  std::vector<std::vector<Cell>> rows;
  for (const ReportJson& item : list) {
    std::vector<Cell> row;
    for (const std::string& key : keys) {
      const ReportJson value = item.value(key, ReportJson());
      row.push_back({ValueText(key, value), value.is_string() ? "l" : ""});
    }
    rows.push_back(std::move(row));
  }
  page.Table(head, rows, {caption, true, false});
}

double At(const ReportJson& json, const char* group, const char* key) {
  const ReportJson value = json.value(group, ReportJson::object()).value(key, ReportJson());
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void AddComparison(const ReportJson& comparison, Page& page) {
  const ReportJson& dataset = comparison.at("dataset");
  page.Section(fmt::format("Methods on {}", dataset.value("name", "")));
  page.Paragraph(fmt::format("{} nodes, {} edges; {}, {} threads.",
                             CountText(dataset.value("nodes", uint64_t{0})),
                             CountText(dataset.value("edges", uint64_t{0})), comparison.value("device", ""),
                             comparison.value("threads", 0)));
  std::vector<std::vector<Cell>> rows;
  Chart trade, losses;
  trade.title = "Test F1 against training time";
  trade.x_label = "training seconds";
  trade.y_label = "test F1, %";
  trade.log_x = true;
  trade.width = losses.width = kPairWidth, trade.height = losses.height = kPairHeight;
  losses.title = "Loss by epoch, first seed";
  losses.x_label = "epoch, layers one after another";
  losses.y_label = "loss";
  losses.whole_x = true;
  for (const ReportJson& method : comparison.at("methods")) {
    const std::string name = method.at("method").get<std::string>();
    const double f1 = At(method, "f1", "test"), sd = At(method, "f1", "test_sd"),
                 seconds = At(method, "seconds", "train");
    const auto colour = static_cast<int>(rows.size() % kSeriesColours);
    rows.push_back({{name},
                    {fmt::format("{:.2f} ± {:.2f}", 100 * f1, 100 * sd), "", fmt::format("{:.6f}", f1)},
                    {fmt::format("{:.2f}", 100 * At(method, "f1", "val"))},
                    {fmt::format("{:.3f} ± {:.3f}", seconds, At(method, "seconds", "train_sd")), "",
                     fmt::format("{:.6f}", seconds)},
                    {fmt::format("{:.3f}", At(method, "seconds", "setup"))},
                    {ValueText("", method.value("seconds_to_f1", ReportJson()))},
                    {fmt::format("{:.1f}", At(method, "memory", "training_bytes") / kMiB)},
                    {ValueText("", method.value("epochs", ReportJson()))},
                    {method.value("stopped_by_clock", false) ? "yes" : ""}});
    trade.series.push_back(
        {name, {seconds}, {100 * f1}, SeriesStyle::kPoints, colour, {100 * sd}, {name}, false});
    ChartSeries curve;
    curve.name = name;
    curve.colour = colour;
    for (const ReportJson& layer : method.value("loss", ReportJson::array())) {
      for (const ReportJson& loss : layer) {
        curve.x.push_back(static_cast<double>(curve.x.size() + 1));
        curve.y.push_back(loss.is_number() ? loss.get<double>() : std::numeric_limits<double>::quiet_NaN());
      }
    }
    losses.series.push_back(std::move(curve));
  }
  page.Table({"method", "test F1 %", "validation F1 %", "training s", "setup s", "s to equal F1",
              "MiB over the data", "epochs", "stopped by the clock"},
             rows, {"Means and standard deviations over seeds", true, false});
  page.BeginPair();
  page.Figure(trade, "Up and to the left is better. Bars: one standard deviation over seeds.");
  page.Figure(losses, "");
  page.EndPair();
}

void AddReproduction(const ReportJson& reproduction, Page& page) {
  for (const auto& [target, content] : reproduction.items()) {
    if (content.is_array() && !content.empty() && content.front().is_object()) {
      page.Section(target);
      AddObjects("paper_… are the paper's figures; data says whether the set is the real one", content, page);
    } else if (target == "fig-capacity" && content.is_object()) {
      page.Section(target);
      for (const ReportJson& set : content.value("sets", ReportJson::array())) {
        if (!set.value("enumerated", false)) continue;
        std::vector<std::vector<Cell>> rows;
        for (const auto& [features, classes] : set.at("colour_classes").items()) {
          rows.push_back({{"colour refinement"}, {features, "l"}, {""}, {classes.dump(), "l"}});
        }
        for (const ReportJson& networks : set.at("networks")) {
          rows.push_back({{networks.value("training", "") + ", " + networks.value("operator", "")},
                          {networks.value("features", ""), "l"},
                          {fmt::format("{}", networks.value("width", 0))},
                          {networks.at("classes").dump(), "l"}});
        }
        page.Table(
            {"who", "features", "width", "classes by depth (one list a seed)"}, rows,
            {fmt::format("{}: {} graphs", set.value("name", ""), set.value("graphs", 0)), false, false});
      }
    }
  }
}

}  // namespace l2gcn
