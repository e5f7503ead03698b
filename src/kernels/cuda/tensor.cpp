#include "kernels/cuda/tensor.h"

#include <algorithm>
#include <vector>

#include "core/error_format.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{64} << 20;

template <class T>
Buffer UploadArray(const std::shared_ptr<Device>& device, const Array<T>& values, const char* what) {
  Buffer buffer = Buffer::Anywhere(device, values.bytes(), what);
  buffer.CopyFrom(values.data(), values.bytes());
  return buffer;
}

// Nodes in falling order of degree class, ascending within a class.
std::vector<uint32_t> OrderByDegree(const Propagation& a, AggregateArguments& view) {
  std::vector<uint32_t> classes[3];
  for (uint32_t node = 0; node < a.nodes; ++node) {
    const uint64_t degree = a.indptr[node + 1] - a.indptr[node];
    classes[degree > kHeavyDegree ? 0 : degree > kLightDegree ? 1 : 2].push_back(node);
  }
  view.heavy = static_cast<uint32_t>(classes[0].size());
  view.middle = static_cast<uint32_t>(classes[1].size());
  std::vector<uint32_t> order;
  order.reserve(a.nodes);
  for (const auto& nodes : classes) order.insert(order.end(), nodes.begin(), nodes.end());
  return order;
}

}  // namespace

std::shared_ptr<CudaTensor> NewDense(const std::shared_ptr<Device>& device, size_t rows, size_t columns,
                                     RowKind kind) {
  auto tensor = std::make_shared<CudaTensor>();
  tensor->rows = rows;
  tensor->cols = columns;
  tensor->view.kind = kind;
  tensor->view.stride = PaddedStride(columns);
  tensor->bytes = rows * tensor->view.stride * ElementBytes(kind);
  tensor->dense = Buffer::Anywhere(device, tensor->bytes, "a matrix of node features");
  tensor->view.dense = tensor->dense.as<void>();
  return tensor;
}

std::shared_ptr<CudaTensor> NewSparse(const std::shared_ptr<Device>& device, size_t rows, size_t columns,
                                      std::span<const uint64_t> indptr) {
  auto tensor = std::make_shared<CudaTensor>();
  const size_t entries = indptr[rows];
  tensor->rows = rows;
  tensor->cols = columns;
  tensor->sparse = true;
  tensor->nonzeros = entries;
  tensor->bytes = indptr.size_bytes() + entries * 8;
  tensor->indptr = Buffer::Anywhere(device, indptr.size_bytes(), "sparse features");
  tensor->indptr.CopyFrom(indptr.data(), indptr.size_bytes());
  tensor->columns = Buffer::Anywhere(device, entries * 4, "sparse features");
  tensor->values = Buffer::Anywhere(device, entries * 4, "sparse features");
  tensor->view = {
      RowKind::kSparse,          nullptr, 0, tensor->indptr.as<uint64_t>(), tensor->columns.as<uint32_t>(),
      tensor->values.as<float>()};
  return tensor;
}

std::shared_ptr<CudaTensor> UploadFeatures(const Context& context, const std::shared_ptr<Device>& device,
                                           const Features& features, RowKind kind) {
  if (features.is_sparse()) {
    const CsrMatrix from = features.ToCsr(context);
    auto tensor = NewSparse(device, from.rows, from.cols, from.indptr.span());
    tensor->columns.CopyFrom(from.indices.data(), from.indices.bytes());
    tensor->values.CopyFrom(from.values.data(), from.values.bytes());
    return tensor;
  }
  const Matrix from = features.ToMatrix(context);
  auto tensor = NewDense(device, from.rows, from.cols, kind);
  if (from.rows == 0) return tensor;
  const size_t stride = tensor->view.stride;
  // Rows are padded on their way through a staging array, and narrowed there if asked.
  const size_t block =
      std::max<size_t>(1, std::min(from.rows, std::min<size_t>(kStagingBytes, device->FreeBytes() / 4) /
                                                  (stride * sizeof(float))));
  Buffer staging = Buffer::OnDevice(device, block * stride * sizeof(float), "uploading features");
  staging.Clear();
  for (size_t first = 0; first < from.rows; first += block) {
    const size_t rows = std::min(block, from.rows - first);
    Check(cudaMemcpy2DAsync(staging.as<void>(), stride * sizeof(float), from.row(first),
                            from.cols * sizeof(float), from.cols * sizeof(float), rows,
                            cudaMemcpyHostToDevice, device->stream()),
          "uploading features");
    DeviceRows source{RowKind::kF32, staging.as<void>(), stride};
    DeviceRows target = tensor->view;
    target.dense = tensor->dense.as<char>() + first * stride * ElementBytes(kind);
    LaunchCopyColumns(source, 0, target, rows, static_cast<uint32_t>(stride), device->stream());
  }
  return tensor;
}

