// Methods side by side on the same data, kernels and clock: what `compare` prints and `reproduce` builds on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/train.h"

namespace l2gcn {

struct CompareOptions {
  std::vector<std::string> methods;
  uint32_t runs = 1;         // seeds config.seed … + runs − 1
  Overrides overrides;       // hold for every method that has the setting
  double to_f1 = 0;          // validation F1 (a fraction) whose first reaching is timed; 0: equal_f1 decides
  bool equal_f1 = false;     // time the first validation score within 0.005 of the first method's final one
  uint32_t score_every = 1;  // epochs between two validation scores of that timing
  double max_seconds = 0;    // a training is stopped past this much of its own clock; 0: none
  std::string keep;  // folder where each training is kept once it is measured, and found again; "": none
};

class RunLock;

// A comparison's folder in the making: result.json and comparison.txt appear together when all is measured,
// and until then what was measured is kept beside it (run/run_lock.h).
class ComparisonFolder {
 public:
  // Takes the name, or takes up what was left. Throws Error(kUsage) as for a run.
  ComparisonFolder(const std::string& folder, bool force, bool resume);
  std::string keep() const;  // for CompareOptions
  // `figures`: (name, content) of files that go beside them.
  void Commit(const std::string& json, const std::string& text,
              const std::vector<std::pair<std::string, std::string>>& figures = {});

 private:
  std::shared_ptr<RunLock> lock_;
};

// One method's figures; means and sample standard deviations over seeds.
struct CompareRow {
  std::string method;
  TrainConfig config;
  uint32_t runs = 0;
  double f1 = 0, f1_sd = 0;            // test, micro, a fraction
  double f1_val = 0;                   // mean
  double seconds = 0, seconds_sd = 0;  // aggregation + training + transformation
  double setup_seconds = 0;            // partitions, distributions, uploads: not in seconds
  double epochs = 0;                   // summed over all layers
  double seconds_to_f1 =
      -1;  // when a validation score first reached target_f1; −1: never, or there is no target
  double target_f1 = 0;
  uint64_t peak_rss_bytes = 0;  // of the whole process while it trained; scoring is left out
  uint64_t training_bytes = 0;  // the same less what was resident before it began: the data set
  uint64_t peak_device_bytes = 0;
  uint64_t sampler_bytes = 0;     // what a method keeps from step to step: histories, whole-graph blocks
  bool stopped_by_clock = false;  // max_seconds ended at least one training
  std::vector<ValidationPoint> validation;
  std::vector<std::vector<double>> losses;  // of each layer and epoch, for the first seed
};

struct Comparison {
  std::string dataset_name, dataset_json, dataset_format;
  std::string device;
  uint32_t threads = 1;
  std::vector<CompareRow> rows;
};

// Throws Error(kUsage) for an unknown method (naming the nearest) or one without a part for the context's
// device.
Comparison Compare(const Context& context, const Dataset& dataset, const CompareOptions& options);

std::string ComparisonToText(const Comparison& comparison);
std::string ComparisonToJson(const Comparison& comparison);
std::string ComparisonToCsv(const Comparison& comparison);

// (name, content) of SVG files. One comparison: F1 and memory against training time. Several:
// training time against what was varied ("layers" or "nodes"), whose values are `at`.
std::vector<std::pair<std::string, std::string>> ComparisonFigures(const std::vector<Comparison>& all,
                                                                   const std::string& varied,
                                                                   const std::vector<double>& at);

}  // namespace l2gcn
