#include "kernels/cpu/layer_training.h"

#include <algorithm>
#include <chrono>
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
#include "kernels/cpu/group_gradients.h"
#include "kernels/cpu/padded_weights.h"
#include "kernels/cpu/row_cuts.h"
#include "kernels/cpu/sample_draw.h"
#include "kernels/cpu/sample_groups.h"
#include "kernels/cpu/scoring.h"
#include "kernels/step_profile.h"

namespace l2gcn {
namespace {

constexpr size_t kTasksAtMost = 4096;        // of the first phase, in batches of any size
constexpr size_t kPartialBytes = 600 << 10;  // of groups' gradients a worker may hold, in its cache
constexpr size_t kFirstSamples = 128;   // the first samples of a gradient: their features are fetched ahead
constexpr size_t kLine = 64;            // bytes
constexpr double kWorkerCycles = 12e3;  // a step must bring this much to each thread it wakes

class CpuLayerTraining final : public CpuTraining {
 public:
  CpuLayerTraining(const CpuKernels& kernels, StoredMatrix input, Array<uint32_t> samples,
                   const Targets& targets, const LayerSpec& spec, const LayerState& start, bool profile)
      : kernels_(kernels),
        input_(std::move(input)),
        targets_(targets),
        spec_(spec),
        draw_(kernels, std::move(samples), spec, input_.rows, input_.is_sparse ? 0 : input_.cols),
        batch_(draw_.batch()),
        steps_(draw_.steps()),
        features_(start.w.rows),
        hidden_(start.w.cols),
        classes_(start.theta.cols),
        w_(start.w, start.w_m, start.w_v, features_),
        theta_(start.theta, start.theta_m, start.theta_v, PadWidth(hidden_)),
        w_steps_(start.w_steps),
        theta_steps_(start.theta_steps),
        profile_(profile) {
    L2GCN_ASSERT(spec_.share == nullptr || !input_.is_sparse);
    L2GCN_ASSERT(draw_.samples() > 0 && start.theta.rows == hidden_ && features_ == input_.cols);
    theta_t_ = Array<float>::Zeros(classes_ * w_.stride);
    TransposeTheta({0, PadWidth(hidden_)});
    if (kernels_.pack != nullptr && !input_.is_sparse) {
      packed_w_ = Array<uint16_t>::Zeros(kernels_.packed_values(features_, PadWidth(hidden_)));
      packed_dh_ = Array<uint16_t>::Zeros(kernels_.packed_values(batch_, PadWidth(hidden_)));
      PackW({0, features_});
    }
    for (auto& rows : rows_) rows.resize(batch_);
    for (auto& samples_of : batch_samples_) samples_of.resize(batch_);
    if (!targets_.weights.empty()) {
      weights_ = Array<float>::Zeros(PadWidth(classes_));
      std::copy(targets_.weights.begin(), targets_.weights.end(), weights_.mutable_data());
    }
    class_targets_.resize(targets_.multilabel ? 0 : batch_);
    label_targets_.resize(targets_.multilabel ? batch_ : 0);
    if (!input_.is_sparse) x_ = Array<float>::Allocate(size_t{batch_} * XStride());
    h_ = Array<float>::Allocate(size_t{batch_} * w_.stride);
    dh_ = Array<float>::Allocate(size_t{batch_} * w_.stride);
    z_ = Array<float>::Allocate(size_t{batch_} * theta_.stride);
    grad_w_ = Array<float>::Zeros(features_ * w_.stride);
    grad_theta_ = Array<float>::Zeros(theta_.rows * theta_.stride);
    groups_ = SampleGroups(batch_, GradientCosts());
    panel_loss_.resize(PanelsOf(batch_));
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    Prepare(context);
    // A training that goes on where another ended counts its steps from the layer's first epoch, too: they name the
    // dropout's random streams.
    if (steps_done_ == 0 && first > 0) {
      steps_done_ = uint64_t{first} * steps_;
      w_steps_ -= steps_done_;
      theta_steps_ -= steps_done_;
    }
    now_ = {first, 0, steps_done_, false};
    last_epoch_ = first + count;
    DrawRows(0, 0, 0, batch_);
    DrawRows(0, 1, 0, batch_);
    watch_ = {};
    RunPhases(
        context, team_.most(), ForwardPlan(step_losses != nullptr),
        [&](const PhaseTask& task) { now_.updating ? UpdateWeights(task) : ForwardAndLoss(task); },
        [&]() -> PhasePlan {
          if (now_.updating) return NextStepPlan(context, step_losses != nullptr);
          const double loss = now_.want_loss ? BatchLoss() : 0;
          if (step_losses != nullptr) step_losses->push_back(loss);
          if (now_.step + 1 == steps_) losses[now_.epoch - first] = loss;
          return UpdatePlan();
        },
        static_cast<uint32_t>(groups_.panels()));
    for (Worker& worker : workers_) {
      for (size_t phase = 0; phase < kStepPhases; ++phase) seconds_[phase] += worker.timer.seconds()[phase];
    }
    context.CheckCancelled();
  }

