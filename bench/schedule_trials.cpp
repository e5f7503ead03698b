// Trains one data set under many trials, each a way to find rate, schedule and stop, and prints a line of JSON for each
// training: what bench/tune_rate.py chooses the constants of train/auto_schedule.h by, and their baselines.
//
// A trial is a line of JSON: {"name": …, "settings": {options of l2gcn train}, "schedule": {members of AutoSchedule},
// "stop": {"kind": "patience", "watch": "val"|"val-loss", "patience": epochs, "margin": share} or
// {"kind": "power-law", "margin": share}}. With "schedule" layers end by PlateauStopping, with "stop" as named there, else as
// the settings say. Equal lines give equal results.
//
// usage: schedule_trials DATASET PRESET SEED… < TRIALS, where DATASET is what l2gcn train opens, or "generate SHAPE
// --option value …" as the program itself takes it
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/train.h"
#include "train/layerwise_trainer.h"
#include "train/plateau_stopping.h"

namespace l2gcn {
namespace {

using Json = nlohmann::json;

// Patience with the best weights restored; better is what exceeds the best by a share of it.
class PatienceWithMargin final : public StopPolicy {
 public:
  explicit PatienceWithMargin(const Json& stop)
      : f1_(stop.at("watch") == "val"), patience_(stop.at("patience")), margin_(stop.at("margin")) {}
  void BeginLayer(const LayerView&) override { best_ = 0, best_epoch_ = 0; }
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& observation) override {
    const double score = f1_ ? observation.validation.f1 : 1 / (1e-9 + observation.validation.loss);
    const bool better = best_epoch_ == 0 || score > best_ * (1 + margin_);
    if (better) best_ = score, best_epoch_ = observation.epoch;
    return {observation.epoch - best_epoch_ >= patience_, -1, better};
  }
  bool WantsValidation() const override { return true; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "patience"; }

 private:
  bool f1_;
  uint32_t patience_;
  double margin_, best_ = 0;
  uint32_t best_epoch_ = 0;
};

// Fits loss = a + b · epoch^−c to the validation losses of the last two thirds of the epochs, least squares over c in
// steps, and stops when the rest of the budget is expected to bring less than a share of what was gained so far.
class PowerLawStop final : public StopPolicy {
 public:
  explicit PowerLawStop(const Json& stop) : margin_(stop.at("margin")) {}
  void BeginLayer(const LayerView& view) override { budget_ = view.budget, losses_.clear(); }
  uint32_t EpochsUntilDecision(uint32_t) const override { return 1; }
  Decision Decide(const Observation& observation) override {
    const double loss = observation.validation.loss;
    const bool better = losses_.empty() || loss < *std::min_element(losses_.begin(), losses_.end());
    losses_.push_back(loss);
    if (losses_.size() < kLeast) return {false, -1, better};
    const double best = *std::min_element(losses_.begin(), losses_.end());
    const double to_come = best - std::min(best, AtTheEnd());
    return {to_come < margin_ * (losses_.front() - best) || losses_.front() <= best, -1, better};
  }
  bool WantsValidation() const override { return true; }
  bool KeepsBest() const override { return true; }
  std::string Name() const override { return "power law"; }

 private:
  static constexpr size_t kLeast = 5;

  // The loss that the fitted law expects at the end of the budget.
  double AtTheEnd() const {
    double least = std::numeric_limits<double>::infinity(), expected = losses_.back();
    const size_t first = losses_.size() / 3;
    const auto n = static_cast<double>(losses_.size() - first);
    for (double power = 0.1; power < 3.05; power += 0.1) {
      double t = 0, y = 0, tt = 0, ty = 0, yy = 0;
      for (size_t i = first; i < losses_.size(); ++i) {
        const double at = std::pow(static_cast<double>(i + 1), -power);
        t += at / n, y += losses_[i] / n, tt += at * at / n, ty += at * losses_[i] / n;
        yy += losses_[i] * losses_[i] / n;
      }
      const double slope = (ty - t * y) / std::max(tt - t * t, 1e-300);
      const double rest = yy - y * y - slope * (ty - t * y);
      if (rest < least) least = rest, expected = y + slope * (std::pow(budget_, -power) - t);
    }
    return expected;
  }

