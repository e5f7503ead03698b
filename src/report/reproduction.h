// What can be reproduced, on which data, and the folder that a reproduction is written to.
#pragma once

#include <string>

#include "l2gcn/reproduce.h"

namespace l2gcn {

// Throws Error(kUsage) for an unknown target or set, naming the nearest, and for an option the target has no use for.
void CheckReproduction(const ReproduceOptions& options);

// Makes sure that the folder can be written. Returns where trainings are kept until all is done; what an earlier
// reproduction of the target kept there is dropped unless options.resume.
std::string BeginReproduction(const ReproduceOptions& options);
void WriteReproduction(const Study& study, const ReproduceOptions& options);

}  // namespace l2gcn
