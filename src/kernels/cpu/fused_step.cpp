#include "kernels/cpu/fused_step.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "kernels/cpu/batch_loss.h"
#include "kernels/cpu/feature_cuts.h"
#include "kernels/cpu/group_gradients.h"
#include "kernels/cpu/row_cuts.h"
#include "kernels/cpu/sample_groups.h"

namespace l2gcn {
namespace {

constexpr size_t kTasksAtMost = 4096;        // of the first phase, in batches of any size
constexpr size_t kPartialBytes = 600 << 10;  // of groups' gradients a worker may hold, in its cache
constexpr size_t kFirstSamples = 128;   // the first samples of a gradient: their features are fetched ahead
constexpr size_t kLine = 64;            // bytes
constexpr double kWorkerCycles = 12e3;  // a step must bring this much to each thread it wakes

class FusedStep final : public TrainingStep {
 public:
  FusedStep(const CpuKernels& kernels, StoredMatrix input, Array<uint32_t> samples, const Targets& targets,
            const LayerSpec& spec, const LayerState& start)
      : kernels_(kernels),
        input_(std::move(input)),
        spec_(spec),
        draw_(kernels, std::move(samples), spec, input_.rows, input_.is_sparse ? 0 : input_.cols),
        batch_(draw_.batch()),
        features_(start["weight"].value.rows),
        hidden_(start["weight"].value.cols),
        classes_(start["classifier"].value.cols),
        w_(start, "weight"),
        theta_(start, "classifier", PadWidth(hidden_)),
        loss_(kernels, targets, batch_),
        groups_(batch_, GradientCosts()) {
    L2GCN_ASSERT(draw_.samples() > 0 && theta_.rows == hidden_ && features_ == input_.cols);
    theta_t_ = Array<float>::Zeros(classes_ * w_.stride());
    theta_.TransposeRows(0, PadWidth(hidden_), w_.stride(), theta_t_);
    if (kernels_.pack != nullptr && !input_.is_sparse) {
      packed_w_ = Array<uint16_t>::Zeros(kernels_.packed_values(features_, PadWidth(hidden_)));
      packed_dh_ = Array<uint16_t>::Zeros(kernels_.packed_values(batch_, PadWidth(hidden_)));
      PackW({0, features_});
    }
    for (Drawn& drawn : drawn_) drawn.samples.resize(batch_), drawn.rows.resize(batch_);
    if (!input_.is_sparse) x_ = Array<float>::Allocate(size_t{batch_} * XStride());
    h_ = Array<float>::Allocate(size_t{batch_} * w_.stride());
    dh_ = Array<float>::Allocate(size_t{batch_} * w_.stride());
    z_ = Array<float>::Allocate(size_t{batch_} * theta_.stride());
  }

  const SampleDraw& draw() const override { return draw_; }
  std::span<CpuParameter* const> parameters() const override { return parameters_; }
  CpuLayerWeights Weights() const override {
    CpuHidden hidden;
    hidden.weight = &w_.weights;
    return {hidden, {}, theta_.weights};
  }
  double Loss() const override { return loss_.Mean(); }
  uint32_t heads() const override { return static_cast<uint32_t>(groups_.panels()); }

  // Products at 64 flops a cycle, three a non-zero's vector, ten a vector of Adam, and the loss.
  double WorthThreads() const override {
    const double batch = batch_, hidden = static_cast<double>(PadWidth(hidden_));
    const double classes = static_cast<double>(PadWidth(classes_)), features = static_cast<double>(features_);
    const double input = input_.is_sparse ? 3 * static_cast<double>(input_.sparse.nnz()) /
                                                static_cast<double>(input_.rows) * hidden / 16
                                          : features * hidden / 16;
    const double cycles = batch * (input + 6 * hidden * classes / 64 + 2 * classes + 30) +
                          10 * hidden / 16 * (features + classes);
    return cycles / kWorkerCycles;
  }

  void Prepare(uint32_t workers) override {
    if (input_.is_sparse) cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, workers);
    workers_.assign(workers, {});
    const size_t panel_lines = input_.is_sparse ? 0 : kPanelRows * (input_.row_bytes() / kLine + 1);
    for (Worker& worker : workers_)
      worker.lines.resize(std::max(panel_lines, kFirstSamples * (kMostRows * sizeof(float) / kLine + 1)));
  }

  void BeginRun(const StepPosition& at) override {
    at_ = at;
    DrawRows(0, 0, 0, batch_);
    DrawRows(0, 1, 0, batch_);
  }

