#include "kernels/cpu/general_step.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error_format.h"
#include "kernels/cpu/batch_loss.h"
#include "kernels/cpu/general_batch.h"
#include "kernels/cpu/hidden_layer.h"

namespace l2gcn {

namespace {

constexpr size_t kGroupRows = 128;             // samples whose gradients are added up first
constexpr size_t kPieceRows = 48;              // of a weight matrix, updated by one task
constexpr double kGeneralWorkerCycles = 40e3;  // a step must bring this much to each thread it wakes

class GeneralStep final : public TrainingStep {
 public:
  GeneralStep(const CpuKernels& kernels, InputBlocks input, Array<uint32_t> samples, const Targets& targets,
              const LayerSpec& spec, const LayerState& start)
      : kernels_(kernels),
        batch_(kernels, std::move(input), std::move(samples), spec),
        spec_(spec),
        first_(start, "", spec.architecture.norm, batch_.most()),
        theta_(start, "classifier"),
        bias_(start, "classifier.bias"),
        loss_(kernels, targets, batch_.most()) {
    L2GCN_ASSERT(batch_.draw().samples() > 0 && first_.weight.rows == batch_.input().cols);
    if (spec_.architecture.head > 0) {
      head_.emplace(start, "head.", spec_.architecture.norm, batch_.most());
      head_t_ = Array<float>::Zeros(head_->width * first_.stride);
      head_->weight.TransposeRows(0, first_.width, first_.stride, head_t_);
    }
    first_.PreparePacked(kernels_, batch_.input().sparse.cols);
    if (head_) head_->PreparePacked(kernels_, 0);
    for (const Parameter& parameter : start.parameters) parameters_.push_back(Find(parameter.name));
    L2GCN_ASSERT(theta_.rows == last().width);
    theta_t_ = Array<float>::Zeros(classes() * last().stride);
    theta_.TransposeRows(0, last().width, last().stride, theta_t_);
    z_ = Array<float>::Allocate(batch_.most() * theta_.stride());
  }

  const SampleDraw& draw() const override { return batch_.draw(); }
  std::span<CpuParameter* const> parameters() const override { return parameters_; }
  CpuLayerWeights Weights() const override {
    return {first_.view(), head_ ? head_->view() : CpuHidden(), theta_.weights,
            bias_.exists() ? bias_.row(0) : nullptr};
  }

  double Loss() const override { return loss_.Mean(); }

  // Products alone, at 64 flops a cycle.
  double WorthThreads() const override {
    const double batch = batch_.most(), hidden = static_cast<double>(first_.width);
    const double inputs = static_cast<double>(input().dense_cols()) +
                          (input().sparse.cols == 0 ? 0.0
                                                    : 3.0 * static_cast<double>(input().sparse.nnz()) /
                                                          static_cast<double>(input().rows));
    const double inner = head_ ? hidden * static_cast<double>(head_->width) : 0;
    const double outer = static_cast<double>(last().width * PadWidth(classes()));
    const double flops = batch * (4 * inputs * hidden + 6 * inner + 6 * outer);
    return flops / 64 / kGeneralWorkerCycles;
  }

  void Prepare(uint32_t workers) override {
    MakePieces(workers);
    workers_.assign(workers, {});
    if (!batch_.sparse() || !batch_.dense()) return;
    for (Worker& worker : workers_)
      worker.sparse_product = Array<float>::Allocate(kPanelRows * first_.stride);
  }

  PhasePlan Begin(const StepPosition& at, uint32_t workers, bool want_loss) override {
    team_ = workers;
    batch_.Draw(at);
    loss_.Begin(batch_.drawn(), want_loss);
    return PanelPlan(Stage::kInput);
  }

  PhasePlan Next() override {
    if (stage_ == Stage::kUpdate) return {};
    if (const Stage last = LastStage(stage_); last != Stage::kGradient) {
      Combine(last);
      return PanelPlan(Following(last));
    }
    stage_ = Stage::kUpdate;
    return {static_cast<uint32_t>(pieces_.size()), team_};
  }

