// A network over blocks, and back-propagation through it: the one place where conventional training computes.
//
// A stack is a chain of layers Z = (Bᵖ H) W. Hidden layers go on with a norm or a bias, ReLU and dropout; the last one
// gives the logits, with a bias where the hidden layers have a norm or a bias.
//
//   plain    Z = (Bᵖ H + offset) W    p = 1 but for N-GCN, whose stacks see powers of Â; p = 0: Z = H W
//   concat   Z = [H_dst | B H] W      self features, as in GraphSAGE: the destinations are among the sources
//   clean    Z = (B drop(H) + B' H + offset) W, control variates under dropout
//
// A product is taken in the cheaper order, (B H) W or B (H W); sparse features always meet W first. A network
// is one stack, or several (N-GCN) whose logits are added: the same as one classifier over joined embeddings.
// Loss, gradients and Adam are those of kernels/backend.h; weight decay acts on weights, not on biases and norms. No
// gradient to the features is computed.
//
// The norm is that of kernels/backend.h (LayerNorm), or PyTorch's BatchNorm1d over the rows that a layer has in the
// step: normalised with their mean and biased variance (ε = 1e-5). A model is applied with running statistics, to which
// every step adds its mean and its unbiased variance with weight 0.1.
//
// Dropout: value j of row i of layer l is kept where the 16-bit word i·width + j (width padded) of
// RandomStream(seed, kDropout, l, step) reaches p·2¹⁶. Input dropout: column c of the features of source i is dropped
// where DropsColumn(word i of RandomStream(seed, kInputDropout, 0, step), c).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "kernels/backend.h"
#include "kernels/block_ops.h"
#include "train/block.h"
#include "train/block_parameter.h"
#include "train/initialise.h"

namespace l2gcn {

// Memory that grows to the largest request and does not keep its values when it does.
class Buffer {
 public:
  float* Get(size_t count) {
    if (values_.size() < count) {
      values_ = {};  // give the old one back first
      values_ = Array<float>::Allocate(count);
    }
    return values_.mutable_data();
  }
  float* data() { return values_.mutable_data(); }
  const float* data() const { return values_.data(); }

 private:
  Array<float> values_;
};

struct LayerShape {
  size_t in = 0, out = 0;
  bool concat = false;
  uint32_t power = 1;
  size_t WeightRows() const { return concat ? 2 * in : in; }
};

// Features that enter layer 1. Row of node v of the graph in training: row_of[v], or v where row_of is empty.
struct NetworkInput {
  Features features;  // dense f32 or sparse, without preparation: steps read them again and again
  std::vector<uint32_t> row_of;
};

struct NetworkSpec {
  std::vector<std::vector<LayerShape>> stacks;
  bool multilabel = false;
  float lr = 0.01f, weight_decay = 0, dropout = 0, input_dropout = 0;
  bool decoupled_weight_decay = false;
  HiddenNorm norm = HiddenNorm::kNone;
  bool bias = false;  // where there is no norm, which has its own
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  bool xavier = true;
  uint64_t seed = 0;
};

class BlockNetwork {
 public:
  // Computes on the device of `context`.
  BlockNetwork(const Context& context, const NetworkSpec& spec);

  // Forward, backward and one Adam step; returns the mean loss. `targets` are indexed by node. `step` counts
  // from 0 over the whole training and names the dropout's random streams.
  double Step(const Context& context, const NetworkInput& input, const MiniBatch& batch,
              const Targets& targets, uint64_t step);
  // The parts of a step: loss with gradients left in Gradient(), and the update.
  double LossAndGradients(const Context& context, const NetworkInput& input, const MiniBatch& batch,
                          const Targets& targets, uint64_t step);
  void Update(const Context& context);

  size_t stacks() const { return stacks_.size(); }
  size_t layers(size_t stack) const { return stacks_[stack].size(); }
  BlockParameter& Weight(size_t stack, size_t layer) { return stacks_[stack][layer].weight; }
  const BlockParameter& Weight(size_t stack, size_t layer) const { return stacks_[stack][layer].weight; }
  // (1 × out) each, or empty: the bias is that of the norm where there is one.
  BlockParameter& NormWeight(size_t stack, size_t layer) { return stacks_[stack][layer].norm_weight; }
  BlockParameter& Bias(size_t stack, size_t layer) { return stacks_[stack][layer].bias; }
  const BlockParameter& Bias(size_t stack, size_t layer) const { return stacks_[stack][layer].bias; }
  // A hidden layer as a model has it.
  HiddenParameters Hidden(size_t stack, size_t layer) const;
  // Parameters, optimiser and running statistics, padded as they stand.
  void Save(Snapshot& snapshot) const;
  void Restore(const Snapshot& snapshot);

