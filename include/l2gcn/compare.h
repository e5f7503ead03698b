// Methods side by side on the same data, kernels and clock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// What a comparison or a reproduction found.
struct Study {
  std::string text;                                        // tables as people read them
  std::string json, csv;                                   // the same figures; csv of comparisons alone
  std::vector<std::pair<std::string, std::string>> files;  // (name, content) of figures, SVG
};

struct CompareOptions {
  std::vector<std::string> methods;
  uint32_t runs = 1;       // seeds config.seed … + runs − 1
  Overrides overrides;     // hold for every method that has the setting
  double to_f1 = 0;        // validation F1 (a fraction) whose first reaching is timed; 0: equal_f1 decides
  bool equal_f1 = false;   // time the first validation score within 0.005 of the first method's final one
  double max_seconds = 0;  // a training is stopped past this much of its own clock; 0: none
  // What grows from one comparison to the next, "layers" or "nodes" (of a generated shape), and its values; "": there is
  // one comparison.
  std::string vary;
  std::vector<uint64_t> values;
  // Folder for result.json, comparison.txt and figures, which appear together when all is measured. Until then finished
  // trainings are kept beside it. "": none.
  std::string folder;
  bool force = false;   // replace an existing folder
  bool resume = false;  // go on with what is kept beside it
};

// Throws Error(kUsage) for an unknown method (naming the nearest) or one without a part for the context's device.
Study Compare(const Context& context, const Dataset& dataset, const CompareOptions& options);
// The same on what OpenForRanks opens; "nodes" can vary where `spec` is synthetic:SHAPE.
Study Compare(const Context& context, const std::string& spec, const OpenOptions& open,
              const CompareOptions& options);

}  // namespace l2gcn
