// A model of any method over the whole graph, layer by layer. Features are prepared and put on the device
// once, so a training that scores its validation nodes again and again pays for the layers alone.
//
//   lgcn, l2gcn                 X ← ReLU(Â X W) for each layer; logits X Θ
//   gcn and the sampled ones    the same, and Θ is the last layer: logits Â X Θ (clustergcn: Â + λ·diag(Â))
//   graphsage                   X ← ReLU([X | mean of all neighbours] W); logits without ReLU
//   sgc                         logits Âᴷ X Θ
//   ngcn, ngcn-layerwise        for each power p, X ← ReLU(Âᵖ X W) for each layer; logits of all joined
//
// A layer's product is taken in whichever order is narrower, so memory beyond the features is two activations
// of the narrower width.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "kernels/backend.h"
#include "l2gcn/model.h"

namespace l2gcn {

// Name, in Model::extra, of layer `layer` (0-based) of the network over the power with index `stack`.
std::string StackWeightName(size_t stack, size_t layer);

class Inference {
 public:
  // Takes method, operator and feature preparation from `model`; its weights are named at each call.
  Inference(const Context& context, const Model& model, const Dataset& dataset);
  // (rows × classes), or of all nodes where rows is empty.
  Matrix Logits(const Context& context, const Model& model, std::span<const uint32_t> rows);
  // Output of hidden layer `layer`, 1-based; (nodes × width).
  Matrix Embedding(const Context& context, const Model& model, size_t layer);

 private:
  TensorPtr Hidden(const Context& context, const Model& model, size_t layers);
  TensorPtr SageLayer(const Context& context, const Tensor& x, const Matrix& w, bool relu);
  TensorPtr Powers(const Context& context, TensorPtr x, uint32_t power);
  // Output of every layer of one of N-GCN's networks.
  TensorPtr StackOutput(const Context& context, const Model& model, size_t stack);
  Matrix JoinedLogits(const Context& context, const Model& model, std::span<const uint32_t> rows);

  std::unique_ptr<Backend> backend_;
  TensorPtr x_;
  DeviceGraphPtr graph_;
};

}  // namespace l2gcn
