// The device-side part of a TrainConfig.
#pragma once

#include "kernels/backend.h"
#include "l2gcn/config.h"

namespace l2gcn {

BackendOptions BackendOptionsOf(const TrainConfig& config);

}  // namespace l2gcn
