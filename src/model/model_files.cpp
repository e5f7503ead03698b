// model.safetensors + config.json. Neither holds a time, a path or a thread count, so equal trainings give
// equal files.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/methods.h"
#include "core/error_format.h"
#include "core/files.h"
#include "data/table_schema.h"
#include "l2gcn/model.h"
#include "model/model_shapes.h"
#include "model/safetensors.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kModelFormat = "l2gcn-model";
constexpr int kModelVersion = 1;

std::string LayerName(size_t layer) { return fmt::format("layers.{}.weight", layer); }

NamedTensor VectorTensor(const char* name, const Array<float>& values) {
  return {name, {values.size()}, values};
}

std::vector<NamedTensor> TensorsOf(const Model& model) {
  std::vector<NamedTensor> tensors;
  for (size_t layer = 0; layer < model.weights.size(); ++layer) {
    tensors.push_back(ToTensor(LayerName(layer), model.weights[layer]));
  }
  if (model.theta.rows > 0) tensors.push_back(ToTensor("classifier.weight", model.theta));
  const Preparation& preparation = model.preparation;
  if (!preparation.shift.empty()) tensors.push_back(VectorTensor("prepare.shift", preparation.shift));
  if (!preparation.factor.empty()) tensors.push_back(VectorTensor("prepare.factor", preparation.factor));
  if (!preparation.center.empty()) tensors.push_back(VectorTensor("prepare.center", preparation.center));
  if (preparation.projection.rows > 0)
    tensors.push_back(ToTensor("prepare.projection", preparation.projection));
  for (const auto& [name, matrix] : model.extra) tensors.push_back(ToTensor("extra." + name, matrix));
  return tensors;
}

// One for each label, or one for two classes; each a probability.
void CheckThresholds(const Model& model, const std::string& where) {
  const size_t expected = model.multilabel ? model.classes : 1;
  const auto& all = model.thresholds;
  const bool fits = all.empty() || (all.size() == expected && (model.multilabel || model.classes == 2));
  const bool inside = std::all_of(all.begin(), all.end(), [](double t) { return t >= 0 && t <= 1; });
  if (!fits || !inside)
    ThrowInput("{}: damaged: {} thresholds for {} classes", where, all.size(), model.classes);
}

}  // namespace

void CheckModelShapes(const Model& model, const std::string& where) {
  const auto check_size = [&](const char* what, const Matrix& matrix) {
    if (matrix.values.size() != matrix.rows * matrix.cols) {
      ThrowInput("{}: {} has {} values for {} × {}", where, what, matrix.values.size(), matrix.rows,
                 matrix.cols);
    }
  };
  for (const Matrix& weight : model.weights) check_size("a weight", weight);
  for (const auto& [name, matrix] : model.extra) check_size(name.c_str(), matrix);
  check_size("the classifier", model.theta);
  check_size("the projection", model.preparation.projection);
  for (const Array<float>* values :
       {&model.preparation.shift, &model.preparation.factor, &model.preparation.center}) {
    if (!values->empty() && values->size() != model.features) {
      ThrowInput("{}: the preparation of features has {} columns, the model {}", where, values->size(),
                 model.features);
    }
  }
  if (model.preparation.projection.rows > 0 && model.preparation.projection.rows != model.features) {
    ThrowInput("{}: the projection takes {} columns, the model {}", where, model.preparation.projection.rows,
               model.features);
  }
  if (!model.schema.empty() && model.schema.width() != model.features) {
    ThrowInput("{}: its table describes {} features of {}; the file is damaged", where, model.schema.width(),
               model.features);
  }
  const Method& method = FindMethod(model.config.method);
  size_t width = model.preparation.projection.rows > 0 ? model.preparation.projection.cols : model.features;
  const size_t joined = method.weights == WeightShape::kOwnAndAggregated ? 2 : 1;
  for (size_t layer = 0; layer < model.weights.size(); ++layer) {
    if (model.weights[layer].rows != joined * width) {
      ThrowInput("{}: layer {} expects {} inputs, but {} reach it; the file is damaged", where, layer + 1,
                 model.weights[layer].rows, joined * width);
    }
    width = model.weights[layer].cols;
  }
  width *= joined;
  if (method.readout == Readout::kJoinedPowers) {
    width = model.config.powers.size() * model.config.HiddenOf(model.config.layers - 1);
  }
  if (model.theta.rows > 0 && (model.theta.rows != width || model.theta.cols != model.classes)) {
    ThrowInput("{}: the classifier is {} × {}, expected {} × {}; the file is damaged", where,
               model.theta.rows, model.theta.cols, width, model.classes);
  }
}

