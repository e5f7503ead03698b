// Resolving a configuration: built-in defaults ← the preset's row for this data set and method ← the user's
// words.
//
// Preset `paper` follows the paper's released program where text and program differ (Cora's learning rate,
// PPI's classifier). Rivals of layer-wise training take the set's width, batch and split, and their own
// optimiser.
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "core/error_format.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

struct SetRow {
  const char* recipe;
  uint32_t layers, hidden, batch;
  double lr;
  uint32_t epochs;
  const char* scale;
  uint32_t pca;     // columns to reduce to, where the files hold more
  uint32_t smooth;  // of the real set; a generated one, in memory or stored, takes its features as drawn
};

constexpr SetRow kOtherSets = {"", 2, 128, 1024, 0.001, 80, "none", 0, 0};
constexpr SetRow kSetRows[] = {
    {"cora", 2, 16, 256, 0.005, 80, "none", 0, 0},
    {"citeseer", 2, 16, 256, 0.005, 80, "none", 0, 0},
    {"pubmed", 2, 16, 1024, 0.001, 80, "none", 0, 0},
    {"ppi", 3, 512, 1024, 0.001, 400, "standard", 0, 0},
    {"reddit", 3, 128, 1024, 0.0001, 80, "none", 0, 1},
    {"amazon670k", 2, 128, 1024, 0.0001, 80, "standard", 100, 0},
    {"amazon3m", 2, 128, 1024, 0.0001, 80, "standard", 100, 0},
};

const SetRow& SetRowOf(const std::string& recipe) {
  for (const SetRow& row : kSetRows) {
    if (recipe == row.recipe) return row;
  }
  return kOtherSets;
}

void ApplySetRow(const Dataset& dataset, TrainConfig& config) {
  const SetRow& row = SetRowOf(dataset.recipe);
  config.layers = row.layers;
  config.hidden = {row.hidden};
  config.batch = row.batch;
  config.lr = row.lr;
  config.epochs = {row.epochs};
  config.scale = row.scale;
  if (dataset.features.cols() > row.pca) config.pca = row.pca;
  if (!dataset.name.starts_with("synthetic:")) config.smooth = row.smooth;
  if (dataset.labels.multilabel) {
    config.theta = "fresh";
    config.init = "xavier";
  }
}

bool IsLayerwise(const std::string& method) { return method == "lgcn" || method == "l2gcn"; }

// Cluster-GCN's own table for the sets its paper has; elsewhere parts of about 100 nodes, as many as fill a
// batch.
void ApplyClusters(const std::string& recipe, TrainConfig& config) {
  if (recipe == "ppi") config.parts = 50;
  if (recipe == "reddit") config.parts = 1500, config.clusters_per_batch = 20;
  if (recipe == "amazon3m") config.parts = 15000, config.clusters_per_batch = 10;
}

void ApplyRival(const std::string& recipe, TrainConfig& config) {
  config.norm = "sym";
  if (config.method == "ngcn-layerwise") return;  // each of its networks trains as lgcn does
  config.init = "xavier";
  config.lr = 0.01;
  config.dropout = 0.5;
  config.weight_decay = 5e-4;
  config.epochs = {200};
  const std::string& method = config.method;
  if (method == "graphsage") config.samples = {25, 10};
  if (method == "fastgcn") config.samples = {400};
  if (method == "ladies") config.samples = {512};
  if (method == "vrgcn") config.samples = {2};
  config.precompute = method == "fastgcn" || method == "vrgcn";  // as their authors do
  if (method == "clustergcn") ApplyClusters(recipe, config);
  if (method == "sgc") {
    config.lr = 0.2;
    config.weight_decay = 5e-6;
    config.dropout = 0;
    config.epochs = {100};
  }
}

// What the user asked for under `name`, or "".
std::string Asked(const Overrides& overrides, const std::string& name) {
  std::string value;
  for (const auto& [key, text] : overrides) {
    if (FindField(key).name == name) value = text;
  }
  return value;
}

// The method decides defaults, so it is settled before them: layer-wise training that stops by a controller
// is l2gcn, whichever way it was asked for.
std::string SettleMethod(const Overrides& overrides) {
  TrainConfig scratch;
  const Field& method = FindField("method");
  const std::string asked = Asked(overrides, "method");
  method.set(scratch, asked.empty() ? BuiltMethods().front() : asked);
  const std::string stop = Asked(overrides, "stop");
  if (stop == "learned" && !IsLayerwise(scratch.method)) {
    ThrowUsage(
        "--stop learned: method {} takes fixed or early; a controller decides per layer, so it needs l2gcn",
        scratch.method);
  }
  if (stop == "learned") method.set(scratch, "l2gcn");
  return scratch.method;
}

void CheckUseful(const Field& field, const std::string& method) {
  if (field.methods.empty() ||
      std::find(field.methods.begin(), field.methods.end(), method) != field.methods.end()) {
    return;
  }
  ThrowUsage("--{}: method {} has no use for it; it belongs to {}", field.name, method,
             fmt::join(field.methods, ", "));
}

// A preset's list is made for the preset's number of layers; the user may have changed that.
void FitToLayers(uint32_t layers, std::vector<uint32_t>& list) {
  if (list.size() > 1) list.resize(layers, list.back());
}

}  // namespace

TrainConfig ResolveConfig(const Overrides& overrides, const Dataset& dataset) {
  TrainConfig config;
  config.method = SettleMethod(overrides);
  ApplySetRow(dataset, config);
  config.drop_last = config.method == "lgcn";
  if (!IsLayerwise(config.method)) ApplyRival(dataset.recipe, config);
  const std::string layers = Asked(overrides, "layers");
  if (!layers.empty()) FindField("layers").set(config, layers);
  FitToLayers(config.layers, config.samples);
  for (const auto& [name, value] : overrides) {
    const Field& field = FindField(name);
    CheckUseful(field, config.method);
    if (field.name != "method") field.set(config, value);
  }
  if (config.stop.empty()) config.stop = config.method == "l2gcn" ? "learned" : "fixed";
  Validate(config);
  return config;
}

}  // namespace l2gcn
