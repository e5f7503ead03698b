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

constexpr size_t kRowsGrain = 64;  // copied rows worth a thread
constexpr double kGatherCost =
    4;  // an element moved by a block, in units of a multiply-add of a dense product
constexpr uint32_t kStreamsPerStack = 64;

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
      const std::string name = fmt::format("network.{}.{}", s, l);
      const auto stream = static_cast<uint32_t>(s * kStreamsPerStack + l);
      layer.weight = BlockParameter(name,
                                    InitialWeights(layer.shape.WeightRows(), layer.shape.out, spec.xavier,
                                                   RandomStream(spec.seed, RandomUse::kInitW, stream)),
                                    true);
      const bool last = l + 1 == spec.stacks[s].size();
      AddParts(spec, last, name, layer);
    }
  }
  classes_ = stacks_.front().back().shape.out;
  classes_width_ = BlockWidth(classes_);
}

// Norm weights and running variances start at 1, all else at 0.
void BlockNetwork::AddParts(const NetworkSpec& spec, bool last, const std::string& name, Layer& layer) {
  const bool norm = spec.norm != HiddenNorm::kNone;
  const size_t out = layer.shape.out;
  if (norm || spec.bias) layer.bias = BlockParameter(name + ".bias", Matrix::Zeros(1, out), false);
  if (!norm || last) return;
  const Matrix ones = {Array<float>::Filled(out, 1.0f), 1, out};
  layer.norm_weight = BlockParameter(name + ".norm_weight", ones, false);
  if (spec.norm != HiddenNorm::kBatch) return;
  layer.running = Matrix::Zeros(2, out);
  std::fill_n(layer.running.mutable_row(1), out, 1.0f);
}

HiddenParameters BlockNetwork::Hidden(size_t stack, size_t l) const {
  const Layer& layer = stacks_[stack][l];
  HiddenParameters hidden = layer.weight.Value();
  if (!layer.has_norm()) {
    hidden.bias = layer.bias.Value();
    return hidden;
  }
  hidden.norm_weight = layer.norm_weight.Value();
  hidden.norm_bias = layer.bias.Value();
  if (layer.running.rows == 0) return hidden;
  const auto row = [&](size_t i) {
    return Matrix{Array<float>::CopyOf({layer.running.row(i), layer.shape.out}), 1, layer.shape.out};
  };
  hidden.running_mean = row(0);
  hidden.running_var = row(1);
  return hidden;
}

void BlockNetwork::Save(Snapshot& snapshot) const {
  snapshot.state["updates"] = updates_;
  for (const Stack& stack : stacks_) {
    for (const Layer& layer : stack) {
      layer.weight.Save(snapshot);
      if (layer.has_norm()) layer.norm_weight.Save(snapshot);
      if (!layer.bias.empty()) layer.bias.Save(snapshot);
      if (layer.running.rows > 0) snapshot.Add(layer.weight.name + ".running", layer.running);
    }
  }
}

void BlockNetwork::Restore(const Snapshot& snapshot) {
  updates_ = snapshot.state.at("updates").get<uint64_t>();
  for (Stack& stack : stacks_) {
    for (Layer& layer : stack) {
      layer.weight.Restore(snapshot);
      if (layer.has_norm()) layer.norm_weight.Restore(snapshot);
      if (!layer.bias.empty()) layer.bias.Restore(snapshot);
      if (layer.running.rows > 0)
        layer.running = snapshot.Take(layer.weight.name + ".running", 2, layer.shape.out);
    }
  }
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

double BlockNetwork::LossAndGradients(const Context& context, const NetworkInput& given,
                                      const MiniBatch& batch, const Targets& targets, uint64_t step) {
  const std::vector<uint32_t>& nodes = batch.nodes.front();
  input_rows_.resize(nodes.size());
  input_in_order_ = nodes.size() == given.features.rows();
  for (size_t i = 0; i < nodes.size(); ++i) {
    input_rows_[i] = given.row_of.empty() ? nodes[i] : given.row_of[nodes[i]];
    input_in_order_ = input_in_order_ && input_rows_[i] == i;
  }
  const NetworkInput& input = spec_.input_dropout > 0 ? Dropped(context, given, step) : given;
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
    if (l + 1 == stack.size()) {
      if (!stack[l].bias.empty())
        ops_->AddBias(context, stack[l].rows, stack[l].width, stack[l].bias.row(0), stack[l].h.data());
      break;
    }
    const Block* next = batch.blocks[l + 1].get();
    Activate(context, stack[l], l, next != nullptr && !next->clean.empty(), step);
  }
}

