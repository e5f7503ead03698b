#include "kernels/cpu/layer_training.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kPanel = 64;              // rows of a batch that one thread takes at a time
constexpr size_t kGradRows = 48;           // rows of ∂W made between two visits to Adam
constexpr double kFlopsPerWorker = 1.5e6;  // a step must bring this much to each thread it wakes

// A weight matrix with its moments, its width padded with zeros.
struct PaddedWeights {
  size_t rows = 0, cols = 0, width = 0;
  Array<float> w, m, v;  // (rows × width) each

  PaddedWeights() = default;
  PaddedWeights(const Matrix& from_w, const Matrix& from_m, const Matrix& from_v, size_t padded_rows)
      : rows(padded_rows), cols(from_w.cols), width(PadWidth(from_w.cols)) {
    w = Pad(from_w);
    m = Pad(from_m);
    v = Pad(from_v);
  }
  Array<float> Pad(const Matrix& from) const {
    Array<float> to = Array<float>::Zeros(rows * width);
    for (size_t i = 0; i < from.rows; ++i) {
      std::memcpy(to.mutable_data() + i * width, from.row(i), cols * sizeof(float));
    }
    return to;
  }
  Matrix Unpad(const Array<float>& from, size_t true_rows) const {
    Matrix to = Matrix::Allocate(true_rows, cols);
    for (size_t i = 0; i < true_rows; ++i) {
      std::memcpy(to.mutable_row(i), from.data() + i * width, cols * sizeof(float));
    }
    return to;
  }
};

AdamConstants ConstantsAt(const LayerSpec& spec, uint64_t step) {
  const double t = static_cast<double>(step);
  return {static_cast<float>(spec.lr / (1.0 - std::pow(static_cast<double>(spec.beta1), t))),
          static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec.beta2), t))),
          spec.beta1,
          spec.beta2,
          spec.epsilon,
          spec.weight_decay};
}

// Worker w's share of `count` things, cut at multiples of `unit`.
std::pair<size_t, size_t> Share(size_t count, size_t unit, uint32_t worker, uint32_t workers) {
  const size_t units = (count + unit - 1) / unit;
  const size_t begin = units * worker / workers * unit, end = units * (worker + 1) / workers * unit;
  return {std::min(begin, count), std::min(end, count)};
}

