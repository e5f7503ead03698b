#include "train/snapshot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "config/choice_names.h"
#include "core/error_format.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

Json NumberToJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double NumberFromJson(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json LayerToJson(const SeedResult::Layer& layer) {
  Json losses = Json::array(), probabilities = Json::array();
  for (const double loss : layer.losses) losses.push_back(NumberToJson(loss));
  for (const auto& [epoch, probability] : layer.probabilities)
    probabilities.push_back({epoch, NumberToJson(probability)});
  return {{"epochs", layer.epochs},
          {"kept_epoch", layer.kept_epoch},
          {"rate", layer.rate},
          {"steps", layer.steps},
          {"losses", losses},
          {"probabilities", probabilities},
          {"stopped_by", layer.stopped_by},
          {"aggregate_seconds", layer.aggregate_seconds},
          {"train_seconds", layer.train_seconds},
          {"transform_seconds", layer.transform_seconds},
          {"sparse_input", layer.sparse_input},
          {"flops", layer.flops},
          {"gathered_bytes", layer.gathered_bytes}};
}

SeedResult::Layer LayerFromJson(const Json& json) {
  SeedResult::Layer layer;
  layer.epochs = json.at("epochs").get<uint32_t>();
  layer.kept_epoch = json.at("kept_epoch").get<uint32_t>();
  layer.rate = json.value("rate", 0.0);  // files of earlier versions have none
  layer.steps = json.value("steps", uint64_t{0});
  for (const Json& loss : json.at("losses")) layer.losses.push_back(NumberFromJson(loss));
  for (const Json& pair : json.at("probabilities"))
    layer.probabilities.emplace_back(pair.at(0).get<uint32_t>(), NumberFromJson(pair.at(1)));
  layer.stopped_by = json.at("stopped_by").get<std::string>();
  layer.aggregate_seconds = json.at("aggregate_seconds").get<double>();
  layer.train_seconds = json.at("train_seconds").get<double>();
  layer.transform_seconds = json.at("transform_seconds").get<double>();
  layer.sparse_input = json.at("sparse_input").get<bool>();
  layer.flops = json.at("flops").get<double>();
  layer.gathered_bytes = json.at("gathered_bytes").get<double>();
  return layer;
}

constexpr std::pair<const char*, double SeedResult::Seconds::*> kPhases[] = {
    {"load", &SeedResult::Seconds::load},           {"choose", &SeedResult::Seconds::choose},
    {"setup", &SeedResult::Seconds::setup},         {"aggregate", &SeedResult::Seconds::aggregate},
    {"train", &SeedResult::Seconds::train},         {"validate", &SeedResult::Seconds::validate},
    {"transform", &SeedResult::Seconds::transform}, {"evaluate", &SeedResult::Seconds::evaluate},
    {"total", &SeedResult::Seconds::total}};

constexpr std::pair<const char*, uint64_t SeedResult::Resident::*> kResident[] = {
    {"load", &SeedResult::Resident::load},           {"setup", &SeedResult::Resident::setup},
    {"aggregate", &SeedResult::Resident::aggregate}, {"train", &SeedResult::Resident::train},
    {"transform", &SeedResult::Resident::transform}, {"evaluate", &SeedResult::Resident::evaluate}};

std::string RateAdvice(const TrainConfig& config) {
  if (config.FindsRate()) return "give a low --lr in place of auto, or scale the features (--scale standard)";
  return fmt::format(
      "lower --lr (it is {}), scale the features (--scale standard), or let the program lower the rate with "
      "--on-nan "
      "restart",
      *config.lr);
}

}  // namespace

bool Snapshot::Has(const std::string& name) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const NamedTensor& tensor) { return tensor.name == name; });
}

Matrix Snapshot::Take(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) ThrowInput("the checkpoint has no tensor '{}'; it is damaged", name);
  if (found->shape.size() != 2) ThrowInput("the checkpoint's tensor '{}' is no matrix; it is damaged", name);
  return {found->values, found->shape[0], found->shape[1]};
}

Matrix Snapshot::Take(const std::string& name, size_t rows, size_t cols) const {
  Matrix matrix = Take(name);
  if (matrix.rows != rows || matrix.cols != cols) {
    ThrowInput("the checkpoint's tensor '{}' is {} × {}, expected {} × {}; it is damaged", name, matrix.rows,
               matrix.cols, rows, cols);
  }
  return matrix;
}

void Snapshot::AddNumbers(const std::string& name, std::span<const double> numbers) {
  Json bits = Json::array();
  for (const double number : numbers) bits.push_back(std::bit_cast<uint64_t>(number));
  state[name] = bits;
}

std::vector<double> Snapshot::TakeNumbers(const std::string& name) const {
  std::vector<double> numbers;
  for (const Json& bits : state.at(name)) numbers.push_back(std::bit_cast<double>(bits.get<uint64_t>()));
  return numbers;
}

