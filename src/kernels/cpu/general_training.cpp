#include "kernels/cpu/general_training.h"

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
#include "kernels/cpu/general_batch.h"
#include "kernels/cpu/hidden_layer.h"
#include "kernels/cpu/scoring.h"
#include "kernels/step_profile.h"

namespace l2gcn {

namespace {

constexpr size_t kGroupRows = 128;             // samples whose gradients are added up first
constexpr size_t kPieceRows = 48;              // of a weight matrix, updated by one task
constexpr double kGeneralWorkerCycles = 40e3;  // a step must bring this much to each thread it wakes

class CpuGeneralTraining final : public CpuTraining {
 public:
  CpuGeneralTraining(const CpuKernels& kernels, InputBlocks input, Array<uint32_t> samples,
                     const Targets& targets, const LayerSpec& spec, const LayerState& start, bool profile)
      : kernels_(kernels),
        batch_(kernels, std::move(input), std::move(samples), targets, spec),
        multilabel_(targets.multilabel),
        spec_(spec),
        classes_(start["classifier"].value.cols),
        first_(start, "", spec.architecture.norm, batch_.most()),
        theta_(start, "classifier"),
        bias_(start, "classifier.bias"),
        profile_(profile) {
    L2GCN_ASSERT(batch_.samples_in_all() > 0 && first_.weight.weights.rows == batch_.input().cols);
    if (spec_.architecture.head > 0) {
      head_.emplace(start, "head.", spec_.architecture.norm, batch_.most());
      head_t_ = Array<float>::Zeros(head_->width * first_.stride);
      Transpose(head_->weight, 0, first_.width, head_->width, first_.stride, head_t_);
    }
    first_.PreparePacked(kernels_, batch_.input().sparse.cols);
    if (head_) head_->PreparePacked(kernels_, 0);
    for (const Parameter& parameter : start.parameters) parameters_.push_back(Find(parameter.name));
    L2GCN_ASSERT(theta_.weights.rows == last().width);
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
      for (CpuParameter* parameter : parameters_) parameter->steps -= steps_done_;
    }
    now_ = {first, 0, steps_done_, Stage::kInput, false, 1};
    last_epoch_ = first + count;
    watch_ = {};
    RunPhases(
        context, team_.most(), ForwardPlan(step_losses != nullptr),
        [&](const PhaseTask& task) { now_.stage == Stage::kUpdate ? Update(task) : RunStages(task); },
        [&]() -> PhasePlan {
          if (now_.stage == Stage::kUpdate) return NextStepPlan(context, step_losses != nullptr);
          if (const Stage last = LastStage(now_.stage); last != Stage::kGradient) {
            Combine(last);
            return PanelPlan(Next(last));
          }
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
    return {first_.view(), head_ ? head_->view() : CpuHidden(), theta_.weights,
            bias_.exists() ? bias_.row(0) : nullptr};
  }

  LayerState Read() const override {
    LayerState state;
    for (const CpuParameter* parameter : parameters_)
      state.parameters.push_back(parameter->Read(steps_done_));
    return state;
  }

 private:
  struct alignas(64) Worker {
    LapTimer timer;
    Array<float> sparse_product;  // (kBatchPanel × first_.stride) where the input is sparse and dense
    uint32_t keys[kBatchPanel];
  };
  // What a panel of rows goes through, in order, and the update that follows. All stages of a panel are one task, except
  // that batch norm needs a sum over the batch after some of them.
  enum class Stage { kInput, kHidden, kLoss, kHeadGradient, kGradient, kUpdate };
  struct Now {
    uint32_t epoch, step;
    uint64_t done;  // steps before this one
    Stage stage;    // that the current phase begins with
    bool want_loss;
    double terms;  // what the summed loss of the batch is divided by
  };
  // Tasks of the update.
  enum class PieceOf { kSparseRows, kDenseRows, kHead, kTheta, kShifts, kHeadShifts, kBias };
  struct Piece {
    PieceOf what;
    size_t begin, end;  // rows; of kSparseRows: the cut
  };

  const InputBlocks& input() const { return batch_.input(); }
  CpuParameter* Find(const std::string& name) {
    std::vector<CpuParameter*> all = {&theta_, &bias_};
    for (HiddenLayer* layer : {&first_, head_ ? &*head_ : nullptr}) {
      if (layer == nullptr) continue;
      for (CpuParameter* one : {&layer->weight, &layer->bias, &layer->norm_weight, &layer->norm_bias,
                                &layer->running_mean, &layer->running_var})
        all.push_back(one);
    }
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CpuParameter* one) { return one->name == name; });
    L2GCN_ASSERT(found != all.end());
    return *found;
  }
  HiddenLayer& last() { return head_ ? *head_ : first_; }
  const HiddenLayer& last() const { return head_ ? *head_ : first_; }
  static size_t PanelsOf(size_t size) { return (size + kBatchPanel - 1) / kBatchPanel; }

