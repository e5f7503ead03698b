// model.safetensors + config.json. Neither holds a time, a path or a thread count, so equal trainings give
// equal files.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "config/architecture.h"
#include "config/methods.h"
#include "core/checksum.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/table_schema.h"
#include "l2gcn/model.h"
#include "model/inference.h"
#include "model/model_shapes.h"
#include "model/safetensors.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kModelFormat = "l2gcn-model";
constexpr int kModelVersion = 1;
// The version of regressions, which earlier programs would take for classifiers.
constexpr int kRegressionModelVersion = 2;

NamedTensor VectorTensor(const char* name, const Array<float>& values) {
  return {name, {values.size()}, values};
}

// visit(name, matrix) for every part that layer `layer` of a model may have, by the names of core/layer_parameters.h.
template <class AnyModel, class Visit>
void ForParts(AnyModel& model, size_t layer, const Visit& visit) {
  for (const auto& [name, member] : kHiddenParts) visit(name, model.layers[layer].*member);
  if (model.heads.empty()) return;
  auto& head = model.heads[layer];
  for (const auto& [name, member] : kHiddenParts) visit(std::string("head.") + name, head.hidden.*member);
  visit("classifier", head.theta);
  visit("classifier.bias", head.bias);
}

// Earlier versions kept a norm's weight and bias, or a bias, as the rows of one tensor.
void TakeRows(const Safetensors& file, const std::string& name, HiddenParameters& hidden) {
  if (!file.Has(name)) return;
  const Matrix rows = file.TakeMatrix(name);
  if (rows.rows == 0 || rows.rows > 2)
    ThrowInput("{}: tensor '{}' has {} rows; the file is damaged", file.path.string(), name, rows.rows);
  const auto row = [&](size_t i) {
    return Matrix{Array<float>::CopyOf({rows.row(i), rows.cols}), 1, rows.cols};
  };
  if (rows.rows == 1) {
    hidden.bias = row(0);
  } else {
    hidden.norm_weight = row(0), hidden.norm_bias = row(1);
  }
}

void TakeLayers(const Safetensors& file, size_t layers, Model& model) {
  model.layers.resize(layers);
  const bool heads = file.Has(LayerTensorName(0, "classifier"));
  if (heads) model.heads.resize(layers);
  for (size_t layer = 0; layer < layers; ++layer) {
    ForParts(model, layer, [&](const std::string& part, Matrix& matrix) {
      const std::string name = LayerTensorName(layer, part);
      if (part == "weight" || file.Has(name)) matrix = file.TakeMatrix(name);
    });
    TakeRows(file, LayerTensorName(layer, "affine"), model.layers[layer]);
    if (heads) TakeRows(file, LayerTensorName(layer, "head.affine"), model.heads[layer].hidden);
  }
}

}  // namespace

std::string LayerTensorName(size_t layer, const std::string& parameter) {
  if (parameter.starts_with("head.")) return fmt::format("heads.{}.hidden.{}", layer, parameter.substr(5));
  if (parameter == "classifier") return fmt::format("heads.{}.classifier.weight", layer);
  if (parameter == "classifier.bias") return fmt::format("heads.{}.classifier.bias", layer);
  return fmt::format("layers.{}.{}", layer, parameter);
}

std::vector<NamedTensor> LayerTensors(const Model& model) {
  std::vector<NamedTensor> tensors;
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    ForParts(model, layer, [&](const std::string& part, const Matrix& matrix) {
      if (matrix.rows > 0) tensors.push_back(ToTensor(LayerTensorName(layer, part), matrix));
    });
  }
  return tensors;
}

namespace {

std::vector<NamedTensor> TensorsOf(const Model& model) {
  std::vector<NamedTensor> tensors = LayerTensors(model);
  if (model.theta.rows > 0) tensors.push_back(ToTensor("classifier.weight", model.theta));
  if (model.bias.rows > 0) tensors.push_back(ToTensor("classifier.bias", model.bias));
  const Model::Preparation& preparation = model.preparation;
  if (!preparation.shift.empty()) tensors.push_back(VectorTensor("prepare.shift", preparation.shift));
  if (!preparation.factor.empty()) tensors.push_back(VectorTensor("prepare.factor", preparation.factor));
  if (!preparation.center.empty()) tensors.push_back(VectorTensor("prepare.center", preparation.center));
  if (preparation.projection.rows > 0)
    tensors.push_back(ToTensor("prepare.projection", preparation.projection));
  for (const auto& [name, matrix] : model.extra) tensors.push_back(ToTensor("extra." + name, matrix));
  return tensors;
}

}  // namespace

std::vector<Model::Tensor> TensorsByName(const Model& model) {
  std::vector<Model::Tensor> tensors;
  for (NamedTensor& tensor : TensorsOf(model))
    tensors.push_back({std::move(tensor.name), std::move(tensor.shape), std::move(tensor.values)});
  return tensors;
}