double Snapshot::TakeNumber(const std::string& name) const {
  const std::vector<double> numbers = TakeNumbers(name);
  if (numbers.size() != 1) ThrowInput("the checkpoint's number '{}' is damaged", name);
  return numbers[0];
}

void Snapshot::AddLayer(const std::string& prefix, const LayerState& layer) {
  Json steps = Json::object();
  for (const Parameter& parameter : layer.parameters) {
    const std::string name = prefix + "." + parameter.name;
    Add(name, parameter.value);
    if (!parameter.trained()) continue;
    Add(name + ".m", parameter.m);
    Add(name + ".v", parameter.v);
    steps[parameter.name] = parameter.steps;
  }
  state[prefix] = steps;
}

LayerState Snapshot::TakeLayer(const std::string& prefix, std::span<const ParameterShape> shapes) const {
  LayerState layer;
  for (const ParameterShape& shape : shapes) {
    const std::string name = prefix + "." + shape.name;
    Parameter& parameter = layer.parameters.emplace_back();
    parameter.name = shape.name;
    parameter.value = Take(name, shape.rows, shape.cols);
    if (!shape.trained()) continue;
    parameter.m = Take(name + ".m", shape.rows, shape.cols);
    parameter.v = Take(name + ".v", shape.rows, shape.cols);
    parameter.steps = state.at(prefix).at(shape.name).get<uint64_t>();
  }
  return layer;
}

Json TrialsToJson(const std::vector<SeedResult::Trial>& trials) {
  Json json = Json::array();
  for (const SeedResult::Trial& trial : trials) {
    Json adjacency = Json::array();
    for (const Adjacency one : trial.adjacency) adjacency.push_back(NameOf<Adjacency>(kAdjacencyNames, one));
    json.push_back({{"adjacency", adjacency},
                    {"hidden_norm", NameOf<HiddenNorm>(kHiddenNormNames, trial.hidden_norm)},
                    {"epochs", trial.epochs},
                    {"loss", NumberToJson(trial.loss)},
                    {"chosen", trial.chosen}});
    if (!trial.relations.empty()) json.back()["relations"] = trial.relations;
  }
  return json;
}

std::vector<SeedResult::Trial> TrialsFromJson(const Json& json) {
  const auto named = [](const auto* found, const std::string& name) {
    if (found == nullptr) ThrowInput("a trial names '{}', which this version does not know", name);
    return *found;
  };
  std::vector<SeedResult::Trial> trials;
  for (const Json& one : json) {
    SeedResult::Trial trial;
    for (const std::string& name : one.at("adjacency").get<std::vector<std::string>>())
      trial.adjacency.push_back(named(FindChoice<Adjacency>(kAdjacencyNames, name), name));
    if (one.contains("relations")) trial.relations = one.at("relations").get<std::vector<std::string>>();
    const auto norm = one.at("hidden_norm").get<std::string>();
    trial.hidden_norm = named(FindChoice<HiddenNorm>(kHiddenNormNames, norm), norm);
    trial.epochs = one.at("epochs").get<uint32_t>();
    trial.loss = NumberFromJson(one.at("loss"));
    trial.chosen = one.at("chosen").get<bool>();
    trials.push_back(std::move(trial));
  }
  return trials;
}

constexpr Score::Numbers SeedResult::Regression::*kStoredFigures[] = {
    &SeedResult::Regression::train,        &SeedResult::Regression::val,
    &SeedResult::Regression::test,         &SeedResult::Regression::baseline_train,
    &SeedResult::Regression::baseline_val, &SeedResult::Regression::baseline_test};

Json RegressionToJson(const SeedResult::Regression& result) {
  Json parts = Json::array();
  for (const auto part : kStoredFigures) {
    const Score::Numbers& figures = result.*part;
    parts.push_back({NumberToJson(figures.r2), NumberToJson(figures.mae), NumberToJson(figures.rmse),
                     NumberToJson(figures.spearman)});
  }
  return parts;
}

SeedResult::Regression RegressionFromJson(const Json& parts) {
  SeedResult::Regression result;
  for (size_t i = 0; i < std::size(kStoredFigures); ++i) {
    const Json& part = parts.at(i);
    result.*kStoredFigures[i] = {NumberFromJson(part.at(0)), NumberFromJson(part.at(1)),
                                 NumberFromJson(part.at(2)), NumberFromJson(part.at(3))};
  }
  return result;
}

