#include "kernels/cpu/form_training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/phases.h"
#include "core/team_size.h"
#include "core/threads.h"
#include "kernels/cpu/adam_constants.h"
#include "kernels/cpu/form_batch.h"
#include "kernels/cpu/hidden_layer.h"
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

class CpuFormTraining final : public CpuTraining {
 public:
  CpuFormTraining(const CpuKernels& kernels, InputBlocks input, Array<uint32_t> samples,
                  const Targets& targets, const LayerSpec& spec, const LayerState& start, bool profile)
      : kernels_(kernels),
        batch_(kernels, std::move(input), std::move(samples), targets, spec),
        multilabel_(targets.multilabel),
        spec_(spec),
        classes_(start.theta.cols),
        first_(Parameter(start.w, start.w_m, start.w_v), start.affine, batch_.most()),
        theta_(start.theta, start.theta_m, start.theta_v),
        w_steps_(start.w_steps),
        theta_steps_(start.theta_steps),
        profile_(profile) {
    L2GCN_ASSERT(batch_.samples_in_all() > 0 && start.w.rows == batch_.input().cols &&
                 spec_.share == nullptr);
    if (start.head.value.rows > 0) {
      head_.emplace(Parameter(start.head), start.head_affine, batch_.most());
      head_t_ = Array<float>::Zeros(head_->width * first_.stride);
      Transpose(head_->w, 0, first_.width, head_->width, first_.stride, head_t_);
    }
    first_.PreparePacked(kernels_, batch_.input().sparse.cols);
    if (head_) head_->PreparePacked(kernels_, 0);
    if (start.bias.value.rows > 0) bias_ = Parameter(start.bias);
    L2GCN_ASSERT(start.theta.rows == last().width);
    theta_t_ = Array<float>::Zeros(classes_ * last().stride);
    Transpose(theta_, 0, last().width, classes_, last().stride, theta_t_);
    if (!targets.weights.empty()) {
      weights_ = Array<float>::Zeros(PadWidth(classes_));
      std::copy(targets.weights.begin(), targets.weights.end(), weights_.mutable_data());
    }
    z_ = Array<float>::Allocate(batch_.most() * theta_.weights.stride);
    panel_loss_.resize(PanelsOf(batch_.most()));
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    Prepare(context);
    if (steps_done_ == 0 && first > 0) {
      steps_done_ = uint64_t{first} * batch_.steps();
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
          if (now_.step + 1 == batch_.steps()) losses[now_.epoch - first] = loss;
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

  const InputBlocks& input() const { return batch_.input(); }
  HiddenLayer& last() { return head_ ? *head_ : first_; }
  const HiddenLayer& last() const { return head_ ? *head_ : first_; }
  static size_t PanelsOf(size_t size) { return (size + kFormPanel - 1) / kFormPanel; }

  // A rough count of one thread's cycles in a step, as in layer_training.cpp.
  uint32_t LikelyWorkers(const Context& context) const {
    const double batch = batch_.most(), hidden = static_cast<double>(first_.width);
    const double inputs = static_cast<double>(input().dense_cols()) +
                          (input().sparse.cols == 0 ? 0.0
                                                    : 3.0 * static_cast<double>(input().sparse.nnz()) /
                                                          static_cast<double>(input().rows));
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
      if (input().sparse.cols > 0 && input().dense_cols() > 0)
        worker.sparse_product = Array<float>::Allocate(kFormPanel * first_.stride);
    }
  }

  void MakePieces(uint32_t workers) {
    pieces_.clear();
    batch_.CutColumns(2 * workers);
    for (size_t cut = 0; cut < batch_.cuts().workers; ++cut)
      pieces_.push_back({PieceOf::kSparseRows, cut, cut + 1});
    const auto add = [&](PieceOf what, size_t begin, size_t end) {
      for (; begin < end; begin += kPieceRows)
        pieces_.push_back({what, begin, std::min(begin + kPieceRows, end)});
    };
    add(PieceOf::kDenseRows, input().sparse.cols, input().cols);
    if (head_) add(PieceOf::kHead, 0, head_->w.weights.rows);
    add(PieceOf::kTheta, 0, theta_.weights.rows);
    if (first_.affine.weights.rows > 0) pieces_.push_back({PieceOf::kAffine, 0, 0});
    if (head_ && head_->affine.weights.rows > 0) pieces_.push_back({PieceOf::kHeadAffine, 0, 0});
    if (bias_.weights.rows > 0) pieces_.push_back({PieceOf::kBias, 0, 0});
  }

  PhasePlan ForwardPlan(bool all_losses) {
    now_.updating = false;
    now_.want_loss = all_losses || now_.step + 1 == batch_.steps();
    batch_.Draw(now_.epoch, now_.step, now_.done);
    now_.terms = batch_.LossTerms(weights_.span());
    return {static_cast<uint32_t>(PanelsOf(batch_.size())), team_.size()};
  }
  PhasePlan UpdatePlan() {
    now_.updating = true;
    rate_ = spec_.lr * spec_.schedule.InSteps(batch_.steps()).Share(now_.done);
    w_adam_ = AdamConstantsAt(spec_, rate_, w_steps_ + now_.done + 1);
    other_adam_ = AdamConstantsAt(spec_, rate_, theta_steps_ + now_.done + 1);
    w_adam_.weight_decay = other_adam_.weight_decay = 0;  // taken apart from Adam
    return {static_cast<uint32_t>(pieces_.size()), team_.size()};
  }
  PhasePlan NextStepPlan(const Context& context, bool all_losses) {
    steps_done_ = ++now_.done;
    if (++now_.step == batch_.steps()) now_.step = 0, ++now_.epoch;
    if (now_.epoch == last_epoch_) return {};
    if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed)) return {};
    team_.Took(watch_.Seconds());
    watch_ = {};
    return ForwardPlan(all_losses);
  }

  // ---- the first phase ------------------------------------------------------------------------------------

  void ForthAndBack(const PhaseTask& task) {
    Worker& worker = workers_[task.worker];
    worker.timer.Lap(StepPhase::kWait);
    const size_t panel = task.task * kFormPanel, count = std::min(kFormPanel, batch_.size() - panel);
    batch_.Gather(panel, count, worker.keys);
    worker.timer.Lap(StepPhase::kGather);
    FirstProduct(panel, count, worker);
    Activate(first_, RandomUse::kDropout, panel, count, worker);
    worker.timer.Lap(StepPhase::kHidden);
    if (head_) {
      MultiplyDense(first_.h.data() + panel * first_.stride, first_.stride, 0, *head_, panel, count);
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

  void FirstProduct(size_t panel, size_t count, Worker& worker) {
    const float* w = first_.w.weights.w.data();
    const size_t n = PadWidth(first_.width), stride = first_.stride;
    float* y = first_.y.mutable_data() + panel * stride;
    const bool both = batch_.sparse() && batch_.dense();
    if (batch_.sparse()) {
      float* to = both ? worker.sparse_product.mutable_data() : y;
      kernels_.sparse_gemm(count, n, batch_.sparse_rows(panel), w, stride, to, stride, false);
    }
    if (batch_.dense())
      MultiplyDense(batch_.x(panel), batch_.x_stride(), input().sparse.cols, first_, panel, count);
    if (!both) return;
    const float* sparse = worker.sparse_product.data();
    for (size_t i = 0; i < count; ++i) {
      for (size_t c = 0; c < n; ++c) y[i * stride + c] += sparse[i * stride + c];
    }
  }

  // layer.y of a panel = A · W, W's rows from `first` on; A is (count × lda).
  void MultiplyDense(const float* a, size_t lda, size_t first, HiddenLayer& layer, size_t panel,
                     size_t count) {
    GemmArgs product{count,
                     PadWidth(layer.width),
                     layer.w.weights.rows - first,
                     a,
                     lda,
                     layer.w.row(first),
                     layer.stride,
                     layer.y.mutable_data() + panel * layer.stride,
                     layer.stride};
    product.packed_b = layer.packed_w();
    product.packed_k = product.k;
    kernels_.gemm(product);
  }

  void Activate(HiddenLayer& layer, RandomUse use, size_t panel, size_t count, Worker& worker) {
    const size_t at = panel * layer.stride;
    float* h = layer.h.mutable_data() + at;
    ApplyAffine(kernels_, count, layer.width, layer.stride, layer.affine.weights.rows,
                layer.affine.weights.w.data(), layer.y.mutable_data() + at,
                layer.norm() ? layer.inverse.mutable_data() + panel : nullptr, h);
    if (spec_.dropout == 0) return;
    batch_.Keys(use, panel, count, 0, worker.keys);
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
        multilabel_ ? kernels_.sigmoid_loss(count, classes_, stride, z, batch_.label_targets(panel), weights,
                                            scale, now_.want_loss)
                    : kernels_.softmax_loss(count, classes_, stride, z, batch_.class_targets(panel), weights,
                                            scale, now_.want_loss);
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
    for (size_t panel = 0; panel < PanelsOf(batch_.size()); ++panel) sum += panel_loss_[panel];
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
        DenseGradient(batch_.x(0) + (piece.begin - input().sparse.cols), batch_.x_stride(), piece,
                      first_.product_gradient(), first_.w);
        timer.Lap(StepPhase::kWeightGradient);
        Step(first_.w, piece.begin, piece.end, w_adam_, true);
        first_.PackRows(kernels_, piece.begin, piece.end);
        break;
      case PieceOf::kHead:
        DenseGradient(first_.h.data() + piece.begin, first_.stride, piece, head_->product_gradient(),
                      head_->w);
        timer.Lap(StepPhase::kWeightGradient);
        Step(head_->w, piece.begin, piece.end, other_adam_, true);
        head_->PackRows(kernels_, piece.begin, piece.end);
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
        kernels_.column_sums(batch_.size(), PadWidth(classes_), theta_.weights.stride, z_.data(), nullptr,
                             bias_.grad.mutable_data(), nullptr);
        Step(bias_, 0, 1, other_adam_, false);
        break;
    }
    timer.Lap(StepPhase::kUpdate);
  }

  void UpdateSparse(size_t cut, LapTimer& timer) {
    const size_t begin = batch_.cuts().features[cut], end = batch_.cuts().features[cut + 1],
                 stride = first_.stride;
    float* grad = first_.w.grad.mutable_data();
    std::fill(grad + begin * stride, grad + end * stride, 0.0f);
    kernels_.sparse_gemm_grad(batch_.size(), PadWidth(first_.width), batch_.sparse_rows(0),
                              batch_.cut_offsets(cut), batch_.cuts().features.size(),
                              first_.product_gradient(), stride, grad, stride);
    timer.Lap(StepPhase::kWeightGradient);
    Step(first_.w, begin, end, w_adam_, true);
    timer.Lap(StepPhase::kUpdate);
  }

  // Rows of grad = Aᵀ·D over the batch, A (samples × lda) from the piece's first column on.
  void DenseGradient(const float* a, size_t lda, const Piece& piece, const float* d, Parameter& to) const {
    const size_t stride = to.weights.stride;
    GemmArgs product{piece.end - piece.begin,
                     PadWidth(to.weights.cols),
                     batch_.size(),
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
    kernels_.column_sums(batch_.size(), PadWidth(layer.width), layer.stride, layer.d.data(),
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

  const CpuKernels& kernels_;
  FormBatch batch_;
  const bool multilabel_;
  Array<float> weights_;  // (PadWidth(classes)) of the classes, or empty
  const LayerSpec spec_;
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

std::unique_ptr<LayerTraining> MakeCpuFormTraining(const CpuKernels& kernels, InputBlocks input,
                                                   Array<uint32_t> samples, const Targets& targets,
                                                   const LayerSpec& spec, const LayerState& start,
                                                   bool profile) {
  return std::make_unique<CpuFormTraining>(kernels, std::move(input), std::move(samples), targets, spec,
                                           start, profile);
}

}  // namespace l2gcn