std::shared_ptr<CudaGraph> UploadGraph(const std::shared_ptr<Device>& device,
                                       const Propagation& propagation) {
  auto graph = std::make_shared<CudaGraph>();
  AggregateArguments& view = graph->view;
  graph->nodes = view.nodes = propagation.nodes;
  graph->entries = view.entries = propagation.entries();
  graph->indptr = UploadArray(device, propagation.indptr, "the graph's offsets");
  graph->row_scale = UploadArray(device, propagation.row_scale, "the graph's scales");
  graph->self_scale = UploadArray(device, propagation.self_scale, "the graph's scales");
  graph->indices = UploadArray(device, propagation.indices, "the graph's edges");
  view.indptr = graph->indptr.as<uint64_t>();
  view.indices = graph->indices.as<uint32_t>();
  view.row_scale = graph->row_scale.as<float>();
  view.self_scale = graph->self_scale.as<float>();
  if (!propagation.weights.empty()) {
    graph->weights = UploadArray(device, propagation.weights, "the graph's weights");
    view.weights = graph->weights.as<float>();
  }
  if (!propagation.col_scale.empty()) {
    graph->col_scale = UploadArray(device, propagation.col_scale, "the graph's scales");
    view.col_scale = graph->col_scale.as<float>();
  }
  const std::vector<uint32_t> order = OrderByDegree(propagation, view);
  graph->order = Buffer::Anywhere(device, order.size() * 4, "the order of nodes");
  graph->order.CopyFrom(order.data(), order.size() * 4);
  view.order = graph->order.as<uint32_t>();
  device->Synchronise("uploading the graph");
  return graph;
}

Matrix DownloadTensor(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor) {
  Matrix out{pool.Allocate<float>(tensor.rows * tensor.cols), tensor.rows, tensor.cols};
  if (tensor.rows == 0) return out;
  if (tensor.sparse) {
    std::fill_n(out.values.mutable_data(), out.values.size(), 0.0f);
    std::vector<uint64_t> indptr(tensor.rows + 1);
    tensor.indptr.CopyTo(indptr.data(), indptr.size() * 8);
    std::vector<uint32_t> columns(indptr.back());
    std::vector<float> values(indptr.back());
    tensor.columns.CopyTo(columns.data(), columns.size() * 4);
    tensor.values.CopyTo(values.data(), values.size() * 4);
    for (size_t i = 0; i < tensor.rows; ++i) {
      for (uint64_t e = indptr[i]; e < indptr[i + 1]; ++e) out.mutable_row(i)[columns[e]] = values[e];
    }
    return out;
  }
  const size_t stride = tensor.view.stride, width = tensor.cols * sizeof(float);
  const size_t block =
      std::max<size_t>(1, std::min(tensor.rows, std::min<size_t>(kStagingBytes, device->FreeBytes() / 4) /
                                                    (stride * sizeof(float))));
  Buffer staging = Buffer::OnDevice(device, block * stride * sizeof(float), "downloading a matrix");
  for (size_t first = 0; first < tensor.rows; first += block) {
    const size_t rows = std::min(block, tensor.rows - first);
    DeviceRows source = tensor.view;
    source.dense = tensor.dense.as<char>() + first * stride * ElementBytes(source.kind);
    LaunchCopyColumns(source, 0, {RowKind::kF32, staging.as<void>(), stride}, rows,
                      static_cast<uint32_t>(stride), device->stream());
    Check(cudaMemcpy2DAsync(out.mutable_row(first), width, staging.as<void>(), stride * sizeof(float), width,
                            rows, cudaMemcpyDeviceToHost, device->stream()),
          "downloading a matrix");
  }
  device->Synchronise("downloading a matrix");
  return out;
}

}  // namespace l2gcn::cuda
