#include "controller/search.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/methods.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/usable.h"
#include "l2gcn/ranks.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStateFormat = "l2gcn-search-state";

Json ConfigJson(const SearchConfig& config) {
  Json json;
  for (const SearchField& field : SearchFields()) json[field.name] = field.get(config);
  return json;
}

// The configuration with the kind's own numbers where it says 0.
SearchConfig WithKindDefaults(SearchConfig config, const std::vector<Dataset>& datasets) {
  const std::string preset_row = datasets.front().preset_row;
  const bool paper = config.kind == SearchConfig::Kind::kPaper, ppi = preset_row == "ppi",
             reddit = preset_row == "reddit";
  if (config.rounds == 0) config.rounds = paper ? (reddit ? 200 : 50) : 400;
  if (config.interval == 0) config.interval = ppi ? 50 : 10;
  if (config.decisions == 0) config.decisions = reddit ? 40 : 20;
  if (config.min_epochs == 0) config.min_epochs = ppi ? 175 : 35;
  if (config.max_epochs == 0) config.max_epochs = ppi ? 475 : 95;
  if (config.cost_weight == 0)
    config.cost_weight = paper ? 1e-4 : (config.reward == SearchConfig::Reward::kF1 ? 2.0 : 0.05);
  return config;
}

}  // namespace

std::string SearchState::ToJson(const SearchConfig& config) const {
  Json json;
  json["format"] = kStateFormat;
  json["settings"] = ConfigJson(config);
  json["round"] = round;
  json["weights"] = net.weights();
  json["adam"] = {{"steps", adam.steps}, {"m", adam.m}, {"v", adam.v}};
  json["baseline"] = baseline;
  json["probability_sum"] = probability_sum;
  json["probability_count"] = probability_count;
  json["best_weights"] = best_weights;
  json["best_cost"] = best_cost;
  for (const SearchResult::Round& r : curve) {
    json["curve"].push_back(
        {r.round, r.cost, r.epochs, std::isfinite(r.greedy_cost) ? Json(r.greedy_cost) : Json()});
  }
  return JsonText(json);
}

void SearchState::Load(const std::string& text, const std::string& path, const SearchConfig& config) {
  try {
    const Json json = ParseJson(text, path);
    if (!json.is_object() || json.value("format", "") != kStateFormat)
      ThrowInput("{}: not the state of a search", path);
    Json settings;
    for (const auto& [name, value] : json.at("settings").items())
      settings[name == "judge" ? "evaluation-split" : name] = value;  // "judge" in earlier versions
    if (settings != ConfigJson(config)) {
      ThrowInput("{}: belongs to a search with other settings; repeat them or start anew without --resume",
                 path);
    }
    round = json.at("round").get<uint32_t>();
    if (round > config.rounds) ThrowInput("{}: round {} of {} cannot be", path, round, config.rounds);
    // As many numbers as the net has weights; `optional`: or none yet.
    const auto numbers = [&](const Json& from, const char* name, bool optional) {
      auto values = from.at(name).get<std::vector<double>>();
      if (values.size() != net.shape().size() && !(optional && values.empty())) {
        ThrowInput("{}: '{}' holds {} numbers, expected {}; the file is damaged", path, name, values.size(),
                   net.shape().size());
      }
      return values;
    };
    net.mutable_weights() = numbers(json, "weights", false);
    adam.steps = json.at("adam").at("steps").get<uint64_t>();
    adam.m = numbers(json.at("adam"), "m", true);
    adam.v = numbers(json.at("adam"), "v", true);
    if (adam.m.size() != adam.v.size() || (adam.steps > 0 && adam.m.empty()))
      ThrowInput("{}: the optimiser's state is damaged", path);
    baseline = json.at("baseline").get<double>();
    probability_sum = json.at("probability_sum").get<double>();
    probability_count = json.at("probability_count").get<double>();
    best_weights = numbers(json, "best_weights", true);
    best_cost = json.at("best_cost").get<double>();
    curve.clear();
    for (const Json& r : json.value("curve", Json::array())) {
      curve.push_back({r.at(0).get<uint32_t>(), r.at(1).get<double>(), r.at(2).get<double>(),
                       r.at(3).is_null() ? std::nan("") : r.at(3).get<double>()});
    }
    if (curve.size() != round)
      ThrowInput("{}: {} rounds are recorded of {}; the file is damaged", path, curve.size(), round);
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged state of a search: a value is missing or of the wrong type ({})", path,
               error.what());
  }
}