  StepSeconds Profile() const override { return seconds_; }
  CpuLayerWeights Weights() const override { return {w_, none_, none_, none_, theta_, none_}; }

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
  // What a worker has for itself.
  struct alignas(kLine) Worker {
    LapTimer timer;
    std::optional<SampleDraw::Epoch> epoch;  // that it drew from last
    std::vector<const void*> lines;          // of the panel or rows to prefetch, if dense
  };
  // Where the training is. Written between phases only.
  struct Now {
    uint32_t epoch, step;
    uint64_t done;  // steps before this one
    bool updating;  // in the second phase
    bool by_groups = false;
    bool want_loss = false;
    double terms = 1;    // LossTerms() of this step
    Range own = {0, 0};  // samples of the batch that are computed here: all, unless members share the steps
  };

  // Small steps begin with few threads: waking one costs more than it brings. A rough count of one thread's
  // cycles: products at 64 flops each, three a non-zero's vector, ten a vector of Adam, and the loss.
  uint32_t LikelyWorkers(const Context& context) const {
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

  void Prepare(const Context& context) {
    const uint32_t likely = LikelyWorkers(context), most = std::min(context.threads, 2 * likely);
    const uint32_t first = std::min(likely, context.pool->Prompt());
    if (team_.most() != most || workers_.empty()) {
      team_ = TeamSize(first, most);
      if (input_.is_sparse) cuts_ = FeatureCuts(input_.sparse, batch_, 6.0, most);
      cut_for_ = 0;
    }
    workers_.assign(most, {});
    for (Worker& worker : workers_) {
      worker.timer = LapTimer(profile_);
      const size_t panel_lines = input_.is_sparse ? 0 : kPanelRows * (input_.row_bytes() / kLine + 1);
      worker.lines.resize(std::max(panel_lines, kFirstSamples * (kMostRows * sizeof(float) / kLine + 1)));
    }
  }

  // Panels, or groups of them, of the step's batch.
  PhasePlan ForwardPlan(bool all_losses) {
    now_.updating = false;
    now_.by_groups = spec_.share != nullptr || GradientsByGroups(team_.size());
    if (now_.by_groups && gradients_.empty())
      gradients_ = GroupGradients(kernels_, PartialFloats(), groups_.Count(batch_), spec_.share);
    now_.own = {0, SizeOf(now_.step)};
    if (now_.by_groups) now_.own = gradients_.OwnSamples(groups_, SizeOf(now_.step));
    now_.want_loss = all_losses || now_.step + 1 == steps_;
    now_.terms = LossTerms();
    draw_.Await(now_.epoch, now_.step);
    const auto units = static_cast<uint32_t>((now_.own.end - now_.own.begin + UnitRows() - 1) / UnitRows());
    return {std::max(1u, units) * UnitTasks(), team_.size(), UnitTasks()};
  }
  // A sparse layer's cuts of W, then pieces of rows.
  PhasePlan UpdatePlan() {
    now_.updating = true;
    if (spec_.share != nullptr) gradients_.SumWithOthers();
    if (cut_for_ != team_.size()) {
      row_ends_ = CutRows(GradientCosts(), team_.size());
      cut_for_ = team_.size();
    }
    const float rate = spec_.lr * spec_.schedule.InSteps(steps_).Share(now_.done);
    w_adam_ = AdamConstantsAt(spec_, rate, w_steps_ + now_.done + 1);
    theta_adam_ = AdamConstantsAt(spec_, rate, theta_steps_ + now_.done + 1);
    return {static_cast<uint32_t>(SparseCuts() + row_ends_.size()), team_.size()};
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

  size_t XStride() const { return PadStride(features_); }
  size_t SizeOf(uint32_t step) const { return draw_.SizeOf(step); }
  size_t PanelsOf(size_t size) const { return (size + kPanelRows - 1) / kPanelRows; }
  // Gradients of one group: (D × hidden) unless sparse, then (hidden × classes).
  size_t PartialFloats() const { return PartialOfTheta() + grad_theta_.size(); }
  size_t PartialOfTheta() const { return input_.is_sparse ? 0 : grad_w_.size(); }
  // The two ways to the same sums. By groups: who has computed a group's activations adds up its gradients in
  // the first phase, and the second phase adds the groups. By rows: the second phase adds up a few rows of W
  // or Θ over all groups. The first moves fewer bytes between cores as long as the groups' gradients fit the
  // caches.
  bool GradientsByGroups(uint32_t workers) const {
    return groups_.Count(batch_) * PartialFloats() * sizeof(float) <= kPartialBytes * workers;
  }
  uint32_t NextStep(uint32_t step) const { return step + 1 == steps_ ? 0 : step + 1; }
  // Row numbers of three steps are held: the one computed, the one prefetched, the one drawn. `done` counts
  // steps.
  std::vector<uint32_t>& RowsOf(uint64_t done) { return rows_[done % 3]; }
  std::vector<uint32_t>& SamplesOf(uint64_t done) { return batch_samples_[done % 3]; }

  // Part of the batch `ahead` steps from now: which samples, which rows of X̂. The step may lie in the epochs
  // that follow.
  void DrawRows(uint32_t worker, uint32_t ahead, size_t begin, size_t end) {
    const uint32_t epoch = now_.epoch + (now_.step + ahead) / steps_, step = (now_.step + ahead) % steps_;
    end = std::min(end, SizeOf(step));
    uint32_t* const drawn = SamplesOf(now_.done + ahead).data();
    draw_.Draw(epoch, step, begin, end, workers_[worker].epoch, drawn, RowsOf(now_.done + ahead).data());
    for (size_t i = begin; !targets_.multilabel && i < end; ++i)
      __builtin_prefetch(targets_.classes_of.data() + drawn[i]);
  }

  // A unit of the first phase: a group of samples, or a panel where gradients are not added up by groups. While a panel is
  // computed the rows of the next one are fetched; sparse rows are walked in order, and there the rows ahead
  // are fetched.
  size_t UnitRows() const {
    return now_.by_groups ? groups_.rows() : kPanelRows * (1 + PanelsOf(batch_) / kTasksAtMost);
  }
  // Where nothing is computed here, one task without samples is left.
  uint32_t UnitTasks() const {
    return now_.by_groups && now_.own.begin < now_.own.end ? static_cast<uint32_t>(groups_.tasks()) : 1;
  }
  // Where unit `unit` begins, counted from the first that is computed here.
  size_t UnitBegin(size_t unit) const { return std::min(now_.own.begin + unit * UnitRows(), now_.own.end); }

  void ForwardAndLoss(const PhaseTask& task) {
    LapTimer& timer = workers_[task.worker].timer;
    timer.Lap(StepPhase::kWait);
    const size_t unit = task.task / UnitTasks(), part = task.task % UnitTasks();
    const Range samples{UnitBegin(unit), UnitBegin(unit + 1)};
    if (UnitTasks() == 1) {
      ForwardOf(samples, samples.end, task, timer);
      if (now_.by_groups) GradientsOfGroup(unit, samples, groups_.AllRows(), timer);
    } else if (part < groups_.panels()) {
      const size_t begin = std::min(samples.begin + part * kPanelRows, samples.end);
      ForwardOf({begin, std::min(begin + kPanelRows, samples.end)}, samples.end, task, timer);
    } else {
      GradientsOfGroup(unit, samples, groups_.Piece(part - groups_.panels()), timer);
    }
  }
  // Panels of a unit that ends at row `unit_end` of the batch.
  void ForwardOf(Range samples, size_t unit_end, const PhaseTask& task, LapTimer& timer) {
    const Range drawn = DrawnWith(samples);
    DrawRows(task.worker, 2, drawn.begin, drawn.end);
    for (size_t panel = samples.begin; panel < samples.end; panel += kPanelRows) {
      PrefetchQueue queue;
      if (!input_.is_sparse) queue = LinesAfter(task, panel + kPanelRows, unit_end);
      const size_t left = UnitBegin(task.share_end / UnitTasks()) - panel;
      PanelForwardAndLoss(panel, std::min(kPanelRows, samples.end - panel), left, queue, timer);
    }
  }

  // The part of the batch after the next that whoever computes these samples draws. All of it is drawn here.
  Range DrawnWith(Range samples) const {
    const size_t own = now_.own.end - now_.own.begin;
    if (own == 0) return {0, batch_};
    return {batch_ * (samples.begin - now_.own.begin) / own, batch_ * (samples.end - now_.own.begin) / own};
  }

  // The panel of `count` rows that begins at row `panel` of the batch; `left` rows of this worker's share
  // begin with it.
  void PanelForwardAndLoss(size_t panel, size_t count, size_t left, PrefetchQueue queue, LapTimer& timer) {
    GatherTargets(panel, count);
    float* h = h_.mutable_data() + panel * w_.stride;      // (count × hidden)
    float* z = z_.mutable_data() + panel * theta_.stride;  // (count × classes)
    timer.Lap(StepPhase::kDraw);
    Hidden(panel, count, left, h, queue, timer);
    if (spec_.dropout > 0) Drop(h, panel, count);
    kernels_.gemm(
        {count, PadWidth(classes_), hidden_, h, w_.stride, theta_.w.data(), theta_.stride, z, theta_.stride});
    timer.Lap(StepPhase::kLogits);
    panel_loss_[panel / kPanelRows] = LossAndGradient(z, panel, count);
    timer.Lap(StepPhase::kLoss);
    kernels_.gemm({count, PadWidth(hidden_), classes_, z, theta_.stride, theta_t_.data(), w_.stride,
                   dh_.mutable_data() + panel * w_.stride, w_.stride, Finish::kMask, h,
                   1.0f / (1.0f - spec_.dropout)});
    if (!packed_dh_.empty()) {
      kernels_.pack(dh_.data(), w_.stride, batch_, PadWidth(hidden_), panel, panel + count,
                    packed_dh_.mutable_data());
    }
    timer.Lap(StepPhase::kHiddenGradient);
  }

  // Gradients of rows `rows` over the samples of one group, as a rule on the core that has them in its cache.
  void GradientsOfGroup(size_t unit, Range samples, Range rows, LapTimer& timer) {
    if (samples.begin == samples.end) return;
    float* const w = gradients_.Of(unit);
    const auto gradient = [&](const float* a, size_t lda, Range of, const float* d, size_t width,
                              size_t stride, float* out) {
      return GemmArgs{of.end - of.begin,
                      width,
                      samples.end - samples.begin,
                      a + samples.begin * lda + of.begin,
                      lda,
                      d + samples.begin * stride,
                      stride,
                      out + of.begin * stride,
                      stride};
    };
    if (rows.begin < DenseRows()) {
      GemmArgs product = gradient(x_.data(), XStride(), {rows.begin, std::min(rows.end, DenseRows())},
                                  dh_.data(), PadWidth(hidden_), w_.stride, w);
      ReadPackedGradient(samples.begin, product);
      kernels_.gemm_transposed(product);
      timer.Lap(StepPhase::kWeightGradient);
    }
    if (rows.end > DenseRows()) {
      const Range of{std::max(rows.begin, DenseRows()) - DenseRows(), rows.end - DenseRows()};
      kernels_.gemm_transposed(gradient(h_.data(), w_.stride, of, z_.data(), PadWidth(classes_),
                                        theta_.stride, w + PartialOfTheta()));
      timer.Lap(StepPhase::kThetaGradient);
    }
  }
  // W's gradient reads dH in the form in which the panels have left it, from sample `first` of the batch on.
  void ReadPackedGradient(size_t first, GemmArgs& product) const {
    if (packed_dh_.empty()) return;
    product.packed_b = packed_dh_.data();
    product.packed_k = batch_;
    product.packed_begin = first;
  }

  // ReLU(X̂W) of a panel of the batch.
  void Hidden(size_t panel, size_t count, size_t left, float* h, PrefetchQueue queue, LapTimer& timer) {
    const uint32_t* rows = RowsOf(now_.done).data() + panel;
    if (input_.is_sparse) {
      kernels_.sparse_gemm(count, PadWidth(hidden_), SparseRowsOf(rows, left - count), w_.w.data(), w_.stride,
                           h, w_.stride, true);
      timer.Lap(StepPhase::kHidden);
      return;
    }
    float* x = x_.mutable_data() + panel * XStride();
    kernels_.gather(count, features_, input_.data(), input_.type, rows, x, XStride());
    timer.Lap(StepPhase::kGather);
    GemmArgs product{count, PadWidth(hidden_), features_, x, XStride(), w_.w.data(), w_.stride, h, w_.stride};
    product.finish = Finish::kRelu;
    product.prefetch = &queue;
    if (!packed_w_.empty()) product.packed_b = packed_w_.data(), product.packed_k = features_;
    kernels_.gemm(product);
    timer.Lap(StepPhase::kHidden);
  }

  SparseRows SparseRowsOf(const uint32_t* rows, size_t ahead) const {
    return {input_.sparse.indptr.data(), input_.sparse.indices.data(), input_.sparse.values.data(), rows,
            ahead};
  }

  void GatherTargets(size_t panel, size_t count) {
    const uint32_t* drawn = SamplesOf(now_.done).data();
    for (size_t i = panel; i < panel + count; ++i) {
      if (targets_.multilabel) {
        label_targets_[i] = targets_.matrix.data() + size_t{drawn[i]} * classes_;
      } else {
        class_targets_[i] = targets_.classes_of[drawn[i]];
      }
    }
  }

  // Lines of the rows of the panel that comes next: the one at row `next` of the batch, where that is before
  // `end`, else the first of the next task, else this worker's first of the next step.
  PrefetchQueue LinesAfter(const PhaseTask& task, size_t next, size_t end) {
    uint32_t step = now_.step;
    uint64_t done = now_.done;
    if (next >= end) next = UnitBegin(task.next / UnitTasks());
    if (next >= now_.own.end) {
      step = NextStep(step), ++done;
      next = UnitBegin(task.first / UnitTasks());
    }
    const uint32_t* rows = RowsOf(done).data();
    const void** lines = workers_[task.worker].lines.data();
    size_t count = 0;
    for (size_t i = next; i < std::min(next + kPanelRows, SizeOf(step)); ++i) {
      const char* row = static_cast<const char*>(input_.data()) + rows[i] * input_.row_bytes();
      for (size_t at = 0; at < input_.row_bytes(); at += kLine) lines[count++] = row + at;
    }
    return {lines, lines + count};
  }

  void Drop(float* h, size_t panel, size_t count) const {
    const RandomStream stream(spec_.seed, RandomUse::kDropout, spec_.layer, static_cast<uint32_t>(now_.done));
    const float scale = 1.0f / (1.0f - spec_.dropout);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < hidden_; ++j) {
        const bool keep = stream.Uniform((panel + i) * hidden_ + j) >= spec_.dropout;
        h[i * w_.stride + j] = keep ? h[i * w_.stride + j] * scale : 0.0f;
      }
    }
  }