  // Panels, or groups of them, of the step's batch.
  PhasePlan Begin(const StepPosition& at, uint32_t workers, bool want_loss) override {
    at_ = at;
    updating_ = false;
    size_ = draw_.SizeOf(at.step);
    team_ = workers;
    by_groups_ = GradientsByGroups(workers);
    if (by_groups_ && gradients_.empty())
      gradients_ = GroupGradients(kernels_, PartialFloats(), groups_.Count(batch_));
    if (by_groups_) gradients_.BeginStep(groups_.Count(size_));
    loss_.Begin(std::span(DrawnFor(at.done).samples).first(size_), want_loss);
    draw_.Await(at.epoch, at.step);
    const auto units = static_cast<uint32_t>((size_ + UnitRows() - 1) / UnitRows());
    return {units * UnitTasks(), workers, UnitTasks()};
  }

  // A sparse layer's cuts of W, then pieces of rows.
  PhasePlan Next() override {
    if (updating_) return {};
    updating_ = true;
    if (cut_for_ != team_) {
      row_ends_ = CutRows(GradientCosts(), team_);
      cut_for_ = team_;
    }
    return {static_cast<uint32_t>(SparseCuts() + row_ends_.size()), team_};
  }

  void Run(const PhaseTask& task) override { updating_ ? UpdateWeights(task) : ForwardAndLoss(task); }

 private:
  // What a worker has for itself.
  struct alignas(kLine) Worker {
    std::optional<SampleDraw::Epoch> epoch;  // that it drew from last
    std::vector<const void*> lines;          // of the panel or rows to prefetch
  };
  // What was drawn for a step.
  struct Drawn {
    std::vector<uint32_t> samples, rows;  // (batch) each; rows of the input
  };

  size_t XStride() const { return PadStride(features_); }
  // Gradients of one group: (D × hidden) unless sparse, then (hidden × classes).
  size_t PartialFloats() const { return PartialOfTheta() + theta_.grad.size(); }
  size_t PartialOfTheta() const { return input_.is_sparse ? 0 : w_.grad.size(); }
  // The two ways to the same sums. By groups: who has computed a group's activations adds up its gradients in
  // the first phase, and the second phase adds the groups. By rows: the second phase adds up a few rows of W
  // or Θ over all groups. The first moves fewer bytes between cores as long as the groups' gradients fit the
  // caches.
  bool GradientsByGroups(uint32_t workers) const {
    return groups_.Count(batch_) * PartialFloats() * sizeof(float) <= kPartialBytes * workers;
  }
  // What three steps have drawn is held: the one computed, the one prefetched, the one drawn. `done` counts steps.
  Drawn& DrawnFor(uint64_t done) { return drawn_[done % 3]; }
  const Drawn& DrawnFor(uint64_t done) const { return drawn_[done % 3]; }

  // Part of the batch `ahead` steps from now: which samples, which rows of X̂. The step may lie in the epochs
  // that follow.
  void DrawRows(uint32_t worker, uint32_t ahead, size_t begin, size_t end) {
    const uint32_t epoch = at_.epoch + (at_.step + ahead) / draw_.steps(),
                   step = (at_.step + ahead) % draw_.steps();
    end = std::min(end, draw_.SizeOf(step));
    if (begin >= end) return;
    Drawn& drawn = DrawnFor(at_.done + ahead);
    draw_.Draw(epoch, step, begin, end, workers_[worker].epoch, drawn.samples.data(), drawn.rows.data());
    loss_.Prefetch(std::span(drawn.samples).subspan(begin, end - begin));
  }

  // A unit of the first phase: a group of samples, or a panel where gradients are not added up by groups. While a panel is
  // computed the rows of the next one are fetched; sparse rows are walked in order, and there the rows ahead
  // are fetched.
  size_t UnitRows() const {
    if (by_groups_) return groups_.rows();
    return kPanelRows * (1 + (batch_ + kPanelRows - 1) / kPanelRows / kTasksAtMost);
  }
  uint32_t UnitTasks() const { return by_groups_ ? static_cast<uint32_t>(groups_.tasks()) : 1; }
  size_t UnitBegin(size_t unit) const { return std::min(unit * UnitRows(), size_); }

