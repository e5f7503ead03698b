// Checks that the tensors of a model fit together, and packs models into bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/layer_parameters.h"
#include "l2gcn/model.h"
#include "model/safetensors.h"

namespace l2gcn {

// Shapes must chain: features → hidden … → classes. Throws Error(kInput) that starts with `where`.
void CheckModelShapes(const Model& model, const std::string& where);

// A model's config.json must agree with the checksum it carries; those of earlier versions carry none. Throws Error(kInput).
void CheckModelConfig(const nlohmann::ordered_json& json, const std::string& where);

// The parts of the layers and their heads as tensors, and the name of a part's tensor; `parameter` is its name in
// core/layer_parameters.h.
std::vector<NamedTensor> LayerTensors(const Model& model);
std::string LayerTensorName(size_t layer, const std::string& parameter);

// A model as bytes, for another process of the same build, and back.
std::string PackModel(const Model& model);
Model UnpackModel(const std::string& bytes, const std::string& where);

}  // namespace l2gcn