namespace {

// One for each label, or one for two classes; each a probability.
void CheckThresholds(const Model& model, const std::string& where) {
  const size_t expected = model.multilabel ? model.classes : 1;
  const auto& all = model.thresholds;
  const bool fits = all.empty() || (all.size() == expected && (model.multilabel || model.classes == 2));
  const bool inside = std::all_of(all.begin(), all.end(), [](double t) { return t >= 0 && t <= 1; });
  if (!fits || !inside)
    ThrowInput("{}: damaged: {} thresholds for {} classes", where, all.size(), model.classes);
}

void CheckShape(const Matrix& matrix, const std::string& name, size_t rows, size_t cols,
                const std::string& where) {
  if (matrix.rows == rows && matrix.cols == cols) return;
  ThrowInput("{}: {} is {} × {}, expected {} × {}; the file is damaged", where, name, matrix.rows,
             matrix.cols, rows, cols);
}

void CheckPreparation(const Model& model, const std::string& where) {
  const Model::Preparation& preparation = model.preparation;
  if (preparation.shift.empty() != preparation.factor.empty()) {
    ThrowInput("{}: of prepare.shift and prepare.factor one is missing; the file is damaged", where);
  }
  const std::pair<const char*, const Array<float>*> columns[] = {{"prepare.shift", &preparation.shift},
                                                                 {"prepare.factor", &preparation.factor},
                                                                 {"prepare.center", &preparation.center}};
  for (const auto& [name, values] : columns) {
    if (!values->empty() && values->size() != model.features) {
      ThrowInput("{}: {} has {} values for {} features; the file is damaged", where, name, values->size(),
                 model.features);
    }
  }
  if (preparation.projection.rows > 0) {
    CheckShape(preparation.projection, "prepare.projection", model.features, preparation.projection.cols,
               where);
  }
}

// The networks over powers of Â: their weights are extra tensors.
void CheckStacks(const Model& model, size_t inputs, const std::string& where) {
  const TrainConfig& config = model.config;
  for (size_t stack = 0; stack < config.powers.size(); ++stack) {
    size_t width = inputs;
    for (uint32_t layer = 0; layer < config.layers; ++layer) {
      const std::string name = StackWeightName(stack, layer);
      const auto found = std::find_if(model.extra.begin(), model.extra.end(),
                                      [&](const auto& tensor) { return tensor.first == name; });
      if (found == model.extra.end())
        ThrowInput("{}: tensor 'extra.{}' is missing; the file is damaged", where, name);
      CheckShape(found->second, "extra." + name, width, config.HiddenOf(layer), where);
      width = config.HiddenOf(layer);
    }
  }
}

// The parts of a layer of `inputs` columns, as the configuration says.
void CheckParts(const Model& model, size_t layer, size_t inputs, const std::string& where) {
  const size_t width = model.config.HiddenOf(static_cast<uint32_t>(layer));
  const auto shapes = ParametersOf(ArchitectureOf(model.config), inputs, width, model.classes);
  ForParts(model, layer, [&](const std::string& part, const Matrix& matrix) {
    const auto shape = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const ParameterShape& parameter) { return parameter.name == part; });
    const std::string name = fmt::format("{} of layer {}", part, layer + 1);
    if (matrix.values.size() != matrix.rows * matrix.cols)
      ThrowInput("{}: {} has {} values for {} × {}", where, name, matrix.values.size(), matrix.rows,
                 matrix.cols);
    const bool wanted = shape != shapes.end();
    if (wanted || matrix.rows > 0)
      CheckShape(matrix, name, wanted ? shape->rows : 0, wanted ? shape->cols : 0, where);
  });
}

}  // namespace

