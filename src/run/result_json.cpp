#include "run/result_json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error_format.h"
#include "core/json_text.h"
#include "core/usable.h"
#include "data/catalog.h"
#include "data/reader.h"
#include "l2gcn/version.h"
#include "train/snapshot.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Mean and sample standard deviation over seeds of one number.
template <class Get>
std::pair<double, double> MeanAndDeviation(const std::vector<SeedResult>& seeds, const Get& get) {
  double mean = 0, squares = 0;
  for (const SeedResult& seed : seeds) mean += get(seed) / static_cast<double>(seeds.size());
  for (const SeedResult& seed : seeds) squares += (get(seed) - mean) * (get(seed) - mean);
  return {mean, seeds.size() > 1 ? std::sqrt(squares / static_cast<double>(seeds.size() - 1)) : 0.0};
}

SeedResult::Seconds MeanSeconds(const std::vector<SeedResult>& seeds) {
  SeedResult::Seconds mean;
  for (auto field :
       {&SeedResult::Seconds::load, &SeedResult::Seconds::choose, &SeedResult::Seconds::setup,
        &SeedResult::Seconds::aggregate, &SeedResult::Seconds::train, &SeedResult::Seconds::validate,
        &SeedResult::Seconds::transform, &SeedResult::Seconds::evaluate, &SeedResult::Seconds::total}) {
    mean.*field = MeanAndDeviation(seeds, [&](const SeedResult& s) { return s.seconds.*field; }).first;
  }
  return mean;
}

// The most of all seeds for each phase that happened; empty where nothing is known.
Json ResidentJson(const std::vector<SeedResult>& seeds) {
  const std::pair<const char*, uint64_t SeedResult::Resident::*> phases[] = {
      {"load", &SeedResult::Resident::load},           {"setup", &SeedResult::Resident::setup},
      {"aggregate", &SeedResult::Resident::aggregate}, {"train", &SeedResult::Resident::train},
      {"transform", &SeedResult::Resident::transform}, {"evaluate", &SeedResult::Resident::evaluate}};
  Json json = Json::object();
  for (const auto& [name, member] : phases) {
    uint64_t most = 0;
    for (const SeedResult& seed : seeds) most = std::max(most, seed.resident.*member);
    if (most > 0) json[name] = most;
  }
  return json;
}

Json EpochsJson(const SeedResult& result) {
  Json epochs = Json::array();
  for (const SeedResult::Layer& layer : result.layers) epochs.push_back(layer.epochs);
  return epochs;
}

Json LossJson(const SeedResult& result) {
  Json loss = Json::array();
  for (const SeedResult::Layer& layer : result.layers) loss.push_back(layer.losses);
  return loss;
}

// What ended each layer, and with which probabilities.
Json StopsJson(const SeedResult& result) {
  Json stops = Json::array();
  for (const SeedResult::Layer& layer : result.layers) {
    stops.push_back({{"epochs", layer.epochs},
                     {"kept_epoch", layer.kept_epoch},
                     {"rate", layer.rate},
                     {"steps", layer.steps},
                     {"stopped_by", layer.stopped_by},
                     {"probabilities", layer.probabilities},
                     {"sparse", layer.sparse_input},
                     {"seconds", layer.train_seconds},
                     {"flops", layer.flops},
                     {"gathered_bytes", layer.gathered_bytes}});
  }
  return stops;
}

// What the program chose in place of the user, and by what.
Json ChosenJson(const SeedResult& result) {
  Json rates = Json::array();
  for (const SeedResult::Layer& layer : result.layers) rates.push_back(layer.rate);
  return {{"lr", rates}, {"reason", "from the size of each layer's input rows and the steps of its budget"}};
}

// Scores of the validation nodes while it trained, in order (--val-every, or a policy that watches them).
Json ValidationJson(const SeedResult& result) {
  Json points = Json::array();
  for (const SeedResult::ValidationPoint& point : result.validation)
    points.push_back(ValidationPointJson(point));
  return points;
}

constexpr std::pair<const char*, double Score::Numbers::*> kNamedFigures[] = {
    {"r2", &Score::Numbers::r2},
    {"mae", &Score::Numbers::mae},
    {"rmse", &Score::Numbers::rmse},
    {"spearman", &Score::Numbers::spearman}};
struct RegressionPart {
  const char* name;
  Score::Numbers SeedResult::Regression::*model;
  Score::Numbers SeedResult::Regression::*baseline;
};
constexpr RegressionPart kRegressionParts[] = {
    {"train", &SeedResult::Regression::train, &SeedResult::Regression::baseline_train},
    {"val", &SeedResult::Regression::val, &SeedResult::Regression::baseline_val},
    {"test", &SeedResult::Regression::test, &SeedResult::Regression::baseline_test}};

