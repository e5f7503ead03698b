// The names that DATASET accepts, and where each is stored.
#pragma once

#include "l2gcn/dataset.h"
#include "program.h"

namespace l2gcn::cli {

void ShowKnownDatasets(Program& program, const OpenOptions& open);

}  // namespace l2gcn::cli
