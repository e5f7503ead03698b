#include "controller/search.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/methods.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/usable.h"

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
  const std::string recipe = datasets.front().recipe;
  const bool paper = config.kind == "paper", ppi = recipe == "ppi", reddit = recipe == "reddit";
  if (config.rounds == 0) config.rounds = paper ? (reddit ? 200 : 50) : 400;
  if (config.interval == 0) config.interval = ppi ? 50 : 10;
  if (config.decisions == 0) config.decisions = reddit ? 40 : 20;
  if (config.min_epochs == 0) config.min_epochs = ppi ? 175 : 35;
  if (config.max_epochs == 0) config.max_epochs = ppi ? 475 : 95;
  if (config.cost_weight == 0) config.cost_weight = paper ? 1e-4 : (config.reward == "f1" ? 2.0 : 0.05);
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
  for (const SearchRound& r : curve) {
    json["curve"].push_back(
        {r.round, r.cost, r.epochs, std::isfinite(r.greedy_cost) ? Json(r.greedy_cost) : Json()});
  }
  return json.dump();
}

void SearchState::Load(const std::string& path, const SearchConfig& config) {
  try {
    const Json json = Json::parse(ReadTextFile(path));
    if (json.value("format", "") != kStateFormat) ThrowInput("{}: not the state of a search", path);
    if (json.at("settings") != ConfigJson(config)) {
      ThrowInput("{}: belongs to a search with other settings; repeat them or start anew without --resume",
                 path);
    }
    round = json.at("round").get<uint32_t>();
    auto weights = json.at("weights").get<std::vector<double>>();
    if (weights.size() != net.shape().size())
      ThrowInput("{}: holds {} weights, expected {}", path, weights.size(), net.shape().size());
    net.mutable_weights() = std::move(weights);
    adam.steps = json.at("adam").at("steps").get<uint64_t>();
    adam.m = json.at("adam").at("m").get<std::vector<double>>();
    adam.v = json.at("adam").at("v").get<std::vector<double>>();
    baseline = json.at("baseline").get<double>();
    probability_sum = json.at("probability_sum").get<double>();
    probability_count = json.at("probability_count").get<double>();
    best_weights = json.at("best_weights").get<std::vector<double>>();
    best_cost = json.at("best_cost").get<double>();
    curve.clear();
    for (const Json& r : json.value("curve", Json::array())) {
      curve.push_back({r.at(0).get<uint32_t>(), r.at(1).get<double>(), r.at(2).get<double>(),
                       r.at(3).is_null() ? std::nan("") : r.at(3).get<double>()});
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged state of a search: {}", path, error.what());
  }
}

void RunRounds(const Context& context, const SearchConfig& config, const SearchOutput& output,
               SearchState& state, const std::function<void(SearchState&)>& round) {
  const auto save = [&] {
    if (!output.state_path.empty()) WriteFileWhole(output.state_path, state.ToJson(config));
  };
  if (output.resume) state.Load(output.state_path, config);
  Stopwatch watch;
  const uint32_t first = state.round;
  try {
    while (state.round < config.rounds) {
      context.CheckCancelled();
      round(state);
      ++state.round;
      if (output.save_every > 0 && state.round % output.save_every == 0) save();
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
    if (error.kind() == ErrorKind::kCancelled) save();
    throw;
  }
}

TrainConfig RolloutConfig(const Dataset& dataset, const SearchConfig& config, const Overrides& training) {
  Overrides overrides = training;
  overrides.emplace_back("method", method_names::kLgcn);
  TrainConfig resolved = ResolveConfig(overrides, dataset);
  resolved.drop_last = false;
  if (config.batch == "full") {
    resolved.batch = std::numeric_limits<int32_t>::max();
  } else if (config.batch != "preset") {
    resolved.batch = static_cast<uint32_t>(std::stoul(config.batch));
  }
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
                            const SearchConfig& config, const Overrides& training, const SearchOutput& output,
                            SearchResult* result) {
  if (datasets.empty()) ThrowUsage("search: name at least one data set to learn on");
  Validate(config);
  for (const Dataset& dataset : datasets) CheckUsable(context, dataset);
  const SearchConfig complete = WithKindDefaults(config, datasets);
  if (complete.kind == "paper" && datasets.size() != 1) {
    ThrowUsage("search: kind paper learns on one data set, {} were named; use kind general to mix them",
               datasets.size());
  }
  if (output.resume && output.state_path.empty())
    ThrowUsage("search: --resume needs the output file of the search");
  SearchResult local;
  SearchResult& out = result != nullptr ? *result : local;
  Stopwatch watch;
  // A search makes many short trainings of small subgraphs: launches and transfers outweigh them on a GPU
  // (docs/performance.md).
  const Context fast = PreferCpu(context, "search", "its trainings are too short for the GPU");
  Controller controller = complete.kind == "paper"
                              ? SearchPaper(fast, datasets.front(), complete, training, output, out)
                              : SearchGeneral(fast, datasets, complete, training, output, out);
  out.seconds = watch.Seconds();
  return controller;
}

void SaveSearch(const Controller& controller, const SearchConfig& config, const SearchResult& result,
                const std::string& path) {
  controller.Save(path);
  WriteFileWhole(path + ".json", SearchResultJson(config, result) + "\n");
}

std::string SearchResultJson(const SearchConfig& config, const SearchResult& result) {
  Json json;
  json["settings"] = ConfigJson(config);
  json["seconds"] = result.seconds;
  json["trained_epochs"] = result.trained_epochs;
  json["curve"] = Json::array();
  for (const SearchRound& r : result.curve) {
    Json row = {{"round", r.round}, {"cost", r.cost}, {"epochs", r.epochs}};
    if (std::isfinite(r.greedy_cost)) row["greedy_cost"] = r.greedy_cost;
    json["curve"].push_back(row);
  }
  return json.dump(2);
}

}  // namespace l2gcn
