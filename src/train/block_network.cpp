#include "train/block_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/threads.h"
#include "train/snapshot.h"

namespace l2gcn {
namespace {

constexpr size_t kValuesGrain = 1 << 14;  // elementwise work worth a thread
constexpr size_t kRowsGrain = 64;         // copied rows worth a thread
constexpr double kGatherCost =
    4;  // an element moved by a block, in units of a multiply-add of a dense product
constexpr uint32_t kStreamsPerStack = 64;

// Keeps each value with probability 1 − p and scales it by 1/(1 − p); eight decisions a Philox block.
void Drop(float* values, size_t begin, size_t end, float p, const RandomStream& stream) {
  const auto threshold = static_cast<uint32_t>(std::lround(p * 65536.0f));
  const float scale = 1.0f / (1.0f - p);
  for (size_t i = begin; i < end; i += 8) {
    const Philox4 bits = stream.Block(i / 8);
    for (size_t j = 0; j < 8; ++j) {
      const uint32_t word = (bits.v[j / 2] >> (16 * (j % 2))) & 0xFFFFu;
      values[i + j] = word >= threshold ? values[i + j] * scale : 0.0f;
    }
  }
}

// `rows` rows of W (stride width) from `first`, transposed to (out × padded rows).
void Transpose(const float* w, size_t width, size_t first, size_t rows, size_t out, float* to) {
  const size_t padded = BlockWidth(rows);
  std::memset(to, 0, out * padded * sizeof(float));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < out; ++j) to[j * padded + i] = w[(first + i) * width + j];
  }
}

}  // namespace

BlockNetwork::BlockNetwork(const Context& context, const NetworkSpec& spec)
    : spec_(spec), ops_(MakeBlockOps(context)) {
  for (size_t s = 0; s < spec.stacks.size(); ++s) {
    Stack& stack = stacks_.emplace_back();
    for (size_t l = 0; l < spec.stacks[s].size(); ++l) {
      Layer& layer = stack.emplace_back();
      layer.shape = spec.stacks[s][l];
      layer.width = BlockWidth(layer.shape.out);
      const size_t count = layer.shape.WeightRows() * layer.width;
      layer.w = layer.m = layer.v = {};
      layer.w = Array<float>::Zeros(count);
      layer.m = Array<float>::Zeros(count);
      layer.v = Array<float>::Zeros(count);
      layer.grad = Array<float>::Zeros(count);
      const auto stream = static_cast<uint32_t>(s * kStreamsPerStack + l);
      SetWeight(s, l,
                InitialWeights(layer.shape.WeightRows(), layer.shape.out, spec.init,
                               RandomStream(spec.seed, RandomUse::kInitW, stream)));
    }
  }
  classes_ = stacks_.front().back().shape.out;
  classes_width_ = BlockWidth(classes_);
}

Matrix BlockNetwork::Weight(size_t stack, size_t l) const {
  const Layer& layer = stacks_[stack][l];
  Matrix out = Matrix::Allocate(layer.shape.WeightRows(), layer.shape.out);
  for (size_t i = 0; i < out.rows; ++i) {
    std::memcpy(out.mutable_row(i), layer.w.data() + i * layer.width, out.cols * sizeof(float));
  }
  return out;
}

void BlockNetwork::SetWeight(size_t stack, size_t l, const Matrix& values) {
  Layer& layer = stacks_[stack][l];
  L2GCN_ASSERT(values.rows == layer.shape.WeightRows() && values.cols == layer.shape.out);
  for (size_t i = 0; i < values.rows; ++i) {
    std::memcpy(layer.w.mutable_data() + i * layer.width, values.row(i), values.cols * sizeof(float));
  }
}

void BlockNetwork::Save(Snapshot& snapshot) const {
  snapshot.state["updates"] = updates_;
  for (size_t s = 0; s < stacks_.size(); ++s) {
    for (size_t l = 0; l < stacks_[s].size(); ++l) {
      const Layer& layer = stacks_[s][l];
      const std::string name = fmt::format("network.{}.{}", s, l);
      const size_t rows = layer.shape.WeightRows();
      snapshot.Add(name + ".w", {layer.w, rows, layer.width});
      snapshot.Add(name + ".m", {layer.m, rows, layer.width});
      snapshot.Add(name + ".v", {layer.v, rows, layer.width});
    }
  }
}

