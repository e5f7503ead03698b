#include "train/layerwise_progress.h"

#include <string>

#include "core/error_format.h"
#include "train/layer_setup.h"

namespace l2gcn {
namespace {

void KeepLayers(const Model& model, Snapshot& snapshot) {
  const auto add = [&](const char* name, size_t layer, const Matrix& matrix) {
    if (matrix.rows > 0) snapshot.Add(name + std::to_string(layer), matrix);
  };
  for (size_t done = 0; done < model.weights.size(); ++done) {
    add("weights.", done, model.weights[done]);
    if (model.heads.empty()) continue;
    const Head& head = model.heads[done];
    add("affine.", done, model.affines[done]);
    add("head.", done, head.hidden);
    add("head_affine.", done, head.hidden_affine);
    add("theta.", done, head.theta);
    add("bias.", done, head.bias);
  }
}

// The weights of a finished layer, to the model.
void RestoreLayer(const Snapshot& snapshot, const LayerwiseShape& shape, uint32_t done, Model& model) {
  const size_t hidden = shape.config.HiddenOf(done);
  const size_t inputs = shape.blocks * (done == 0 ? shape.features : shape.config.HiddenOf(done - 1));
  const std::string number = std::to_string(done);
  model.weights.push_back(snapshot.Take("weights." + number, inputs, hidden));
  if (HasBasicLayers(shape.config)) return;
  const LayerArchitecture form = ArchitectureOf(shape.config);
  const size_t rows = form.affine_rows(), last = form.head > 0 ? form.head : hidden;
  const auto take = [&](const char* name, size_t height, size_t width) {
    return height == 0 ? Matrix() : snapshot.Take(name + number, height, width);
  };
  model.affines.push_back(take("affine.", rows, hidden));
  model.heads.push_back({take("head.", form.head > 0 ? hidden : 0, form.head),
                         take("head_affine.", form.head > 0 ? rows : 0, form.head),
                         take("theta.", last, shape.classes),
                         take("bias.", rows > 0 ? 1 : 0, shape.classes)});
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