// Shapes must chain: features → hidden … → classes.
void CheckModelShapes(const Model& model, const std::string& where) {
  const auto check_size = [&](const std::string& what, const Matrix& matrix) {
    if (matrix.values.size() != matrix.rows * matrix.cols) {
      ThrowInput("{}: {} has {} values for {} × {}", where, what, matrix.values.size(), matrix.rows,
                 matrix.cols);
    }
  };
  for (const auto& [name, matrix] : model.extra) check_size(name, matrix);
  check_size("the classifier", model.theta);
  check_size("the classifier's bias", model.bias);
  check_size("the projection", model.preparation.projection);
  CheckPreparation(model, where);
  if (!model.schema.empty() && model.schema.width() != model.features) {
    ThrowInput("{}: its table describes {} features of {}; the file is damaged", where, model.schema.width(),
               model.features);
  }
  const TrainConfig& config = model.config;
  const Method& method = FindMethod(config.method);
  const bool joins = method.prediction_head == PredictionHead::kJoinedPowers;
  size_t width = model.preparation.projection.rows > 0 ? model.preparation.projection.cols : model.features;
  const size_t raw = width;
  if (!model.heads.empty() && model.heads.size() != model.layers.size())
    ThrowInput("{}: {} layers have {} heads; the file is damaged", where, model.layers.size(),
               model.heads.size());
  if (config.layers == 0) ThrowInput("{}: a model of 0 layers cannot be; the file is damaged", where);
  if (joins) CheckStacks(model, width, where);
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    CheckParts(model, layer, InputColumns(config, layer, width, raw), where);
    width = model.layers[layer].weight.cols;
  }
  if (method.prediction_head == PredictionHead::kLastLayer) width *= BlocksOfHops(config);
  if (joins) width = config.powers.size() * config.HiddenOf(config.layers - 1);
  if (model.heads.empty()) CheckShape(model.theta, "the classifier", width, model.classes, where);
  const bool shifts = model.heads.empty() && ArchitectureOf(config).shifts();
  if (shifts || model.bias.rows > 0)
    CheckShape(model.bias, "the classifier's bias", shifts ? 1 : 0, shifts ? model.classes : 0, where);
  const Model::LabelPropagation& propagation = model.label_propagation;
  if (!(propagation.correct >= 0 && propagation.correct < 1 && propagation.smooth >= 0 &&
        propagation.smooth < 1) ||
      propagation.rounds > 1000)
    ThrowInput("{}: its label propagation is out of range; the file is damaged", where);
  if (!model.class_names.empty() && model.class_names.size() != model.classes) {
    ThrowInput("{}: {} class names for {} classes; the file is damaged", where, model.class_names.size(),
               model.classes);
  }
}

namespace {

// A training that diverged leaves weights nothing can be predicted with.
void CheckFiniteWeights(const Safetensors& file) {
  for (const auto& [name, tensor] : file.tensors) {
    for (const float value : tensor.values) {
      if (std::isfinite(value)) continue;
      ThrowInput(
          "{}: tensor '{}' holds a value that is not finite: its training diverged, so nothing can be "
          "predicted "
          "with it; train again with a lower --lr",
          file.path.string(), name);
    }
  }
}

// The checksum of everything in config.json but the checksum itself.
std::string ConfigChecksum(Json json) {
  json.erase("checksum");
  const std::string text = JsonText(json);
  return "xxh3:" + ChecksumText(Checksum(text.data(), text.size()));
}

}  // namespace

void CheckModelConfig(const Json& json, const std::string& where) {
  if (!json.contains("checksum") || json.at("checksum") == ConfigChecksum(json)) return;
  ThrowInput("{}: does not agree with its checksum: it was changed or damaged; restore it or train again",
             where);
}