void RunRounds(const Context& context, const SearchConfig& config, SearchState& state,
               const std::function<void(SearchState&)>& round) {
  const auto save = [&] {
    if (!config.state_path.empty() && Leads(context)) WriteFileWhole(config.state_path, state.ToJson(config));
  };
  std::error_code ignored;
  if (config.resume && Agreed(context, std::filesystem::exists(config.state_path, ignored))) {
    const std::string text = AgreedText(context, [&] { return ReadTextFile(config.state_path); });
    state.Load(text, config.state_path, config);
  }
  Stopwatch watch;
  const uint32_t first = state.round;
  try {
    while (state.round < config.rounds) {
      context.CheckCancelled();
      round(state);
      ++state.round;
      if (config.save_every > 0 && state.round % config.save_every == 0) save();
      if (context.on_progress) {
        Progress progress;
        progress.phase = "search";
        progress.epoch = state.round;
        progress.epochs = config.rounds;
        progress.loss = state.curve.empty() ? 0 : state.curve.back().cost;
        progress.seconds_left = watch.Seconds() / (state.round - first) * (config.rounds - state.round);
        context.on_progress(progress);
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled || config.state_path.empty()) throw;
    save();
    throw Error(ErrorKind::kCancelled,
                fmt::format("stopped on request after {} of {} rounds, which {} holds; go on with --resume",
                            state.round, config.rounds, config.state_path));
  }
}

TrainConfig RolloutConfig(const Dataset& dataset, const SearchConfig& config, const Overrides& training) {
  Overrides overrides = {{"preset", "paper"}};
  overrides.insert(overrides.end(), training.begin(), training.end());
  overrides.emplace_back("method", method_names::kLayerwise);
  TrainConfig resolved = ResolveConfig(overrides, dataset);
  resolved.drop_last = false;
  if (config.batch.kind == SearchConfig::Batch::Kind::kFull)
    resolved.batch = std::numeric_limits<int32_t>::max();
  if (config.batch.kind == SearchConfig::Batch::Kind::kNodes) resolved.batch = config.batch.nodes;
  return resolved;
}

std::vector<uint32_t> DrawOthers(uint32_t nodes, std::span<const uint32_t> picked, double share,
                                 const RandomStream& stream) {
  std::vector<uint8_t> taken(nodes, 0);
  for (uint32_t node : picked) taken[node] = 1;
  std::vector<uint32_t> others;
  for (uint32_t node = 0; node < nodes; ++node) {
    if (taken[node] == 0 && static_cast<double>(stream.Uniform(node)) < share) others.push_back(node);
  }
  return others;
}

void Validate(const SearchConfig& config) {
  SearchConfig scratch;
  for (const SearchField& field : SearchFields()) field.set(scratch, field.get(config));
}

Controller SearchController(const Context& context, const std::vector<Dataset>& datasets,
                            const SearchConfig& config, const Overrides& training, SearchResult* result) {
  if (datasets.empty()) ThrowUsage("search: name at least one data set to learn on");
  Validate(config);
  for (const Dataset& dataset : datasets) {
    CheckUsable(context, dataset);
    if (dataset.labels.task() == Task::kRegression)
      ThrowUsage("{}: has targets of a regression; controllers are learned on classes", dataset.name);
  }
  const SearchConfig complete = WithKindDefaults(config, datasets);
  if (complete.kind == SearchConfig::Kind::kPaper && datasets.size() != 1) {
    ThrowUsage("search: kind paper learns on one data set, {} were named; use kind general to mix them",
               datasets.size());
  }
  if (config.resume && config.state_path.empty())
    ThrowUsage("search: --resume needs the output file of the search");
  SearchResult local;
  SearchResult& out = result != nullptr ? *result : local;
  Stopwatch watch;
  // A search makes many short trainings of small subgraphs: launches and transfers outweigh them on a GPU
  // (docs/performance.md).
  const Context fast = PreferCpu(context, "search", "its trainings are too short for the GPU");
  for (const Dataset& dataset : datasets) CheckSameData(context, dataset);
  Controller controller = complete.kind == SearchConfig::Kind::kPaper
                              ? SearchPaper(WithoutRanks(fast), datasets.front(), complete, training, out)
                              : SearchGeneral(fast, datasets, complete, training, out);
  out.seconds = watch.Seconds();
  return controller;
}

void SaveSearch(const Controller& controller, const SearchConfig& config, const SearchResult& result,
                const std::string& path, bool replace) {
  const std::string curve = path + ".json";
  ReplaceFile(curve, [&](const std::filesystem::path& aside) {
    FileWriter writer(aside);
    writer.Write(SearchResultJson(config, result) + "\n");
    writer.Close();
    if (!replace) CheckOutputFile(path, false);
    std::error_code ignored;
    std::filesystem::remove(OutputTarget(curve), ignored);
    controller.Save(path, replace);
  });
}

void CheckSearchPath(const std::string& path, bool replace) {
  CheckOutputFile(path, replace);
  CheckOutputFile(path + ".json", true);
  CheckOutputFile(path + ".state", true);
}

std::string SearchResultJson(const SearchConfig& config, const SearchResult& result) {
  Json json;
  json["settings"] = ConfigJson(config);
  json["seconds"] = result.seconds;
  json["trained_epochs"] = result.trained_epochs;
  json["curve"] = Json::array();
  for (const SearchResult::Round& r : result.curve) {
    Json row = {{"round", r.round}, {"cost", r.cost}, {"epochs", r.epochs}};
    if (std::isfinite(r.greedy_cost)) row["greedy_cost"] = r.greedy_cost;
    json["curve"].push_back(row);
  }
  return JsonText(json, 2);
}

}  // namespace l2gcn
