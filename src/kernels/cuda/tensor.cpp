#include "kernels/cuda/tensor.h"

#include <algorithm>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{64} << 20;
constexpr size_t kRowsPrepared = 256;

// Rows of `stride` floats that go through a staging array at once.
size_t BlockRows(const Device& device, size_t rows, size_t stride) {
  const size_t fitting = std::min<size_t>(kStagingBytes, device.FreeBytes() / 4) / (stride * sizeof(float));
  return std::max<size_t>(1, std::min(rows, fitting));
}

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
  const size_t count = features.rows(), cols = features.cols();
  auto tensor = NewDense(device, count, cols, kind);
  if (count == 0) return tensor;
  const size_t stride = tensor->view.stride;
  // Rows are padded on their way through a staging array, and narrowed there if asked.
  const size_t block = BlockRows(*device, count, stride);
  Buffer staging = Buffer::OnDevice(device, block * stride * sizeof(float), "uploading features");
  staging.Clear();
  const bool as_they_lie =
      features.preparation() == nullptr && !features.stores_sparse() && features.type() == FeatureType::kF32;
  std::vector<float> prepared(as_they_lie ? 0 : block * cols);  // (block × cols)
  for (size_t first = 0; first < count; first += block) {
    const size_t rows = std::min(block, count - first);
    const float* from = as_they_lie ? features.matrix().row(first) : prepared.data();
    if (!as_they_lie) {
      device->Synchronise("uploading features");  // the block before has left `prepared`
      ParallelFor(context, rows, kRowsPrepared, [&](size_t begin, size_t end) {
        features.ReadRows(first + begin, end - begin, prepared.data() + begin * cols);
      });
    }
    Check(cudaMemcpy2DAsync(staging.as<void>(), stride * sizeof(float), from, cols * sizeof(float),
                            cols * sizeof(float), rows, cudaMemcpyHostToDevice, device->stream()),
          "uploading features");
    DeviceRows source{RowKind::kF32, staging.as<void>(), stride};
    DeviceRows target = tensor->view;
    target.dense = tensor->dense.as<char>() + first * stride * ElementBytes(kind);
    LaunchCopyColumns(source, 0, target, rows, static_cast<uint32_t>(stride), device->stream());
  }
  if (!as_they_lie) device->Synchronise("uploading features");
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

void DownloadRows(const std::shared_ptr<Device>& device, const CudaTensor& tensor, size_t first, size_t count,
                  float* out) {
  if (count == 0) return;
  if (tensor.sparse) {
    std::fill_n(out, count * tensor.cols, 0.0f);
    std::vector<uint64_t> indptr(count + 1);
    tensor.indptr.CopyTo(indptr.data(), indptr.size() * 8, first * 8);
    const uint64_t begin = indptr.front(), entries = indptr.back() - begin;
    std::vector<uint32_t> columns(entries);
    std::vector<float> values(entries);
    tensor.columns.CopyTo(columns.data(), entries * 4, begin * 4);
    tensor.values.CopyTo(values.data(), entries * 4, begin * 4);
    for (size_t i = 0; i < count; ++i) {
      for (uint64_t e = indptr[i] - begin; e < indptr[i + 1] - begin; ++e) {
        out[i * tensor.cols + columns[e]] = values[e];
      }
    }
    return;
  }
  const size_t stride = tensor.view.stride, width = tensor.cols * sizeof(float);
  const size_t block = BlockRows(*device, count, stride);
  Buffer staging = Buffer::OnDevice(device, block * stride * sizeof(float), "downloading a matrix");
  for (size_t done = 0; done < count; done += block) {
    const size_t rows = std::min(block, count - done);
    DeviceRows source = tensor.view;
    source.dense = tensor.dense.as<char>() + (first + done) * stride * ElementBytes(source.kind);
    LaunchCopyColumns(source, 0, {RowKind::kF32, staging.as<void>(), stride}, rows,
                      static_cast<uint32_t>(stride), device->stream());
    Check(cudaMemcpy2DAsync(out + done * tensor.cols, width, staging.as<void>(), stride * sizeof(float),
                            width, rows, cudaMemcpyDeviceToHost, device->stream()),
          "downloading a matrix");
  }
  device->Synchronise("downloading a matrix");
}

Matrix DownloadTensor(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor) {
  Matrix out{pool.Allocate<float>(tensor.rows * tensor.cols), tensor.rows, tensor.cols};
  DownloadRows(device, tensor, 0, tensor.rows, out.values.mutable_data());
  return out;
}

}  // namespace l2gcn::cuda