  void Run(const PhaseTask& task) override {
    if (stage_ == Stage::kUpdate) return Update(pieces_[task.task]);
    const size_t panel = task.task * kPanelRows, count = std::min(kPanelRows, batch_.size() - panel);
    const Stage end = LastStage(stage_);
    for (Stage stage = stage_; stage <= end; stage = Following(stage))
      RunStage(stage, panel, count, workers_[task.worker]);
  }

 private:
  struct alignas(64) Worker {
    Array<float> sparse_product;  // (kPanelRows × first_.stride) where the input is sparse and dense
    uint32_t keys[kPanelRows];
  };
  // What a panel of rows goes through, in order, and the update that follows. All stages of a panel are one task, except
  // that batch norm needs a sum over the batch after some of them.
  enum class Stage { kInput, kHidden, kLoss, kHeadGradient, kGradient, kUpdate };
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
  size_t classes() const { return theta_.weights.cols; }

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
    if (head_) add(PieceOf::kHead, 0, head_->weight.rows);
    add(PieceOf::kTheta, 0, theta_.rows);
    if (!spec_.architecture.shifts()) return;
    pieces_.push_back({PieceOf::kShifts, 0, 0});
    if (head_) pieces_.push_back({PieceOf::kHeadShifts, 0, 0});
    pieces_.push_back({PieceOf::kBias, 0, 0});
  }

  PhasePlan PanelPlan(Stage first) {
    stage_ = first;
    return {static_cast<uint32_t>((batch_.size() + kPanelRows - 1) / kPanelRows), team_};
  }

  // ---- panels of rows -------------------------------------------------------------------------------------

  static Stage Following(Stage stage) { return static_cast<Stage>(static_cast<int>(stage) + 1); }
  // Whether what follows a stage needs a sum over the batch.
  bool SumFollows(Stage stage) const {
    if (spec_.architecture.norm != HiddenNorm::kBatch) return false;
    const bool by_head = stage == Stage::kHidden || stage == Stage::kHeadGradient;
    return stage < Stage::kGradient && (head_ || !by_head);
  }
  // The last of the stages that run together from `stage` on.
  Stage LastStage(Stage stage) const {
    while (stage != Stage::kGradient && !SumFollows(stage)) stage = Following(stage);
    return stage;
  }
  // The sum over the batch that follows a stage, by one thread.
  void Combine(Stage stage) {
    if (stage == Stage::kInput) first_.CombineMoments(batch_.size());
    if (stage == Stage::kHidden) head_->CombineMoments(batch_.size());
    if (stage == Stage::kLoss) last().CombineGradients(batch_.size());
    if (stage == Stage::kHeadGradient) first_.CombineGradients(batch_.size());
  }

  void RunStage(Stage stage, size_t panel, size_t count, Worker& worker) {
    const bool sums = SumFollows(stage);
    switch (stage) {
      case Stage::kInput:
        batch_.Gather(panel, count, worker.keys);
        FirstProduct(panel, count, worker);
        if (sums) first_.SumMoments(kernels_, panel, count);
        break;
      case Stage::kHidden:
        Values(first_, RandomUse::kDropout, panel, count, worker);
        if (!head_) break;
        MultiplyDense(first_.h.data() + panel * first_.stride, first_.stride, 0, *head_, panel, count);
        if (sums) head_->SumMoments(kernels_, panel, count);
        break;
      case Stage::kLoss:
        if (head_) Values(*head_, RandomUse::kHeadDropout, panel, count, worker);
        Loss(panel, count);
        Gradient(z_.data() + panel * theta_.stride(), theta_.stride(), classes(), theta_t_, last(), panel,
                 count);
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
        break;
      case Stage::kUpdate:
        break;
    }
  }

