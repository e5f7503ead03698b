#include "kernels/cuda/row_product.h"

#include <cstring>
#include <vector>

#include "kernels/cuda/tensor.h"

namespace l2gcn::cuda {
namespace {

uint32_t RoundUp(size_t value, uint32_t step) {
  return static_cast<uint32_t>((value + step - 1) / step * step);
}

void MultiplySparseRows(const std::shared_ptr<Device>& device, const DeviceRows& x, const uint32_t* picked,
                        size_t count, const ProductWeights& w, const DeviceRows& out, bool relu) {
  AggregateArguments a;
  a.nodes = static_cast<uint32_t>(count);
  a.indptr = x.indptr;
  a.indices = x.columns;
  a.weights = x.values;
  a.picked = picked;
  const DeviceRows from{RowKind::kF32, w.values.as<void>(), w.width};
  const auto columns = static_cast<uint32_t>(out.stride);
  if (out.kind == RowKind::kF32) return LaunchAggregate(a, from, out, columns, relu, device->stream());
  const auto product = NewDense(device, count, w.cols, RowKind::kF32);
  LaunchAggregate(a, from, product->view, columns, relu, device->stream());
  LaunchCopyColumns(product->view, 0, out, count, columns, device->stream());
}

}  // namespace

ProductWeights::ProductWeights(const std::shared_ptr<Device>& device, size_t true_rows, size_t true_cols)
    : rows(true_rows),
      cols(true_cols),
      depth(RoundUp(PaddedStride(true_rows), kProductDepth)),
      width(RoundUp(true_cols, kProductColumns)),
      values(Buffer::OnDevice(device, size() * sizeof(float), "weights")) {}

ProductWeights UploadWeights(const std::shared_ptr<Device>& device, const Matrix& w) {
  ProductWeights weights(device, w.rows, w.cols);
  std::vector<float> padded(weights.size(), 0.0f);
  for (size_t i = 0; i < w.rows; ++i)
    std::memcpy(padded.data() + i * weights.width, w.row(i), w.cols * sizeof(float));
  weights.values.CopyFrom(padded.data(), padded.size() * sizeof(float));
  return weights;
}

void MultiplyRows(const std::shared_ptr<Device>& device, const DeviceRows& x, const uint32_t* picked,
                  size_t first, size_t count, const ProductWeights& w, const DeviceRows& out, bool relu,
                  Precision precision) {
  DeviceRows from = x;
  if (picked != nullptr) {
    picked += first;
  } else if (x.kind == RowKind::kSparse) {
    from.indptr += first;
  } else {
    from.dense = static_cast<char*>(x.dense) + first * x.stride * ElementBytes(x.kind);
  }
  if (x.kind == RowKind::kSparse) return MultiplySparseRows(device, from, picked, count, w, out, relu);
  LaunchProduct(from, picked, count, w.values.as<float>(), w.depth, w.width, out, relu, precision,
                device->stream());
}

}  // namespace l2gcn::cuda