void BlockNetwork::ForwardSparse(const Context& context, Layer& layer, const NetworkInput& input,
                                 const MiniBatch& batch) {
  const CsrMatrix& x = input.features.csr();
  const Block* block = layer.shape.power == 0 ? nullptr : batch.blocks[0].get();
  const float* w = layer.weight.row(layer.shape.concat ? layer.shape.in : 0);
  float* out = layer.Products();
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
    ops_->MultiplySparse(context, x, OwnRows(*block, input_rows_, layer.rows), layer.width,
                         layer.weight.row(0), self);
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

  float* out = layer.Products();
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
    ops_->Multiply(context, layer.rows, layer.width, k, layer.y, layer.y_stride, layer.weight.row(0), out);
    return;
  }
  float* product = layer.product.Get(sources * layer.width);
  ops_->Multiply(context, sources, layer.width, k, layer.y, layer.y_stride, layer.weight.row(0), product);
  const float* in_rows =
      Powers(context, *block, shape.power - 1, product, layer.width, {}, layer.power, layer.spare);
  ops_->Aggregate(context, block->View(), in_rows, layer.width, {}, out);
}

// Rows of the buffer of a layer's sources where its destinations are, if `rows` says where the sources are; empty: they
// are the first rows.
std::span<const uint32_t> BlockNetwork::OwnRows(const Block& block, std::span<const uint32_t> rows,
                                                size_t count) {
  if (block.own.empty()) return rows.empty() ? rows : rows.first(count);
  if (rows.empty()) return block.own;
  own_rows_.resize(count);
  for (size_t i = 0; i < count; ++i) own_rows_[i] = rows[block.own[i]];
  return own_rows_;
}

// y = [x_dst | B x], without padding: (rows × 2·in).
void BlockNetwork::JoinSelf(const Context& context, Layer& layer, const Block& block, const float* x,
                            size_t stride, std::span<const uint32_t> rows) {
  const size_t in = layer.shape.in;
  float* mean = layer.spare.Get(layer.rows * stride);
  ops_->Aggregate(context, block.View(), x, stride, rows, mean);
  float* y = layer.aggregated.Get(layer.rows * 2 * in);
  const std::span<const uint32_t> own = OwnRows(block, rows, layer.rows);
  ParallelFor(context, layer.rows, kRowsGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::memcpy(y + i * 2 * in, x + (own.empty() ? i : own[i]) * stride, in * sizeof(float));
      std::memcpy(y + i * 2 * in + in, mean + i * stride, in * sizeof(float));
    }
  });
  layer.y = y;
  layer.y_stride = 2 * in;
}

// Row i of `from` (count × width) to row rows[i] of `to`, or row i; no row twice.
void BlockNetwork::AddToRows(const Context& context, std::span<const uint32_t> rows, size_t width,
                             size_t count, const float* from, float* to) const {
  if (rows.empty()) return ops_->Add(context, count * width, from, to);
  ParallelFor(context, count, kRowsGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      for (size_t c = 0; c < width; ++c) to[rows[i] * width + c] += from[i * width + c];
    }
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
  Layer& last = stack.back();
  if (!last.bias.empty())
    ops_->ColumnSums(context, last.rows, last.width, dz, nullptr, last.bias.grad.mutable_data(), nullptr);
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
  float* grad = layer.weight.grad.mutable_data();
  if (layer.shape.concat) {
    ops_->SparseGradient(context, x, OwnRows(*block, input_rows_, layer.rows), layer.width, dz, grad);
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
                           layer.weight.grad.mutable_data());
  if (l == 0) return;

  Layer& below = stack[l - 1];
  const size_t in = BlockWidth(shape.in);
  float* dh = below.dh.Get(sources * in);
  if (layer.transposed.empty()) layer.transposed = Array<float>::Allocate(shape.out * in);
  float* transposed = layer.transposed.mutable_data();  // (out × in)
  Transpose(layer.weight.row(0), layer.width, shape.concat ? shape.in : 0, shape.in, shape.out, transposed);
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
    Transpose(layer.weight.row(0), layer.width, 0, shape.in, shape.out, transposed);
    ops_->Multiply(context, layer.rows, in, shape.out, dz, layer.width, transposed, self);
    AddToRows(context, OwnRows(*block, {}, layer.rows), in, layer.rows, self, dh);
  }
}

void BlockNetwork::Update(const Context& context) {
  ++updates_;
  const double t = static_cast<double>(updates_);
  const bool l2 = !spec_.decoupled_weight_decay;
  const BlockAdam constants{
      static_cast<float>(spec_.lr / (1.0 - std::pow(static_cast<double>(spec_.beta1), t))),
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec_.beta2), t))),
      spec_.beta1,
      spec_.beta2,
      spec_.epsilon,
      0};
  const float kept = 1 - spec_.lr * spec_.weight_decay;  // by decoupled decay
  const auto update = [&](BlockParameter& parameter) {
    BlockAdam own = constants;
    if (parameter.decays && l2) own.weight_decay = spec_.weight_decay;
    if (parameter.decays && !l2) {
      for (float& w : parameter.w.mutable_span()) w *= kept;
    }
    ops_->Adam(context, parameter.grad.size(), parameter.grad.data(), parameter.w.mutable_data(),
               parameter.m.mutable_data(), parameter.v.mutable_data(), own);
  };
  for (Stack& stack : stacks_) {
    for (Layer& layer : stack) {
      update(layer.weight);
      if (layer.has_norm()) update(layer.norm_weight);
      if (!layer.bias.empty()) update(layer.bias);
      if (layer.running.rows > 0) UpdateRunning(layer);
    }
  }
}

}  // namespace l2gcn