void BlockNetwork::Restore(const Snapshot& snapshot) {
  updates_ = snapshot.state.at("updates").get<uint64_t>();
  for (size_t s = 0; s < stacks_.size(); ++s) {
    for (size_t l = 0; l < stacks_[s].size(); ++l) {
      Layer& layer = stacks_[s][l];
      const std::string name = fmt::format("network.{}.{}", s, l);
      const size_t rows = layer.shape.WeightRows();
      layer.w = snapshot.Take(name + ".w", rows, layer.width).values;
      layer.m = snapshot.Take(name + ".m", rows, layer.width).values;
      layer.v = snapshot.Take(name + ".v", rows, layer.width).values;
    }
  }
}

Matrix BlockNetwork::Gradient(size_t stack, size_t l) const {
  const Layer& layer = stacks_[stack][l];
  Matrix out = Matrix::Allocate(layer.shape.WeightRows(), layer.shape.out);
  for (size_t i = 0; i < out.rows; ++i) {
    std::memcpy(out.mutable_row(i), layer.grad.data() + i * layer.width, out.cols * sizeof(float));
  }
  return out;
}

MatrixView<const float> BlockNetwork::Activation(size_t l) const {
  const Layer& layer = stacks_.front()[l];
  const float* clean = layer.clean.data();
  return {clean != nullptr ? clean : layer.h.data(), layer.rows, layer.shape.out, layer.width};
}

double BlockNetwork::Step(const Context& context, const NetworkInput& input, const MiniBatch& batch,
                          const Targets& targets, uint64_t step) {
  const double loss = LossAndGradients(context, input, batch, targets, step);
  Update(context);
  return loss;
}

double BlockNetwork::LossAndGradients(const Context& context, const NetworkInput& input,
                                      const MiniBatch& batch, const Targets& targets, uint64_t step) {
  const std::vector<uint32_t>& nodes = batch.nodes.front();
  input_rows_.resize(nodes.size());
  input_in_order_ = nodes.size() == input.features.rows();
  for (size_t i = 0; i < nodes.size(); ++i) {
    input_rows_[i] = input.row_of.empty() ? nodes[i] : input.row_of[nodes[i]];
    input_in_order_ = input_in_order_ && input_rows_[i] == i;
  }
  for (Stack& stack : stacks_) Forward(context, stack, input, batch, step);
  const double loss = Loss(context, batch, targets);
  for (Stack& stack : stacks_) Backward(context, stack, input, batch);
  return loss;
}

// ---- forward ----------------------------------------------------------------------------------------------

void BlockNetwork::Forward(const Context& context, Stack& stack, const NetworkInput& input,
                           const MiniBatch& batch, uint64_t step) {
  for (size_t l = 0; l < stack.size(); ++l) {
    stack[l].rows = batch.nodes[l + 1].size();
    if (l == 0 && input.features.is_sparse()) {
      ForwardSparse(context, stack[0], input, batch);
    } else {
      ForwardDense(context, stack, l, input, batch);
    }
    if (l + 1 == stack.size()) break;
    const Block* next = batch.blocks[l + 1].get();
    Activate(context, stack[l], l, next != nullptr && !next->clean.empty(), step);
  }
}

void BlockNetwork::ForwardSparse(const Context& context, Layer& layer, const NetworkInput& input,
                                 const MiniBatch& batch) {
  const CsrMatrix& x = input.features.csr();
  const Block* block = layer.shape.power == 0 ? nullptr : batch.blocks[0].get();
  const float* w = layer.w.data() + (layer.shape.concat ? layer.shape.in * layer.width : 0);
  float* out = layer.h.Get(layer.rows * layer.width);
  if (block == nullptr) {
    ops_->MultiplySparse(context, x, input_rows_, layer.width, w, out);
    return;
  }
  float* product = layer.product.Get(input_rows_.size() * layer.width);  // X W (sources × width)
  ops_->MultiplySparse(context, x, input_rows_, layer.width, w, product);
  const float* in =
      Powers(context, *block, layer.shape.power - 1, product, layer.width, {}, layer.power, layer.spare);
  ops_->Aggregate(context, block->View(), in, layer.width, {}, out);
  if (layer.shape.concat) {
    float* self = layer.spare.Get(layer.rows * layer.width);
    ops_->MultiplySparse(context, x, std::span(input_rows_).first(layer.rows), layer.width, layer.w.data(),
                         self);
    ops_->Add(context, layer.rows * layer.width, self, out);
  }
}

