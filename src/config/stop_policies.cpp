// The table of stop policies. To add one, write its maker in a file of its own, declare it below, and add a
// row.
#include "config/stop_policies.h"

#include <fmt/ranges.h>

#include <vector>

#include "core/error_format.h"

namespace l2gcn {

StopPolicyMaker MakeFixedEpochs, MakeEarlyStopping;  // train/stop_policy.cpp
StopPolicyMaker MakeLearnedStopping;                 // controller/learned_stop.cpp

std::span<const StopPolicyRow> StopPolicies() {
  static constexpr StopPolicyRow kRows[] = {
      {"fixed", "every layer runs all its epochs", MakeFixedEpochs, false},
      {"early", "a layer ends after --patience epochs without a better --watch", MakeEarlyStopping, false},
      {"learned", "a learned controller decides for each layer", MakeLearnedStopping, true},
  };
  return kRows;
}

const StopPolicyRow& FindStopPolicy(const std::string& name) {
  std::vector<std::string> names;
  for (const StopPolicyRow& row : StopPolicies()) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  ThrowUsage("--stop {}: did you mean '{}'? Valid: {}", name, NearestName(name, names),
             fmt::join(names, ", "));
}

}  // namespace l2gcn
