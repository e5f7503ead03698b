#include "train/layerwise_progress.h"

#include <string>

#include "core/error_format.h"
#include "model/model_shapes.h"
#include "train/layer_setup.h"

namespace l2gcn {
namespace {

// The parameters of the finished layers, whose moments are no longer needed.
void KeepLayers(const Model& model, Snapshot& snapshot) {
  for (const NamedTensor& tensor : LayerTensors(model)) snapshot.tensors.push_back(tensor);
}

// The parameters of finished layer `done`, to the model.
void RestoreLayer(const Snapshot& snapshot, const LayerwiseShape& shape, uint32_t done, Model& model) {
  const size_t hidden = shape.config.HiddenOf(done);
  const size_t inputs = shape.blocks * (done == 0 ? shape.features : shape.config.HiddenOf(done - 1));
  LayerState state;
  for (const ParameterShape& parameter :
       ParametersOf(ArchitectureOf(shape.config), inputs, hidden, shape.classes)) {
    const std::string name = LayerTensorName(done, parameter.name);
    if (HasBasicLayers(shape.config) && parameter.name != "weight") continue;
    state.parameters.push_back({parameter.name, snapshot.Take(name, parameter.rows, parameter.cols), {}, {}});
  }
  model.layers.push_back(state.hidden());
  if (!HasBasicLayers(shape.config)) model.heads.push_back(state.head());
}

}  // namespace

void SaveProgress(const LayerwiseProgress& progress, const LayerProgress& current, uint32_t layer,
                  const LayerState& state, bool finished, Snapshot& snapshot) {
  SeedResult stored = progress.trained.result;
  stored.layers.push_back(current.epochs.record);
  snapshot.state["layer"] = layer;
  snapshot.state["finished"] = finished;
  snapshot.state["result"] = SeedResultToJson(stored);
  snapshot.state["epochs_done"] = progress.epochs_done;
  snapshot.AddNumber("rate", current.rate);
  snapshot.state["decay"] = {{"begin", current.schedule.begin}, {"end", current.schedule.end}};
  snapshot.state["cooling_down"] = current.cooling_down;
  KeepLayers(progress.trained.model, snapshot);
  snapshot.AddLayer("current", state);
  if (current.best) snapshot.AddLayer("best", *current.best);
}

uint32_t RestoreProgress(const Snapshot& snapshot, const LayerwiseShape& shape, LayerwiseProgress& progress,
                         LayerProgress& current) {
  try {
    const auto layer = snapshot.state.at("layer").get<uint32_t>();
    SeedResult stored = SeedResultFromJson(snapshot.state.at("result"));
    // The current layer is the last of the stored ones.
    if (layer >= shape.config.layers || stored.layers.size() != layer + 1)
      ThrowInput("the checkpoint is of another model");
    current = {};
    current.epochs.Restore(snapshot);
    current.epochs.record = std::move(stored.layers.back());
    stored.layers.pop_back();
    progress.trained.result = std::move(stored);
    current.rate = snapshot.TakeNumber("rate");
    const auto& decay = snapshot.state.at("decay");
    current.schedule = {decay.at("begin").get<uint32_t>(), decay.at("end").get<uint32_t>()};
    current.cooling_down = snapshot.state.at("cooling_down").get<bool>();
    progress.epochs_done = snapshot.state.at("epochs_done").get<uint32_t>();
    for (uint32_t done = 0; done < layer; ++done) RestoreLayer(snapshot, shape, done, progress.trained.model);
    return layer;
  } catch (const nlohmann::json::exception& error) {
    ThrowInput("the checkpoint is damaged: {}", error.what());
  }
}

}  // namespace l2gcn