Json SeedResultToJson(const SeedResult& result) {
  Json json;
  json["seed"] = result.seed;
  json["f1"] = {NumberToJson(result.f1_train), NumberToJson(result.f1_val), NumberToJson(result.f1_test)};
  if (result.regression) json["regression"] = RegressionToJson(*result.regression);
  json["baseline"] = {result.baseline, NumberToJson(result.baseline_train), NumberToJson(result.baseline_val),
                      NumberToJson(result.baseline_test)};
  json["split"] = {result.split,      result.train_nodes,  result.val_nodes,
                   result.test_nodes, result.unused_nodes, result.unlabelled_nodes};
  json["trials"] = TrialsToJson(result.trials);
  json["layers"] = Json::array();
  for (const SeedResult::Layer& layer : result.layers) json["layers"].push_back(LayerToJson(layer));
  for (const auto& [name, member] : kPhases) json["seconds"][name] = result.seconds.*member;
  json["validation"] = Json::array();
  for (const SeedResult::ValidationPoint& point : result.validation)
    json["validation"].push_back(
        {point.seconds, point.layer, point.epoch, NumberToJson(point.f1), NumberToJson(point.loss)});
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  json["peak_device_bytes"] = result.peak_device_bytes;
  json["sampler_bytes"] = result.sampler_bytes;
  for (const auto& [name, member] : kResident) json["resident"][name] = result.resident.*member;
  json["restarts"] = result.restarts;
  json["lowered_lr"] = result.lowered_lr;
  return json;
}

SeedResult SeedResultFromJson(const Json& json) {
  SeedResult result;
  result.seed = json.at("seed").get<uint64_t>();
  result.f1_train = NumberFromJson(json.at("f1").at(0));
  result.f1_val = NumberFromJson(json.at("f1").at(1));
  result.f1_test = NumberFromJson(json.at("f1").at(2));
  if (json.contains("regression")) result.regression = RegressionFromJson(json.at("regression"));
  const Json& baseline = json.at("baseline");
  result.baseline = baseline.at(0).get<std::string>();
  result.baseline_train = NumberFromJson(baseline.at(1));
  result.baseline_val = NumberFromJson(baseline.at(2));
  result.baseline_test = NumberFromJson(baseline.at(3));
  const Json& split = json.at("split");
  result.split = split.at(0).get<std::string>();
  uint64_t* const counts[] = {&result.train_nodes, &result.val_nodes, &result.test_nodes,
                              &result.unused_nodes, &result.unlabelled_nodes};
  for (size_t i = 0; i < 5; ++i) *counts[i] = split.at(1 + i).get<uint64_t>();
  result.trials = TrialsFromJson(json.value("trials", Json::array()));  // files of earlier versions have none
  for (const Json& layer : json.at("layers")) result.layers.push_back(LayerFromJson(layer));
  for (const auto& [name, member] : kPhases) result.seconds.*member = json.at("seconds").value(name, 0.0);
  for (const Json& point : json.at("validation")) {
    result.validation.push_back({point.at(0).get<double>(), point.at(1).get<uint32_t>(),
                                 point.at(2).get<uint32_t>(), NumberFromJson(point.at(3))});
    if (point.size() > 4)  // files of earlier versions have no loss
      result.validation.back().loss = NumberFromJson(point.at(4));
  }
  result.peak_rss_bytes = json.at("peak_rss_bytes").get<uint64_t>();
  result.peak_device_bytes = json.at("peak_device_bytes").get<uint64_t>();
  result.sampler_bytes = json.at("sampler_bytes").get<uint64_t>();
  if (json.contains("resident")) {  // files of earlier versions have none
    for (const auto& [name, member] : kResident)
      result.resident.*member = json.at("resident").at(name).get<uint64_t>();
  }
  result.restarts = json.value("restarts", 0u);  // likewise
  result.lowered_lr = json.value("lowered_lr", 0.0);
  return result;
}

void ThrowDiverged(uint32_t layer, uint64_t epoch, uint64_t first_step, uint64_t last_step, double loss,
                   const TrainConfig& config) {
  const std::string steps = first_step == last_step
                                ? fmt::format("step {}", first_step)
                                : fmt::format("one of the steps {} to {}", first_step, last_step);
  throw Diverged(ErrorKind::kRuntime,
                 fmt::format("the training diverged: in layer {}, epoch {}, {} the loss became {}; {}", layer,
                             epoch, steps, loss, RateAdvice(config)));
}

std::optional<size_t> FirstNotFinite(std::span<const double> losses) {
  const auto found =
      std::find_if_not(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); });
  if (found == losses.end()) return std::nullopt;
  return static_cast<size_t>(found - losses.begin());
}

void CheckWeights(const Matrix& weights, uint32_t layer, uint32_t epochs, const TrainConfig& config) {
  for (const float value : weights.values) {
    if (std::isfinite(value)) continue;
    throw Diverged(ErrorKind::kRuntime,
                   fmt::format("the training diverged: layer {} has a weight of {} after epoch {}; {}", layer,
                               value, epochs, RateAdvice(config)));
  }
}

}  // namespace l2gcn