  double LossTerms() {
    return LossTermsOf(targets_, weights_.span(), std::span(SamplesOf(now_.done)).first(SizeOf(now_.step)));
  }

  double LossAndGradient(float* z, size_t panel, size_t count) const {
    const float* weights = weights_.empty() ? nullptr : weights_.data();
    const float scale = 1.0f / static_cast<float>(now_.terms);
    if (targets_.multilabel) {
      return kernels_.sigmoid_loss(count, classes_, theta_.stride, z, label_targets_.data() + panel, weights,
                                   scale, now_.want_loss);
    }
    return kernels_.softmax_loss(count, classes_, theta_.stride, z, class_targets_.data() + panel, weights,
                                 scale, now_.want_loss);
  }

  double BatchLoss() const {
    const auto add = [&](double sum) {
      for (size_t row = now_.own.begin; row < now_.own.end; row += kPanelRows)
        sum += panel_loss_[row / kPanelRows];
      return sum;
    };
    return (spec_.share != nullptr ? spec_.share->SumLosses(add) : add(0)) / now_.terms;
  }

  // Gradients over the whole batch, then Adam: of a sparse layer's cut of W, or of a piece of the rows of W
  // and Θ.
  void UpdateWeights(const PhaseTask& task) {
    LapTimer& timer = workers_[task.worker].timer;
    timer.Lap(StepPhase::kWait);
    const size_t cuts = SparseCuts();
    if (task.task < cuts) return UpdateCut(task.task, timer);
    const Range rows = PieceOf(task.task - cuts);
    const Range next = task.next < task.tasks && task.next >= cuts ? PieceOf(task.next - cuts) : Range{0, 0};
    PrefetchQueue queue;
    if (!now_.by_groups) queue = FirstLines(next, task.worker);
    if (rows.begin < DenseRows()) UpdateW({rows.begin, std::min(rows.end, DenseRows())}, queue, timer);
    if (rows.end > DenseRows()) {
      UpdateTheta({std::max(rows.begin, DenseRows()) - DenseRows(), rows.end - DenseRows()}, queue, timer);
    }
  }
  void UpdateCut(size_t cut, LapTimer& timer) {
    const Range rows{cuts_.features[cut], cuts_.features[cut + 1]};
    SparseGradient(rows, cut);
    timer.Lap(StepPhase::kWeightGradient);
    Update(rows, grad_w_, w_, w_adam_);
    timer.Lap(StepPhase::kUpdate);
  }
  void UpdateW(Range rows, PrefetchQueue& queue, LapTimer& timer) {
    if (now_.by_groups) {
      const size_t at = rows.begin * w_.stride;
      gradients_.Add(at, rows.end * w_.stride - at, grad_w_.mutable_data() + at);
    } else {
      GemmArgs product =
          GradientOf(x_.data(), XStride(), rows, dh_.data(), PadWidth(hidden_), w_, grad_w_, queue);
      ReadPackedGradient(0, product);
      kernels_.gemm_transposed(product);
    }
    timer.Lap(StepPhase::kWeightGradient);
    Update(rows, grad_w_, w_, w_adam_);
    if (!packed_w_.empty()) PackW(rows);
    timer.Lap(StepPhase::kUpdate);
  }
  void UpdateTheta(Range rows, PrefetchQueue& queue, LapTimer& timer) {
    if (now_.by_groups) {
      const size_t at = rows.begin * theta_.stride;
      gradients_.Add(PartialOfTheta() + at, rows.end * theta_.stride - at, grad_theta_.mutable_data() + at);
    } else {
      kernels_.gemm_transposed(
          GradientOf(h_.data(), w_.stride, rows, z_.data(), PadWidth(classes_), theta_, grad_theta_, queue));
    }
    timer.Lap(StepPhase::kThetaGradient);
    Update(rows, grad_theta_, theta_, theta_adam_);
    TransposeTheta(rows);
    timer.Lap(StepPhase::kUpdate);
  }

