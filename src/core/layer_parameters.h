// The parameters of a layer in training, by name:
//
//   weight                                   (D × H)       the hidden layer's W
//   bias                                     (1 × H)       where there is a bias and no norm
//   norm.weight, norm.bias                   (1 × H) each  of a norm
//   norm.running_mean, norm.running_var      (1 × H) each  statistics of batch norm, which no gradient reaches
//   head.weight, head.bias, head.norm.…      (H × M), …    the same of the hidden layer before the classifier
//   classifier                               (H or M × C)  Θ
//   classifier.bias                          (1 × C)       with a bias or a norm
//
// Initialisation, checkpoints, model files and exchanges between ranks iterate over the list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/layer_architecture.h"
#include "l2gcn/layer_parameters.h"

namespace l2gcn {

// What a parameter starts with: weights at random, biases and means at 0, scales and variances at 1. Weight decay
// takes from weights alone.
enum class ParameterKind { kWeight, kBias, kScale, kRunningMean, kRunningVariance };

// Whether the parameter called so is a weight.
bool IsWeight(std::string_view name);

struct ParameterShape {
  std::string name;
  size_t rows, cols;
  ParameterKind kind;

  bool trained() const { return kind < ParameterKind::kRunningMean; }
};

// Every parameter of a layer, in the order of the list above.
std::vector<ParameterShape> ParametersOf(const LayerArchitecture& architecture, size_t inputs, size_t hidden,
                                         size_t classes);

// A parameter with Adam's moments and the steps that Adam has made with it; m and v are empty where no gradient
// reaches it.
struct Parameter {
  std::string name;
  Matrix value, m, v;
  uint64_t steps = 0;

  bool trained() const { return m.rows > 0; }
};

struct LayerState {
  std::vector<Parameter> parameters;

  // Adds a parameter whose moments are 0.
  void Add(std::string name, Matrix value);
  const Parameter* Find(std::string_view name) const;  // or null
  const Parameter& operator[](std::string_view name) const;
  Parameter& operator[](std::string_view name);
  // What the layer is in prediction; shares the state's memory.
  HiddenParameters hidden() const;
  Head head() const;
};

// The matrices of a hidden layer by the names they have in the list, without the prefix of a head.
inline constexpr std::pair<const char*, Matrix HiddenParameters::*> kHiddenParts[] = {
    {"weight", &HiddenParameters::weight},
    {"bias", &HiddenParameters::bias},
    {"norm.weight", &HiddenParameters::norm_weight},
    {"norm.bias", &HiddenParameters::norm_bias},
    {"norm.running_mean", &HiddenParameters::running_mean},
    {"norm.running_var", &HiddenParameters::running_var}};

}  // namespace l2gcn
