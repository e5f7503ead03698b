// Whether the memory there is can do for a training, said before it begins.
#pragma once

#include <cstdint>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Bytes a training needs besides the data set, at the very least: in layer-wise training, what the first
// layer reads and what it leaves, for every node it holds; 0 where nothing certain can be said. A lower
// bound: less cannot do.
uint64_t LeastTrainingBytes(const Dataset& dataset, const TrainConfig& config);

// Throws Error(kUsage) with the figures if the process cannot have that much.
void RefuseWithoutMemory(const Context& context, const Dataset& dataset, const TrainConfig& config);

}  // namespace l2gcn