  void ForwardAndLoss(const PhaseTask& task) {
    const size_t unit = task.task / UnitTasks(), part = task.task % UnitTasks();
    const Range samples{UnitBegin(unit), UnitBegin(unit + 1)};
    if (UnitTasks() == 1) {
      ForwardOf(samples, samples.end, task);
      if (by_groups_) GradientsOfGroup(unit, samples, groups_.AllRows());
    } else if (part < groups_.panels()) {
      const size_t begin = std::min(samples.begin + part * kPanelRows, samples.end);
      ForwardOf({begin, std::min(begin + kPanelRows, samples.end)}, samples.end, task);
    } else {
      GradientsOfGroup(unit, samples, groups_.Piece(part - groups_.panels()));
    }
  }
  // Panels of a unit that ends at row `unit_end` of the batch.
  void ForwardOf(Range samples, size_t unit_end, const PhaseTask& task) {
    const Range drawn = DrawnWith(samples);
    DrawRows(task.worker, 2, drawn.begin, drawn.end);
    for (size_t panel = samples.begin; panel < samples.end; panel += kPanelRows) {
      PrefetchQueue queue;
      if (!input_.is_sparse) queue = LinesAfter(task, panel + kPanelRows, unit_end);
      const size_t left = UnitBegin(task.share_end / UnitTasks()) - panel;
      PanelForwardAndLoss(panel, std::min(kPanelRows, samples.end - panel), left, queue);
    }
  }

  // The part of the batch after the next that whoever computes these samples draws.
  Range DrawnWith(Range samples) const {
    return {batch_ * samples.begin / size_, batch_ * samples.end / size_};
  }

  // The panel of `count` rows that begins at row `panel` of the batch; `left` rows of this worker's share
  // begin with it.
  void PanelForwardAndLoss(size_t panel, size_t count, size_t left, PrefetchQueue queue) {
    float* h = h_.mutable_data() + panel * w_.stride();      // (count × hidden)
    float* z = z_.mutable_data() + panel * theta_.stride();  // (count × classes)
    Hidden(panel, count, left, h, queue);
    if (spec_.dropout > 0) Drop(h, panel, count);
    kernels_.gemm({count, PadWidth(classes_), hidden_, h, w_.stride(), theta_.row(0), theta_.stride(), z,
                   theta_.stride()});
    loss_.Gradient(panel, count, theta_.stride(), z);
    kernels_.gemm({count, PadWidth(hidden_), classes_, z, theta_.stride(), theta_t_.data(), w_.stride(),
                   dh_.mutable_data() + panel * w_.stride(), w_.stride(), Finish::kMask, h,
                   1.0f / (1.0f - spec_.dropout)});
    if (!packed_dh_.empty()) {
      kernels_.pack(dh_.data(), w_.stride(), batch_, PadWidth(hidden_), panel, panel + count,
                    packed_dh_.mutable_data());
    }
  }

  // Gradients of rows `rows` over the samples of one group, as a rule on the core that has them in its cache.
  void GradientsOfGroup(size_t unit, Range samples, Range rows) {
    if (samples.begin == samples.end) return;
    float* const partial = gradients_.Of(unit);
    if (rows.begin < DenseRows()) {
      kernels_.gemm_transposed(GradientOfW(samples, {rows.begin, std::min(rows.end, DenseRows())}, partial));
    }
    if (rows.end > DenseRows()) {
      kernels_.gemm_transposed(GradientOfTheta(samples, ThetaRows(rows), partial + PartialOfTheta()));
    }
  }
  // Rows `rows` of X̂ᵀdH and of HᵀdZ over some samples of the batch, to these rows of grad.
  GemmArgs GradientOfW(Range samples, Range rows, float* grad) const {
    GemmArgs product{rows.end - rows.begin,
                     PadWidth(hidden_),
                     samples.end - samples.begin,
                     x_.data() + samples.begin * XStride() + rows.begin,
                     XStride(),
                     dh_.data() + samples.begin * w_.stride(),
                     w_.stride(),
                     grad + rows.begin * w_.stride(),
                     w_.stride()};
    if (packed_dh_.empty()) return product;
    product.packed_b = packed_dh_.data();
    product.packed_k = batch_;
    product.packed_begin = samples.begin;
    return product;
  }
  GemmArgs GradientOfTheta(Range samples, Range rows, float* grad) const {
    return {rows.end - rows.begin,
            PadWidth(classes_),
            samples.end - samples.begin,
            h_.data() + samples.begin * w_.stride() + rows.begin,
            w_.stride(),
            z_.data() + samples.begin * theta_.stride(),
            theta_.stride(),
            grad + rows.begin * theta_.stride(),
            theta_.stride()};
  }

