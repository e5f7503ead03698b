#include "core/layer_parameters.h"

#include <algorithm>

#include "core/error_format.h"

namespace l2gcn {
namespace {

void AddHidden(const std::string& prefix, const LayerArchitecture& architecture, size_t inputs, size_t width,
               std::vector<ParameterShape>& shapes) {
  using Kind = ParameterKind;
  shapes.push_back({prefix + "weight", inputs, width, Kind::kWeight});
  if (architecture.norm == HiddenNorm::kNone) {
    if (architecture.bias) shapes.push_back({prefix + "bias", 1, width, Kind::kBias});
    return;
  }
  shapes.push_back({prefix + "norm.weight", 1, width, Kind::kScale});
  shapes.push_back({prefix + "norm.bias", 1, width, Kind::kBias});
  if (architecture.norm != HiddenNorm::kBatch) return;
  shapes.push_back({prefix + "norm.running_mean", 1, width, Kind::kRunningMean});
  shapes.push_back({prefix + "norm.running_var", 1, width, Kind::kRunningVariance});
}

HiddenParameters HiddenOf(const LayerState& state, const std::string& prefix) {
  HiddenParameters hidden;
  for (const auto& [name, member] : kHiddenParts) {
    if (const Parameter* parameter = state.Find(prefix + name)) hidden.*member = parameter->value;
  }
  return hidden;
}

}  // namespace

bool IsWeight(std::string_view name) {
  return name == "weight" || name == "head.weight" || name == "classifier";
}

std::vector<ParameterShape> ParametersOf(const LayerArchitecture& architecture, size_t inputs, size_t hidden,
                                         size_t classes) {
  std::vector<ParameterShape> shapes;
  AddHidden("", architecture, inputs, hidden, shapes);
  if (architecture.head > 0) AddHidden("head.", architecture, hidden, architecture.head, shapes);
  const size_t last = architecture.head > 0 ? architecture.head : hidden;
  shapes.push_back({"classifier", last, classes, ParameterKind::kWeight});
  if (architecture.shifts()) shapes.push_back({"classifier.bias", 1, classes, ParameterKind::kBias});
  return shapes;
}

void LayerState::Add(std::string name, Matrix value) {
  Matrix m = Matrix::Zeros(value.rows, value.cols), v = Matrix::Zeros(value.rows, value.cols);
  parameters.push_back({std::move(name), std::move(value), std::move(m), std::move(v)});
}

const Parameter* LayerState::Find(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

const Parameter& LayerState::operator[](std::string_view name) const {
  const Parameter* found = Find(name);
  L2GCN_ASSERT(found != nullptr);
  return *found;
}

Parameter& LayerState::operator[](std::string_view name) {
  return const_cast<Parameter&>(std::as_const(*this)[name]);
}

HiddenParameters LayerState::hidden() const { return HiddenOf(*this, ""); }

Head LayerState::head() const {
  const Parameter* const bias = Find("classifier.bias");
  return {HiddenOf(*this, "head."), (*this)["classifier"].value, bias != nullptr ? bias->value : Matrix()};
}

}  // namespace l2gcn
