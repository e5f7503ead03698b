// Trains every method on one data set and measures it: F1 over seeds, seconds, seconds to a given F1, memory.
//
// Clock and memory are taken from trainings that score nothing. The time to an F1 comes from one more
// training of the first seed that scores the validation nodes off the clock and ends when the score is
// reached. The kernel's high-water mark is reset before each training, so a method's peak is its own.
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "config/methods.h"
#include "config/setting_uses.h"
#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/work_parts.h"
#include "l2gcn/ranks.h"
#include "report/comparison.h"
#include "report/measured.h"
#include "run/evaluation.h"
#include "run/job.h"
#include "run/run_lock.h"
#include "run/train_seed.h"

namespace l2gcn {
namespace {

constexpr double kEqual = 0.005;  // "equal F1": within half a point

double TrainSeconds(const SeedResult::Seconds& s) { return s.aggregate + s.train + s.transform; }

// Lets the method's own policy decide, but ends the training when its clock or its goal is reached.
class LimitedPolicy final : public StopPolicy {
 public:
  LimitedPolicy(StopPolicy& inner, double max_seconds, double goal)
      : inner_(inner), max_seconds_(max_seconds), goal_(goal) {}

  void BeginLayer(const LayerView& view) override {
    if (view.layer == 0) before_ += std::exchange(seconds_, 0);  // one network of several begins
    inner_.BeginLayer(view);
    stopped_ = false;
    next_ = std::max(1u, inner_.EpochsUntilDecision(0));
  }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override {
    return watches() ? 1 : std::max(1u, inner_.EpochsUntilDecision(epoch));
  }
  Decision Decide(const Observation& observation) override {
    seconds_ = observation.seconds;
    if (max_seconds_ > 0 && before_ + seconds_ > max_seconds_) out_of_time_ = true;
    if (goal_ > 0 && observation.validation.f1 >= goal_) reached_ = true;
    if (out_of_time_ || reached_) return {true};
    if (watches() && !stopped_ && observation.epoch < next_) return {};
    const Decision decision = inner_.Decide(observation);
    stopped_ = decision.stop;
    next_ = observation.epoch + std::max(1u, inner_.EpochsUntilDecision(observation.epoch));
    return decision;
  }
  bool WantsValidation() const override { return inner_.WantsValidation(); }
  bool WantsNodeLosses() const override { return inner_.WantsNodeLosses(); }
  bool KeepsBest() const override { return inner_.KeepsBest(); }
  std::string Name() const override { return out_of_time_ ? "clock" : reached_ ? "goal" : inner_.Name(); }
  bool out_of_time() const { return out_of_time_; }

 private:
  bool watches() const { return max_seconds_ > 0 || goal_ > 0; }

  StopPolicy& inner_;
  double max_seconds_, goal_;
  double before_ = 0, seconds_ = 0;  // on the clock, of the networks before and of the present one
  uint32_t next_ = 1;
  bool stopped_ = false;  // the inner policy did, and is asked once more when the layer has landed
  bool out_of_time_ = false, reached_ = false;
};

struct Mean {
  double sum = 0, squares = 0;
  uint32_t count = 0;
  void Add(double value) { sum += value, squares += value * value, ++count; }
  double mean() const { return count > 0 ? sum / count : 0; }
  double deviation() const {
    return count > 1 ? std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1))) : 0;
  }
};

bool FindsRates(const std::string& method) { return FindMethod(method).loop == TrainingLoop::kLayerwise; }

// What the user said, less the settings this method does not have. A rate that only layers can be found for leaves the
// others theirs.
TrainConfig ConfigOf(const CompareOptions& options, const std::string& method, const Dataset& dataset) {
  Overrides mine = {{"method", method}}, conditional;
  for (const auto& [name, value] : options.overrides) {
    const Field& field = FindField(name);
    const bool has = field.methods.empty() || std::find(field.methods.begin(), field.methods.end(),
                                                        FindMethod(method).name) != field.methods.end();
    const bool found = field.name == "lr" && value == field.word && !FindsRates(method);
    if (field.name == "method" || !has || found) continue;
    (IsConditional(name) ? conditional : mine).emplace_back(name, value);
  }
  if (conditional.empty()) return ResolveConfig(mine, dataset);
  const TrainConfig without = ResolveConfig(mine, dataset);
  for (const auto& one : conditional) {
    if (NeededFor(one.first, without).empty()) mine.push_back(one);
  }
  return ResolveConfig(mine, dataset);
}

