// A comparison as a text table, as JSON and as CSV: the same figures in the same order.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/memory_meter.h"
#include "l2gcn/version.h"
#include "report/comparison.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

std::string SecondsOrDash(double seconds) { return seconds < 0 ? "–" : fmt::format("{:.3f}", seconds); }

// fmt counts bytes of multi-byte dashes as columns by itself; ± and – are one column each.
std::string Row(const std::vector<std::string>& cells) {
  return fmt::format("{:<15} {:>15} {:>18} {:>10} {:>13} {:>12} {:>13} {:>10} {:>8}\n", cells[0], cells[1],
                     cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8]);
}

}  // namespace

std::string ComparisonToText(const Comparison& comparison) {
  std::string text = fmt::format("{} ({}) · {}, {} threads\n", comparison.dataset_name,
                                 comparison.dataset_format, comparison.device, comparison.threads);
  text += Row({"method", "test F1 %", "train s", "setup s", "s to equal F1", "peak MiB", "over data MiB",
               "device MiB", "epochs"});
  bool cut = false;
  for (const CompareRow& row : comparison.rows) {
    cut = cut || row.stopped_by_clock;
    text += Row({row.method + (row.stopped_by_clock ? "*" : ""),
                 fmt::format("{:.2f} ± {:.2f}", 100 * row.f1, 100 * row.f1_sd),
                 fmt::format("{:.3f} ± {:.3f}", row.seconds, row.seconds_sd),
                 fmt::format("{:.3f}", row.setup_seconds), SecondsOrDash(row.seconds_to_f1),
                 fmt::format("{:.1f}", static_cast<double>(row.peak_rss_bytes) / kMiB),
                 fmt::format("{:.1f}", static_cast<double>(row.training_bytes) / kMiB),
                 fmt::format("{:.1f}", static_cast<double>(row.peak_device_bytes) / kMiB),
                 fmt::format("{:.0f}", row.epochs)});
  }
  if (!comparison.rows.empty() && comparison.rows.front().target_f1 > 0) {
    text += fmt::format("s to equal F1: first validation F1 of {:.2f} or more; scoring is off the clock\n",
                        100 * comparison.rows.front().target_f1);
  }
  if (cut) text += "*: stopped by --max-seconds\n";
  text.pop_back();
  return text;
}

std::string ComparisonToJson(const Comparison& comparison) {
  Json rows = Json::array();
  for (const CompareRow& row : comparison.rows) {
    Json curve = Json::array();
    for (const SeedResult::ValidationPoint& point : row.validation)
      curve.push_back({point.seconds, point.layer, point.epoch, point.f1});
    rows.push_back(
        {{"method", row.method},
         {"runs", row.runs},
         {"f1", {{"test", row.f1}, {"test_sd", row.f1_sd}, {"val", row.f1_val}}},
         {"seconds", {{"train", row.seconds}, {"train_sd", row.seconds_sd}, {"setup", row.setup_seconds}}},
         {"seconds_to_f1", row.seconds_to_f1 < 0 ? Json(nullptr) : Json(row.seconds_to_f1)},
         {"target_f1", row.target_f1},
         {"memory",
          {{"peak_rss_bytes", row.peak_rss_bytes},
           {"training_bytes", row.training_bytes},
           {"peak_device_bytes", row.peak_device_bytes},
           {"sampler_bytes", row.sampler_bytes}}},
         {"epochs", row.epochs},
         {"stopped_by_clock", row.stopped_by_clock},
         {"validation", curve},
         {"loss", row.losses},
         {"config", ParseJson(ConfigToJson(row.config), "config")}});
  }
  const Json json = {{"dataset", ParseJson(comparison.dataset_json, "dataset_json")},
                     {"device", comparison.device},
                     {"threads", comparison.threads},
                     {"version", Version()},
                     {"methods", rows}};
  return JsonText(json, 2);
}

std::string ComparisonToCsv(const Comparison& comparison) {
  std::string text =
      "dataset,method,layers,nodes,runs,f1_test,f1_test_sd,f1_val,seconds,seconds_sd,setup_seconds,seconds_"
      "to_f1,"
      "target_f1,peak_rss_bytes,training_bytes,peak_device_bytes,sampler_bytes,epochs,stopped_by_clock\n";
  const auto nodes = ParseJson(comparison.dataset_json, "dataset_json").at("nodes").get<uint64_t>();
  for (const CompareRow& row : comparison.rows) {
    text += fmt::format(
        "{},{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f},{},{:.6f},{},{},{},{},{:.1f},{}\n",
        comparison.dataset_name, row.method, row.config.layers, nodes, row.runs, row.f1, row.f1_sd,
        row.f1_val, row.seconds, row.seconds_sd, row.setup_seconds,
        row.seconds_to_f1 < 0 ? "" : fmt::format("{:.6f}", row.seconds_to_f1), row.target_f1,
        row.peak_rss_bytes, row.training_bytes, row.peak_device_bytes, row.sampler_bytes, row.epochs,
        row.stopped_by_clock ? 1 : 0);
  }
  text.pop_back();
  return text;
}

}  // namespace l2gcn