const float* BlockNetwork::Powers(const Context& context, const Block& block, uint32_t power, const float* x,
                                  size_t width, std::span<const uint32_t> rows, Buffer& a, Buffer& b) {
  for (uint32_t i = 0; i < power; ++i) {
    float* to = (i % 2 == 0 ? a : b).Get(size_t{block.rows} * width);
    ops_->Aggregate(context, block.View(), x, width, i == 0 ? rows : std::span<const uint32_t>(), to);
    x = to;
  }
  return x;
}

void BlockNetwork::ForwardDense(const Context& context, Stack& stack, size_t l, const NetworkInput& input,
                                const MiniBatch& batch) {
  Layer& layer = stack[l];
  const LayerShape& shape = layer.shape;
  const Block* block = shape.power == 0 ? nullptr : batch.blocks[l].get();
  // The sources: rows of the features, or the layer below.
  const bool first = l == 0;
  const float* x = first ? input.features.matrix().values.data() : stack[l - 1].h.data();
  const size_t stride = first ? shape.in : stack[l - 1].width;
  const std::span<const uint32_t> rows =
      first && !input_in_order_ ? std::span<const uint32_t>(input_rows_) : std::span<const uint32_t>();
  const size_t sources = batch.nodes[l].size();
  const Matrix* offset = l < batch.offsets.size() && batch.offsets[l].rows > 0 ? &batch.offsets[l] : nullptr;

  float* out = layer.h.Get(layer.rows * layer.width);
  layer.transform_first = false;
  layer.y = x;
  layer.y_stride = stride;
  if (block != nullptr && shape.concat) {
    JoinSelf(context, layer, *block, x, stride, rows);
  } else if (block != nullptr) {
    const double in = static_cast<double>(stride), wide = static_cast<double>(layer.width);
    const double moved = kGatherCost * shape.power * static_cast<double>(block->entries());
    const double passes = first ? 2 : 3;  // products with W, forward and backward
    const double aggregate_first =
        moved * in * (first ? 1 : 2) + static_cast<double>(layer.rows) * in * wide * passes;
    const double transform_first = moved * wide * 2 + static_cast<double>(sources) * in * wide * passes;
    layer.transform_first = offset == nullptr && block->clean.empty() && transform_first < aggregate_first;
    if (!layer.transform_first) {
      const float* in_rows =
          Powers(context, *block, shape.power - 1, x, stride, rows, layer.power, layer.spare);
      float* y = layer.aggregated.Get(layer.rows * stride);
      ops_->Aggregate(context, block->View(), in_rows, stride,
                      shape.power > 1 ? std::span<const uint32_t>() : rows, y);
      if (!block->clean.empty()) {
        float* clean = layer.spare.Get(layer.rows * stride);
        ops_->Aggregate(context, block->CleanView(), stack[l - 1].clean.data(), stride, {}, clean);
        ops_->Add(context, layer.rows * stride, clean, y);
      }
      if (offset != nullptr) ops_->Add(context, layer.rows * stride, offset->values.data(), y);
      layer.y = y;
    }
  }
  if ((block == nullptr || layer.transform_first) && !rows.empty()) {
    float* gathered = layer.aggregated.Get(sources * stride);
    ops_->Gather(context, x, stride, rows, gathered);
    layer.y = gathered;
  }
  const size_t k = shape.WeightRows();
  if (!layer.transform_first) {
    ops_->Multiply(context, layer.rows, layer.width, k, layer.y, layer.y_stride, layer.w.data(), out);
    return;
  }
  float* product = layer.product.Get(sources * layer.width);
  ops_->Multiply(context, sources, layer.width, k, layer.y, layer.y_stride, layer.w.data(), product);
  const float* in_rows =
      Powers(context, *block, shape.power - 1, product, layer.width, {}, layer.power, layer.spare);
  ops_->Aggregate(context, block->View(), in_rows, layer.width, {}, out);
}

// y = [x_dst | B x], without padding: (rows × 2·in).
void BlockNetwork::JoinSelf(const Context& context, Layer& layer, const Block& block, const float* x,
                            size_t stride, std::span<const uint32_t> rows) {
  const size_t in = layer.shape.in;
  float* mean = layer.spare.Get(layer.rows * stride);
  ops_->Aggregate(context, block.View(), x, stride, rows, mean);
  float* y = layer.aggregated.Get(layer.rows * 2 * in);
  ParallelFor(context, layer.rows, kRowsGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::memcpy(y + i * 2 * in, x + (rows.empty() ? i : rows[i]) * stride, in * sizeof(float));
      std::memcpy(y + i * 2 * in + in, mean + i * stride, in * sizeof(float));
    }
  });
  layer.y = y;
  layer.y_stride = 2 * in;
}