// A setting must have a use for at least one of the methods.
void RefuseUseless(const CompareOptions& options) {
  for (const auto& [name, value] : options.overrides) {
    const std::vector<std::string>& takers = FindField(name).methods;
    const bool used =
        takers.empty() || std::any_of(takers.begin(), takers.end(), [&](const std::string& one) {
          return std::any_of(options.methods.begin(), options.methods.end(),
                             [&](const std::string& method) { return FindMethod(method).name == one; });
        });
    if (!used) {
      ThrowUsage("--{} {}: none of --methods {} has a use for it; it is for {}", FindField(name).name, value,
                 fmt::join(options.methods, ","), fmt::join(takers, ", "));
    }
    if (FindField(name).name == "method")
      ThrowUsage("--method {}: compare takes several, separated by commas: --methods {}", value, value);
  }
}

// The same of settings whose effect depends on others.
void RefuseConditional(const CompareOptions& options, const std::vector<TrainConfig>& configs) {
  for (const auto& [name, value] : options.overrides) {
    const bool used = std::any_of(configs.begin(), configs.end(), [&name = name](const TrainConfig& config) {
      return NeededFor(name, config).empty();
    });
    if (!used)
      ThrowUsage("--{} {} has no effect without {}, which none of the methods has", FindField(name).name,
                 value, NeededFor(name, configs.front()));
  }
}

// Trains and scores one seed; scoring does not count for its peak memory.
MeasuredSeed MeasureSeed(const Context& context, const Dataset& dataset, const TrainConfig& config,
                         const CompareOptions& options) {
  malloc_trim(0);
  ResetPeakResidentBytes();
  const uint64_t before = ResidentBytes();
  const Job job = MakeJob(context, dataset, config);
  const auto inner = MakeStopPolicy(job);
  LimitedPolicy policy(*inner, options.max_seconds, 0);
  TrainedSeed seed = FitMethod(job, policy);
  SeedResult& result = seed.trained.result;
  const uint64_t peak = result.peak_rss_bytes;
  Evaluate(job.context, job.dataset, std::move(seed.pipeline), seed.trained);
  result.peak_rss_bytes = peak;
  return {std::move(result), peak > before ? peak - before : 0, policy.out_of_time()};
}

// All seeds of one method, as they were measured.
CompareRow RowOf(const std::string& method, const TrainConfig& config, const CompareOptions& options,
                 std::span<const MeasuredSeed> seeds) {
  CompareRow row;
  row.method = method;
  row.config = config;
  row.runs = options.runs;
  Mean f1, f1_val, seconds, setup, epochs;
  for (uint32_t i = 0; i < options.runs; ++i) {
    const SeedResult& result = seeds[i].result;
    row.peak_rss_bytes = std::max(row.peak_rss_bytes, result.peak_rss_bytes);
    row.training_bytes = std::max(row.training_bytes, seeds[i].training_bytes);
    row.peak_device_bytes = std::max(row.peak_device_bytes, result.peak_device_bytes);
    row.sampler_bytes = std::max(row.sampler_bytes, result.sampler_bytes);
    row.stopped_by_clock = row.stopped_by_clock || seeds[i].out_of_time;
    seconds.Add(TrainSeconds(result.seconds));
    setup.Add(result.seconds.setup);
    uint32_t total = 0;
    for (const SeedResult::Layer& layer : result.layers) total += layer.epochs;
    epochs.Add(total);
    if (i == 0) {
      for (const SeedResult::Layer& layer : result.layers) row.losses.push_back(layer.losses);
    }
    f1.Add(result.f1_test);
    f1_val.Add(result.f1_val);
  }
  row.f1 = f1.mean();
  row.f1_sd = f1.deviation();
  row.f1_val = f1_val.mean();
  row.seconds = seconds.mean();
  row.seconds_sd = seconds.deviation();
  row.setup_seconds = setup.mean();
  row.epochs = epochs.mean();
  return row;
}