namespace {

// What config.json holds.
std::string ConfigTextOf(const Model& model) {
  Json json;
  json["format"] = kModelFormat;
  json["version"] = model.task() == Task::kRegression ? kRegressionModelVersion : kModelVersion;
  json["features"] = model.features;
  json["classes"] = model.classes;
  json["multilabel"] = model.multilabel;
  json["class_names"] = model.class_names;
  if (model.task() == Task::kRegression) {
    json["target_scaling"] = {{"mean", model.target_scaling.mean},
                              {"deviation", model.target_scaling.deviation}};
  }
  if (!model.thresholds.empty()) json["thresholds"] = model.thresholds;
  if (!model.heads.empty()) json["mean_of_layers"] = model.mean_of_layers;
  if (model.label_propagation.on()) {
    json["spreading"] = {{"correct", model.label_propagation.correct},
                         {"smooth", model.label_propagation.smooth},
                         {"rounds", model.label_propagation.rounds}};
  }
  json["layers"] = model.layers.size();
  json["row_normalise"] = model.preparation.row_normalise;
  if (!model.relations.empty()) json["relations"] = model.relations;
  json["structure"] = model.structure;
  if (model.weighted) json["weighted"] = *model.weighted;
  if (!model.schema.empty()) json["table"] = ParseJson(SchemaToJson(model.schema), "table");
  json["config"] = ParseJson(ConfigToJson(model.config), "config");
  json["checksum"] = ConfigChecksum(json);
  return JsonText(json, 2) + "\n";
}

// Mean and deviation of every target.
Model::TargetScaling TargetScalingFrom(const Json& json, const std::string& where) {
  const Json& stored = json.at("target_scaling");
  Model::TargetScaling scaling{stored.at("mean").get<std::vector<double>>(),
                               stored.at("deviation").get<std::vector<double>>()};
  const size_t targets = json.at("classes").get<size_t>();
  const bool usable = std::all_of(scaling.deviation.begin(), scaling.deviation.end(),
                                  [](double deviation) { return std::isfinite(deviation) && deviation > 0; });
  if (targets == 0 || scaling.mean.size() != targets || scaling.deviation.size() != targets || !usable)
    ThrowInput("{}: damaged: the scaling of its targets does not fit {} targets", where, targets);
  return scaling;
}

// The settings of a model from its config.json, which `where` names; `layers` is how many it has.
Model SettingsFrom(const Json& json, const std::string& where, size_t& layers) {
  Model model;
  try {
    if (!json.is_object() || json.value("format", "") != kModelFormat)
      ThrowInput("{}: not the config.json of an l2gcn model", where);
    const int version = json.value("version", 0);
    if (version != kModelVersion && version != kRegressionModelVersion) {
      ThrowInput("{}: model version {}, this program reads versions {} and {}", where, version, kModelVersion,
                 kRegressionModelVersion);
    }
    CheckModelConfig(json, where);
    model.features = json.at("features").get<uint32_t>();
    model.classes = json.at("classes").get<uint32_t>();
    model.multilabel = json.at("multilabel").get<bool>();
    model.class_names = json.at("class_names").get<std::vector<std::string>>();
    model.preparation.row_normalise = json.at("row_normalise").get<bool>();
    model.config = ConfigFromJson(JsonText(json.at("config")), where);
    layers = json.at("layers").get<size_t>();
    if (version == kRegressionModelVersion) model.target_scaling = TargetScalingFrom(json, where);
    if (json.contains("thresholds")) model.thresholds = json.at("thresholds").get<std::vector<double>>();
    model.mean_of_layers = json.value("mean_of_layers", false);
    if (json.contains("spreading")) {
      const Json& propagation = json.at("spreading");
      model.label_propagation = {propagation.at("correct").get<double>(),
                                 propagation.at("smooth").get<double>(),
                                 propagation.at("rounds").get<uint32_t>()};
    }
    model.structure = json.value("structure", false);  // older models have none of these
    if (json.contains("relations")) model.relations = json.at("relations").get<std::vector<std::string>>();
    if (json.contains("weighted")) model.weighted = json.at("weighted").get<bool>();
    if (json.contains("table")) model.schema = SchemaFromJson(json["table"].dump(), where);
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged: a setting is missing or of the wrong type ({})", where, error.what());
  }
  return model;
}

// Puts the tensors of a model's file into it.
void TakeTensors(const Safetensors& file, size_t layers, const std::string& where, Model& model) {
  CheckFiniteWeights(file);
  TakeLayers(file, layers, model);
  if (file.Has("classifier.weight")) model.theta = file.TakeMatrix("classifier.weight");
  if (file.Has("classifier.bias")) model.bias = file.TakeMatrix("classifier.bias");
  Model::Preparation& preparation = model.preparation;
  if (file.Has("prepare.shift")) preparation.shift = file.TakeVector("prepare.shift");
  if (file.Has("prepare.factor")) preparation.factor = file.TakeVector("prepare.factor");
  if (file.Has("prepare.center")) preparation.center = file.TakeVector("prepare.center");
  if (file.Has("prepare.projection")) preparation.projection = file.TakeMatrix("prepare.projection");
  for (const auto& [name, tensor] : file.tensors) {
    if (name.rfind("extra.", 0) == 0) model.extra.emplace_back(name.substr(6), file.TakeMatrix(name));
  }
  CheckModelShapes(model, file.path.string());
  CheckThresholds(model, where);
}

}  // namespace

void SaveModel(const Model& model, const std::string& directory) {
  Validate(model.config);
  CheckModelShapes(model, "the model to save");
  std::error_code error;
  fs::create_directories(directory, error);
  if (error && !fs::is_directory(directory)) {
    ThrowRuntime("{}: the directory cannot be made: {}", directory, error.message());
  }
  WriteSafetensors(fs::path(directory) / "model.safetensors", TensorsOf(model), {{"format", kModelFormat}});
  WriteFileWhole(fs::path(directory) / "config.json", ConfigTextOf(model));
}

Model LoadModel(const std::string& directory) {
  const std::string config_path = (fs::path(directory) / "config.json").string();
  size_t layers = 0;
  Model model = SettingsFrom(ReadJsonFile(config_path), config_path, layers);
  TakeTensors(ReadSafetensors(fs::path(directory) / "model.safetensors"), layers, config_path, model);
  return model;
}

std::string PackModel(const Model& model) {
  const std::string config = ConfigTextOf(model);
  const uint64_t length = config.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + config +
         SafetensorsBytes(TensorsOf(model), {{"format", kModelFormat}});
}

Model UnpackModel(const std::string& bytes, const std::string& where) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  size_t layers = 0;
  Model model = SettingsFrom(ParseJson(bytes.substr(sizeof(length), length), where), where, layers);
  const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  TakeTensors(ParseSafetensors(all.subspan(sizeof(length) + length), where), layers, where, model);
  return model;
}

}  // namespace l2gcn
