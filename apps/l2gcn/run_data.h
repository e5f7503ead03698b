// RUN [DATASET], as evaluate, predict and embed take it: a trained model and the data set to apply it to.
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/train.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {

struct RunDataOptions {
  std::string run;
  DataOptions data;
  int64_t seed = -1;  // −1: the best on validation

  void AddTo(Command& command);
};

struct RunData {
  OpenedRun run;
  Dataset dataset;
  bool same = false;  // the data set is the one the run was trained on, not another that the user named
};

// The parts of the data set as the run knows them: the stored ones where it is the set that was trained on,
// those of its own that go by the same name otherwise; no roles where neither is there. Runs that stored no
// parts drew them again.
Split PartsOfRun(const RunData& opened);

// Opens both; without DATASET, the one the run was trained on, opened the same way.
RunData OpenRunData(const Context& context, const RunDataOptions& options, const Command& command);

// Program::PrintedPlan of scoring every node.
bool PrintedPlan(Program& program, const Context& context, const RunData& opened);

}  // namespace l2gcn::cli