void BlockNetwork::Activate(const Context& context, Layer& layer, size_t l, bool keep_clean,
                            uint64_t step) const {
  const size_t count = layer.rows * layer.width;
  float* h = layer.h.data();
  float* clean = keep_clean ? layer.clean.Get(count) : nullptr;
  const RandomStream stream(spec_.seed, RandomUse::kDropout, static_cast<uint32_t>(l),
                            static_cast<uint32_t>(step));
  ParallelFor(context, count / kBlockPad, kValuesGrain / kBlockPad, [&](size_t from, size_t to) {
    const size_t begin = from * kBlockPad, end = to * kBlockPad;
    for (size_t i = begin; i < end; ++i) h[i] = h[i] > 0 ? h[i] : 0;
    if (clean != nullptr) std::memcpy(clean + begin, h + begin, (end - begin) * sizeof(float));
    if (spec_.dropout > 0) Drop(h, begin, end, spec_.dropout, stream);
  });
}

const float* BlockNetwork::PaddedWeightsOf(const Targets& targets) {
  if (targets.weights.empty()) return nullptr;
  class_weights_.assign(classes_width_, 0);
  std::copy(targets.weights.begin(), targets.weights.end(), class_weights_.begin());
  return class_weights_.data();
}

double BlockNetwork::Loss(const Context& context, const MiniBatch& batch, const Targets& targets) {
  const std::vector<uint32_t>& nodes = batch.nodes.back();
  const size_t count = nodes.size();
  float* z = logits_.Get(count * classes_width_);
  std::memcpy(z, stacks_.front().back().h.data(), count * classes_width_ * sizeof(float));
  for (size_t s = 1; s < stacks_.size(); ++s)
    ops_->Add(context, count * classes_width_, stacks_[s].back().h.data(), z);
  class_targets_.resize(spec_.multilabel ? 0 : count);
  label_targets_.resize(spec_.multilabel ? count : 0);
  for (size_t i = 0; i < count; ++i) {
    if (spec_.multilabel)
      label_targets_[i] = targets.matrix.data() + size_t{nodes[i]} * classes_;
    else
      class_targets_[i] = targets.classes_of[nodes[i]];
  }
  const float* weights = PaddedWeightsOf(targets);
  double entries = static_cast<double>(count) * (spec_.multilabel ? static_cast<double>(classes_) : 1.0);
  if (weights != nullptr && !spec_.multilabel) {
    entries = 0;
    for (int32_t target : class_targets_) entries += double{weights[target]};
  }
  const auto scale = static_cast<float>(1.0 / entries);
  const double sum = spec_.multilabel ? ops_->SigmoidLoss(context, count, classes_, classes_width_, z,
                                                          label_targets_.data(), weights, scale)
                                      : ops_->SoftmaxLoss(context, count, classes_, classes_width_, z,
                                                          class_targets_.data(), weights, scale);
  return sum / entries;
}

// ---- backward ---------------------------------------------------------------------------------------------

void BlockNetwork::Backward(const Context& context, Stack& stack, const NetworkInput& input,
                            const MiniBatch& batch) {
  const float* dz = logits_.data();  // (rows × width) of the current layer
  for (size_t l = stack.size(); l-- > 0;) {
    if (l == 0 && input.features.is_sparse()) {
      BackwardSparse(context, stack[0], input, batch, dz);
    } else {
      BackwardDense(context, stack, l, batch, dz);
    }
    if (l == 0) break;
    const Block* block = batch.blocks[l].get();
    ThroughActivation(context, stack[l - 1], block != nullptr && !block->clean.empty());
    dz = stack[l - 1].dh.data();
  }
}

const Block& BlockNetwork::FlippedOf(Layer& layer, const Block& block) const {
  if (block.symmetric) return block;
  if (block.transpose != nullptr) return *block.transpose;
  TransposeBlock(block, layer.flipped);
  return layer.flipped;
}