  // Rows of W that are cut into pieces, before those of Θ.
  size_t DenseRows() const { return input_.is_sparse ? 0 : features_; }
  RowCosts GradientCosts() const { return {DenseRows(), w_.stride, PadWidth(hidden_), theta_.stride}; }
  size_t SparseCuts() const { return input_.is_sparse ? cuts_.workers : 0; }
  Range PieceOf(size_t piece) const { return {piece == 0 ? 0 : row_ends_[piece - 1], row_ends_[piece]}; }
  // Lines that the gradient of these rows needs first.
  PrefetchQueue FirstLines(Range rows, uint32_t worker) {
    const bool of_w = rows.begin < DenseRows();
    if (of_w) rows.end = std::min(rows.end, DenseRows());
    rows.end = std::min(rows.end, rows.begin + kMostRows);  // a share of cheap rows may have longer pieces
    const float* a = of_w ? x_.data() + rows.begin : h_.data() + (rows.begin - DenseRows());
    const size_t stride = of_w ? XStride() : w_.stride;
    const void** lines = workers_[worker].lines.data();
    size_t count = 0;
    for (size_t sample = 0; sample < std::min(SizeOf(now_.step), kFirstSamples); ++sample) {
      for (size_t at = 0; at < rows.end - rows.begin; at += kLine / sizeof(float))
        lines[count++] = a + sample * stride + at;
    }
    return {lines, lines + count};
  }

