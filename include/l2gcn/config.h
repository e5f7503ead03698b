// Every training parameter, declared once: the struct holds the value, the field table (Fields()) its name,
// default, range and sentence. Command line, config.json, Python and help all read that table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

struct TrainConfig {
  // What is trained
  std::string method = "l2gcn";
  std::string preset = "paper";
  uint32_t layers = 2;
  std::vector<uint32_t> hidden = {128};   // one value serves all layers
  std::vector<uint32_t> epochs = {80};    // likewise; the cap where a policy may stop earlier
  uint32_t batch = 1024;
  double lr = 0.001;
  bool drop_last = false;
  double dropout = 0;
  double weight_decay = 0;
  std::string theta = "keep";             // keep | fresh
  std::string init = "fan-in";            // fan-in | xavier
  // On what
  std::string norm = "row+i";             // row+i | row | sym | sum
  std::string setting = "inductive";      // inductive | transductive
  std::string split;                      // "": the default order of ResolveSplit
  std::string scale = "none";             // none | standard | minmax | row
  uint32_t pca = 0;                       // 0: features as they are
  uint32_t smooth = 0;                    // times features are averaged over neighbours before training
  std::string sparse = "auto";            // auto | always | never: layer 1 on sparse features
  std::string features_as = "f32";        // f32 | f16 | bf16
  // When a layer ends
  std::string stop;                       // fixed | early | learned; "": the method's own
  uint32_t patience = 10;                 // early: epochs without improvement
  std::string watch = "loss";             // early: loss | val
  std::string controller;                 // file of a learned controller; "": the shipped one
  std::string controller_kind = "general";// general | paper
  // Precision on a device
  std::string precision = "tf32";         // fp32 | tf32 | bf16; the CPU always computes in fp32
  uint64_t seed = 0;

  uint32_t HiddenOf(uint32_t layer) const { return hidden[layer < hidden.size() ? layer : hidden.size() - 1]; }
  uint32_t EpochsOf(uint32_t layer) const { return epochs[layer < epochs.size() ? layer : epochs.size() - 1]; }
};

struct Field {
  std::string name;                   // as on the command line, without dashes
  std::string placeholder;            // N, X, LIST, NAME …
  std::string help;                   // one sentence
  std::vector<std::string> choices;   // valid values, or empty
  std::function<void(TrainConfig&, const std::string&)> set;   // parses and checks the range; throws Error(kUsage)
  std::function<std::string(const TrainConfig&)> get;          // as text that set() accepts
  bool is_flag = false;               // on the command line it needs no value
};

const std::vector<Field>& Fields();

// (name, value as text): what the user said, in order.
using Overrides = std::vector<std::pair<std::string, std::string>>;

// Defaults ← the preset's row for this data set and method ← what the user said. Throws Error(kUsage) for an
// unknown name (naming the nearest) or a value out of range, and for lists longer than the number of layers.
TrainConfig ResolveConfig(const Overrides& overrides, const Dataset& dataset);

// All fields as one JSON object, and back.
std::string ConfigToJson(const TrainConfig& config);
TrainConfig ConfigFromJson(const std::string& text, const std::string& where);

// The candidate nearest to `word` by edit distance, or "".
std::string NearestName(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace l2gcn
