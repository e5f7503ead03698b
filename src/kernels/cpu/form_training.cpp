#include "kernels/cpu/form_training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/phases.h"
#include "core/rng.h"
#include "core/team_size.h"
#include "core/threads.h"
#include "kernels/cpu/adam_constants.h"
#include "kernels/cpu/feature_cuts.h"
#include "kernels/cpu/padded_weights.h"
#include "kernels/cpu/scoring.h"
#include "kernels/step_profile.h"

namespace l2gcn {

void ApplyAffine(const CpuKernels& kernels, size_t count, size_t width, size_t stride, size_t affine_rows,
                 const float* affine, float* y, float* inverse, float* h) {
  if (affine_rows == 2)
    return kernels.norm_relu(count, width, stride, affine, affine + stride, y, inverse, h);
  if (affine_rows == 1) return kernels.bias_relu(count, width, stride, affine, y, h);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < PadWidth(width); ++c) h[i * stride + c] = std::max(y[i * stride + c], 0.0f);
  }
}

namespace {

constexpr size_t kFormPanel = 32;           // rows of a batch that go through the layer together
constexpr size_t kGroupRows = 128;          // samples whose gradients are added up first
constexpr size_t kPieceRows = 48;           // of a weight matrix, updated by one task
constexpr double kFormWorkerCycles = 40e3;  // a step must bring this much to each thread it wakes

// A weight matrix or an affine in training.
struct Parameter {
  PaddedWeights weights;
  Array<float> grad;  // like weights

  Parameter() = default;
  Parameter(const Matrix& w, const Matrix& m, const Matrix& v) : weights(w, m, v, w.rows) {
    grad = Array<float>::Zeros(weights.rows * weights.stride);
  }
  explicit Parameter(const Trainable& from) : Parameter(from.value, from.m, from.v) {}

  Trainable Read() const {
    return {weights.Unpad(weights.w, weights.rows), weights.Unpad(weights.m, weights.rows),
            weights.Unpad(weights.v, weights.rows)};
  }
  const float* row(size_t i) const { return weights.w.data() + i * weights.stride; }
};

// A hidden layer in training with one batch's values, all (batch × width) with the weights' stride.
struct HiddenLayer {
  size_t width = 0, stride = 0;
  Parameter w, affine;
  Array<float> y;        // products; normalised, with a norm
  Array<float> inverse;  // (batch) of a norm
  Array<float> h;        // what comes out
  Array<float> d;        // gradient of the affine's result
  Array<float> dy;       // gradient of the products; the same as d without a norm

