// Settings that classification or regression alone has a use for.
#pragma once

#include "l2gcn/config.h"

namespace l2gcn {

// Throws Error(kUsage) for a setting that has no effect on what the labels of `dataset` ask for. ResolveConfig calls it, and
// so does whoever takes a configuration together with a data set.
void CheckTask(const TrainConfig& config, const Dataset& dataset);

}  // namespace l2gcn