  // A rough count of one thread's cycles in a step, as in fused_training.cpp.
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
        std::clamp(flops / 64 / kGeneralWorkerCycles, 1.0, static_cast<double>(context.threads)));
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
        worker.sparse_product = Array<float>::Allocate(kBatchPanel * first_.stride);
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
    if (head_) add(PieceOf::kHead, 0, head_->weight.weights.rows);
    add(PieceOf::kTheta, 0, theta_.weights.rows);
    if (!spec_.architecture.shifts()) return;
    pieces_.push_back({PieceOf::kShifts, 0, 0});
    if (head_) pieces_.push_back({PieceOf::kHeadShifts, 0, 0});
    pieces_.push_back({PieceOf::kBias, 0, 0});
  }

  PhasePlan ForwardPlan(bool all_losses) {
    now_.want_loss = all_losses || now_.step + 1 == batch_.steps();
    batch_.Draw(now_.epoch, now_.step, now_.done);
    now_.terms = batch_.LossTerms(weights_.span());
    return PanelPlan(Stage::kInput);
  }
  PhasePlan PanelPlan(Stage first) {
    now_.stage = first;
    return {static_cast<uint32_t>(PanelsOf(batch_.size())), team_.size()};
  }
  PhasePlan UpdatePlan() {
    now_.stage = Stage::kUpdate;
    const float rate = spec_.lr * spec_.schedule.InSteps(batch_.steps()).Share(now_.done);
    for (CpuParameter* parameter : parameters_)
      parameter->adam = AdamStepAt(spec_, rate, parameter->steps + now_.done + 1, parameter->decays);
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

  // ---- panels of rows -------------------------------------------------------------------------------------

  static Stage Next(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) + 1); }
  // Whether what follows a stage needs a sum over the batch.
  bool SumFollows(Stage stage) const {
    if (spec_.architecture.norm != HiddenNorm::kBatch) return false;
    const bool by_head = stage == Stage::kHidden || stage == Stage::kHeadGradient;
    return stage < Stage::kGradient && (head_ || !by_head);
  }
  // The last of the stages that run together from `stage` on.
  Stage LastStage(Stage stage) const {
    while (stage != Stage::kGradient && !SumFollows(stage)) stage = Next(stage);
    return stage;
  }
  // The sum over the batch that follows a stage, by one thread.
  void Combine(Stage stage) {
    if (stage == Stage::kInput) first_.CombineMoments(batch_.size());
    if (stage == Stage::kHidden) head_->CombineMoments(batch_.size());
    if (stage == Stage::kLoss) last().CombineGradients(batch_.size());
    if (stage == Stage::kHeadGradient) first_.CombineGradients(batch_.size());
  }

  void RunStages(const PhaseTask& task) {
    Worker& worker = workers_[task.worker];
    worker.timer.Lap(StepPhase::kWait);
    const size_t panel = task.task * kBatchPanel, count = std::min(kBatchPanel, batch_.size() - panel);
    const Stage end = LastStage(now_.stage);
    for (Stage stage = now_.stage; stage <= end; stage = Next(stage)) RunStage(stage, panel, count, worker);
  }

  void RunStage(Stage stage, size_t panel, size_t count, Worker& worker) {
    const bool sums = SumFollows(stage);
    switch (stage) {
      case Stage::kInput:
        batch_.Gather(panel, count, worker.keys);
        worker.timer.Lap(StepPhase::kGather);
        FirstProduct(panel, count, worker);
        if (sums) first_.SumMoments(kernels_, panel, count);
        break;
      case Stage::kHidden:
        Values(first_, RandomUse::kDropout, panel, count, worker);
        worker.timer.Lap(StepPhase::kHidden);
        if (!head_) break;
        MultiplyDense(first_.h.data() + panel * first_.stride, first_.stride, 0, *head_, panel, count);
        if (sums) head_->SumMoments(kernels_, panel, count);
        break;
      case Stage::kLoss:
        if (head_) Values(*head_, RandomUse::kHeadDropout, panel, count, worker);
        Loss(panel, count, worker.timer);
        Gradient(z_.data() + panel * theta_.weights.stride, theta_.weights.stride, classes_, theta_t_, last(),
                 panel, count);
        if (sums) last().SumGradients(kernels_, panel, count);
        break;
      case Stage::kHeadGradient:
        if (!head_) break;
        head_->Gradient(kernels_, panel, count);
        Gradient(head_->product_gradient() + panel * head_->stride, head_->stride, head_->width, head_t_,
                 first_, panel, count);
        if (sums) first_.SumGradients(kernels_, panel, count);
        break;
      case Stage::kGradient:
        first_.Gradient(kernels_, panel, count);
        worker.timer.Lap(StepPhase::kHiddenGradient);
        break;
      case Stage::kUpdate:
        break;
    }
  }

  void FirstProduct(size_t panel, size_t count, Worker& worker) {
    const float* w = first_.weight.weights.w.data();
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
                     layer.weight.weights.rows - first,
                     a,
                     lda,
                     layer.weight.row(first),
                     layer.stride,
                     layer.y.mutable_data() + panel * layer.stride,
                     layer.stride};
    product.packed_b = layer.packed_w();
    product.packed_k = product.k;
    kernels_.gemm(product);
  }

  void Values(HiddenLayer& layer, RandomUse use, size_t panel, size_t count, Worker& worker) {
    layer.Activate(kernels_, panel, count);
    if (spec_.dropout == 0) return;
    batch_.Keys(use, panel, count, 0, worker.keys);
    kernels_.drop(count, layer.width, layer.stride, worker.keys, DropThreshold(spec_.dropout),
                  1.0f / (1.0f - spec_.dropout), layer.h.mutable_data() + panel * layer.stride);
  }

  void Loss(size_t panel, size_t count, LapTimer& timer) {
    const size_t stride = theta_.weights.stride;
    float* z = z_.mutable_data() + panel * stride;
    kernels_.gemm({count, PadWidth(classes_), last().width, last().h.data() + panel * last().stride,
                   last().stride, theta_.weights.w.data(), stride, z, stride});
    if (bias_.exists()) {
      for (size_t i = 0; i < count; ++i) {
        for (size_t c = 0; c < classes_; ++c) z[i * stride + c] += bias_.weights.w[c];
      }
    }
    timer.Lap(StepPhase::kLogits);
    const float* weights = weights_.empty() ? nullptr : weights_.data();
    const float scale = 1.0f / static_cast<float>(now_.terms);
    panel_loss_[panel / kBatchPanel] =
        multilabel_ ? kernels_.sigmoid_loss(count, classes_, stride, z, batch_.label_targets(panel), weights,
                                            scale, now_.want_loss)
                    : kernels_.softmax_loss(count, classes_, stride, z, batch_.class_targets(panel), weights,
                                            scale, now_.want_loss);
    timer.Lap(StepPhase::kLoss);
  }

  // To layer.d, from the gradient `above` (count × width) of the products that follow; their weights transposed are
  // (width × layer.stride).
  void Gradient(const float* above, size_t above_stride, size_t width, const Array<float>& transposed,
                HiddenLayer& layer, size_t panel, size_t count) {
    const size_t at = panel * layer.stride;
    kernels_.gemm({count, PadWidth(layer.width), width, above, above_stride, transposed.data(), layer.stride,
                   layer.d.mutable_data() + at, layer.stride, Finish::kMask, layer.h.data() + at,
                   1.0f / (1.0f - spec_.dropout)});
  }

  double BatchLoss() const {
    double sum = 0;
    for (size_t panel = 0; panel < PanelsOf(batch_.size()); ++panel) sum += panel_loss_[panel];
    return sum / now_.terms;
  }

  // ---- the update -----------------------------------------------------------------------------------------

  void Update(const PhaseTask& task) {
    LapTimer& timer = workers_[task.worker].timer;
    timer.Lap(StepPhase::kWait);
    const Piece piece = pieces_[task.task];
    switch (piece.what) {
      case PieceOf::kSparseRows:
        return UpdateSparse(piece.begin, timer);
      case PieceOf::kDenseRows:
        DenseGradient(batch_.x(0) + (piece.begin - input().sparse.cols), batch_.x_stride(), piece,
                      first_.product_gradient(), first_.weight);
        timer.Lap(StepPhase::kWeightGradient);
        Step(first_.weight, piece.begin, piece.end);
        first_.PackRows(kernels_, piece.begin, piece.end);
        break;
      case PieceOf::kHead:
        DenseGradient(first_.h.data() + piece.begin, first_.stride, piece, head_->product_gradient(),
                      head_->weight);
        timer.Lap(StepPhase::kWeightGradient);
        Step(head_->weight, piece.begin, piece.end);
        head_->PackRows(kernels_, piece.begin, piece.end);
        Transpose(head_->weight, piece.begin, piece.end, head_->width, first_.stride, head_t_);
        break;
      case PieceOf::kTheta:
        DenseGradient(last().h.data() + piece.begin, last().stride, piece, z_.data(), theta_);
        timer.Lap(StepPhase::kThetaGradient);
        Step(theta_, piece.begin, piece.end);
        Transpose(theta_, piece.begin, piece.end, classes_, last().stride, theta_t_);
        break;
      case PieceOf::kShifts:
        UpdateShifts(first_);
        break;
      case PieceOf::kHeadShifts:
        UpdateShifts(*head_);
        break;
      case PieceOf::kBias:
        kernels_.column_sums(batch_.size(), PadWidth(classes_), theta_.weights.stride, z_.data(), nullptr,
                             bias_.grad.mutable_data(), nullptr);
        Step(bias_, 0, 1);
        break;
    }
    timer.Lap(StepPhase::kUpdate);
  }

  void UpdateSparse(size_t cut, LapTimer& timer) {
    const size_t begin = batch_.cuts().features[cut], end = batch_.cuts().features[cut + 1],
                 stride = first_.stride;
    float* grad = first_.weight.grad.mutable_data();
    std::fill(grad + begin * stride, grad + end * stride, 0.0f);
    kernels_.sparse_gemm_grad(batch_.size(), PadWidth(first_.width), batch_.sparse_rows(0),
                              batch_.cut_offsets(cut), batch_.cuts().features.size(),
                              first_.product_gradient(), stride, grad, stride);
    timer.Lap(StepPhase::kWeightGradient);
    Step(first_.weight, begin, end);
    timer.Lap(StepPhase::kUpdate);
  }

  // Rows of grad = Aᵀ·D over the batch, A (samples × lda) from the piece's first column on.
  void DenseGradient(const float* a, size_t lda, const Piece& piece, const float* d, CpuParameter& to) const {
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

  void UpdateShifts(HiddenLayer& layer) {
    layer.ShiftGradients(kernels_, batch_.size());
    for (CpuParameter* parameter : {&layer.bias, &layer.norm_weight, &layer.norm_bias}) {
      if (parameter->exists()) Step(*parameter, 0, 1);
    }
  }

  // Adam of rows begin … end − 1.
  void Step(CpuParameter& parameter, size_t begin, size_t end) const {
    const size_t stride = parameter.weights.stride;
    StepWeights(kernels_, parameter.adam, parameter.grad, begin * stride, (end - begin) * stride,
                parameter.weights);
  }

  // Rows begin … end − 1 of the weights (… × width) to columns of `to` (width × stride).
  static void Transpose(const CpuParameter& from, size_t begin, size_t end, size_t width, size_t stride,
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
  GeneralBatch batch_;
  const bool multilabel_;
  Array<float> weights_;  // (PadWidth(classes)) of the classes, or empty
  const LayerSpec spec_;
  const size_t classes_;
  HiddenLayer first_;
  std::optional<HiddenLayer> head_;
  CpuParameter theta_, bias_;
  std::vector<CpuParameter*> parameters_;  // those that the layer has, in the order of its state
  Array<float> head_t_;                    // (head × hidden), stride of first_
  Array<float> theta_t_;                   // (classes × width of the last hidden layer), its stride
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
  Stopwatch watch_;
};

}  // namespace

std::unique_ptr<LayerTraining> MakeCpuGeneralTraining(const CpuKernels& kernels, InputBlocks input,
                                                      Array<uint32_t> samples, const Targets& targets,
                                                      const LayerSpec& spec, const LayerState& start,
                                                      bool profile) {
  return std::make_unique<CpuGeneralTraining>(kernels, std::move(input), std::move(samples), targets, spec,
                                              start, profile);
}

}  // namespace l2gcn
