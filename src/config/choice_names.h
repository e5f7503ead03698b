// The names of enumerated settings (l2gcn/choices.h) on the command line, in files and in Python.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/error_format.h"
#include "l2gcn/choices.h"

namespace l2gcn {

template <class E>
struct ChoiceName {
  E value;
  const char* name;
};

// Of TrainConfig::best_preset.
inline constexpr ChoiceName<bool> kPresetNames[] = {{false, "paper"}, {true, "best"}};
inline constexpr ChoiceName<StopRule> kStopNames[] = {{StopRule::kFixed, "fixed"},
                                                      {StopRule::kEarly, "early"},
                                                      {StopRule::kController, "controller"},
                                                      {StopRule::kPlateau, "plateau"}};
inline constexpr ChoiceName<Watch> kWatchNames[] = {
    {Watch::kLoss, "loss"}, {Watch::kValidationF1, "val"}, {Watch::kValidationLoss, "val-loss"}};
// Of TrainConfig::transductive.
inline constexpr ChoiceName<bool> kSettingNames[] = {{false, "inductive"}, {true, "transductive"}};
inline constexpr ChoiceName<Adjacency> kAdjacencyNames[] = {
    {Adjacency::kRowPlusI, "row+i"}, {Adjacency::kRow, "row"},   {Adjacency::kSym, "sym"},
    {Adjacency::kSum, "sum"},        {Adjacency::kMean, "mean"}, {Adjacency::kNone, "none"}};
inline constexpr ChoiceName<HiddenNorm> kHiddenNormNames[] = {
    {HiddenNorm::kNone, "none"}, {HiddenNorm::kLayer, "layer"}, {HiddenNorm::kBatch, "batch"}};
// Of TrainConfig::decoupled_weight_decay.
inline constexpr ChoiceName<bool> kWeightDecayNames[] = {{false, "l2"}, {true, "decoupled"}};
inline constexpr ChoiceName<Scale> kScaleNames[] = {
    {Scale::kNone, "none"}, {Scale::kStandard, "standard"}, {Scale::kMinMax, "minmax"}, {Scale::kRow, "row"}};
inline constexpr ChoiceName<PredictFrom> kPredictFromNames[] = {
    {PredictFrom::kLast, "last"}, {PredictFrom::kMean, "mean"}, {PredictFrom::kAuto, "auto"}};
inline constexpr ChoiceName<Choice> kChoiceNames[] = {
    {Choice::kOff, "off"}, {Choice::kAuto, "auto"}, {Choice::kOn, "on"}};
// Of TrainConfig::fresh_theta, and of ::xavier.
inline constexpr ChoiceName<bool> kThetaStartNames[] = {{false, "keep"}, {true, "fresh"}};
inline constexpr ChoiceName<bool> kInitNames[] = {{false, "fan-in"}, {true, "xavier"}};
inline constexpr ChoiceName<Choice> kSparseNames[] = {
    {Choice::kAuto, "auto"}, {Choice::kOn, "always"}, {Choice::kOff, "never"}};
inline constexpr ChoiceName<FeatureType> kFeatureTypeNames[] = {
    {FeatureType::kF32, "f32"}, {FeatureType::kF16, "f16"}, {FeatureType::kBf16, "bf16"}};
inline constexpr ChoiceName<Precision> kPrecisionNames[] = {
    {Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBf16, "bf16"}};
inline constexpr ChoiceName<Loss> kLossNames[] = {
    {Loss::kSquared, "squared"}, {Loss::kAbsolute, "absolute"}, {Loss::kHuber, "huber"}};
// Of TrainConfig::restart_on_nan.
inline constexpr ChoiceName<bool> kOnNanNames[] = {{false, "stop"}, {true, "restart"}};

template <class E>
using ChoiceNames = std::span<const ChoiceName<E>>;

template <class E>
std::string NameOf(ChoiceNames<E> names, E value) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const ChoiceName<E>& name) { return name.value == value; });
  L2GCN_ASSERT(found != names.end());
  return found->name;
}

// The value called `name`, or null.
template <class E>
const E* FindChoice(ChoiceNames<E> names, const std::string& name) {
  for (const ChoiceName<E>& one : names) {
    if (name == one.name) return &one.value;
  }
  return nullptr;
}

template <class E>
std::vector<std::string> WordsOf(ChoiceNames<E> names) {
  std::vector<std::string> words;
  for (const ChoiceName<E>& name : names) words.emplace_back(name.name);
  return words;
}

inline std::string StopName(StopRule rule) { return NameOf<StopRule>(kStopNames, rule); }

}  // namespace l2gcn