// The baseline of a regression has no ranks of its own, so no Spearman correlation.
Json RegressionBaselineJson(const SeedResult& result) {
  Json json = {{"name", result.baseline}};
  for (const auto& [name, figure] : kNamedFigures) {
    if (figure == &Score::Numbers::spearman) continue;
    for (const RegressionPart& part : kRegressionParts)
      json[name][part.name] = NumberOrNull((*result.regression).*part.baseline.*figure);
  }
  return json;
}

// What the trivial answer scores, of the first seed: with other splits it differs in the decimals.
Json BaselineJson(const SeedResult& result) {
  if (result.regression) return RegressionBaselineJson(result);
  return {{"name", result.baseline},
          {"train", NumberOrNull(result.baseline_train)},
          {"val", NumberOrNull(result.baseline_val)},
          {"test", NumberOrNull(result.baseline_test)}};
}

Json SplitJson(const SeedResult& result) {
  return {{"name", result.split},          {"train", result.train_nodes},
          {"val", result.val_nodes},       {"test", result.test_nodes},
          {"unused", result.unused_nodes}, {"unlabelled", result.unlabelled_nodes}};
}

Json MeanEpochsJson(const std::vector<SeedResult>& seeds) {
  Json epochs = Json::array();
  for (size_t layer = 0; layer < seeds.front().layers.size(); ++layer) {
    const double mean = MeanAndDeviation(seeds, [&](const SeedResult& s) {
                          return static_cast<double>(s.layers[layer].epochs);
                        }).first;
    if (mean == std::floor(mean))
      epochs.push_back(static_cast<uint64_t>(mean));
    else
      epochs.push_back(mean);
  }
  return epochs;
}

// One figure's mean and deviation over the seeds, to json[name] and json[name_sd].
template <class Of>
void AddOverSeeds(const std::vector<SeedResult>& seeds, const std::string& name, const char* part,
                  const Of& of, Json& json) {
  const auto [mean, deviation] = MeanAndDeviation(seeds, of);
  json[name][part] = NumberOrNull(mean);
  json[name + "_sd"][part] = NumberOrNull(deviation);
}

// F1 in each part, or the figures of a regression.
void AddMeanScores(const std::vector<SeedResult>& seeds, Json& json) {
  if (seeds.front().regression) {
    for (const auto& [name, figure] : kNamedFigures) {
      for (const RegressionPart& part : kRegressionParts) {
        const auto of = [m = part.model, f = figure](const SeedResult& s) { return (*s.regression).*m.*f; };
        AddOverSeeds(seeds, name, part.name, of, json);
      }
    }
    return;
  }
  const std::pair<const char*, double SeedResult::*> parts[] = {
      {"train", &SeedResult::f1_train}, {"val", &SeedResult::f1_val}, {"test", &SeedResult::f1_test}};
  for (const auto& [part, member] : parts)
    AddOverSeeds(
        seeds, "f1", part, [m = member](const SeedResult& s) { return s.*m; }, json);
}

Json ResultJson(const TrainResult& result) {
  const auto& seeds = result.seeds;
  uint64_t peak_rss = 0, peak_device = 0;
  Json runs = Json::array();
  for (const SeedResult& seed : seeds) {
    peak_rss = std::max(peak_rss, seed.peak_rss_bytes);
    peak_device = std::max(peak_device, seed.peak_device_bytes);
    Json run = {{"seed", seed.seed}};
    run.update(ScoresJson(seed));
    run.update(Json{{"epochs", EpochsJson(seed)},
                    {"loss", LossJson(seed)},
                    {"trials", TrialsToJson(seed.trials)},
                    {"layers", StopsJson(seed)},
                    {"validation", ValidationJson(seed)},
                    {"baseline", BaselineJson(seed)},
                    {"seconds", SecondsJson(seed.seconds)},
                    {"run", seed.run}});
    runs.push_back(std::move(run));
    if (seed.restarts > 0) {
      runs.back()["restarts"] = seed.restarts;
      runs.back()["lowered_lr"] = seed.lowered_lr;
    }
  }
  Json json;
  json["method"] = result.config.method;
  json["dataset"] = ParseJson(result.dataset_json, "dataset");
  json["source"] = ParseJson(result.source_json, "source");
  AddMeanScores(seeds, json);
  json["baseline"] = BaselineJson(seeds.front());
  json["split"] = SplitJson(seeds.front());
  json["epochs"] = MeanEpochsJson(seeds);
  json["loss"] = LossJson(seeds.front());
  json["seconds"] = SecondsJson(MeanSeconds(seeds));
  json["memory"] = {{"peak_rss_bytes", peak_rss},
                    {"peak_device_bytes", peak_device},
                    {"resident_bytes", ResidentJson(seeds)}};
  if (!result.disk_json.empty()) json["disk"] = ParseJson(result.disk_json, "disk");
  if (result.config.FindsRate()) json["chosen"] = ChosenJson(seeds.front());
  json["runs"] = runs;
  json["device"] = result.device;
  json["threads"] = result.threads;
  json["seed"] = result.config.seed;
  json["version"] = Version();
  json["run"] = result.run;
  return json;
}

}  // namespace

