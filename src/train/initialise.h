// Where weights start. Element i of a matrix is the i-th number of its own random stream, so the start
// depends on the seed and the layer alone.
#pragma once

#include <string>

#include "core/rng.h"
#include "l2gcn/array.h"

namespace l2gcn {

enum class Init {
  kFanIn,   // uniform in ±1/√fan_in
  kXavier,  // uniform in ±√(6 / (fan_in + fan_out))
};

Init ParseInit(const std::string& name);
Matrix InitialWeights(size_t rows, size_t cols, Init init, const RandomStream& stream);

}  // namespace l2gcn
