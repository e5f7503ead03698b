#include "kernels/cuda/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{64} << 20;

// Rows of `stride` floats that go through a staging array at once.
size_t RowsOfABlock(const Device& device, size_t rows, size_t stride) {
  const size_t fitting = std::min<size_t>(kStagingBytes, device.FreeBytes() / 4) / (stride * sizeof(float));
  return std::max<size_t>(1, std::min(rows, fitting));
}

// Nodes in falling order of degree class, ascending within a class.
std::vector<uint32_t> OrderByDegree(const Context& context, const Propagation& a, AggregateArguments& view) {
  constexpr size_t kClasses = 3, kNodesOfPart = size_t{1} << 16;
  const auto class_of = [&](size_t node) {
    const uint64_t degree = a.indptr[node + 1] - a.indptr[node];
    return degree > kHeavyDegree ? 0 : degree > kLightDegree ? 1 : 2;
  };
  const size_t parts = (a.nodes + kNodesOfPart - 1) / kNodesOfPart;
  const auto for_parts = [&](const auto& visit) {
    ParallelTasks(context, parts, [&](size_t part, uint32_t) {
      for (size_t node = part * kNodesOfPart; node < std::min<size_t>(a.nodes, (part + 1) * kNodesOfPart);
           ++node)
        visit(part, node, class_of(node));
    });
  };
  std::vector<std::array<size_t, kClasses>> at(parts);  // counts, then where a part's nodes of a class go
  for_parts([&](size_t part, size_t, int c) { ++at[part][static_cast<size_t>(c)]; });
  size_t next = 0, ends[kClasses];
  for (size_t c = 0; c < kClasses; ++c) {
    for (auto& part : at) next += std::exchange(part[c], next);
    ends[c] = next;
  }
  view.heavy = static_cast<uint32_t>(ends[0]);
  view.middle = static_cast<uint32_t>(ends[1] - ends[0]);
  std::vector<uint32_t> order(a.nodes);
  for_parts([&](size_t part, size_t node, int c) {
    order[at[part][static_cast<size_t>(c)]++] = static_cast<uint32_t>(node);
  });
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
                                           Uploader& uploader, const Features& features, RowKind kind) {
  if (features.is_sparse()) {
    const CsrMatrix from = features.ToCsr(context);
    auto tensor = NewSparse(device, from.rows, from.cols, from.indptr.span());
    uploader.Upload(context, tensor->columns, from.indices.data(), from.indices.bytes());
    uploader.Upload(context, tensor->values, from.values.data(), from.values.bytes());
    return tensor;
  }
  const size_t count = features.rows(), cols = features.cols();
  auto tensor = NewDense(device, count, cols, kind);
  const size_t stride = tensor->view.stride;
  const bool as_they_lie =
      features.preparation() == nullptr && !features.stores_sparse() && features.type() == FeatureType::kF32;
  const auto read = [&](size_t first, size_t rows, char* out) {
    float* to = reinterpret_cast<float*>(out);
    for (size_t row = first; row < first + rows; ++row, to += stride) {
      if (as_they_lie) std::memcpy(to, features.matrix().row(row), cols * sizeof(float));
      if (!as_they_lie) features.ReadRows(row, 1, to);
      std::fill(to + cols, to + stride, 0.0f);
    }
  };
  if (kind == RowKind::kF32) {
    uploader.Upload(context, tensor->dense, 0, count, stride * sizeof(float), read);
    return tensor;
  }
  // Rows are narrowed on the device, a block at a time.
  const size_t block = RowsOfABlock(*device, count, stride);
  const Buffer staging = Buffer::OnDevice(device, block * stride * sizeof(float), "uploading features");
  for (size_t first = 0; first < count; first += block) {
    const size_t rows = std::min(block, count - first);
    uploader.Upload(context, staging, 0, rows, stride * sizeof(float),
                    [&](size_t from, size_t some, char* out) { read(first + from, some, out); });
    DeviceRows target = tensor->view;
    target.dense = tensor->dense.as<char>() + first * stride * ElementBytes(kind);
    LaunchCopyColumns({RowKind::kF32, staging.as<void>(), stride}, 0, target, rows,
                      static_cast<uint32_t>(stride), device->stream());
  }
  return tensor;
}

