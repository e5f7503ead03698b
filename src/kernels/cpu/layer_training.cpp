#include "kernels/cpu/layer_training.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/threads.h"
#include "kernels/cpu/feature_cuts.h"
#include "kernels/cpu/padded_weights.h"
#include "kernels/step_profile.h"

namespace l2gcn {
namespace {

constexpr size_t kPanel = 32, kMostPanel = 36;   // rows of a batch that go through the layer together
constexpr size_t kMostRows = 48, kFewRows = 16;  // of W or Θ, that a worker takes at a time
constexpr size_t kGroupPanels = 3;               // whose gradients are summed first, where W is small
constexpr size_t kGroupedFloats = 21000;         // W and Θ up to which that pays
constexpr size_t kWide = 64;                     // hidden units from which groups are made even
constexpr size_t kFirstSamples = 128;            // of a gradient, whose features are fetched ahead
constexpr size_t kLine = 64;                     // bytes
constexpr double kWorkerCycles = 12e3;           // a step must bring this much to each thread it wakes

AdamConstants ConstantsAt(const LayerSpec& spec, uint64_t step) {
  const double t = static_cast<double>(step);
  return {static_cast<float>(spec.lr / (1.0 - std::pow(static_cast<double>(spec.beta1), t))),
          static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(spec.beta2), t))),
          spec.beta1,
          spec.beta2,
          spec.epsilon,
          spec.weight_decay};
}

struct Range {
  size_t begin, end;
};