  double margin_;
  uint32_t budget_ = 1;
  std::vector<double> losses_;
};

AutoSchedule AutoScheduleOf(const Json& given) {
  AutoSchedule schedule;
  const std::map<std::string, double*> members = {{"basic_rate", &schedule.basic_rate},
                                                  {"basic_power", &schedule.basic_power},
                                                  {"norm_rate", &schedule.norm_rate},
                                                  {"norm_power", &schedule.norm_power},
                                                  {"many_steps", &schedule.many_steps},
                                                  {"many_nodes", &schedule.many_nodes},
                                                  {"many_nodes_power", &schedule.many_nodes_power},
                                                  {"many_nodes_cap", &schedule.many_nodes_cap},
                                                  {"few_power", &schedule.few_power},
                                                  {"growth", &schedule.growth},
                                                  {"standard_errors", &schedule.standard_errors},
                                                  {"window", &schedule.window},
                                                  {"basic_patience", &schedule.basic_patience},
                                                  {"norm_patience", &schedule.norm_patience},
                                                  {"basic_threshold", &schedule.basic_threshold},
                                                  {"norm_threshold", &schedule.norm_threshold},
                                                  {"gain_cap", &schedule.gain_cap},
                                                  {"f1_threshold", &schedule.f1_threshold},
                                                  {"inner_factor", &schedule.inner_factor},
                                                  {"min_gain", &schedule.min_gain},
                                                  {"least_steps", &schedule.least_steps},
                                                  {"cool_down", &schedule.cool_down},
                                                  {"last_part", &schedule.last_part}};
  for (const auto& [name, value] : given.items()) {
    if (members.count(name) == 0) throw Error(ErrorKind::kUsage, "a schedule has no " + name);
    *members.at(name) = value.get<double>();
  }
  return schedule;
}

// The graph that `l2gcn generate` would write, in memory.
Dataset Generated(const Context& context, const std::string& command) {
  GenerateOptions options;
  std::istringstream words(command);
  std::string name, value;
  words >> name >> options.shape;
  while (words >> name >> value) {
    const double number = std::stod(value);
    const auto whole = static_cast<uint32_t>(number);
    const std::map<std::string, std::function<void()>> setters = {
        {"--seed", [&] { options.seed = whole; }},
        {"--scale", [&] { options.scale = number; }},
        {"--nodes", [&] { options.nodes = whole; }},
        {"--edges", [&] { options.edges = whole; }},
        {"--features", [&] { options.features = whole; }},
        {"--classes", [&] { options.classes = whole; }},
        {"--topics", [&] { options.topics = whole; }},
        {"--skew", [&] { options.skew = number; }},
        {"--homophily", [&] { options.homophily = number; }},
        {"--signal", [&] { options.signal = number; }},
        {"--label-noise", [&] { options.label_noise = number; }}};
    if (setters.count(name) == 0) throw Error(ErrorKind::kUsage, "generate has no " + name);
    setters.at(name)();
  }
  return GenerateDataset(context, options);
}

Trained Fit(const Context& context, const Dataset& dataset, const TrainConfig& config, const Json& trial) {
  if (trial.contains("schedule")) {
    LayerwiseOptions options;
    options.schedule = AutoScheduleOf(trial.at("schedule"));
    const SplitNodes nodes = ResolveSplit(dataset, config.split, config.seed);
    PlateauStopping policy(PriorBaselineOf(dataset.labels, nodes.train, config.ChoosesThreshold()),
                           options.schedule);
    return FitLayerwise(context, dataset, nodes, config, policy, options).trained;
  }
  if (!trial.contains("stop")) return Train(context, dataset, config);
  const Json& stop = trial.at("stop");
  std::unique_ptr<StopPolicy> policy;
  if (stop.at("kind") == "patience")
    policy = std::make_unique<PatienceWithMargin>(stop);
  else
    policy = std::make_unique<PowerLawStop>(stop);
  return Train(context, dataset, config, *policy);
}

void PrintTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                   const Json& trial) {
  nlohmann::ordered_json line = {{"name", trial.at("name")}, {"seed", config.seed}};
  try {
    Trained trained = Fit(context, dataset, config, trial);
    EvaluateTrained(context, dataset, trained);
    const SeedResult& result = trained.result;
    const double batch = std::min<double>(config.batch, static_cast<double>(result.train_nodes));
    line["test"] = 100 * result.f1_test;
    line["steps_per_epoch"] = std::ceil(static_cast<double>(result.train_nodes) / batch);
    line["train_seconds"] = result.seconds.train;
    line["validate_seconds"] = result.seconds.validate;
    for (const SeedResult::Layer& layer : result.layers) {
      line["layers"].push_back({layer.rate, layer.steps, layer.epochs, layer.kept_epoch});
    }
  } catch (const Error& error) {
    line["error"] = error.what();
  }
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

int Run(const std::string& name, const std::string& preset, const std::vector<std::string>& seeds) {
  const Context context = MakeContext(1);
  const Dataset dataset =
      name.starts_with("generate ") ? Generated(context, name) : OpenDataset(context, name);
  std::vector<Json> trials;
  for (std::string line; std::getline(std::cin, line);) trials.push_back(Json::parse(line));
  for (const std::string& seed : seeds) {
    for (const Json& trial : trials) {
      Overrides settings = {{"preset", preset}, {"seed", seed}};
      for (const auto& [key, value] : trial.at("settings").items())
        settings.emplace_back(key, value.get<std::string>());
      PrintTraining(context, dataset, ResolveConfig(settings, dataset), trial);
    }
  }
  return 0;
}

}  // namespace
}  // namespace l2gcn

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw std::runtime_error("usage: schedule_trials DATASET PRESET SEED… < TRIALS");
    return l2gcn::Run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "schedule_trials: {}\n", error.what());
    return 2;
  }
}