  // ReLU(X̂W) of a panel of the batch.
  void Hidden(size_t panel, size_t count, size_t left, float* h, PrefetchQueue queue) {
    const uint32_t* rows = DrawnFor(at_.done).rows.data() + panel;
    if (input_.is_sparse) {
      kernels_.sparse_gemm(count, PadWidth(hidden_), SparseRowsOf(rows, left - count), w_.row(0), w_.stride(),
                           h, w_.stride(), true);
      return;
    }
    float* x = x_.mutable_data() + panel * XStride();
    kernels_.gather(count, features_, input_.data(), input_.type, rows, x, XStride());
    GemmArgs product{count,     PadWidth(hidden_), features_, x,          XStride(),
                     w_.row(0), w_.stride(),       h,         w_.stride()};
    product.finish = Finish::kRelu;
    product.prefetch = &queue;
    if (!packed_w_.empty()) product.packed_b = packed_w_.data(), product.packed_k = features_;
    kernels_.gemm(product);
  }

  SparseRows SparseRowsOf(const uint32_t* rows, size_t ahead) const {
    return {input_.sparse.indptr.data(), input_.sparse.indices.data(), input_.sparse.values.data(), rows,
            ahead};
  }

  // Lines of the rows of the panel that comes next: the one at row `next` of the batch, where that is before
  // `end`, else the first of the next task, else this worker's first of the next step.
  PrefetchQueue LinesAfter(const PhaseTask& task, size_t next, size_t end) {
    uint32_t step = at_.step;
    uint64_t done = at_.done;
    if (next >= end) next = UnitBegin(task.next / UnitTasks());
    if (next >= size_) {
      step = (step + 1) % draw_.steps(), ++done;
      next = UnitBegin(task.first / UnitTasks());
    }
    const uint32_t* rows = DrawnFor(done).rows.data();
    const void** lines = workers_[task.worker].lines.data();
    size_t count = 0;
    for (size_t i = next; i < std::min(next + kPanelRows, draw_.SizeOf(step)); ++i) {
      const char* row = static_cast<const char*>(input_.data()) + rows[i] * input_.row_bytes();
      for (size_t at = 0; at < input_.row_bytes(); at += kLine) lines[count++] = row + at;
    }
    return {lines, lines + count};
  }