  bool norm() const { return affine.weights.rows == 2; }
  const float* product_gradient() const { return norm() ? dy.data() : d.data(); }
};

HiddenLayer MakeHidden(Parameter w, const Trainable& affine, size_t batch) {
  HiddenLayer layer;
  layer.width = w.weights.cols;
  layer.stride = w.weights.stride;
  layer.w = std::move(w);
  if (affine.value.rows > 0) layer.affine = Parameter(affine);
  layer.y = Array<float>::Allocate(batch * layer.stride);
  layer.h = Array<float>::Allocate(batch * layer.stride);
  layer.d = Array<float>::Allocate(batch * layer.stride);
  if (layer.norm()) {
    layer.inverse = Array<float>::Allocate(batch);
    layer.dy = Array<float>::Allocate(batch * layer.stride);
  }
  return layer;
}

class CpuFormTraining final : public CpuTraining {
 public:
  CpuFormTraining(const CpuKernels& kernels, JoinedMatrix input, Array<uint32_t> samples,
                  const Targets& targets, const LayerSpec& spec, const LayerState& start, bool profile)
      : kernels_(kernels),
        input_(std::move(input)),
        samples_(std::move(samples)),
        targets_(targets),
        spec_(spec),
        sample_count_(SampleCount(spec, samples_, input_.rows)),
        batch_(std::min(spec_.batch, sample_count_)),
        steps_(spec_.drop_last ? sample_count_ / batch_ : (sample_count_ + batch_ - 1) / batch_),
        classes_(start.theta.cols),
        first_(MakeHidden(Parameter(start.w, start.w_m, start.w_v), start.affine, batch_)),
        theta_(start.theta, start.theta_m, start.theta_v),
        w_steps_(start.w_steps),
        theta_steps_(start.theta_steps),
        profile_(profile) {
    L2GCN_ASSERT(sample_count_ > 0 && start.w.rows == input_.cols && spec_.gradient_sum == nullptr);
    if (start.head.value.rows > 0) {
      head_ = MakeHidden(Parameter(start.head), start.head_affine, batch_);
      head_t_ = Array<float>::Zeros(head_->width * first_.stride);
      Transpose(head_->w, 0, first_.width, head_->width, first_.stride, head_t_);
    }
    if (start.bias.value.rows > 0) bias_ = Parameter(start.bias);
    L2GCN_ASSERT(start.theta.rows == last().width);
    theta_t_ = Array<float>::Zeros(classes_ * last().stride);
    Transpose(theta_, 0, last().width, classes_, last().stride, theta_t_);
    if (!targets_.weights.empty()) {
      weights_ = Array<float>::Zeros(PadWidth(classes_));
      std::copy(targets_.weights.begin(), targets_.weights.end(), weights_.mutable_data());
    }
    drawn_.resize(batch_);
    rows_.resize(batch_);
    class_targets_.resize(targets_.multilabel ? 0 : batch_);
    label_targets_.resize(targets_.multilabel ? batch_ : 0);
    if (input_.dense_cols() > 0) x_ = Array<float>::Zeros(batch_ * XStride());
    z_ = Array<float>::Allocate(batch_ * theta_.weights.stride);
    panel_loss_.resize(PanelsOf(batch_));
    if (input_.sparse.cols > 0) {
      stretch_.resize(2 * size_t{batch_});
      even_.resize(batch_);
      for (uint32_t i = 0; i < batch_; ++i) even_[i] = 2 * i;
    }
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    Prepare(context);
    if (steps_done_ == 0 && first > 0) {
      steps_done_ = uint64_t{first} * steps_;
      w_steps_ -= steps_done_;
      theta_steps_ -= steps_done_;
    }
    now_ = {first, 0, steps_done_, false, false, 1};
    last_epoch_ = first + count;
    watch_ = {};
    RunPhases(
        context, team_.most(), ForwardPlan(step_losses != nullptr),
        [&](const PhaseTask& task) { now_.updating ? Update(task) : ForthAndBack(task); },
        [&]() -> PhasePlan {
          if (now_.updating) return NextStepPlan(context, step_losses != nullptr);
          const double loss = now_.want_loss ? BatchLoss() : 0;
          if (step_losses != nullptr) step_losses->push_back(loss);
          if (now_.step + 1 == steps_) losses[now_.epoch - first] = loss;
          return UpdatePlan();
        });
    for (Worker& worker : workers_) {
      for (size_t phase = 0; phase < kStepPhases; ++phase) seconds_[phase] += worker.timer.seconds()[phase];
    }
    context.CheckCancelled();
  }

  StepSeconds Profile() const override { return seconds_; }
  CpuLayerWeights Weights() const override {
    return {first_.w.weights,
            first_.affine.weights,
            head_ ? head_->w.weights : none_,
            head_ ? head_->affine.weights : none_,
            theta_.weights,
            bias_.weights};
  }

  LayerState Read() const override {
    LayerState state;
    Trainable w = first_.w.Read(), theta = theta_.Read();
    state.w = std::move(w.value), state.w_m = std::move(w.m), state.w_v = std::move(w.v);
    state.theta = std::move(theta.value), state.theta_m = std::move(theta.m),
    state.theta_v = std::move(theta.v);
    state.affine = first_.affine.Read();
    if (head_) state.head = head_->w.Read(), state.head_affine = head_->affine.Read();
    state.bias = bias_.Read();
    state.w_steps = w_steps_ + steps_done_;
    state.theta_steps = theta_steps_ + steps_done_;
    return state;
  }

