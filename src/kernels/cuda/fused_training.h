// One layer in training on the device: packs weights into slices, launches the persistent kernel, reads back.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda/regression.h"
#include "kernels/cuda/tensor.h"

namespace l2gcn::cuda {

// Labels and samples on the device; kept from layer to layer while they are the same arrays.
struct DeviceTargets {
  Array<uint32_t> samples;  // (samples) as given, or empty
  Targets targets;
  uint32_t count = 0;
  Buffer sample_rows;  // (count) or unused
  Buffer labels;   // (count) classes, or (count × label_bytes), or (count × targets) floats of a regression
  Buffer weights;  // (classes), or (count) of a regression; or unused
  uint32_t label_bytes = 0;

  RegressionTargets regression() const {
    if (!targets.regression()) return {};
    return {labels.as<float>(), targets.node_weights.empty() ? nullptr : weights.as<float>(), targets.loss};
  }
};

std::shared_ptr<const DeviceTargets> UploadTargets(const std::shared_ptr<Device>& device, size_t rows,
                                                   Array<uint32_t> samples, const Targets& targets);

std::unique_ptr<LayerTraining> MakeFusedTraining(const std::shared_ptr<Device>& device, TensorPtr xhat,
                                                 std::shared_ptr<const DeviceTargets> targets,
                                                 const LayerSpec& spec, const LayerState& start,
                                                 Precision precision, std::string* explanation);

}  // namespace l2gcn::cuda
