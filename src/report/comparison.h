// One comparison: methods that were trained on one data set, and what was measured of each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/compare.h"
#include "l2gcn/train.h"

namespace l2gcn {

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
  std::vector<SeedResult::ValidationPoint> validation;
  std::vector<std::vector<double>> losses;  // of each layer and epoch, for the first seed
};

struct Comparison {
  std::string dataset_name, dataset_json, dataset_format;
  std::string device;
  uint32_t threads = 1;
  std::vector<CompareRow> rows;
};

// One comparison by these options, whatever they vary. Trainings are kept in folder `keep` once they are measured, and
// found there again; "": nowhere.
Comparison MeasureComparison(const Context& context, const Dataset& dataset, const CompareOptions& options,
                             const std::string& keep = "");

std::string ComparisonToText(const Comparison& comparison);
std::string ComparisonToJson(const Comparison& comparison);
std::string ComparisonToCsv(const Comparison& comparison);

// (name, content) of SVG files. One comparison: F1 and memory against training time. Several:
// training time against what was varied ("layers" or "nodes"), whose values are `at`.
std::vector<std::pair<std::string, std::string>> ComparisonFigures(const std::vector<Comparison>& all,
                                                                   const std::string& varied,
                                                                   const std::vector<uint64_t>& at);

}  // namespace l2gcn