Json ScoresJson(const SeedResult& result) {
  Json json;
  if (!result.regression) {
    json["f1"] = {{"train", NumberOrNull(result.f1_train)},
                  {"val", NumberOrNull(result.f1_val)},
                  {"test", NumberOrNull(result.f1_test)}};
    return json;
  }
  for (const auto& [name, figure] : kNamedFigures) {
    for (const RegressionPart& part : kRegressionParts)
      json[name][part.name] = NumberOrNull((*result.regression).*part.model.*figure);
  }
  return json;
}

Json ValidationPointJson(const SeedResult::ValidationPoint& point) {
  const bool has_f1 = !std::isnan(point.f1);
  return {{"layer", point.layer},
          {"epoch", point.epoch},
          {has_f1 ? "f1" : "loss", NumberOrNull(has_f1 ? point.f1 : point.loss)},
          {"seconds", point.seconds}};
}

Json SecondsJson(const SeedResult::Seconds& s) {
  return {{"load", s.load},           {"choose", s.choose},     {"setup", s.setup},
          {"aggregate", s.aggregate}, {"train", s.train},       {"validate", s.validate},
          {"transform", s.transform}, {"evaluate", s.evaluate}, {"total", s.total}};
}

std::string DiskToJson(const DiskUse& disk) {
  if (disk.read_bytes == 0) return "";
  return JsonText(Json{{"read_bytes", disk.read_bytes},
                       {"written_bytes", disk.written_bytes},
                       {"planned_bytes", disk.planned_bytes},
                       {"read_rate", disk.read_rate},
                       {"write_rate", disk.write_rate},
                       {"panels", disk.panels},
                       {"panel_read_bytes", disk.panel_read_bytes},
                       {"panel_written_bytes", disk.panel_written_bytes},
                       {"panel_seconds", disk.panel_seconds}});
}

std::string ResultToJson(const TrainResult& result) {
  if (result.seeds.empty()) ThrowUsage("a result without a trained seed has nothing to say");
  for (const SeedResult& seed : result.seeds) {
    if (seed.layers.size() != result.seeds.front().layers.size()) {
      ThrowUsage("seed {} has {} layers, seed {} has {}", seed.seed, seed.layers.size(),
                 result.seeds.front().seed, result.seeds.front().layers.size());
    }
  }
  try {
    return JsonText(ResultJson(result));
  } catch (const Json::exception& error) {
    ThrowUsage("the result's dataset_json or source_json is not JSON: {}", error.what());
  }
}

TrainResult BeginResult(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options) {
  TrainResult result;
  result.config = config;
  result.dataset_json = DescribeDatasetJson(dataset);
  result.source_json = SourceToJson(dataset, options);
  result.device = DeviceName(context.device);
  result.threads = context.threads;
  return result;
}

std::string AbsolutePath(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

void MakePathsAbsolute(std::string& spec, OpenOptions& open) {
  for (std::string* path :
       {&open.data_dir, &open.edges, &open.nodes, &open.features, &open.labels, &open.schema})
    *path = AbsolutePath(*path);
  for (std::vector<OpenOptions::Table>* tables : {&open.node_tables, &open.edge_tables}) {
    for (OpenOptions::Table& table : *tables) table.path = AbsolutePath(table.path);
  }
  std::error_code error;
  if (spec.empty() || spec.starts_with("synthetic:")) return;
  const bool is_planetoid = FindReader(spec, "planetoid")->detect(spec);
  if (is_planetoid || std::filesystem::exists(spec, error) || spec.find('/') != std::string::npos) {
    spec = AbsolutePath(spec);
    return;
  }
  const std::vector<std::filesystem::path> found = FindByName(spec, open);
  if (found.empty()) return;
  for (const std::filesystem::path& folder : SearchFolders(open)) {
    const std::string root = AbsolutePath(folder.string());
    if (AbsolutePath(found[0].string()).starts_with(root + "/")) {
      open.data_dir = root;
      return;
    }
  }
}

std::string SourceToJson(const Dataset& dataset, const RunOptions& options) {
  std::string spec = options.dataset_spec;
  OpenOptions open = options.open_options;
  MakePathsAbsolute(spec, open);
  Json source = {{"spec", spec}, {"options", ParseJson(OpenOptionsToJson(open), "options")}};
  if (dataset.format == kInMemoryFormat && spec.empty()) source["in_memory"] = true;
  return JsonText(source);
}

void SourceFromJson(const Json& source, const std::string& where, OpenedRun& run) {
  run.dataset_spec = source.at("spec").get<std::string>();
  run.knows_data = !source.value("in_memory", false);
  run.open_options = OpenOptionsFromJson(JsonText(source.at("options")), where);
}

}  // namespace l2gcn
