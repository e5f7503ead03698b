// Initial weights. Element i of a matrix is the i-th number of its own random stream, so the start
// depends on the seed and the layer alone.
#pragma once

#include "core/rng.h"
#include "l2gcn/array.h"
#include "l2gcn/choices.h"

namespace l2gcn {

Matrix InitialWeights(size_t rows, size_t cols, bool xavier, const RandomStream& stream);

}  // namespace l2gcn
