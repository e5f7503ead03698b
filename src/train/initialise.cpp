#include "train/initialise.h"

#include <cmath>

namespace l2gcn {

Matrix InitialWeights(size_t rows, size_t cols, bool xavier, const RandomStream& stream) {
  const double fan_in = static_cast<double>(rows), fan_out = static_cast<double>(cols);
  const double bound = xavier ? std::sqrt(6 / (fan_in + fan_out)) : 1 / std::sqrt(fan_in);
  Matrix out = Matrix::Allocate(rows, cols);
  float* values = out.values.mutable_data();
  for (size_t i = 0; i < rows * cols; ++i)
    values[i] = (2 * stream.Uniform(i) - 1) * static_cast<float>(bound);
  return out;
}

}  // namespace l2gcn