  void FirstProduct(size_t panel, size_t count, Worker& worker) {
    const float* w = first_.weight.row(0);
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
                     layer.weight.rows - first,
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

  void Loss(size_t panel, size_t count) {
    const size_t stride = theta_.stride();
    float* z = z_.mutable_data() + panel * stride;
    kernels_.gemm({count, PadWidth(classes()), last().width, last().h.data() + panel * last().stride,
                   last().stride, theta_.row(0), stride, z, stride});
    if (bias_.exists()) {
      for (size_t i = 0; i < count; ++i) {
        for (size_t c = 0; c < classes(); ++c) z[i * stride + c] += bias_.weights.w[c];
      }
    }
    loss_.Gradient(panel, count, stride, z);
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

  // ---- the update -----------------------------------------------------------------------------------------

  void Update(const Piece& piece) {
    switch (piece.what) {
      case PieceOf::kSparseRows:
        return UpdateSparse(piece.begin);
      case PieceOf::kDenseRows:
        DenseGradient(batch_.x(0) + (piece.begin - input().sparse.cols), batch_.x_stride(), piece,
                      first_.product_gradient(), first_.weight);
        first_.weight.StepRows(kernels_, piece.begin, piece.end);
        first_.PackRows(kernels_, piece.begin, piece.end);
        break;
      case PieceOf::kHead:
        DenseGradient(first_.h.data() + piece.begin, first_.stride, piece, head_->product_gradient(),
                      head_->weight);
        head_->weight.StepRows(kernels_, piece.begin, piece.end);
        head_->PackRows(kernels_, piece.begin, piece.end);
        head_->weight.TransposeRows(piece.begin, piece.end, first_.stride, head_t_);
        break;
      case PieceOf::kTheta:
        DenseGradient(last().h.data() + piece.begin, last().stride, piece, z_.data(), theta_);
        theta_.StepRows(kernels_, piece.begin, piece.end);
        theta_.TransposeRows(piece.begin, piece.end, last().stride, theta_t_);
        break;
      case PieceOf::kShifts:
        UpdateShifts(first_);
        break;
      case PieceOf::kHeadShifts:
        UpdateShifts(*head_);
        break;
      case PieceOf::kBias:
        kernels_.column_sums(batch_.size(), PadWidth(classes()), theta_.stride(), z_.data(), nullptr,
                             bias_.grad.mutable_data(), nullptr);
        bias_.StepRows(kernels_, 0, 1);
        break;
    }
  }

  void UpdateSparse(size_t cut) {
    const size_t begin = batch_.cuts().features[cut], end = batch_.cuts().features[cut + 1],
                 stride = first_.stride;
    float* grad = first_.weight.grad.mutable_data();
    std::fill(grad + begin * stride, grad + end * stride, 0.0f);
    kernels_.sparse_gemm_grad(batch_.size(), PadWidth(first_.width), batch_.sparse_rows(0),
                              batch_.cut_offsets(cut), batch_.cuts().features.size(),
                              first_.product_gradient(), stride, grad, stride);
    first_.weight.StepRows(kernels_, begin, end);
  }

  // Rows of grad = Aᵀ·D over the batch, A (samples × lda) from the piece's first column on.
  void DenseGradient(const float* a, size_t lda, const Piece& piece, const float* d, CpuParameter& to) const {
    const size_t stride = to.stride();
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
      if (parameter->exists()) parameter->StepRows(kernels_, 0, 1);
    }
  }

  const CpuKernels& kernels_;
  GeneralBatch batch_;
  const LayerSpec spec_;
  HiddenLayer first_;
  std::optional<HiddenLayer> head_;
  CpuParameter theta_, bias_;
  std::vector<CpuParameter*> parameters_;  // those that the layer has, in the order of its state
  Array<float> head_t_;                    // (head × hidden), stride of first_
  Array<float> theta_t_;                   // (classes × width of the last hidden layer), its stride
  Array<float> z_;                         // (batch × classes) logits, then their gradient
  BatchLoss loss_;
  std::vector<Worker> workers_;
  std::vector<Piece> pieces_;
  uint32_t team_ = 1;            // workers of the current step
  Stage stage_ = Stage::kInput;  // that the current phase begins with
};

}  // namespace

std::unique_ptr<TrainingStep> MakeGeneralStep(const CpuKernels& kernels, InputBlocks input,
                                              Array<uint32_t> samples, const Targets& targets,
                                              const LayerSpec& spec, const LayerState& start) {
  return std::make_unique<GeneralStep>(kernels, std::move(input), std::move(samples), targets, spec, start);
}

}  // namespace l2gcn
