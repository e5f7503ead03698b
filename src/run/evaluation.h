// What a trained network is worth on each part of its split.
#pragma once

#include "l2gcn/train.h"

namespace l2gcn {

// The name of the split and the nodes in each of its parts, to `result`.
void CountParts(const Dataset& dataset, const Split& split, SeedResult& result);

}  // namespace l2gcn