void SaveModel(const Model& model, const std::string& directory) {
  Validate(model.config);
  CheckModelShapes(model, "the model to save");
  std::error_code error;
  fs::create_directories(directory, error);
  if (error && !fs::is_directory(directory)) {
    ThrowRuntime("{}: the directory cannot be made: {}", directory, error.message());
  }
  Json json;
  json["format"] = kModelFormat;
  json["version"] = kModelVersion;
  json["features"] = model.features;
  json["classes"] = model.classes;
  json["multilabel"] = model.multilabel;
  json["class_names"] = model.class_names;
  if (!model.thresholds.empty()) json["thresholds"] = model.thresholds;
  json["layers"] = model.weights.size();
  json["row_normalise"] = model.preparation.row_normalise;
  json["structure"] = model.structure;
  if (!model.schema.empty()) json["table"] = Json::parse(SchemaToJson(model.schema));
  json["config"] = Json::parse(ConfigToJson(model.config));
  WriteSafetensors(fs::path(directory) / "model.safetensors", TensorsOf(model), {{"format", kModelFormat}});
  WriteFileWhole(fs::path(directory) / "config.json", json.dump(2) + "\n");
}

Model LoadModel(const std::string& directory) {
  const fs::path config_path = fs::path(directory) / "config.json";
  Model model;
  size_t layers = 0;
  try {
    const Json json = Json::parse(ReadTextFile(config_path));
    if (json.value("format", "") != kModelFormat)
      ThrowInput("{}: not the config.json of an l2gcn model", config_path.string());
    if (json.value("version", 0) != kModelVersion) {
      ThrowInput("{}: model version {}, this program reads version {}", config_path.string(),
                 json.value("version", 0), kModelVersion);
    }
    model.features = json.at("features").get<uint32_t>();
    model.classes = json.at("classes").get<uint32_t>();
    model.multilabel = json.at("multilabel").get<bool>();
    model.class_names = json.at("class_names").get<std::vector<std::string>>();
    model.preparation.row_normalise = json.at("row_normalise").get<bool>();
    model.config = ConfigFromJson(json.at("config").dump(), config_path.string());
    layers = json.at("layers").get<size_t>();
    if (json.contains("thresholds")) model.thresholds = json.at("thresholds").get<std::vector<double>>();
    model.structure = json.value("structure", false);  // older models have neither
    if (json.contains("table")) model.schema = SchemaFromJson(json["table"].dump(), config_path.string());
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged: {}", config_path.string(), error.what());
  }
  const Safetensors file = ReadSafetensors(fs::path(directory) / "model.safetensors");
  for (size_t layer = 0; layer < layers; ++layer) model.weights.push_back(file.TakeMatrix(LayerName(layer)));
  if (file.Has("classifier.weight")) model.theta = file.TakeMatrix("classifier.weight");
  Preparation& preparation = model.preparation;
  if (file.Has("prepare.shift")) preparation.shift = file.TakeVector("prepare.shift");
  if (file.Has("prepare.factor")) preparation.factor = file.TakeVector("prepare.factor");
  if (file.Has("prepare.center")) preparation.center = file.TakeVector("prepare.center");
  if (file.Has("prepare.projection")) preparation.projection = file.TakeMatrix("prepare.projection");
  for (const auto& [name, tensor] : file.tensors) {
    if (name.rfind("extra.", 0) == 0) model.extra.emplace_back(name.substr(6), file.TakeMatrix(name));
  }
  CheckModelShapes(model, file.path.string());
  CheckThresholds(model, config_path.string());
  return model;
}

}  // namespace l2gcn