  // Rows `rows` of grad = Aᵀ·D, A (samples × lda), D (samples × weights.stride, `width` of it used).
  GemmArgs GradientOf(const float* a, size_t lda, Range rows, const float* d, size_t width,
                      const PaddedWeights& weights, Array<float>& grad, PrefetchQueue& queue) const {
    GemmArgs product{rows.end - rows.begin,
                     width,
                     SizeOf(now_.step),
                     a + rows.begin,
                     lda,
                     d,
                     weights.stride,
                     grad.mutable_data() + rows.begin * weights.stride,
                     weights.stride};
    product.prefetch = &queue;
    product.group = groups_.rows();
    return product;
  }

  void SparseGradient(Range rows, size_t cut) {
    float* grad = grad_w_.mutable_data();
    std::fill(grad + rows.begin * w_.stride, grad + rows.end * w_.stride, 0.0f);
    kernels_.sparse_gemm_grad(SizeOf(now_.step), PadWidth(hidden_), SparseRowsOf(RowsOf(now_.done).data(), 0),
                              cuts_.offsets.data() + cut, cuts_.features.size(), dh_.data(), w_.stride, grad,
                              w_.stride);
  }

  void Update(Range rows, const Array<float>& grad, PaddedWeights& weights, const AdamConstants& adam) const {
    const size_t at = rows.begin * weights.stride;
    kernels_.adam((rows.end - rows.begin) * weights.stride, grad.data() + at, weights.w.mutable_data() + at,
                  weights.m.mutable_data() + at, weights.v.mutable_data() + at, adam);
  }

