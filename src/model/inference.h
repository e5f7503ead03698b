// Applies a model of any method to the whole graph, layer by layer. A pipeline prepares the features and puts them on the
// device once, so a training that scores validation nodes repeatedly computes only the layers again.
//
// By the method's prediction head (config/methods.h):
//
//   classifier       X ← ReLU(Â X W) for each layer; logits X Θ
//   last layer       the same, and Θ is the last layer: logits Â X Θ, plus a bias where the model has one
//   hops             logits Âᴷ X Θ
//   joined powers    for each power p, X ← ReLU(Âᵖ X W) for each layer; logits of all joined
//
// Where weights multiply self features beside the aggregated row, a layer is ReLU([X | Â X] W), and logits
// are the same without ReLU. Hidden layers may have a norm or a bias before ReLU.
//
// Where layers have heads of their own (Model::heads), the pipeline computes the layers. Logits are those of the last
// head, or the logarithm of the mean of all heads' probabilities.
//
// A layer's product is taken in whichever order is narrower, so memory beyond the features is two activations
// of the narrower width.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/model.h"
#include "pipeline/layer_pipeline.h"

namespace l2gcn {

// Name, in Model::extra, of layer `layer` (0-based) of the network over the power with index `stack`.
std::string StackWeightName(size_t stack, size_t layer);

class Inference {
 public:
  // The pipeline must have been made with the configuration and the preparation of the models that are asked
  // about.
  explicit Inference(std::shared_ptr<LayerPipeline> pipeline) : pipeline_(std::move(pipeline)) {}
  // (rows × classes), or of all nodes where rows is empty. Of a regression they are the predicted targets.
  Matrix Logits(const Context& context, const Model& model, std::span<const uint32_t> rows);
  // Output of hidden layer `layer`, 1-based; (nodes × width).
  Matrix Embedding(const Context& context, const Model& model, size_t layer);
  // Every layer's logits of all nodes, for a model whose layers have heads.
  std::vector<Matrix> LogitsOfLayers(const Context& context, const Model& model);
  // Output of the last hidden layer for every node, where the pipeline's backend keeps it.
  TensorPtr LastHidden(const Context& context, const Model& model) {
    return Hidden(context, model, model.layers.size());
  }
  LayerPipeline& pipeline() { return *pipeline_; }

 private:
  Backend& backend() { return pipeline_->backend(); }
  // `see` is called with each layer's output.
  TensorPtr Hidden(const Context& context, const Model& model, size_t layers,
                   const std::function<void(const TensorPtr&)>& see = nullptr);
  TensorPtr LeftByTraining(const Context& context, const Model& model, size_t layer);
  TensorPtr OwnAndAggregated(const Context& context, const Tensor& x, const Matrix& w, bool relu);
  Matrix LastLayer(const Context& context, const Tensor& x, const Model& model);
  TensorPtr Powers(const Context& context, TensorPtr x, uint32_t power);
  // What the last layer's classifier computes.
  Matrix LogitsOfLast(const Context& context, const Model& model, std::span<const uint32_t> rows);
  // Output of the last layer of one of several networks over powers of Â.
  TensorPtr StackOutput(const Context& context, const Model& model, size_t stack);
  Matrix JoinedLogits(const Context& context, const Model& model, std::span<const uint32_t> rows);

  std::shared_ptr<LayerPipeline> pipeline_;
};

}  // namespace l2gcn
