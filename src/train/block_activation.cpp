// What a network does to a step's features before its layers, and to a layer's products after them: input dropout; norm or
// bias, ReLU and dropout, forward and backward.
#include "core/rng.h"
#include "core/threads.h"
#include "kernels/norm_constants.h"
#include "train/block_network.h"

namespace l2gcn {
namespace {

constexpr size_t kDroppedGrain = 256;  // rows of features worth a thread

}  // namespace

const NetworkInput& BlockNetwork::Dropped(const Context& context, const NetworkInput& input, uint64_t step) {
  const RandomStream stream(spec_.seed, RandomUse::kInputDropout, 0, static_cast<uint32_t>(step));
  const uint32_t threshold = DropThreshold(spec_.input_dropout);
  const float scale = 1.0f / (1.0f - spec_.input_dropout);
  dropped_.features = input.features.PickRows(input_rows_);
  const auto each_row = [&](const auto& drop) {
    ParallelFor(context, input_rows_.size(), kDroppedGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) drop(i, stream.Word(i));
    });
  };
  if (input.features.is_sparse()) {
    CsrMatrix x = dropped_.features.csr();
    dropped_.features = {};
    float* values = x.values.mutable_data();
    each_row([&](size_t i, uint32_t key) {
      for (uint64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e)
        values[e] = DropsColumn(key, x.indices[e], threshold) ? 0 : values[e] * scale;
    });
    dropped_.features = Features::Sparse(std::move(x));
  } else {
    Matrix x = dropped_.features.matrix();
    dropped_.features = {};
    const size_t cols = x.cols;
    float* values = x.values.mutable_data();
    each_row([&](size_t i, uint32_t key) {
      float* row = values + i * cols;
      for (size_t c = 0; c < cols; ++c)
        row[c] = DropsColumn(key, static_cast<uint32_t>(c), threshold) ? 0 : row[c] * scale;
    });
    dropped_.features = Features::Dense(std::move(x));
  }
  for (size_t i = 0; i < input_rows_.size(); ++i) input_rows_[i] = static_cast<uint32_t>(i);
  input_in_order_ = true;
  return dropped_;
}

BlockNorm BlockNetwork::NormOf(Layer& layer) const {
  const bool batch = spec_.norm == HiddenNorm::kBatch;
  return {spec_.norm,
          layer.rows,
          layer.shape.out,
          layer.width,
          layer.norm_weight.row(0),
          layer.bias.row(0),
          layer.inverse.Get(batch ? layer.width : layer.rows),
          batch ? layer.moments.Get(2 * layer.width) : nullptr};
}

void BlockNetwork::Activate(const Context& context, Layer& layer, size_t l, bool keep_clean,
                            uint64_t step) const {
  const size_t count = layer.rows * layer.width;
  float* h = layer.h.Get(count);
  float* clean = keep_clean ? layer.clean.Get(count) : nullptr;
  if (layer.has_norm()) {
    ops_->NormRelu(context, NormOf(layer), layer.normalised.data(), h);
    if (clean == nullptr && spec_.dropout == 0) return;
  } else if (!layer.bias.empty()) {
    ops_->AddBias(context, layer.rows, layer.width, layer.bias.row(0), h);
  }
  const RandomStream stream(spec_.seed, RandomUse::kDropout, static_cast<uint32_t>(l),
                            static_cast<uint32_t>(step));
  ops_->Activate(context, count, spec_.dropout, stream, h, clean);
}

// dh ← gradient of the products: before dropout and ReLU, where the clean path passes ReLU alone, and before the norm.
void BlockNetwork::ThroughActivation(const Context& context, Layer& below, bool has_clean) const {
  const size_t count = below.rows * below.width;
  float* dh = below.dh.data();
  const float scale = 1.0f / (1.0f - spec_.dropout);
  ops_->ReluGradient(context, count, below.h.data(), scale, dh);
  if (has_clean) {
    ops_->ReluGradient(context, count, below.clean.data(), 1.0f, below.dclean.data());
    ops_->Add(context, count, below.dclean.data(), dh);
  }
  if (below.bias.empty()) return;
  float *sums = below.bias.grad.mutable_data(), *products = below.norm_weight.grad.mutable_data();
  const float* y = below.has_norm() ? below.normalised.data() : nullptr;
  ops_->ColumnSums(context, below.rows, below.width, dh, y, sums, products);
  if (below.has_norm()) ops_->NormGradient(context, NormOf(below), y, sums, products, dh);
}

void BlockNetwork::UpdateRunning(Layer& layer) const {
  const auto rows = static_cast<float>(layer.rows);
  const float unbiased = layer.rows > 1 ? rows / (rows - 1) : 1;
  for (size_t row : {0, 1}) {
    float* running = layer.running.mutable_row(row);
    const float* now = layer.moments.data() + row * layer.width;
    const float scale = kRunningShare * (row == 1 ? unbiased : 1);
    for (size_t c = 0; c < layer.shape.out; ++c)
      running[c] = (1 - kRunningShare) * running[c] + scale * now[c];
  }
}

}  // namespace l2gcn