  void PackW(Range rows) {
    kernels_.pack(w_.w.data(), w_.stride, features_, PadWidth(hidden_), rows.begin, rows.end,
                  packed_w_.mutable_data());
  }
  void TransposeTheta(Range rows) {
    float* transposed = theta_t_.mutable_data();
    for (size_t h = rows.begin; h < rows.end; ++h) {
      for (size_t c = 0; c < classes_; ++c) transposed[c * w_.stride + h] = theta_.w[h * theta_.stride + c];
    }
  }

  const CpuKernels& kernels_;
  const StoredMatrix input_;
  const Targets targets_;
  Array<float> weights_;  // (PadWidth(classes)) of targets_, or empty
  const LayerSpec spec_;
  const SampleDraw draw_;
  const uint32_t batch_, steps_;  // of draw_
  const size_t features_, hidden_, classes_;
  PaddedWeights w_;                 // (D × hidden)
  PaddedWeights theta_;             // (PadWidth(hidden) × classes)
  const PaddedWeights none_;        // what this form does not have
  Array<float> theta_t_;            // (classes × hidden), stride of w_
  Array<uint16_t> packed_w_;        // W as products read it, where that is another form; else empty
  Array<uint16_t> packed_dh_;       // the same of a batch's dh_
  uint64_t w_steps_, theta_steps_;  // of Adam, before the layer's first epoch
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
  SampleGroups groups_;             // whose gradients are added up first
  GroupGradients gradients_;        // (PartialFloats() each) once gradients are added up by groups
  FeatureCuts cuts_;                // if sparse
  // How a step is shared out, and where the training is.
  TeamSize team_;
  std::vector<Worker> workers_;   // (team_.most())
  std::vector<size_t> row_ends_;  // where the pieces of W's and Θ's rows end, for cut_for_ workers
  uint32_t cut_for_ = 0;
  Now now_{};
  uint32_t last_epoch_ = 0;  // that is not trained any more
  AdamConstants w_adam_{}, theta_adam_{};
  Stopwatch watch_;  // times the step
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
