// RUN [DATASET], as evaluate, predict and embed take it: a trained model and the data set to apply it to.
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/train.h"
#include "options.h"

namespace l2gcn::cli {

struct RunDataOptions {
  std::string run;
  DataOptions data;
  int64_t seed = -1;  // −1: the best on validation

  void AddTo(CLI::App& command);
};

struct RunData {
  OpenedRun run;
  Dataset dataset;
};

// Opens both; without DATASET, the one the run was trained on, opened the same way.
RunData OpenRunData(const Context& context, const RunDataOptions& options, const CLI::App& command);

}  // namespace l2gcn::cli
