#include "kernels/ranks/step_choice.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sample_groups.h"
#include "kernels/ranks/rank_steps.h"
#include "l2gcn/ranks.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr double kSmallStep = 1e6;  // operations that take less than any exchange
constexpr double kFaster = 0.9;     // of the time alone
constexpr int kStepTurns = 3;
constexpr StepShape kMeasuredStep{602, 128, 41, 1024};
constexpr size_t kFewFloats = 16 << 10, kManyFloats = 256 << 10;  // of gradients
constexpr size_t kGroupsAdded = 8;

// What the slowest rank says.
double SlowestOf(Ranks& ranks, double seconds) {
  std::vector<double> all(ranks.size());
  std::vector<size_t> offsets(ranks.size() + size_t{1});
  for (uint32_t r = 0; r <= ranks.size(); ++r) offsets[r] = r * sizeof(double);
  all[ranks.rank()] = seconds;
  AllGather(ranks, offsets, {reinterpret_cast<char*>(all.data()), all.size() * sizeof(double)});
  return *std::max_element(all.begin(), all.end());
}

// Seconds of the fastest of a few steps on this rank's threads.
double SecondsOfAStep(const Context& context) {
  const auto zeros = [](size_t rows, size_t cols) {
    Matrix matrix = Matrix::Allocate(rows, cols);
    std::fill_n(matrix.values.mutable_data(), rows * cols, 0.0f);
    return matrix;
  };
  const std::unique_ptr<Backend> backend = MakeCpuBackend({});
  const StepShape& shape = kMeasuredStep;
  LayerState start;
  start.Add("weight", zeros(shape.features, shape.hidden));
  start.Add("classifier", zeros(shape.hidden, shape.classes));
  Targets targets;
  targets.classes = static_cast<uint32_t>(shape.classes);
  targets.classes_of = Array<int32_t>::Zeros(shape.batch);
  LayerSpec spec;
  spec.batch = static_cast<uint32_t>(shape.batch);
  const TensorPtr x = backend->Upload(context, Features::Dense(zeros(shape.batch, shape.features)));
  const auto training = backend->BeginLayer(context, x, {}, targets, spec, start);
  double fastest = std::numeric_limits<double>::infinity();
  for (uint32_t epoch = 0; epoch < kStepTurns; ++epoch) {
    double loss = 0;
    const Stopwatch watch;
    training->RunEpochs(context, epoch, 1, {&loss, 1});
    fastest = std::min(fastest, watch.Seconds());
  }
  return fastest;
}

// Seconds of the fastest of a few sums of gradients to which nobody adds.
double SecondsOfASum(const Context& context, size_t floats) {
  RankSteps steps(context.ranks);
  std::vector<float> sum(floats);
  double fastest = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < kStepTurns; ++turn) {
    Barrier(*context.ranks);
    const Stopwatch watch;
    steps.SumGradients(sum, [](size_t, size_t) {});
    fastest = std::min(fastest, watch.Seconds());
  }
  return SlowestOf(*context.ranks, fastest);
}

// Seconds in which this rank adds a few groups' gradients.
double SecondsOfAdding(size_t floats) {
  const CpuKernels& kernels = CpuKernelTable();
  std::vector<float> sum(floats), groups(floats * kGroupsAdded);
  double fastest = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < kStepTurns; ++turn) {
    const Stopwatch watch;
    kernels.add_groups(floats, kGroupsAdded, floats, groups.data(), sum.data());
    fastest = std::min(fastest, watch.Seconds());
  }
  return fastest;
}

Ranks::StepRates MeasuredRates(const Context& context) {
  Ranks::StepRates rates;
  const Context alone = WithoutRanks(context);
  rates.operations = kMeasuredStep.Operations() / SlowestOf(*context.ranks, SecondsOfAStep(alone));
  const double few = SecondsOfASum(context, kFewFloats), many = SecondsOfASum(context, kManyFloats);
  rates.byte_seconds = std::max(0.0, many - few) / ((kManyFloats - kFewFloats) * sizeof(float));
  rates.sum_seconds = std::max(0.0, few - rates.byte_seconds * kFewFloats * sizeof(float));
  rates.add_seconds =
      SlowestOf(*context.ranks, SecondsOfAdding(kManyFloats)) / (kGroupsAdded * kManyFloats * sizeof(float));
  return rates;
}

}  // namespace

double StepShape::Operations() const {
  const auto d = static_cast<double>(features), h = static_cast<double>(hidden),
             c = static_cast<double>(classes);
  return static_cast<double>(batch) * (4 * d * h + 6 * h * c);
}

size_t StepShape::GradientBytes() const {
  return sizeof(float) * (features * PadStride(hidden) + PadWidth(hidden) * PadStride(classes));
}

StepChoice ChooseSteps(const Context& context, const StepShape& shape) {
  StepChoice choice;
  choice.possible = true;
  const StepSharing asked = Agreed(context, context.steps);
  choice.shared = asked == StepSharing::kShared;
  if (asked != StepSharing::kAuto || shape.Operations() < kSmallStep) return choice;
  Ranks& ranks = *context.ranks;
  if (!ranks.step_rates()) ranks.KeepStepRates(MeasuredRates(context));
  const Ranks::StepRates& rates = *ranks.step_rates();
  const size_t rows = SampleGroups::GroupRows(shape.batch), groups = (shape.batch + rows - 1) / rows;
  const auto most = static_cast<double>(SampleGroups::Begin(groups, 1, ranks.size()));  // of one rank
  choice.alone_seconds = shape.Operations() / rates.operations;
  choice.shared_seconds =
      choice.alone_seconds * most / static_cast<double>(groups) + rates.sum_seconds +
      (rates.byte_seconds + most * rates.add_seconds) * static_cast<double>(shape.GradientBytes());
  choice.shared = choice.shared_seconds < kFaster * choice.alone_seconds;
  return choice;
}

}  // namespace l2gcn