  void Drop(float* h, size_t panel, size_t count) const {
    const RandomStream stream(spec_.seed, RandomUse::kDropout, spec_.layer, static_cast<uint32_t>(at_.done));
    const float scale = 1.0f / (1.0f - spec_.dropout);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < hidden_; ++j) {
        const bool keep = stream.Uniform((panel + i) * hidden_ + j) >= spec_.dropout;
        h[i * w_.stride() + j] = keep ? h[i * w_.stride() + j] * scale : 0.0f;
      }
    }
  }

  // Gradients over the whole batch, then Adam: of a sparse layer's cut of W, or of a piece of the rows of W
  // and Θ.
  void UpdateWeights(const PhaseTask& task) {
    const size_t cuts = SparseCuts();
    if (task.task < cuts) return UpdateCut(task.task);
    const Range rows = PieceOf(task.task - cuts);
    const Range next = task.next < task.tasks && task.next >= cuts ? PieceOf(task.next - cuts) : Range{0, 0};
    PrefetchQueue queue;
    if (!by_groups_) queue = FirstLines(next, task.worker);
    if (rows.begin < DenseRows()) UpdateW({rows.begin, std::min(rows.end, DenseRows())}, queue);
    if (rows.end > DenseRows()) UpdateTheta(ThetaRows(rows), queue);
  }
  void UpdateCut(size_t cut) {
    const Range rows{cuts_.features[cut], cuts_.features[cut + 1]};
    std::fill(w_.grad_row(rows.begin), w_.grad_row(rows.end), 0.0f);
    kernels_.sparse_gemm_grad(size_, PadWidth(hidden_), SparseRowsOf(DrawnFor(at_.done).rows.data(), 0),
                              cuts_.offsets.data() + cut, cuts_.features.size(), dh_.data(), w_.stride(),
                              w_.grad_row(0), w_.stride());
    w_.StepRows(kernels_, rows.begin, rows.end);
  }
  void UpdateW(Range rows, PrefetchQueue& queue) {
    if (by_groups_) {
      AddGroups(rows, 0, w_);
    } else {
      SumGroups(GradientOfW({0, size_}, rows, w_.grad_row(0)), queue);
    }
    w_.StepRows(kernels_, rows.begin, rows.end);
    if (!packed_w_.empty()) PackW(rows);
  }
  void UpdateTheta(Range rows, PrefetchQueue& queue) {
    if (by_groups_) {
      AddGroups(rows, PartialOfTheta(), theta_);
    } else {
      SumGroups(GradientOfTheta({0, size_}, rows, theta_.grad_row(0)), queue);
    }
    theta_.StepRows(kernels_, rows.begin, rows.end);
    theta_.TransposeRows(rows.begin, rows.end, w_.stride(), theta_t_);
  }
  // The two ways to the same sum: of what the first phase has computed, or all of it now.
  void AddGroups(Range rows, size_t partial, CpuParameter& to) const {
    const size_t at = rows.begin * to.stride();
    gradients_.Add(partial + at, rows.end * to.stride() - at, to.grad_row(rows.begin));
  }
  void SumGroups(GemmArgs product, PrefetchQueue& queue) const {
    product.prefetch = &queue;
    product.group = groups_.rows();
    kernels_.gemm_transposed(product);
  }

  // Rows of W that are cut into pieces, before those of Θ.
  size_t DenseRows() const { return input_.is_sparse ? 0 : features_; }
  Range ThetaRows(Range rows) const {  // of those that follow W's
    return {std::max(rows.begin, DenseRows()) - DenseRows(), rows.end - DenseRows()};
  }
  RowCosts GradientCosts() const { return {DenseRows(), w_.stride(), PadWidth(hidden_), theta_.stride()}; }
  size_t SparseCuts() const { return input_.is_sparse ? cuts_.workers : 0; }
  Range PieceOf(size_t piece) const { return {piece == 0 ? 0 : row_ends_[piece - 1], row_ends_[piece]}; }
  // Lines that the gradient of these rows needs first.
  PrefetchQueue FirstLines(Range rows, uint32_t worker) {
    const bool of_w = rows.begin < DenseRows();
    if (of_w) rows.end = std::min(rows.end, DenseRows());
    rows.end = std::min(rows.end, rows.begin + kMostRows);  // a share of cheap rows may have longer pieces
    const float* a = of_w ? x_.data() + rows.begin : h_.data() + (rows.begin - DenseRows());
    const size_t stride = of_w ? XStride() : w_.stride();
    const void** lines = workers_[worker].lines.data();
    size_t count = 0;
    for (size_t sample = 0; sample < std::min(size_, kFirstSamples); ++sample) {
      for (size_t at = 0; at < rows.end - rows.begin; at += kLine / sizeof(float))
        lines[count++] = a + sample * stride + at;
    }
    return {lines, lines + count};
  }

  void PackW(Range rows) {
    kernels_.pack(w_.row(0), w_.stride(), features_, PadWidth(hidden_), rows.begin, rows.end,
                  packed_w_.mutable_data());
  }

  const CpuKernels& kernels_;
  const StoredMatrix input_;
  const LayerSpec spec_;
  const SampleDraw draw_;
  const uint32_t batch_;  // of draw_
  const size_t features_, hidden_, classes_;
  CpuParameter w_;      // (D × hidden)
  CpuParameter theta_;  // (hidden × classes), rows padded to PadWidth(hidden)
  CpuParameter* const parameters_[2] = {&w_, &theta_};
  Array<float> theta_t_;       // (classes × hidden), stride of w_
  Array<uint16_t> packed_w_;   // W as products read it, where that is another form; else empty
  Array<uint16_t> packed_dh_;  // the same of a batch's dh_
  // One batch, except as said:
  Drawn drawn_[3];       // of this step and of the next two
  Array<float> x_;       // (batch × D) if dense
  Array<float> h_, dh_;  // (batch × hidden), stride of w_
  Array<float> z_;       // (batch × classes) logits, then their gradient; stride of theta_
  BatchLoss loss_;
  SampleGroups groups_;       // whose gradients are added up first
  GroupGradients gradients_;  // (PartialFloats() each) once gradients are added up by groups
  FeatureCuts cuts_;          // if sparse
  std::vector<Worker> workers_;
  std::vector<size_t> row_ends_;  // where the pieces of W's and Θ's rows end, for cut_for_ workers
  uint32_t cut_for_ = 0;
  // The current step, written between phases only.
  StepPosition at_{};
  uint32_t team_ = 1;      // workers
  bool updating_ = false;  // in the second phase
  bool by_groups_ = false;
  size_t size_ = 0;  // samples of the batch
};

}  // namespace

std::unique_ptr<TrainingStep> MakeFusedStep(const CpuKernels& kernels, StoredMatrix input,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start) {
  return std::make_unique<FusedStep>(kernels, std::move(input), std::move(samples), targets, spec, start);
}

}  // namespace l2gcn