class CpuLayerTraining final : public LayerTraining {
 public:
  CpuLayerTraining(const CpuKernels& kernels, LayerInput input, Array<uint32_t> samples,
                   const Targets& targets, const LayerSpec& spec, const LayerState& start)
      : kernels_(kernels),
        input_(std::move(input)),
        samples_(std::move(samples)),
        targets_(targets),
        spec_(spec) {
    const size_t rows = input_.is_sparse ? input_.sparse.rows : input_.dense.rows;
    sample_count_ = static_cast<uint32_t>(samples_.empty() ? rows : samples_.size());
    features_ = start.w.rows;
    hidden_ = start.w.cols;
    hidden_pad_ = PadWidth(hidden_);
    classes_ = start.theta.cols;
    classes_pad_ = PadWidth(classes_);
    L2GCN_ASSERT(sample_count_ > 0 && start.theta.rows == hidden_);
    L2GCN_ASSERT(features_ == (input_.is_sparse ? input_.sparse.cols : input_.dense.cols));
    w_ = PaddedWeights(start.w, start.w_m, start.w_v, features_);
    theta_ = PaddedWeights(start.theta, start.theta_m, start.theta_v, hidden_pad_);
    theta_t_ = Array<float>::Zeros(classes_pad_ * hidden_pad_);
    TransposeTheta(0, hidden_pad_);
    w_steps_ = start.w_steps;
    theta_steps_ = start.theta_steps;
    batch_ = std::min(spec_.batch, sample_count_);
    steps_ = spec_.drop_last ? sample_count_ / batch_ : (sample_count_ + batch_ - 1) / batch_;
    AllocateBatch();
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    const uint32_t workers = WorkersFor(context);
    Barrier barrier(workers);
    std::atomic<bool> cancelled{false};
    grad_scratch_.resize(workers);
    for (auto& scratch : grad_scratch_) {
      if (scratch.empty()) scratch = Array<float>::Zeros(kGradRows * std::max(hidden_pad_, classes_pad_));
    }
    const uint64_t steps_before = steps_done_;
    context.pool->Run(workers, [&](uint32_t worker) {
      uint64_t done = steps_before;  // each worker counts for itself: no one may see another's next step
      for (uint32_t epoch = first; epoch < first + count; ++epoch) {
        const Permutation shuffle(sample_count_,
                                  RandomStream(spec_.seed, RandomUse::kShuffle, spec_.layer, epoch));
        for (uint32_t step = 0; step < steps_; ++step) {
          const size_t begin = size_t{step} * batch_;
          const size_t size = std::min<size_t>(batch_, sample_count_ - begin);
          ForwardAndLoss(shuffle, begin, size, done, worker, workers);
          barrier.Wait();
          if (worker == 0) {
            const double loss = BatchLoss(size);
            if (step_losses != nullptr) step_losses->push_back(loss);
            if (step + 1 == steps_) losses[epoch - first] = loss;
            if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed))
              cancelled = true;
          }
          UpdateWeights(size, done, worker, workers);
          barrier.Wait();
          ++done;
          if (worker == 0) steps_done_ = done;
          if (cancelled.load(std::memory_order_relaxed)) return;
        }
      }
    });
    context.CheckCancelled();
  }

  LayerState Read() const override {
    LayerState state;
    state.w = w_.Unpad(w_.w, features_);
    state.w_m = w_.Unpad(w_.m, features_);
    state.w_v = w_.Unpad(w_.v, features_);
    state.theta = theta_.Unpad(theta_.w, hidden_);
    state.theta_m = theta_.Unpad(theta_.m, hidden_);
    state.theta_v = theta_.Unpad(theta_.v, hidden_);
    state.w_steps = w_steps_ + steps_done_;
    state.theta_steps = theta_steps_ + steps_done_;
    return state;
  }

 private:
  void AllocateBatch() {
    rows_.resize(batch_);
    class_targets_.resize(targets_.multilabel ? 0 : batch_);
    label_targets_.resize(targets_.multilabel ? batch_ : 0);
    if (!input_.is_sparse) x_ = Array<float>::Allocate(size_t{batch_} * features_);
    if (input_.is_sparse) grad_w_ = Array<float>::Allocate(features_ * hidden_pad_);
    h_ = Array<float>::Allocate(size_t{batch_} * hidden_pad_);
    dh_ = Array<float>::Allocate(size_t{batch_} * hidden_pad_);
    z_ = Array<float>::Allocate(size_t{batch_} * classes_pad_);
    panel_loss_.resize((batch_ + kPanel - 1) / kPanel);
  }

  // Small steps run on few threads: waking one costs more than it brings.
  uint32_t WorkersFor(const Context& context) const {
    const double width = input_.is_sparse ? static_cast<double>(input_.sparse.nnz()) / input_.sparse.rows
                                          : static_cast<double>(features_);
    const double flops = batch_ * (4.0 * width * hidden_pad_ + 6.0 * hidden_pad_ * classes_pad_);
    const double useful = std::max(1.0, flops / kFlopsPerWorker);
    return static_cast<uint32_t>(std::min<double>(context.threads, useful));
  }

  // Batch rows [begin, begin + size) of the shuffled order, this worker's panels.
  void ForwardAndLoss(const Permutation& shuffle, size_t begin, size_t size, uint64_t done, uint32_t worker,
                      uint32_t workers) {
    const auto [from, to] = Share(size, kPanel, worker, workers);
    for (size_t panel = from; panel < to; panel += kPanel) {
      const size_t rows = std::min(kPanel, to - panel);
      Gather(shuffle, begin, panel, rows);
      float* h = h_.mutable_data() + panel * hidden_pad_;    // (rows × hidden_pad)
      float* z = z_.mutable_data() + panel * classes_pad_;   // (rows × classes_pad)
      float* dh = dh_.mutable_data() + panel * hidden_pad_;  // (rows × hidden_pad)
      if (input_.is_sparse) {
        const CsrMatrix& x = input_.sparse;
        kernels_.sparse_gemm(rows, hidden_pad_, x.indptr.data(), x.indices.data(), x.values.data(),
                             rows_.data() + panel, w_.w.data(), hidden_pad_, h, hidden_pad_, true);
      } else {
        kernels_.gemm(rows, hidden_pad_, features_, x_.data() + panel * features_, features_, 1, w_.w.data(),
                      hidden_pad_, h, hidden_pad_, true);
      }
      if (spec_.dropout > 0) Drop(h, panel, rows, done);
      kernels_.gemm(rows, classes_pad_, hidden_, h, hidden_pad_, 1, theta_.w.data(), classes_pad_, z,
                    classes_pad_, false);
      panel_loss_[panel / kPanel] = LossAndGradient(z, panel, rows, size);
      kernels_.gemm(rows, hidden_pad_, classes_, z, classes_pad_, 1, theta_t_.data(), hidden_pad_, dh,
                    hidden_pad_, false);
      kernels_.relu_grad(rows * hidden_pad_, h, 1.0f / (1.0f - spec_.dropout), dh);
    }
  }

  void Gather(const Permutation& shuffle, size_t begin, size_t panel, size_t rows) {
    for (size_t i = panel; i < panel + rows; ++i) {
      const uint32_t sample = shuffle(static_cast<uint32_t>(begin + i));
      rows_[i] = samples_.empty() ? sample : samples_[sample];
      if (targets_.multilabel) {
        label_targets_[i] = targets_.matrix.data() + size_t{sample} * classes_;
      } else {
        class_targets_[i] = targets_.classes_of[sample];
      }
      if (!input_.is_sparse) {
        std::memcpy(x_.mutable_data() + i * features_, input_.dense.row(rows_[i]), features_ * sizeof(float));
      }
    }
  }

  void Drop(float* h, size_t panel, size_t rows, uint64_t done) const {
    const RandomStream stream(spec_.seed, RandomUse::kDropout, spec_.layer, static_cast<uint32_t>(done));
    const float scale = 1.0f / (1.0f - spec_.dropout);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < hidden_; ++j) {
        const bool keep = stream.Uniform((panel + i) * hidden_ + j) >= spec_.dropout;
        h[i * hidden_pad_ + j] = keep ? h[i * hidden_pad_ + j] * scale : 0.0f;
      }
    }
  }

  double LossAndGradient(float* z, size_t panel, size_t rows, size_t batch) const {
    if (targets_.multilabel) {
      const float scale = 1.0f / (static_cast<float>(batch) * static_cast<float>(classes_));
      return kernels_.sigmoid_loss(rows, classes_, classes_pad_, z, label_targets_.data() + panel, scale);
    }
    return kernels_.softmax_loss(rows, classes_, classes_pad_, z, class_targets_.data() + panel,
                                 1.0f / static_cast<float>(batch));
  }

  double BatchLoss(size_t size) const {
    double sum = 0;
    for (size_t panel = 0; panel * kPanel < size; ++panel) sum += panel_loss_[panel];
    return sum / (static_cast<double>(size) * (targets_.multilabel ? static_cast<double>(classes_) : 1.0));
  }

  // This worker's rows of W and Θ: gradient over the whole batch, then Adam.
  void UpdateWeights(size_t size, uint64_t done, uint32_t worker, uint32_t workers) {
    const AdamConstants w_adam = ConstantsAt(spec_, w_steps_ + done + 1);
    const AdamConstants theta_adam = ConstantsAt(spec_, theta_steps_ + done + 1);
    if (input_.is_sparse) {
      UpdateSparse(size, worker, workers, w_adam);
    } else {
      const auto [from, to] = Share(features_, kGradRows, worker, workers);
      UpdateDense(size, x_.data(), features_, from, to, dh_.data(), w_, w_adam, grad_scratch_[worker]);
    }
    const auto [from, to] = Share(hidden_pad_, kPad, worker, workers);
    UpdateDense(size, h_.data(), hidden_pad_, from, to, z_.data(), theta_, theta_adam, grad_scratch_[worker]);
    TransposeTheta(from, to);
  }

  // Rows [from, to) of weights −= Adam(Aᵀ·D), A (size × stride), D (size × width).
  void UpdateDense(size_t size, const float* a, size_t stride, size_t from, size_t to, const float* d,
                   PaddedWeights& weights, const AdamConstants& adam, Array<float>& scratch) const {
    float* grad = scratch.mutable_data();  // (kGradRows × width)
    const size_t width = weights.width;
    for (size_t row = from; row < to; row += kGradRows) {
      const size_t rows = std::min(kGradRows, to - row);
      kernels_.gemm(rows, width, size, a + row, 1, stride, d, width, grad, width, false);
      kernels_.adam(rows * width, grad, weights.w.mutable_data() + row * width,
                    weights.m.mutable_data() + row * width, weights.v.mutable_data() + row * width, adam);
    }
  }

  // Threads split the columns of W: a non-zero's contribution goes to one row of ∂W, which several samples
  // share.
  void UpdateSparse(size_t size, uint32_t worker, uint32_t workers, const AdamConstants& adam) {
    const auto [from, to] = Share(hidden_pad_, kPad, worker, workers);
    if (from == to) return;
    float* grad = grad_w_.mutable_data();
    for (size_t row = 0; row < features_; ++row) {
      std::memset(grad + row * hidden_pad_ + from, 0, (to - from) * sizeof(float));
    }
    const CsrMatrix& x = input_.sparse;
    kernels_.sparse_gemm_grad(size, from, to, x.indptr.data(), x.indices.data(), x.values.data(),
                              rows_.data(), dh_.data(), hidden_pad_, grad, hidden_pad_);
    const bool whole = from == 0 && to == hidden_pad_;
    const size_t pieces = whole ? 1 : features_, length = whole ? features_ * hidden_pad_ : to - from;
    for (size_t piece = 0; piece < pieces; ++piece) {
      const size_t at = piece * hidden_pad_ + from;
      kernels_.adam(length, grad + at, w_.w.mutable_data() + at, w_.m.mutable_data() + at,
                    w_.v.mutable_data() + at, adam);
    }
  }

  void TransposeTheta(size_t from, size_t to) {
    float* transposed = theta_t_.mutable_data();
    for (size_t h = from; h < to; ++h) {
      for (size_t c = 0; c < classes_pad_; ++c)
        transposed[c * hidden_pad_ + h] = theta_.w[h * classes_pad_ + c];
    }
  }

  const CpuKernels& kernels_;
  LayerInput input_;
  Array<uint32_t> samples_;
  Targets targets_;
  LayerSpec spec_;
  uint32_t sample_count_ = 0, batch_ = 0, steps_ = 0;
  size_t features_ = 0, hidden_ = 0, hidden_pad_ = 0, classes_ = 0, classes_pad_ = 0;
  PaddedWeights w_;       // (D × hidden_pad)
  PaddedWeights theta_;   // (hidden_pad × classes_pad)
  Array<float> theta_t_;  // (classes_pad × hidden_pad)
  uint64_t w_steps_ = 0, theta_steps_ = 0, steps_done_ = 0;
  // One batch:
  std::vector<uint32_t> rows_;                 // (batch) rows of X̂
  std::vector<int32_t> class_targets_;         // (batch) unless multilabel
  std::vector<const uint8_t*> label_targets_;  // (batch) if multilabel
  Array<float> x_;                             // (batch × D) if dense
  Array<float> h_, dh_;                        // (batch × hidden_pad)
  Array<float> z_;                             // (batch × classes_pad) logits, then their gradient
  std::vector<double> panel_loss_;             // (panels)
  Array<float> grad_w_;                        // (D × hidden_pad) if sparse
  std::vector<Array<float>> grad_scratch_;     // per worker (kGradRows × widest)
};

}  // namespace

std::unique_ptr<LayerTraining> MakeCpuLayerTraining(const CpuKernels& kernels, LayerInput input,
                                                    Array<uint32_t> samples, const Targets& targets,
                                                    const LayerSpec& spec, const LayerState& start) {
  return std::make_unique<CpuLayerTraining>(kernels, std::move(input), std::move(samples), targets, spec,
                                            start);
}

}  // namespace l2gcn
