// Trains every method on one data set and measures it: F1 over seeds, seconds, seconds to a given F1, memory.
//
// Clock and memory are taken from trainings that score nothing. The time to an F1 comes from one more
// training of the first seed that scores the validation nodes off the clock and ends when the score is
// reached. The kernel's high-water mark is reset before each training, so a method's peak is its own.
#include "l2gcn/compare.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error_format.h"
#include "core/memory_meter.h"
#include "run/trainer_choice.h"

namespace l2gcn {
namespace {

constexpr double kEqual = 0.005;  // "equal F1": within half a point

double TrainSeconds(const PhaseSeconds& s) { return s.aggregate + s.train + s.transform; }

// Lets the method's own policy decide, but ends the training when its clock or its goal is reached.
class LimitedPolicy final : public StopPolicy {
 public:
  LimitedPolicy(StopPolicy& inner, double max_seconds, double goal)
      : inner_(inner), max_seconds_(max_seconds), goal_(goal) {}

  void BeginLayer(const LayerView& view) override {
    if (view.layer == 0) before_ += std::exchange(seconds_, 0);  // one network of several begins
    inner_.BeginLayer(view);
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
    if (watches() && observation.epoch < next_) return {};
    const Decision decision = inner_.Decide(observation);
    next_ = observation.epoch + std::max(1u, inner_.EpochsUntilDecision(observation.epoch));
    return decision;
  }
  bool WantsValidation() const override { return inner_.WantsValidation(); }
  bool KeepsBest() const override { return inner_.KeepsBest(); }
  std::string Name() const override { return out_of_time_ ? "clock" : reached_ ? "goal" : inner_.Name(); }
  bool out_of_time() const { return out_of_time_; }

 private:
  bool watches() const { return max_seconds_ > 0 || goal_ > 0; }

  StopPolicy& inner_;
  double max_seconds_, goal_;
  double before_ = 0, seconds_ = 0;  // on the clock, of the networks before and of the present one
  uint32_t next_ = 1;
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

// What the user said, less the settings this method does not have.
TrainConfig ConfigOf(const CompareOptions& options, const std::string& method, const Dataset& dataset) {
  Overrides mine = {{"method", method}};
  for (const auto& [name, value] : options.overrides) {
    const Field& field = FindField(name);
    const bool has = field.methods.empty() ||
                     std::find(field.methods.begin(), field.methods.end(), method) != field.methods.end();
    if (field.name != "method" && has) mine.emplace_back(name, value);
  }
  return ResolveConfig(mine, dataset);
}

// All seeds of one method, unscored.
CompareRow Measure(const Context& context, const Dataset& dataset, const TrainConfig& config,
                   const CompareOptions& options) {
  CompareRow row;
  row.method = config.method;
  row.config = config;
  row.runs = options.runs;
  Mean f1, f1_val, seconds, setup, epochs;
  for (uint32_t i = 0; i < options.runs; ++i) {
    TrainConfig seeded = config;
    seeded.seed = config.seed + i;
    malloc_trim(0);
    ResetPeakResidentBytes();
    const uint64_t before = ResidentBytes();
    const auto inner = MakeStopPolicy(seeded, dataset);
    LimitedPolicy policy(*inner, options.max_seconds, 0);
    Trained trained = Train(context, dataset, seeded, policy);
    const SeedResult& result = trained.result;
    row.peak_rss_bytes = std::max(row.peak_rss_bytes, result.peak_rss_bytes);
    row.training_bytes =
        std::max(row.training_bytes, result.peak_rss_bytes > before ? result.peak_rss_bytes - before : 0);
    row.peak_device_bytes = std::max(row.peak_device_bytes, result.peak_device_bytes);
    row.sampler_bytes = std::max(row.sampler_bytes, result.sampler_bytes);
    row.stopped_by_clock = row.stopped_by_clock || policy.out_of_time();
    seconds.Add(TrainSeconds(result.seconds));
    setup.Add(result.seconds.setup);
    uint32_t total = 0;
    for (const LayerRecord& layer : result.layers) total += layer.epochs;
    epochs.Add(total);
    if (i == 0) {
      for (const LayerRecord& layer : result.layers) row.losses.push_back(layer.losses);
    }
    EvaluateTrained(context, dataset, trained);
    f1.Add(trained.result.f1_test);
    f1_val.Add(trained.result.f1_val);
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

// Seconds until the validation score first reaches `goal`.
void TimeTo(const Context& context, const Dataset& dataset, double goal, const CompareOptions& options,
            CompareRow& row) {
  TrainConfig config = row.config;
  config.val_every = options.score_every;
  const auto inner = MakeStopPolicy(config, dataset);
  // Layers of layer-wise training follow each other: only a training whose layers learn together may end
  // early.
  LimitedPolicy policy(*inner, options.max_seconds, TrainsLayerwise(config.method) ? 0 : goal);
  const Trained trained = Train(context, dataset, config, policy);
  row.target_f1 = goal;
  row.validation = trained.result.validation;
  for (const ValidationPoint& point : row.validation) {
    if (point.f1 >= goal) {
      row.seconds_to_f1 = point.seconds;
      return;
    }
  }
}

}  // namespace

Comparison Compare(const Context& context, const Dataset& dataset, const CompareOptions& options) {
  if (options.methods.empty()) ThrowUsage("--methods: name at least one, e.g. lgcn,gcn,graphsage");
  if (options.runs == 0) ThrowUsage("--runs 0: expected at least 1");
  std::vector<TrainConfig> configs;
  Context capable = context;  // one device, which every method can use
  for (const std::string& method : options.methods) {
    configs.push_back(ConfigOf(options, method, dataset));
    capable = OnCapableDevice(capable, method);
  }
  Comparison comparison;
  comparison.dataset_name = dataset.name;
  comparison.dataset_json = DescribeDatasetJson(dataset);
  comparison.dataset_format = dataset.format;
  comparison.device = capable.device == DeviceKind::kCuda ? "cuda" : "cpu";
  comparison.threads = context.threads;
  for (const TrainConfig& config : configs) {
    context.Note(fmt::format("compare: {} on {}", config.method, dataset.name));
    comparison.rows.push_back(Measure(capable, dataset, config, options));
    const double goal = options.equal_f1 ? comparison.rows.front().f1_val - kEqual : options.to_f1;
    if (goal > 0) TimeTo(capable, dataset, goal, options, comparison.rows.back());
  }
  return comparison;
}

}  // namespace l2gcn