void BlockNetwork::BackwardSparse(const Context& context, Layer& layer, const NetworkInput& input,
                                  const MiniBatch& batch, const float* dz) {
  const CsrMatrix& x = input.features.csr();
  const Block* block = layer.shape.power == 0 ? nullptr : batch.blocks[0].get();
  const float* d = dz;  // gradient of X W (sources × width)
  if (block != nullptr) {
    const Block& flipped = FlippedOf(layer, *block);
    d = Powers(context, flipped, layer.shape.power, dz, layer.width, {}, layer.power, layer.spare);
  }
  float* grad = layer.grad.mutable_data();
  if (layer.shape.concat) {
    ops_->SparseGradient(context, x, std::span(input_rows_).first(layer.rows), layer.width, dz, grad);
    grad += layer.shape.in * layer.width;
  }
  ops_->SparseGradient(context, x, input_rows_, layer.width, d, grad);
}

void BlockNetwork::BackwardDense(const Context& context, Stack& stack, size_t l, const MiniBatch& batch,
                                 const float* dz) {
  Layer& layer = stack[l];
  const LayerShape& shape = layer.shape;
  const Block* block = shape.power == 0 ? nullptr : batch.blocks[l].get();
  const size_t sources = batch.nodes[l].size();
  const float* d = dz;  // gradient of what W produced
  if (layer.transform_first) {
    d = Powers(context, FlippedOf(layer, *block), shape.power, dz, layer.width, {}, layer.power, layer.spare);
  }
  const size_t products = layer.transform_first ? sources : layer.rows;
  ops_->MultiplyTransposed(context, products, layer.width, shape.WeightRows(), layer.y, layer.y_stride, d,
                           layer.grad.mutable_data());
  if (l == 0) return;

  Layer& below = stack[l - 1];
  const size_t in = BlockWidth(shape.in);
  float* dh = below.dh.Get(sources * in);
  if (layer.transposed.empty()) layer.transposed = Array<float>::Allocate(shape.out * in);
  float* transposed = layer.transposed.mutable_data();  // (out × in)
  Transpose(layer.w.data(), layer.width, shape.concat ? shape.in : 0, shape.in, shape.out, transposed);
  if (block == nullptr || layer.transform_first) {
    ops_->Multiply(context, sources, in, shape.out, d, layer.width, transposed, dh);
    return;
  }
  float* dy = layer.product.Get(layer.rows * in);  // gradient of B H (rows × in)
  ops_->Multiply(context, layer.rows, in, shape.out, dz, layer.width, transposed, dy);
  const Block& flipped = FlippedOf(layer, *block);
  const float* through = Powers(context, flipped, shape.power - 1, dy, in, {}, layer.power, layer.spare);
  ops_->Aggregate(context, flipped.View(), through, in, {}, dh);
  if (!block->clean.empty()) {
    ops_->Aggregate(context, flipped.CleanView(), dy, in, {}, below.dclean.Get(sources * in));
  }
  if (shape.concat) {
    float* self = layer.spare.Get(layer.rows * in);
    Transpose(layer.w.data(), layer.width, 0, shape.in, shape.out, transposed);
    ops_->Multiply(context, layer.rows, in, shape.out, dz, layer.width, transposed, self);
    ops_->Add(context, layer.rows * in, self, dh);
  }
}

// dh ← gradient before dropout and ReLU; the clean path passes ReLU alone.
void BlockNetwork::ThroughActivation(const Context& context, Layer& below, bool has_clean) const {
  const size_t count = below.rows * below.width;
  float* dh = below.dh.data();
  const float scale = 1.0f / (1.0f - spec_.dropout);
  ops_->ReluGradient(context, count, below.h.data(), scale, dh);
  if (!has_clean) return;
  ops_->ReluGradient(context, count, below.clean.data(), 1.0f, below.dclean.data());
  ops_->Add(context, count, below.dclean.data(), dh);
}

void BlockNetwork::Update(const Context& context) {
  ++updates_;
  const double t = static_cast<double>(updates_);
  const BlockAdam constants{
      static_cast<float>(spec_.lr / (1.0 - std::pow(static_cast<double>(spec_.beta1), t))),
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec_.beta2), t))),
      spec_.beta1,
      spec_.beta2,
      spec_.epsilon,
      spec_.weight_decay};
  for (Stack& stack : stacks_) {
    for (Layer& layer : stack) {
      ops_->Adam(context, layer.grad.size(), layer.grad.data(), layer.w.mutable_data(),
                 layer.m.mutable_data(), layer.v.mutable_data(), constants);
    }
  }
}

}  // namespace l2gcn
