// Ranks that a launcher started, through libl2gcn_mpi.so.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "l2gcn/ranks.h"

namespace l2gcn {

// Whether the environment says that a launcher (mpirun, srun) started this process as one of several. L2GCN_RANKS=alone
// says that this is none of our business.
bool LaunchedBySomething();

// Loads the shared object and joins the others. Null where there is one process only. `report` gets one sentence when a
// rank is lost; the process ends right after.
std::shared_ptr<Ranks> LaunchRanks(std::function<void(const std::string&)> report);

}  // namespace l2gcn
