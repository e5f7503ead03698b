// Rows of any kind times a matrix of weights: dense rows by product.h, sparse ones as sums of the weights' rows by the
// aggregation kernel.
#pragma once

#include <memory>

#include "kernels/cuda/product.h"
#include "kernels/cuda/runtime.h"
#include "l2gcn/array.h"
#include "l2gcn/choices.h"

namespace l2gcn::cuda {

// A matrix on the device as products read it: (depth × width), zero beyond its true size.
struct ProductWeights {
  size_t rows = 0, cols = 0;  // true size
  uint32_t depth = 0, width = 0;
  Buffer values;

  ProductWeights() = default;
  // Room for a matrix of this size.
  ProductWeights(const std::shared_ptr<Device>& device, size_t true_rows, size_t true_cols);
  size_t size() const { return size_t{depth} * width; }
};

ProductWeights UploadWeights(const std::shared_ptr<Device>& device, const Matrix& w);

// out (count rows) = X W or ReLU(X W) of rows first … first + count − 1, counted in `picked`, which names rows of x, or,
// where it is null, in x itself. Nothing is waited for.
void MultiplyRows(const std::shared_ptr<Device>& device, const DeviceRows& x, const uint32_t* picked,
                  size_t first, size_t count, const ProductWeights& w, const DeviceRows& out, bool relu,
                  Precision precision);

}  // namespace l2gcn::cuda