// A training that need not go on once it has reached `goal`.
MeasuredSeed TrainTowards(const Context& context, const Dataset& dataset, double goal,
                          const CompareOptions& options, const TrainConfig& config) {
  const Job job = MakeJob(context, dataset, config);
  const auto inner = MakeStopPolicy(job);
  // Layers of layer-wise training follow each other: only a training whose layers learn together may end
  // early.
  const bool together = FindMethod(config.method).loop == TrainingLoop::kConventional;
  LimitedPolicy policy(*inner, options.max_seconds, together ? goal : 0);
  return {FitMethod(job, policy).trained.result, 0, policy.out_of_time()};
}

// Seconds until the validation score first reaches `goal`.
void TimeTo(double goal, const MeasuredSeed& measured, CompareRow& row) {
  row.target_f1 = goal;
  row.validation = measured.result.validation;
  for (const SeedResult::ValidationPoint& point : row.validation) {
    if (point.f1 >= goal) {
      row.seconds_to_f1 = point.seconds;
      return;
    }
  }
}

}  // namespace

Comparison MeasureComparison(const Context& context, const Dataset& dataset, const CompareOptions& options,
                             const std::string& keep) {
  if (options.methods.empty())
    ThrowUsage("--methods: name at least one, e.g. {}", fmt::join(ComparedMethods(), ","));
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  if (dataset.labels.task() == Task::kRegression)
    ThrowUsage(
        "compare: {} has targets of a regression, which only layer-wise training learns; use l2gcn train",
        dataset.name);
  RefuseUseless(options);
  std::vector<TrainConfig> configs;
  Context chosen = context;  // one device for all methods
  for (const std::string& method : options.methods) {
    configs.push_back(ConfigOf(options, method, dataset));
    chosen = OnDeviceOf(chosen, method);
  }
  RefuseConditional(options, configs);
  Comparison comparison;
  comparison.dataset_name = dataset.name;
  comparison.dataset_json = DescribeDatasetJson(dataset);
  comparison.dataset_format = dataset.format;
  comparison.device = DeviceName(chosen.device);
  comparison.threads = context.threads;
  const MeasuredSeeds kept(chosen, keep, dataset);
  CheckSameData(context, dataset);
  std::vector<TrainConfig> seeded, timed;
  for (const TrainConfig& config : configs) {
    for (uint32_t i = 0; i < options.runs; ++i) {
      seeded.push_back(config);
      seeded.back().seed = config.seed + i;
    }
    timed.push_back(config);
    timed.back().val_every = 1;
  }
  WorkParts methods("method", configs.size()), timings("timing", configs.size());
  std::vector<WorkParts> seeds_of(configs.size(), WorkParts("seed", options.runs));
  const std::vector<MeasuredSeed> seeds = kept.Measure(
      fmt::format("seed, at most {} s", options.max_seconds), seeded, [&](const Context& alone, size_t at) {
        const TrainConfig& config = seeded[at];
        const size_t method = at / options.runs;
        alone.Note(
            fmt::format("compare: {} on {}, seed {}", options.methods[method], dataset.name, config.seed));
        const Context part = seeds_of[method].Part(methods.Part(alone, method), at % options.runs);
        return MeasureSeed(part, dataset, config, options);
      });
  for (size_t i = 0; i < configs.size(); ++i)
    comparison.rows.push_back(RowOf(options.methods[i], configs[i], options,
                                    std::span(seeds).subspan(i * options.runs, options.runs)));
  const double goal = options.equal_f1 ? comparison.rows.front().f1_val - kEqual : options.to_f1;
  if (goal <= 0) return comparison;
  const std::vector<MeasuredSeed> times =
      kept.Measure(fmt::format("time to {}, at most {} s", goal, options.max_seconds), timed,
                   [&](const Context& alone, size_t at) {
                     return TrainTowards(timings.Part(alone, at), dataset, goal, options, timed[at]);
                   });
  for (size_t i = 0; i < configs.size(); ++i) TimeTo(goal, times[i], comparison.rows[i]);
  return comparison;
}

}  // namespace l2gcn