std::shared_ptr<CudaGraph> UploadGraph(const Context& context, const std::shared_ptr<Device>& device,
                                       Uploader& uploader, const Propagation& propagation) {
  auto graph = std::make_shared<CudaGraph>();
  AggregateArguments& view = graph->view;
  const auto upload = [&](const void* from, size_t bytes, const char* what) {
    Buffer buffer = Buffer::Anywhere(device, bytes, what);
    uploader.Upload(context, buffer, from, bytes);
    return buffer;
  };
  const auto upload_array = [&](const auto& values, const char* what) {
    return upload(values.data(), values.bytes(), what);
  };
  L2GCN_ASSERT(propagation.own.empty());
  graph->nodes = view.nodes = propagation.nodes;
  view.first_node = propagation.first_row;
  graph->entries = view.entries = propagation.entries();
  graph->indptr = upload_array(propagation.indptr, "the graph's offsets");
  graph->row_scale = upload_array(propagation.row_scale, "the graph's scales");
  graph->self_scale = upload_array(propagation.self_scale, "the graph's scales");
  graph->indices = upload_array(propagation.indices, "the graph's edges");
  view.indptr = graph->indptr.as<uint64_t>();
  view.indices = graph->indices.as<uint32_t>();
  view.row_scale = graph->row_scale.as<float>();
  view.self_scale = graph->self_scale.as<float>();
  if (!propagation.weights.empty()) {
    graph->weights = upload_array(propagation.weights, "the graph's weights");
    view.weights = graph->weights.as<float>();
  }
  if (!propagation.col_scale.empty()) {
    graph->col_scale = upload_array(propagation.col_scale, "the graph's scales");
    view.col_scale = graph->col_scale.as<float>();
  }
  const std::vector<uint32_t> order = OrderByDegree(context, propagation, view);
  graph->order = upload(order.data(), order.size() * sizeof(uint32_t), "the order of nodes");
  view.order = graph->order.as<uint32_t>();
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
  const size_t block = RowsOfABlock(*device, count, stride);
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

Features DownloadAsStored(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor) {
  if (tensor.sparse) {
    CsrMatrix rows{tensor.rows, tensor.cols, Array<uint64_t>::Allocate(tensor.rows + 1),
                   Array<uint32_t>::Allocate(tensor.nonzeros), Array<float>::Allocate(tensor.nonzeros)};
    tensor.indptr.CopyTo(rows.indptr.mutable_data(), rows.indptr.bytes());
    tensor.columns.CopyTo(rows.indices.mutable_data(), rows.indices.bytes());
    tensor.values.CopyTo(rows.values.mutable_data(), rows.values.bytes());
    return Features::Sparse(std::move(rows));
  }
  if (tensor.view.kind == RowKind::kF32) return Features::Dense(DownloadTensor(device, pool, tensor));
  Array<uint16_t> elements = Array<uint16_t>::Allocate(tensor.rows * tensor.cols);
  const size_t width = tensor.cols * sizeof(uint16_t);
  if (!elements.empty()) {
    Check(cudaMemcpy2DAsync(elements.mutable_data(), width, tensor.view.dense,
                            tensor.view.stride * sizeof(uint16_t), width, tensor.rows, cudaMemcpyDefault,
                            device->stream()),
          "downloading a matrix");
  }
  device->Synchronise("downloading a matrix");
  const FeatureType type = tensor.view.kind == RowKind::kF16 ? FeatureType::kF16 : FeatureType::kBf16;
  return Features::Stored(type, std::move(elements), tensor.rows, tensor.cols);
}

Matrix DownloadTensor(const std::shared_ptr<Device>& device, BlockPool& pool, const CudaTensor& tensor) {
  Matrix out{pool.Allocate<float>(tensor.rows * tensor.cols), tensor.rows, tensor.cols};
  DownloadRows(device, tensor, 0, tensor.rows, out.values.mutable_data());
  return out;
}

}  // namespace l2gcn::cuda
