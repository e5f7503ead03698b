// Tensors and graphs on the device, and how they get there.
#pragma once

#include <memory>
#include <span>

#include "core/block_pool.h"
#include "kernels/backend.h"
#include "kernels/cuda/aggregate.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/upload.h"

namespace l2gcn::cuda {

struct CudaTensor final : Tensor {
  DeviceRows view;
  Buffer dense;                    // (rows × stride)
  Buffer indptr, columns, values;  // if sparse
};

struct CudaGraph final : DeviceGraph {
  AggregateArguments view;
  Buffer indptr, indices, weights, row_scale, col_scale, self_scale, order;
};

// An uninitialised dense tensor whose padding is zero.
std::shared_ptr<CudaTensor> NewDense(const std::shared_ptr<Device>& device, size_t rows, size_t columns,
                                     RowKind kind);
// A sparse one with room for `entries`; indptr is copied.
std::shared_ptr<CudaTensor> NewSparse(const std::shared_ptr<Device>& device, size_t rows, size_t columns,
                                      std::span<const uint64_t> indptr);

// Dense rows are prepared block by block on the host on their way to the device.
std::shared_ptr<CudaTensor> UploadFeatures(const Context& context, const std::shared_ptr<Device>& device,
                                           Uploader& uploader, const Features& features, RowKind kind);
std::shared_ptr<CudaGraph> UploadGraph(const Context& context, const std::shared_ptr<Device>& device,
                                       Uploader& uploader, const Propagation& propagation);
// Rows first … first + count − 1 as f32, to out (count × columns).
void DownloadRows(const std::shared_ptr<Device>& device, const CudaTensor& tensor, size_t first, size_t count,
                  float* out);
Matrix DownloadTensor(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor);
// The rows as they lie there: sparse, or of their own type.
Features DownloadAsStored(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor);

inline RowKind KindOf(FeatureType type) {
  return type == FeatureType::kF16    ? RowKind::kF16
         : type == FeatureType::kBf16 ? RowKind::kBf16
                                      : RowKind::kF32;
}

}  // namespace l2gcn::cuda