class CpuLayerTraining final : public LayerTraining {
 public:
  CpuLayerTraining(const CpuKernels& kernels, StoredMatrix input, Array<uint32_t> samples,
                   const Targets& targets, const LayerSpec& spec, const LayerState& start, bool profile)
      : kernels_(kernels),
        input_(std::move(input)),
        samples_(std::move(samples)),
        targets_(targets),
        spec_(spec),
        sample_count_(static_cast<uint32_t>(samples_.empty() ? input_.rows : samples_.size())),
        batch_(std::min(spec_.batch, sample_count_)),
        steps_(spec_.drop_last ? sample_count_ / batch_ : (sample_count_ + batch_ - 1) / batch_),
        features_(start.w.rows),
        hidden_(start.w.cols),
        classes_(start.theta.cols),
        w_(start.w, start.w_m, start.w_v, features_),
        theta_(start.theta, start.theta_m, start.theta_v, PadWidth(hidden_)),
        w_steps_(start.w_steps),
        theta_steps_(start.theta_steps),
        profile_(profile) {
    L2GCN_ASSERT(sample_count_ > 0 && start.theta.rows == hidden_ && features_ == input_.cols);
    theta_t_ = Array<float>::Zeros(classes_ * w_.stride);
    TransposeTheta({0, PadWidth(hidden_)});
    for (auto& rows : rows_) rows.resize(batch_);
    for (auto& samples_of : batch_samples_) samples_of.resize(batch_);
    class_targets_.resize(targets_.multilabel ? 0 : batch_);
    label_targets_.resize(targets_.multilabel ? batch_ : 0);
    if (!input_.is_sparse) x_ = Array<float>::Allocate(size_t{batch_} * XStride());
    h_ = Array<float>::Allocate(size_t{batch_} * w_.stride);
    dh_ = Array<float>::Allocate(size_t{batch_} * w_.stride);
    z_ = Array<float>::Allocate(size_t{batch_} * theta_.stride);
    grad_w_ = Array<float>::Zeros(features_ * w_.stride);
    grad_theta_ = Array<float>::Zeros(theta_.rows * theta_.stride);
    grouped_ = !input_.is_sparse && batch_ > kGroupPanels * kPanel && PartialFloats() <= kGroupedFloats;
    if (grouped_ && PadWidth(hidden_) >= kWide) panel_rows_ = EvenGroupsPanel(batch_);
    if (grouped_) partial_ = Array<float>::Zeros(GroupsOf(batch_) * PartialFloats());
    panel_loss_.resize(PanelsOf(batch_));
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    const uint32_t workers = WorkersFor(context);
    if (input_.is_sparse && cuts_.workers != workers) {
      cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, workers);
    }
    lines_.resize(workers);
    for (auto& lines : lines_) {
      const size_t panel_lines = input_.is_sparse ? 0 : panel_rows_ * (input_.row_bytes() / kLine + 1);
      lines.resize(std::max(panel_lines, kFirstSamples * (kMostRows * sizeof(float) / kLine + 1)));
    }
    Barrier barrier(workers);
    next_panel_ = workers;
    next_row_ = 0;
    std::atomic<bool> cancelled{false};
    const uint64_t steps_before = steps_done_;
    std::vector<LapTimer> timers(workers);
    context.pool->Run(workers, [&](uint32_t worker) {
      LapTimer timer(profile_);
      uint64_t done = steps_before;  // each worker counts for itself: no one may see another's next step
      std::optional<Draw> draw;
      DrawRows(draw, first, 0, done, worker, workers);
      DrawRows(draw, first, 1, done + 1, worker, workers);
      barrier.Wait();
      for (uint32_t epoch = first; epoch < first + count; ++epoch) {
        for (uint32_t step = 0; step < steps_; ++step) {
          const bool last = step + 1 == steps_, want_loss = last || step_losses != nullptr;
          DrawRows(draw, epoch, step + 2, done + 2, worker, workers);
          timer.Lap(StepPhase::kDraw);
          ForwardAndLoss(step, done, want_loss, worker, workers, timer);
          barrier.Wait();
          timer.Lap(StepPhase::kWait);
          if (worker == 0) {
            next_panel_.store(workers, std::memory_order_relaxed);
            const double loss = want_loss ? BatchLoss(SizeOf(step)) : 0;
            if (step_losses != nullptr) step_losses->push_back(loss);
            if (last) losses[epoch - first] = loss;
            if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed))
              cancelled = true;
          }
          UpdateWeights(step, done, worker, workers, timer);
          barrier.Wait();
          timer.Lap(StepPhase::kWait);
          ++done;
          if (worker == 0) {
            steps_done_ = done;
            next_row_.store(0, std::memory_order_relaxed);
          }
          if (cancelled.load(std::memory_order_relaxed)) return;
        }
      }
      timers[worker] = timer;
    });
    for (const LapTimer& timer : timers) {
      for (size_t phase = 0; phase < kStepPhases; ++phase) seconds_[phase] += timer.seconds()[phase];
    }
    context.CheckCancelled();
  }

  StepSeconds Profile() const override { return seconds_; }

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
  // Small steps run on few threads: waking one costs more than it brings. A rough count of one thread's
  // cycles: products at 64 flops each, three a non-zero's vector, ten a vector of Adam, and the loss.
  uint32_t WorkersFor(const Context& context) const {
    const double batch = batch_, hidden = static_cast<double>(PadWidth(hidden_));
    const double classes = static_cast<double>(PadWidth(classes_)), features = static_cast<double>(features_);
    const double input = input_.is_sparse ? 3 * static_cast<double>(input_.sparse.nnz()) /
                                                static_cast<double>(input_.rows) * hidden / 16
                                          : features * hidden / 16;
    const double cycles = batch * (input + 6 * hidden * classes / 64 + 2 * classes + 30) +
                          10 * hidden / 16 * (features + classes);
    return static_cast<uint32_t>(
        std::clamp(cycles / kWorkerCycles, 1.0, static_cast<double>(context.threads)));
  }

  size_t XStride() const { return PadStride(features_); }
  size_t SizeOf(uint32_t step) const {
    return std::min<size_t>(batch_, sample_count_ - size_t{step} * batch_);
  }
  size_t PanelsOf(size_t size) const { return (size + panel_rows_ - 1) / panel_rows_; }
  // Rows of a panel so that a batch is an even number of equal groups: two threads end together. Wide layers
  // alone: their products' tiles are 6 rows high, where those of narrow ones are 16 and fit a panel of 32.
  static size_t EvenGroupsPanel(size_t batch) {
    constexpr size_t kPair = 2 * kGroupPanels;
    const size_t panels = (batch + kPair * kMostPanel - 1) / (kPair * kMostPanel) * kPair;
    return (batch + panels - 1) / panels;
  }
  uint32_t NextStep(uint32_t step) const { return step + 1 == steps_ ? 0 : step + 1; }
  // Row numbers of three steps are held: the one computed, the one prefetched, the one drawn. `done` counts
  // steps.
  std::vector<uint32_t>& RowsOf(uint64_t done) { return rows_[done % 3]; }
  std::vector<uint32_t>& SamplesOf(uint64_t done) { return batch_samples_[done % 3]; }

  // An epoch's order of samples.
  struct Draw {
    uint32_t epoch;
    Permutation order;
  };
  // This worker's part of a batch: which samples, which rows of X̂. The step may lie in the epochs that
  // follow.
  void DrawRows(std::optional<Draw>& draw, uint32_t epoch, uint32_t step, uint64_t done, uint32_t worker,
                uint32_t workers) {
    epoch += step / steps_, step %= steps_;
    if (!draw || draw->epoch != epoch) {
      draw = Draw{epoch, Permutation(sample_count_,
                                     RandomStream(spec_.seed, RandomUse::kShuffle, spec_.layer, epoch))};
    }
    const size_t size = SizeOf(step), begin = size * worker / workers, end = size * (worker + 1) / workers;
    uint32_t* drawn = SamplesOf(done).data();
    uint32_t* rows = RowsOf(done).data();
    kernels_.permute(draw->order, static_cast<uint32_t>(size_t{step} * batch_ + begin),
                     static_cast<uint32_t>(end - begin), drawn + begin);
    for (size_t i = begin; i < end; ++i) {
      rows[i] = samples_.empty() ? drawn[i] : samples_[drawn[i]];
      if (!targets_.multilabel) __builtin_prefetch(targets_.classes_of.data() + drawn[i]);
    }
  }

  // Panels a worker takes at a time. Dense rows are handed out as workers ask for them: on a shared machine
  // no two cores keep one speed. The next ones are asked for before the present ones are computed, so that
  // their rows can be fetched. Sparse rows are walked in order, each worker its own part: there the rows
  // ahead are fetched.
  size_t Unit() const { return grouped_ ? kGroupPanels : 1; }
  void ForwardAndLoss(uint32_t step, uint64_t done, bool want_loss, uint32_t worker, uint32_t workers,
                      LapTimer& timer) {
    const size_t panels = PanelsOf(SizeOf(step)), units = (panels + Unit() - 1) / Unit();
    size_t at = input_.is_sparse ? panels * worker / workers : worker;
    const size_t end = input_.is_sparse ? panels * (worker + 1) / workers : units;
    while (at < end) {
      const size_t next = input_.is_sparse ? at + 1 : next_panel_.fetch_add(1, std::memory_order_relaxed);
      const size_t last = std::min((at + 1) * Unit(), panels);
      for (size_t panel = at * Unit(); panel < last; ++panel) {
        PrefetchQueue queue;
        if (!input_.is_sparse)
          queue = LinesAfter(step, done, panel + 1 < last ? panel + 1 : next * Unit(), worker);
        const size_t left = std::min(end * Unit() * panel_rows_, SizeOf(step)) - panel * panel_rows_;
        PanelForwardAndLoss(step, done, want_loss, panel * panel_rows_, left, queue, timer);
      }
      if (grouped_)
        GroupGradients(at, {at * Unit() * panel_rows_, std::min(last * panel_rows_, SizeOf(step))}, timer);
      at = next;
    }
  }

  // The panel that begins at row `panel` of the batch; `left` rows of this worker begin with it.
  void PanelForwardAndLoss(uint32_t step, uint64_t done, bool want_loss, size_t panel, size_t left,
                           PrefetchQueue queue, LapTimer& timer) {
    const size_t count = std::min(panel_rows_, left);
    GatherTargets(done, panel, count);
    float* h = h_.mutable_data() + panel * w_.stride;      // (count × hidden)
    float* z = z_.mutable_data() + panel * theta_.stride;  // (count × classes)
    timer.Lap(StepPhase::kDraw);
    Hidden(done, panel, left, h, queue, timer);
    if (spec_.dropout > 0) Drop(h, panel, count, done);
    kernels_.gemm(
        {count, PadWidth(classes_), hidden_, h, w_.stride, theta_.w.data(), theta_.stride, z, theta_.stride});
    timer.Lap(StepPhase::kLogits);
    panel_loss_[panel / panel_rows_] = LossAndGradient(z, panel, count, SizeOf(step), want_loss);
    timer.Lap(StepPhase::kLoss);
    kernels_.gemm({count, PadWidth(hidden_), classes_, z, theta_.stride, theta_t_.data(), w_.stride,
                   dh_.mutable_data() + panel * w_.stride, w_.stride, Finish::kMask, h,
                   1.0f / (1.0f - spec_.dropout)});
    timer.Lap(StepPhase::kHiddenGradient);
  }

  // Gradients over the samples of one group, on the core that has them in its cache. Groups are the same for
  // any number of threads, and added in order.
  size_t GroupsOf(size_t size) const { return (PanelsOf(size) + kGroupPanels - 1) / kGroupPanels; }
  size_t PartialFloats() const { return grad_w_.size() + grad_theta_.size(); }
  void GroupGradients(size_t group, Range samples, LapTimer& timer) {
    float* w = partial_.mutable_data() + group * PartialFloats();
    const auto gradient = [&](const float* a, size_t lda, size_t rows, const float* d, size_t width,
                              size_t stride, float* out) {
      kernels_.gemm_transposed({rows, width, samples.end - samples.begin, a + samples.begin * lda, lda,
                                d + samples.begin * stride, stride, out, stride});
    };
    gradient(x_.data(), XStride(), features_, dh_.data(), PadWidth(hidden_), w_.stride, w);
    timer.Lap(StepPhase::kWeightGradient);
    gradient(h_.data(), w_.stride, PadWidth(hidden_), z_.data(), PadWidth(classes_), theta_.stride,
             w + grad_w_.size());
    timer.Lap(StepPhase::kThetaGradient);
  }
  // Adds up the groups' gradients from `offset` on.
  void AddGroups(size_t size, size_t offset, Range at, Array<float>& grad) const {
    const size_t groups = GroupsOf(size);
    float* sum = grad.mutable_data();
    const float* part = partial_.data() + offset;
    std::copy(part + at.begin, part + at.end, sum + at.begin);
    for (size_t group = 1; group < groups; ++group) {
      part += PartialFloats();
      for (size_t i = at.begin; i < at.end; ++i) sum[i] += part[i];
    }
  }

  // ReLU(X̂W) of a panel of the batch; `left` rows of this worker begin with it.
  void Hidden(uint64_t done, size_t panel, size_t left, float* h, PrefetchQueue queue, LapTimer& timer) {
    const size_t count = std::min(panel_rows_, left);
    const uint32_t* rows = RowsOf(done).data() + panel;
    if (input_.is_sparse) {
      kernels_.sparse_gemm(count, PadWidth(hidden_), SparseRowsOf(rows, left - count), w_.w.data(), w_.stride,
                           h, w_.stride, true);
      timer.Lap(StepPhase::kHidden);
      return;
    }
    float* x = x_.mutable_data() + panel * XStride();
    kernels_.gather(count, features_, input_.data(), input_.type, rows, x, XStride());
    timer.Lap(StepPhase::kGather);
    kernels_.gemm({count, PadWidth(hidden_), features_, x, XStride(), w_.w.data(), w_.stride, h, w_.stride,
                   Finish::kRelu, nullptr, 1, &queue});
    timer.Lap(StepPhase::kHidden);
  }

  SparseRows SparseRowsOf(const uint32_t* rows, size_t ahead) const {
    return {input_.sparse.indptr.data(), input_.sparse.indices.data(), input_.sparse.values.data(), rows,
            ahead};
  }

  void GatherTargets(uint64_t done, size_t panel, size_t count) {
    const uint32_t* drawn = SamplesOf(done).data();
    for (size_t i = panel; i < panel + count; ++i) {
      if (targets_.multilabel) {
        label_targets_[i] = targets_.matrix.data() + size_t{drawn[i]} * classes_;
      } else {
        class_targets_[i] = targets_.classes_of[drawn[i]];
      }
    }
  }

  // Lines of the rows of panel `next` or, where that is past the batch's end, of this worker's first panel of
  // the next step.
  PrefetchQueue LinesAfter(uint32_t step, uint64_t done, size_t next, uint32_t worker) {
    if (next >= PanelsOf(SizeOf(step))) {
      step = NextStep(step), ++done;
      next = worker * Unit();
    }
    const uint32_t* rows = RowsOf(done).data();
    const void** lines = lines_[worker].data();
    size_t count = 0;
    for (size_t i = next * panel_rows_; i < std::min((next + 1) * panel_rows_, SizeOf(step)); ++i) {
      const char* row = static_cast<const char*>(input_.data()) + rows[i] * input_.row_bytes();
      for (size_t at = 0; at < input_.row_bytes(); at += kLine) lines[count++] = row + at;
    }
    return {lines, lines + count};
  }

  void Drop(float* h, size_t panel, size_t count, uint64_t done) const {
    const RandomStream stream(spec_.seed, RandomUse::kDropout, spec_.layer, static_cast<uint32_t>(done));
    const float scale = 1.0f / (1.0f - spec_.dropout);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < hidden_; ++j) {
        const bool keep = stream.Uniform((panel + i) * hidden_ + j) >= spec_.dropout;
        h[i * w_.stride + j] = keep ? h[i * w_.stride + j] * scale : 0.0f;
      }
    }
  }

  double LossAndGradient(float* z, size_t panel, size_t count, size_t batch, bool want_loss) const {
    if (targets_.multilabel) {
      const float scale = 1.0f / (static_cast<float>(batch) * static_cast<float>(classes_));
      return kernels_.sigmoid_loss(count, classes_, theta_.stride, z, label_targets_.data() + panel, scale,
                                   want_loss);
    }
    return kernels_.softmax_loss(count, classes_, theta_.stride, z, class_targets_.data() + panel,
                                 1.0f / static_cast<float>(batch), want_loss);
  }

  double BatchLoss(size_t size) const {
    double sum = 0;
    for (size_t panel = 0; panel < PanelsOf(size); ++panel) sum += panel_loss_[panel];
    return sum / (static_cast<double>(size) * (targets_.multilabel ? static_cast<double>(classes_) : 1.0));
  }

  // Gradients over the whole batch, then Adam. Rows of W, and after them those of Θ, are handed out as
  // workers ask for them; of a sparse layer's W each worker has its own, along the cuts.
  void UpdateWeights(uint32_t step, uint64_t done, uint32_t worker, uint32_t workers, LapTimer& timer) {
    const size_t size = SizeOf(step);
    const AdamConstants w_adam = ConstantsAt(spec_, w_steps_ + done + 1),
                        theta_adam = ConstantsAt(spec_, theta_steps_ + done + 1);
    if (input_.is_sparse) {
      const Range rows{cuts_.features[worker], cuts_.features[worker + 1]};
      SparseGradient(done, size, rows, worker);
      timer.Lap(StepPhase::kWeightGradient);
      Update(rows, grad_w_, w_, w_adam);
      timer.Lap(StepPhase::kUpdate);
    }
    for (Range rows = ClaimRows(workers); rows.begin < rows.end;) {
      const Range next = ClaimRows(workers);
      PrefetchQueue queue;
      if (!grouped_) queue = FirstLines(next, size, worker);
      const bool of_w = rows.end <= DenseRows();
      if (of_w) {
        if (grouped_) {
          AddGroups(size, 0, {rows.begin * w_.stride, rows.end * w_.stride}, grad_w_);
        } else {
          DenseGradient(size, x_.data(), XStride(), rows, dh_.data(), PadWidth(hidden_), w_, grad_w_, queue);
        }
        timer.Lap(StepPhase::kWeightGradient);
        Update(rows, grad_w_, w_, w_adam);
      } else {
        const Range theta_rows{rows.begin - DenseRows(), rows.end - DenseRows()};
        if (grouped_) {
          AddGroups(size, grad_w_.size(), {theta_rows.begin * theta_.stride, theta_rows.end * theta_.stride},
                    grad_theta_);
        } else {
          DenseGradient(size, h_.data(), w_.stride, theta_rows, z_.data(), PadWidth(classes_), theta_,
                        grad_theta_, queue);
        }
        timer.Lap(StepPhase::kThetaGradient);
        Update(theta_rows, grad_theta_, theta_, theta_adam);
        TransposeTheta(theta_rows);
      }
      timer.Lap(StepPhase::kUpdate);
      rows = next;
    }
  }

  // Rows of W that are handed out, before those of Θ.
  size_t DenseRows() const { return input_.is_sparse ? 0 : features_; }
  // The next rows, fewer towards the end, never of W and Θ together; empty when all are taken.
  Range ClaimRows(uint32_t workers) {
    const size_t all = DenseRows() + PadWidth(hidden_);
    size_t begin = next_row_.load(std::memory_order_relaxed), end = 0;
    do {
      if (begin >= all) return {all, all};
      const size_t part = begin < DenseRows() ? DenseRows() : all;
      end = std::min(part, begin + std::clamp((all - begin) / (2 * workers), kFewRows, kMostRows));
    } while (!next_row_.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return {begin, end};
  }
  // Lines that the gradient of these rows needs first.
  PrefetchQueue FirstLines(Range rows, size_t size, uint32_t worker) {
    const bool of_w = rows.begin < DenseRows();
    const float* a = of_w ? x_.data() + rows.begin : h_.data() + (rows.begin - DenseRows());
    const size_t stride = of_w ? XStride() : w_.stride;
    const void** lines = lines_[worker].data();
    size_t count = 0;
    for (size_t sample = 0; sample < std::min(size, kFirstSamples); ++sample) {
      for (size_t at = 0; at < rows.end - rows.begin; at += kLine / sizeof(float))
        lines[count++] = a + sample * stride + at;
    }
    return {lines, lines + count};
  }

  // Rows `rows` of grad = Aᵀ·D, A (size × lda), D (size × weights.stride, `width` of it used).
  void DenseGradient(size_t size, const float* a, size_t lda, Range rows, const float* d, size_t width,
                     const PaddedWeights& weights, Array<float>& grad, PrefetchQueue queue) const {
    GemmArgs product{rows.end - rows.begin,
                     width,
                     size,
                     a + rows.begin,
                     lda,
                     d,
                     weights.stride,
                     grad.mutable_data() + rows.begin * weights.stride,
                     weights.stride};
    product.prefetch = &queue;
    kernels_.gemm_transposed(product);
  }

  void SparseGradient(uint64_t done, size_t size, Range rows, uint32_t worker) {
    float* grad = grad_w_.mutable_data();
    std::fill(grad + rows.begin * w_.stride, grad + rows.end * w_.stride, 0.0f);
    kernels_.sparse_gemm_grad(size, PadWidth(hidden_), SparseRowsOf(RowsOf(done).data(), 0),
                              cuts_.offsets.data() + worker, cuts_.features.size(), dh_.data(), w_.stride,
                              grad, w_.stride);
  }

  void Update(Range rows, const Array<float>& grad, PaddedWeights& weights, const AdamConstants& adam) const {
    const size_t at = rows.begin * weights.stride;
    kernels_.adam((rows.end - rows.begin) * weights.stride, grad.data() + at, weights.w.mutable_data() + at,
                  weights.m.mutable_data() + at, weights.v.mutable_data() + at, adam);
  }

  void TransposeTheta(Range rows) {
    float* transposed = theta_t_.mutable_data();
    for (size_t h = rows.begin; h < rows.end; ++h) {
      for (size_t c = 0; c < classes_; ++c) transposed[c * w_.stride + h] = theta_.w[h * theta_.stride + c];
    }
  }

  const CpuKernels& kernels_;
  const StoredMatrix input_;
  const Array<uint32_t> samples_;
  const Targets targets_;
  const LayerSpec spec_;
  const uint32_t sample_count_, batch_, steps_;
  const size_t features_, hidden_, classes_;
  PaddedWeights w_;       // (D × hidden)
  PaddedWeights theta_;   // (PadWidth(hidden) × classes)
  Array<float> theta_t_;  // (classes × hidden), stride of w_
  const uint64_t w_steps_, theta_steps_;
  uint64_t steps_done_ = 0;
  const bool profile_;
  StepSeconds seconds_{};
  // One batch, except as said:
  std::vector<uint32_t> batch_samples_[3];     // (batch) samples of this step and of the next two
  std::vector<uint32_t> rows_[3];              // (batch) their rows of X̂
  std::vector<int32_t> class_targets_;         // (batch) unless multilabel
  std::vector<const uint8_t*> label_targets_;  // (batch) if multilabel
  Array<float> x_;                             // (batch × D) if dense
  Array<float> h_, dh_;                        // (batch × hidden), stride of w_
  Array<float> z_;                  // (batch × classes) logits, then their gradient; stride of theta_
  std::vector<double> panel_loss_;  // (panels)
  Array<float> grad_w_;             // like w_
  Array<float> grad_theta_;         // like theta_
  size_t panel_rows_ = kPanel;      // of a batch that go through the layer together
  bool grouped_ = false;            // whether gradients are summed by groups of samples first
  Array<float> partial_;            // (groups × (grad_w_, grad_theta_)) if grouped
  std::vector<std::vector<const void*>> lines_;  // (workers) of the panel to prefetch, if dense
  FeatureCuts cuts_;                             // if sparse
  // What is not handed out yet; each is set back in the phase that does not use it.
  std::atomic<size_t> next_panel_{0}, next_row_{0};
};

}  // namespace

std::unique_ptr<LayerTraining> MakeCpuLayerTraining(const CpuKernels& kernels, StoredMatrix input,
                                                    Array<uint32_t> samples, const Targets& targets,
                                                    const LayerSpec& spec, const LayerState& start,
                                                    bool profile) {
  return std::make_unique<CpuLayerTraining>(kernels, std::move(input), std::move(samples), targets, spec,
                                            start, profile);
}

}  // namespace l2gcn