 private:
  struct alignas(64) Worker {
    LapTimer timer;
    Array<float> sparse_product;  // (kFormPanel × first_.stride) where the input is sparse and dense
    uint32_t keys[kFormPanel];
  };
  struct Now {
    uint32_t epoch, step;
    uint64_t done;  // steps before this one
    bool updating, want_loss;
    double terms;  // what the summed loss of the batch is divided by
  };
  // Tasks of the second phase.
  enum class PieceOf { kSparseRows, kDenseRows, kHead, kTheta, kAffine, kHeadAffine, kBias };
  struct Piece {
    PieceOf what;
    size_t begin, end;  // rows; of kSparseRows: the cut
  };

  HiddenLayer& last() { return head_ ? *head_ : first_; }
  const HiddenLayer& last() const { return head_ ? *head_ : first_; }
  size_t XStride() const { return PadStride(input_.dense_cols() + kPad); }
  size_t Size() const { return std::min<size_t>(batch_, sample_count_ - size_t{now_.step} * batch_); }
  static size_t PanelsOf(size_t size) { return (size + kFormPanel - 1) / kFormPanel; }

  // A rough count of one thread's cycles in a step, as in layer_training.cpp.
  uint32_t LikelyWorkers(const Context& context) const {
    const double batch = batch_, hidden = static_cast<double>(first_.width);
    const double inputs = static_cast<double>(input_.dense_cols()) +
                          (input_.sparse.cols == 0 ? 0.0
                                                   : 3.0 * static_cast<double>(input_.sparse.nnz()) /
                                                         static_cast<double>(input_.rows));
    const double inner = head_ ? hidden * static_cast<double>(head_->width) : 0;
    const double outer = static_cast<double>(last().width * PadWidth(classes_));
    const double flops = batch * (4 * inputs * hidden + 6 * inner + 6 * outer);
    return static_cast<uint32_t>(
        std::clamp(flops / 64 / kFormWorkerCycles, 1.0, static_cast<double>(context.threads)));
  }

  void Prepare(const Context& context) {
    const uint32_t likely = LikelyWorkers(context), most = std::min(context.threads, 2 * likely);
    if (team_.most() != most || workers_.empty()) {
      team_ = TeamSize(std::min(likely, context.pool->Prompt()), most);
      MakePieces(most);
    }
    workers_.assign(most, {});
    for (Worker& worker : workers_) {
      worker.timer = LapTimer(profile_);
      if (input_.sparse.cols > 0 && input_.dense_cols() > 0)
        worker.sparse_product = Array<float>::Allocate(kFormPanel * first_.stride);
    }
  }

  void MakePieces(uint32_t workers) {
    pieces_.clear();
    if (input_.sparse.cols > 0) {
      cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, 2 * workers);
      cut_offsets_.resize(2 * size_t{batch_} * cuts_.features.size());
      for (size_t cut = 0; cut < cuts_.workers; ++cut)
        pieces_.push_back({PieceOf::kSparseRows, cut, cut + 1});
    }
    const auto add = [&](PieceOf what, size_t begin, size_t end) {
      for (; begin < end; begin += kPieceRows)
        pieces_.push_back({what, begin, std::min(begin + kPieceRows, end)});
    };
    add(PieceOf::kDenseRows, input_.sparse.cols, input_.cols);
    if (head_) add(PieceOf::kHead, 0, head_->w.weights.rows);
    add(PieceOf::kTheta, 0, theta_.weights.rows);
    if (first_.affine.weights.rows > 0) pieces_.push_back({PieceOf::kAffine, 0, 0});
    if (head_ && head_->affine.weights.rows > 0) pieces_.push_back({PieceOf::kHeadAffine, 0, 0});
    if (bias_.weights.rows > 0) pieces_.push_back({PieceOf::kBias, 0, 0});
  }