  // Output of hidden layer `layer` of the first stack in the last step, before dropout if the step's blocks
  // have a clean part, else after it: (nodes[layer + 1] × stride).
  MatrixView<const float> Activation(size_t layer) const;

 private:
  struct Layer {
    LayerShape shape;
    size_t width = 0;                  // out, padded
    BlockParameter weight;             // (WeightRows × out)
    BlockParameter norm_weight, bias;  // (1 × out) each, or empty
    Matrix running;                    // (2 × out) mean and variance of a batch norm, or empty
    Array<float> transposed;           // Wᵀ, made in backward: (out × padded in), twice for concat
    size_t rows = 0;                   // destinations in the current step
    bool transform_first = false;
    const float* y = nullptr;  // what met W: (rows or sources × y_stride)
    size_t y_stride = 0;
    Buffer aggregated, power, product, h, clean, dh, dclean, spare;
    Buffer normalised;        // products, and what a norm makes of them: (rows × width)
    Buffer inverse, moments;  // BlockNorm
    Block flipped;            // Bᵀ of the step's block

    bool has_norm() const { return !norm_weight.empty(); }
    // Where the products with W go: (rows × width).
    float* Products() { return (has_norm() ? normalised : h).Get(rows * width); }
  };
  using Stack = std::vector<Layer>;

  static void AddParts(const NetworkSpec& spec, bool last, const std::string& name, Layer& layer);
  void Forward(const Context& context, Stack& stack, const NetworkInput& input, const MiniBatch& batch,
               uint64_t step);
  void ForwardSparse(const Context& context, Layer& layer, const NetworkInput& input, const MiniBatch& batch);
  void ForwardDense(const Context& context, Stack& stack, size_t l, const NetworkInput& input,
                    const MiniBatch& batch);
  void JoinSelf(const Context& context, Layer& layer, const Block& block, const float* x, size_t stride,
                std::span<const uint32_t> rows);
  std::span<const uint32_t> OwnRows(const Block& block, std::span<const uint32_t> rows, size_t count);
  // The step's features with a share of their elements set to 0; their rows are the step's sources in order.
  const NetworkInput& Dropped(const Context& context, const NetworkInput& input, uint64_t step);
  void Activate(const Context& context, Layer& layer, size_t l, bool keep_clean, uint64_t step) const;
  BlockNorm NormOf(Layer& layer) const;
  void AddToRows(const Context& context, std::span<const uint32_t> rows, size_t width, size_t count,
                 const float* from, float* to) const;
  double Loss(const Context& context, const MiniBatch& batch, const Targets& targets);
  const float* PaddedWeightsOf(const Targets& targets);  // (classes_width_), or null where all are 1
  void Backward(const Context& context, Stack& stack, const NetworkInput& input, const MiniBatch& batch);
  void BackwardSparse(const Context& context, Layer& layer, const NetworkInput& input, const MiniBatch& batch,
                      const float* dz);
  void BackwardDense(const Context& context, Stack& stack, size_t l, const MiniBatch& batch, const float* dz);
  void ThroughActivation(const Context& context, Layer& below, bool has_clean) const;
  void UpdateRunning(Layer& layer) const;

  const Block& FlippedOf(Layer& layer, const Block& block) const;
  // x ← Bᵖ x for a square block, between the two buffers; returns where the result is.
  const float* Powers(const Context& context, const Block& block, uint32_t power, const float* x,
                      size_t width, std::span<const uint32_t> rows, Buffer& a, Buffer& b);

  NetworkSpec spec_;
  std::unique_ptr<BlockOps> ops_;
  std::vector<Stack> stacks_;
  std::vector<uint32_t> input_rows_;  // rows of the features that the step's nodes[0] are
  std::vector<uint32_t> own_rows_;    // those of a layer's destinations
  NetworkInput dropped_;              // of the current step
  bool input_in_order_ = false;       // they are all rows, in order
  size_t classes_ = 0, classes_width_ = 0;
  Buffer logits_;  // (loss nodes × classes_width), then their gradient
  std::vector<float> class_weights_;
  std::vector<int32_t> class_targets_;
  std::vector<const uint8_t*> label_targets_;
  uint64_t updates_ = 0;
};

}  // namespace l2gcn
