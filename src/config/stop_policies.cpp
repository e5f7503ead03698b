// The table of stop policies. To add one, write its maker in a file of its own, declare it below, and add a
// row.
#include "config/stop_policies.h"

#include "core/error_format.h"

namespace l2gcn {

StopPolicyMaker MakeFixedEpochs, MakeEarlyStopping;  // train/stop_policy.cpp
StopPolicyMaker MakePlateauStopping;                 // train/plateau_stopping.cpp
StopPolicyMaker MakeControllerStopping;              // controller/learned_stop.cpp

const StopPolicyRow& StopPolicyOf(StopRule rule) {
  static constexpr StopPolicyRow kRows[] = {
      {StopRule::kFixed, MakeFixedEpochs, false},
      {StopRule::kEarly, MakeEarlyStopping, false},
      {StopRule::kController, MakeControllerStopping, true},
      {StopRule::kPlateau, MakePlateauStopping, true},
  };
  for (const StopPolicyRow& row : kRows) {
    if (row.rule == rule) return row;
  }
  L2GCN_ASSERT(false);
}

}  // namespace l2gcn