  PhasePlan ForwardPlan(bool all_losses) {
    now_.updating = false;
    now_.want_loss = all_losses || now_.step + 1 == steps_;
    DrawBatch();
    now_.terms = LossTerms();
    return {static_cast<uint32_t>(PanelsOf(Size())), team_.size()};
  }
  PhasePlan UpdatePlan() {
    now_.updating = true;
    rate_ = spec_.lr * spec_.course.InSteps(steps_).Share(now_.done);
    w_adam_ = AdamConstantsAt(spec_, rate_, w_steps_ + now_.done + 1);
    other_adam_ = AdamConstantsAt(spec_, rate_, theta_steps_ + now_.done + 1);
    w_adam_.weight_decay = other_adam_.weight_decay = 0;  // taken apart from Adam
    return {static_cast<uint32_t>(pieces_.size()), team_.size()};
  }
  PhasePlan NextStepPlan(const Context& context, bool all_losses) {
    steps_done_ = ++now_.done;
    if (++now_.step == steps_) now_.step = 0, ++now_.epoch;
    if (now_.epoch == last_epoch_) return {};
    if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed)) return {};
    team_.Took(watch_.Seconds());
    watch_ = {};
    return ForwardPlan(all_losses);
  }

  // Which samples this step takes, their rows of the input, and where their non-zeros will be copied to.
  void DrawBatch() {
    if (!order_ || order_->epoch != now_.epoch) {
      const size_t columns = input_.sparse.cols > 0 ? 0 : input_.cols;
      order_ = {now_.epoch, OrderOf(spec_, sample_count_, columns, now_.epoch)};
    }
    const size_t size = Size();
    if (spec_.windows != nullptr) {
      const auto last = static_cast<uint32_t>(size_t{now_.step} * batch_ + size - 1);
      spec_.windows->Await(now_.epoch, last / order_->order.window);
    }
    kernels_.permute(order_->order, static_cast<uint32_t>(size_t{now_.step} * batch_),
                     static_cast<uint32_t>(size), drawn_.data());
    uint64_t nonzeros = 0;
    for (size_t i = 0; i < size; ++i) {
      rows_[i] = spec_.windows != nullptr
                     ? RingRowOf(order_->order, now_.epoch, size_t{now_.step} * batch_ + i)
                 : samples_.empty() ? drawn_[i]
                                    : samples_[drawn_[i]];
      if (targets_.multilabel) {
        label_targets_[i] = targets_.matrix.data() + size_t{drawn_[i]} * classes_;
      } else {
        class_targets_[i] = targets_.classes_of[drawn_[i]];
      }
      if (input_.sparse.cols == 0) continue;
      stretch_[2 * i] = nonzeros;
      nonzeros += input_.sparse.indptr[rows_[i] + 1] - input_.sparse.indptr[rows_[i]];
    }
    if (indices_.size() < nonzeros) {
      indices_.resize(nonzeros);
      values_.resize(nonzeros);
    }
  }

  double LossTerms() const {
    const size_t size = Size();
    if (targets_.multilabel) return static_cast<double>(size) * static_cast<double>(classes_);
    if (weights_.empty()) return static_cast<double>(size);
    double sum = 0;
    for (size_t i = 0; i < size; ++i) sum += double{weights_[static_cast<size_t>(class_targets_[i])]};
    return sum;
  }

  // ---- the first phase ------------------------------------------------------------------------------------

  void ForthAndBack(const PhaseTask& task) {
    Worker& worker = workers_[task.worker];
    worker.timer.Lap(StepPhase::kWait);
    const size_t panel = task.task * kFormPanel, count = std::min(kFormPanel, Size() - panel);
    if (input_.sparse.cols > 0) GatherSparse(panel, count, worker);
    if (input_.dense_cols() > 0) GatherDense(panel, count, worker);
    worker.timer.Lap(StepPhase::kGather);
    FirstProduct(panel, count, worker);
    Activate(first_, RandomUse::kDropout, panel, count, worker);
    worker.timer.Lap(StepPhase::kHidden);
    if (head_) {
      const size_t from = panel * first_.stride, to = panel * head_->stride;
      kernels_.gemm({count, PadWidth(head_->width), first_.width, first_.h.data() + from, first_.stride,
                     head_->w.weights.w.data(), head_->stride, head_->y.mutable_data() + to, head_->stride});
      Activate(*head_, RandomUse::kHeadDropout, panel, count, worker);
    }
    Loss(panel, count, worker.timer);
    Gradient(z_.data() + panel * theta_.weights.stride, theta_.weights.stride, classes_, theta_t_, last(),
             panel, count);
    if (head_) {
      Gradient(head_->product_gradient() + panel * head_->stride, head_->stride, head_->width, head_t_,
               first_, panel, count);
    }
    worker.timer.Lap(StepPhase::kHiddenGradient);
  }

  void Keys(RandomUse use, size_t panel, size_t count, uint32_t plus, Worker& worker) const {
    const RandomStream stream(spec_.seed, use, spec_.layer, static_cast<uint32_t>(now_.done));
    for (size_t i = 0; i < count; ++i) worker.keys[i] = stream.Word(panel + i) + plus;
  }

  // The batch's non-zeros that are not dropped, and where each worker's share of a row begins.
  void GatherSparse(size_t panel, size_t count, Worker& worker) {
    const float share = spec_.form.input_dropout, scale = 1.0f / (1.0f - share);
    const uint32_t threshold = DropThreshold(share);
    if (share > 0) Keys(RandomUse::kInputDropout, panel, count, 0, worker);
    const CsrMatrix& x = input_.sparse;
    for (size_t i = 0; i < count; ++i) {
      const size_t slot = 2 * (panel + i), row = rows_[panel + i];
      uint32_t* cut = cut_offsets_.data() + slot * cuts_.features.size();
      uint64_t to = stretch_[slot];
      size_t next = 0;
      for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
        const uint32_t column = x.indices[e];
        if (share > 0 && DropsColumn(worker.keys[i], column, threshold)) continue;
        while (cuts_.features[next] <= column) cut[next++] = static_cast<uint32_t>(to - stretch_[slot]);
        indices_[to] = column;
        values_[to++] = share > 0 ? x.values[e] * scale : x.values[e];
      }
      for (; next < cuts_.features.size(); ++next) cut[next] = static_cast<uint32_t>(to - stretch_[slot]);
      stretch_[slot + 1] = to;
    }
  }

  void GatherDense(size_t panel, size_t count, Worker& worker) {
    float* x = x_.mutable_data() + panel * XStride();
    size_t column = 0;
    for (const StoredMatrix& part : input_.dense) {
      kernels_.gather(count, part.cols, part.data(), part.type, rows_.data() + panel, x + column, XStride());
      column += part.cols;
    }
    const float share = spec_.form.input_dropout;
    if (share == 0) return;
    Keys(RandomUse::kInputDropout, panel, count, static_cast<uint32_t>(input_.sparse.cols), worker);
    kernels_.drop(count, input_.dense_cols(), XStride(), worker.keys, DropThreshold(share),
                  1.0f / (1.0f - share), x);
  }

  SparseRows BatchRows(size_t from) const {
    return {stretch_.data(), indices_.data(), values_.data(), even_.data() + from, 0};
  }

  void FirstProduct(size_t panel, size_t count, Worker& worker) {
    const float* w = first_.w.weights.w.data();
    const size_t n = PadWidth(first_.width), stride = first_.stride;
    float* y = first_.y.mutable_data() + panel * stride;
    const bool both = input_.sparse.cols > 0 && input_.dense_cols() > 0;
    if (input_.sparse.cols > 0) {
      float* to = both ? worker.sparse_product.mutable_data() : y;
      kernels_.sparse_gemm(count, n, BatchRows(panel), w, stride, to, stride, false);
    }
    if (input_.dense_cols() > 0) {
      kernels_.gemm({count, n, input_.dense_cols(), x_.data() + panel * XStride(), XStride(),
                     w + input_.sparse.cols * stride, stride, y, stride});
    }
    if (!both) return;
    const float* sparse = worker.sparse_product.data();
    for (size_t i = 0; i < count; ++i) {
      for (size_t c = 0; c < n; ++c) y[i * stride + c] += sparse[i * stride + c];
    }
  }

  void Activate(HiddenLayer& layer, RandomUse use, size_t panel, size_t count, Worker& worker) {
    const size_t at = panel * layer.stride;
    float* h = layer.h.mutable_data() + at;
    ApplyAffine(kernels_, count, layer.width, layer.stride, layer.affine.weights.rows,
                layer.affine.weights.w.data(), layer.y.mutable_data() + at,
                layer.norm() ? layer.inverse.mutable_data() + panel : nullptr, h);
    if (spec_.dropout == 0) return;
    Keys(use, panel, count, 0, worker);
    kernels_.drop(count, layer.width, layer.stride, worker.keys, DropThreshold(spec_.dropout),
                  1.0f / (1.0f - spec_.dropout), h);
  }

  void Loss(size_t panel, size_t count, LapTimer& timer) {
    const size_t stride = theta_.weights.stride;
    float* z = z_.mutable_data() + panel * stride;
    kernels_.gemm({count, PadWidth(classes_), last().width, last().h.data() + panel * last().stride,
                   last().stride, theta_.weights.w.data(), stride, z, stride});
    if (bias_.weights.rows > 0) {
      for (size_t i = 0; i < count; ++i) {
        for (size_t c = 0; c < classes_; ++c) z[i * stride + c] += bias_.weights.w[c];
      }
    }
    timer.Lap(StepPhase::kLogits);
    const float* weights = weights_.empty() ? nullptr : weights_.data();
    const float scale = 1.0f / static_cast<float>(now_.terms);
    panel_loss_[panel / kFormPanel] =
        targets_.multilabel ? kernels_.sigmoid_loss(count, classes_, stride, z, label_targets_.data() + panel,
                                                    weights, scale, now_.want_loss)
                            : kernels_.softmax_loss(count, classes_, stride, z, class_targets_.data() + panel,
                                                    weights, scale, now_.want_loss);
    timer.Lap(StepPhase::kLoss);
  }

  // To layer.d and layer.dy, from the gradient `above` (count × width) of the products that follow; their
  // weights transposed are (width × layer.stride).
  void Gradient(const float* above, size_t above_stride, size_t width, const Array<float>& transposed,
                HiddenLayer& layer, size_t panel, size_t count) {
    const size_t at = panel * layer.stride;
    float* d = layer.d.mutable_data() + at;
    kernels_.gemm({count, PadWidth(layer.width), width, above, above_stride, transposed.data(), layer.stride,
                   d, layer.stride, Finish::kMask, layer.h.data() + at, 1.0f / (1.0f - spec_.dropout)});
    if (!layer.norm()) return;
    float* dy = layer.dy.mutable_data() + at;
    for (size_t i = 0; i < count; ++i)
      std::copy_n(d + i * layer.stride, PadWidth(layer.width), dy + i * layer.stride);
    kernels_.norm_gradient(count, layer.width, layer.stride, layer.affine.row(0), layer.y.data() + at,
                           layer.inverse.data() + panel, dy);
  }

  double BatchLoss() const {
    double sum = 0;
    for (size_t panel = 0; panel < PanelsOf(Size()); ++panel) sum += panel_loss_[panel];
    return sum / now_.terms;
  }

  // ---- the second phase -----------------------------------------------------------------------------------

  void Update(const PhaseTask& task) {
    LapTimer& timer = workers_[task.worker].timer;
    timer.Lap(StepPhase::kWait);
    const Piece piece = pieces_[task.task];
    switch (piece.what) {
      case PieceOf::kSparseRows:
        return UpdateSparse(piece.begin, timer);
      case PieceOf::kDenseRows:
        DenseGradient(x_.data() + (piece.begin - input_.sparse.cols), XStride(), piece,
                      first_.product_gradient(), first_.w);
        timer.Lap(StepPhase::kWeightGradient);
        Step(first_.w, piece.begin, piece.end, w_adam_, true);
        break;
      case PieceOf::kHead:
        DenseGradient(first_.h.data() + piece.begin, first_.stride, piece, head_->product_gradient(),
                      head_->w);
        timer.Lap(StepPhase::kWeightGradient);
        Step(head_->w, piece.begin, piece.end, other_adam_, true);
        Transpose(head_->w, piece.begin, piece.end, head_->width, first_.stride, head_t_);
        break;
      case PieceOf::kTheta:
        DenseGradient(last().h.data() + piece.begin, last().stride, piece, z_.data(), theta_);
        timer.Lap(StepPhase::kThetaGradient);
        Step(theta_, piece.begin, piece.end, other_adam_, true);
        Transpose(theta_, piece.begin, piece.end, classes_, last().stride, theta_t_);
        break;
      case PieceOf::kAffine:
        UpdateAffine(first_);
        break;
      case PieceOf::kHeadAffine:
        UpdateAffine(*head_);
        break;
      case PieceOf::kBias:
        kernels_.column_sums(Size(), PadWidth(classes_), theta_.weights.stride, z_.data(), nullptr,
                             bias_.grad.mutable_data(), nullptr);
        Step(bias_, 0, 1, other_adam_, false);
        break;
    }
    timer.Lap(StepPhase::kUpdate);
  }

  void UpdateSparse(size_t cut, LapTimer& timer) {
    const size_t begin = cuts_.features[cut], end = cuts_.features[cut + 1], stride = first_.stride;
    float* grad = first_.w.grad.mutable_data();
    std::fill(grad + begin * stride, grad + end * stride, 0.0f);
    kernels_.sparse_gemm_grad(Size(), PadWidth(first_.width), BatchRows(0), cut_offsets_.data() + cut,
                              cuts_.features.size(), first_.product_gradient(), stride, grad, stride);
    timer.Lap(StepPhase::kWeightGradient);
    Step(first_.w, begin, end, w_adam_, true);
    timer.Lap(StepPhase::kUpdate);
  }

  // Rows of grad = Aᵀ·D over the batch, A (samples × lda) from the piece's first column on.
  void DenseGradient(const float* a, size_t lda, const Piece& piece, const float* d, Parameter& to) const {
    const size_t stride = to.weights.stride;
    GemmArgs product{piece.end - piece.begin,
                     PadWidth(to.weights.cols),
                     Size(),
                     a,
                     lda,
                     d,
                     stride,
                     to.grad.mutable_data() + piece.begin * stride,
                     stride};
    product.group = kGroupRows;
    kernels_.gemm_transposed(product);
  }

  void UpdateAffine(HiddenLayer& layer) {
    float* grad = layer.affine.grad.mutable_data();
    const bool norm = layer.norm();
    float* shift = norm ? grad + layer.stride : grad;
    kernels_.column_sums(Size(), PadWidth(layer.width), layer.stride, layer.d.data(),
                         norm ? layer.y.data() : nullptr, shift, norm ? grad : nullptr);
    Step(layer.affine, 0, layer.affine.weights.rows, other_adam_, false);
  }

  // Adam of rows begin … end − 1, and the decay that is apart from it.
  void Step(Parameter& parameter, size_t begin, size_t end, const AdamConstants& adam, bool decays) const {
    PaddedWeights& weights = parameter.weights;
    const size_t at = begin * weights.stride, count = (end - begin) * weights.stride;
    float* w = weights.w.mutable_data() + at;
    if (decays && spec_.weight_decay > 0) {
      const float kept = 1.0f - rate_ * spec_.weight_decay;
      for (size_t i = 0; i < count; ++i) w[i] *= kept;
    }
    kernels_.adam(count, parameter.grad.data() + at, w, weights.m.mutable_data() + at,
                  weights.v.mutable_data() + at, adam);
  }

  // Rows begin … end − 1 of the weights (… × width) to columns of `to` (width × stride).
  static void Transpose(const Parameter& from, size_t begin, size_t end, size_t width, size_t stride,
                        Array<float>& to) {
    constexpr size_t kBlock = 16;
    float* out = to.mutable_data();
    for (size_t first = 0; first < width; first += kBlock) {
      for (size_t row = begin; row < end; ++row) {
        const float* values = from.row(row);
        for (size_t c = first; c < std::min(first + kBlock, width); ++c) out[c * stride + row] = values[c];
      }
    }
  }

  struct Order {
    uint32_t epoch;
    EpochOrder order;
  };

  const CpuKernels& kernels_;
  const JoinedMatrix input_;
  const Array<uint32_t> samples_;
  const Targets targets_;
  Array<float> weights_;  // (PadWidth(classes)) of targets_, or empty
  const LayerSpec spec_;
  const uint32_t sample_count_, batch_, steps_;
  const size_t classes_;
  HiddenLayer first_;
  std::optional<HiddenLayer> head_;
  Parameter theta_, bias_;
  const PaddedWeights none_;        // of a head that is not there
  Array<float> head_t_;             // (head × hidden), stride of first_
  Array<float> theta_t_;            // (classes × width of the last hidden layer), its stride
  uint64_t w_steps_, theta_steps_;  // of Adam, before the layer's first epoch
  uint64_t steps_done_ = 0;
  const bool profile_;
  StepSeconds seconds_{};
  // One batch:
  std::optional<Order> order_;                 // of the epoch at hand
  std::vector<uint32_t> drawn_, rows_;         // (batch) samples, and their rows of the input
  std::vector<int32_t> class_targets_;         // (batch) unless multilabel
  std::vector<const uint8_t*> label_targets_;  // (batch) if multilabel
  Array<float> x_;                             // (batch × dense columns)
  std::vector<uint64_t> stretch_;              // (2 · batch) where each row's kept non-zeros begin and end
  std::vector<uint32_t> even_;                 // (batch) 0, 2, 4, …: row numbers into stretch_
  std::vector<uint32_t> indices_;              // of the kept non-zeros
  std::vector<float> values_;
  std::vector<uint32_t> cut_offsets_;  // (2 · batch × cuts + 1) where each cut's stretch of a row begins
  FeatureCuts cuts_;
  Array<float> z_;  // (batch × classes) logits, then their gradient
  std::vector<double> panel_loss_;
  // How a step is shared out, and where the training is.
  TeamSize team_;
  std::vector<Worker> workers_;
  std::vector<Piece> pieces_;
  Now now_{};
  uint32_t last_epoch_ = 0;
  float rate_ = 0;  // in this step
  AdamConstants w_adam_{}, other_adam_{};
  Stopwatch watch_;
};

}  // namespace

std::unique_ptr<LayerTraining> MakeCpuFormTraining(const CpuKernels& kernels, JoinedMatrix input,
                                                   Array<uint32_t> samples, const Targets& targets,
                                                   const LayerSpec& spec, const LayerState& start,
                                                   bool profile) {
  return std::make_unique<CpuFormTraining>(kernels, std::move(input), std::move(samples), targets, spec,
                                           start, profile);
}

}  // namespace l2gcn
