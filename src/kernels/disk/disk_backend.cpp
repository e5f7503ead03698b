#include "kernels/disk/disk_backend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <string>

#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/threads.h"
#include "kernels/checked_cast.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/disk/disk_layout.h"
#include "kernels/disk/disk_progress.h"
#include "kernels/disk/disk_tensor.h"
#include "kernels/disk/panel_aggregation.h"
#include "kernels/disk/sample_windows.h"
#include "kernels/disk/write_behind.h"
#include "kernels/row_loss.h"

namespace l2gcn {
namespace {

constexpr size_t kChunkRow = 512;  // bytes: chunks have as many rows as if a row were at least so long
constexpr uint64_t kTrainingRoom = uint64_t{512} << 20;  // for weights, batches and looks beside the samples

struct DiskGraph final : DeviceGraph {
  Propagation propagation;
  DeviceGraphPtr mapped;  // the same for sparse features
};

// Rows of a tensor on disk, and what they should become.
struct DiskRowsToScore final : RowsToScore {
  LayerInput x;          // blocks that are dense on disk or sparse in mapped memory
  Array<uint32_t> rows;  // of x; empty: all
  Targets targets;

  DiskRowsToScore(LayerInput input, Array<uint32_t> picked, const Targets& wanted)
      : x(std::move(input)), rows(std::move(picked)), targets(wanted) {}
  // The targets of rows first … first + count − 1 of those to score.
  Targets TargetsOf(size_t first, size_t count) const {
    Targets part = targets;
    const size_t classes = targets.classes;
    if (targets.regression()) {
      part.values = Array<float>::Borrow(nullptr, targets.values.data() + first * classes, count * classes);
    } else if (targets.multilabel) {
      part.matrix = Array<uint8_t>::Borrow(nullptr, targets.matrix.data() + first * classes, count * classes);
    } else {
      part.classes_of = Array<int32_t>::Borrow(nullptr, targets.classes_of.data() + first, count);
    }
    return part;
  }
};

const Propagation& OperatorIn(const DeviceGraph& graph) { return CheckedCast<DiskGraph>(graph).propagation; }

// A dense matrix on disk; null for any other.
const DiskTensor* AsDisk(const Tensor& tensor) { return dynamic_cast<const DiskTensor*>(&tensor); }

class DiskBackend final : public Backend {
 public:
  DiskBackend(const Context& context, const BackendOptions& options, std::unique_ptr<Backend> device)
      : disk_(context.disk),
        options_(options),
        cpu_(MakeCpuBackend(options)),
        wide_(WideCpu(options)),
        mapped_(MakeCpuBackend(options, disk_)),
        device_(std::move(device)),
        progress_(disk_),
        panels_(disk_, cpu_, wide_) {}

  TensorPtr Upload(const Context& context, const Features& features) override {
    if (features.is_sparse()) return mapped_->Upload(context, features);
    const TensorPtr x = Stored(features);
    panels_.Expect(*AsDisk(*x));
    return x;
  }

  DeviceGraphPtr Upload(const Context& context, const Propagation& propagation) override {
    auto graph = std::make_shared<DiskGraph>();
    graph->propagation = propagation;
    graph->nodes = propagation.nodes;
    graph->entries = propagation.entries();
    graph->mapped = mapped_->Upload(context, propagation);
    return graph;
  }

  TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                      std::span<const uint32_t> row_of_node) override {
    if (const DiskTensor* dense = AsDisk(x))
      return AggregateDense(context, graph, *dense, row_of_node, false);
    TensorPtr result = mapped_->Aggregate(context, *CheckedCast<DiskGraph>(graph).mapped, x, row_of_node);
    return result->sparse ? std::move(result) : Stored(mapped_->DownloadStored(context, *result));
  }

  TensorPtr PickRows(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    if (AsDisk(x) == nullptr) return mapped_->PickRows(context, x, rows);
    return ByRows(context, x.shared_from_this(), rows, x.cols, options_.features_as,
                  [&](const LayerInput& chunk) {
                    return Typed(context, device().DownloadStored(context, *chunk.blocks.front()),
                                 options_.features_as);
                  });
  }

  TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                      std::span<const uint32_t> rows) override {
    return ByRows(context, x, rows, hidden.weight.cols, options_.features_as, [&](const LayerInput& chunk) {
      const TensorPtr made = device().Transform(context, chunk, hidden);
      return Typed(context, device().DownloadStored(context, *made), options_.features_as);
    });
  }

  Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    Matrix out = NewMatrix(rows.empty() ? x.rows : rows.size(), theta.cols);
    float* const values = out.values.mutable_data();
    ForChunks(context, x.shared_from_this(), rows, BlockRows(x.cols * sizeof(float)),
              [&](size_t first, const LayerInput& chunk) {
                const Matrix part = device().Logits(context, *chunk.blocks.front(), theta, {});
                std::memcpy(values + first * out.cols, part.values.data(), part.bytes());
              });
    return out;
  }

  Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    Matrix out = NewMatrix(rows.empty() ? x.rows : rows.size(), x.cols);
    float* const values = out.values.mutable_data();
    ForChunks(context, x.shared_from_this(), rows, BlockRows(x.cols * sizeof(float)),
              [&](size_t first, const LayerInput& chunk) {
                device().ReadRows(context, *chunk.blocks.front(), 0, chunk.rows(), values + first * out.cols);
              });
    return out;
  }

  void ReadRows(const Context& context, const Tensor& x, size_t first, size_t count, float* out) override {
    std::vector<uint32_t> rows(count);
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(first));
    const Matrix part = Download(context, x, rows);
    std::memcpy(out, part.values.data(), part.bytes());
  }

  Features DownloadFeatures(const Context& context, const Tensor& x) override {
    if (x.sparse) return mapped_->DownloadStored(context, x);
    return Features::Dense(Download(context, x, {}));
  }

  std::unique_ptr<LayerTraining> BeginLayer(const Context& context, const LayerInput& xhat,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start) override {
    ReleaseSpareMemory();
    ReturnFreeMemory();
    const size_t count = samples.empty() ? xhat.rows() : samples.size();
    uint64_t bytes = 0;
    bool all_dense = true;
    for (const TensorPtr& block : xhat.blocks) {
      const DiskTensor* dense = AsDisk(*block);
      all_dense = all_dense && dense != nullptr;
      if (dense != nullptr) bytes += count * dense->cols * BytesOf(dense->type);
    }
    panels_.LeaveFree(static_cast<uint64_t>(static_cast<double>(bytes) / kSampleShare) + kTrainingRoom);
    const bool fits = static_cast<double>(bytes) <= kSampleShare * static_cast<double>(disk_->Free());
    const bool by_windows = OrderOf(spec, static_cast<uint32_t>(count), xhat.cols(), 0).block > 0;
    LayerSpec reading = spec;
    LayerInput input;
    if (!fits && by_windows && all_dense && device_ == nullptr) {
      input = ByWindows(context, xhat, samples, reading);
    } else {
      for (const TensorPtr& block : xhat.blocks)
        input.blocks.push_back(SampleTensor(context, *block, samples, fits));
    }
    return device().BeginLayer(context, input, {}, targets, reading, start);
  }

  std::shared_ptr<const RowsToScore> PrepareScoring(const Context&, const LayerInput& x, Array<uint32_t> rows,
                                                    const Targets& targets, bool margins) override {
    auto prepared = std::make_shared<DiskRowsToScore>(x, std::move(rows), targets);
    prepared->margins = margins;
    return prepared;
  }
  RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) override {
    return ScoreChunks(context, rows,
                       [&](const RowsToScore& chunk) { return device().Score(context, training, chunk); });
  }
  RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) override {
    return ScoreChunks(context, rows,
                       [&](const RowsToScore& chunk) { return device().Score(context, theta, chunk); });
  }

  void ReleaseSpareMemory() override {
    for (Backend* backend : {cpu_.get(), wide_.get(), device_.get()}) {
      if (backend != nullptr) backend->ReleaseSpareMemory();
    }
  }

  uint64_t PeakDeviceBytes() const override { return device_ != nullptr ? device_->PeakDeviceBytes() : 0; }

  std::string Explain() const override { return panels_.Explain() + "; " + cpu_->Explain(); }

 protected:
  TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    const auto narrow =
        ByRows(context, x.shared_from_this(), {}, w.cols, FeatureType::kF32, [&](const LayerInput& chunk) {
          return Features::Dense(device().Logits(context, *chunk.blocks.front(), w, {}));
        });
    return AggregateDense(context, graph, *narrow, {}, true);
  }

 private:
  Backend& device() { return device_ != nullptr ? *device_ : *cpu_; }

  size_t BlockRows(size_t row_bytes) const { return DiskBlockRows(disk_->budget(), row_bytes); }
  // Rows that are computed with at a time: as many as fill a buffer as floats, a multiple of `unit` (a power of two).
  size_t ChunkRows(size_t cols, size_t unit) const {
    const size_t row_bytes = std::max(cols * sizeof(float), kChunkRow);
    return std::max(unit, std::bit_floor(DiskBufferBytes(disk_->budget()) / row_bytes));
  }
  // Results for the host: in memory if small, else in scratch.
  Matrix NewMatrix(size_t rows, size_t cols) const {
    if (rows * cols * sizeof(float) <= disk_->Free() / 8) return Matrix::Allocate(rows, cols);
    return {disk_->NewArray<float>(rows * cols), rows, cols};
  }
  // Dense features in the type that a tensor has.
  Features Typed(const Context& context, Features features, FeatureType type) {
    if (features.type() == type) return features;
    return cpu_->DownloadStored(context, *cpu_->Upload(context, features));
  }
  // Dense features where they lie, to be read by blocks.
  TensorPtr Stored(const Features& features) const {
    const bool plain = features.preparation() == nullptr && !features.stores_sparse();
    const FeatureType wanted = options_.features_as;
    auto tensor = std::make_shared<FeatureTensor>(
        disk_, features, wanted == FeatureType::kF32 && plain ? features.type() : wanted,
        BlockRows(std::max(features.stored_cols(), features.cols()) * sizeof(float)), cpu_);
    tensor->shares_features = true;
    return tensor;
  }

  // A new matrix on disk: make(chunk of rows) for all rows of x, or those named.
  std::shared_ptr<FileTensor> ByRows(const Context& context, const LayerInput& x,
                                     std::span<const uint32_t> rows, size_t cols, FeatureType type,
                                     const std::function<Features(const LayerInput& chunk)>& make) {
    const size_t count = rows.empty() ? x.rows() : rows.size();
    auto out = std::make_shared<FileTensor>(*disk_, count, cols, type, BlockRows(cols * sizeof(float)));
    WriteBehind writer(*out);
    ForChunks(context, x, rows, ChunkRows(std::max(x.cols(), cols), out->block_rows),
              [&](size_t first, const LayerInput& chunk) { writer.Put(first, 0, make(chunk)); });
    writer.Finish();
    return out;
  }

  // Â X panel by panel; with `relu`, ReLU of it, in f32 until it is written.
  TensorPtr AggregateDense(const Context& context, const DeviceGraph& graph, const DiskTensor& x,
                           std::span<const uint32_t> row_of_node, bool relu) {
    auto out = std::make_shared<FileTensor>(*disk_, graph.nodes, x.cols, options_.features_as,
                                            BlockRows(x.cols * sizeof(float)));
    panels_.Run(context, OperatorIn(graph), x, row_of_node, relu, *out, progress_);
    return out;
  }

  // visit(position of the first row, blocks on the device) for all rows of x, or those named, in chunks of `size`
  // rows. While a chunk is used the next one is read.
  void ForChunks(const Context& context, const LayerInput& x, std::span<const uint32_t> rows, size_t size,
                 const std::function<void(size_t first, const LayerInput& chunk)>& visit) {
    const size_t count = rows.empty() ? x.rows() : rows.size();
    // Threads are left to whoever uses the chunk before.
    const Context alone = SingleThreaded(context);
    const auto read = [&](size_t first) {
      std::vector<std::shared_ptr<void>> memory;
      for (const TensorPtr& block : x.blocks)
        memory.push_back(ReadChunk(alone, *block, rows, first, std::min(count, first + size)));
      return memory;
    };
    std::future<std::vector<std::shared_ptr<void>>> reading;
    for (size_t first = 0; first < count; first += size) {
      progress_.Report(context);
      const std::vector<std::shared_ptr<void>> memory = first == 0 ? read(0) : reading.get();
      if (first + size < count) reading = std::async(std::launch::async, read, first + size);
      const size_t end = std::min(count, first + size);
      LayerInput chunk;
      for (size_t b = 0; b < x.blocks.size(); ++b)
        chunk.blocks.push_back(ChunkOf(context, *x.blocks[b], memory[b], rows, first, end));
      visit(first, chunk);
      disk_->Relax();
    }
  }

  // Rows of a dense block, in memory of their own; null for a sparse one.
  std::shared_ptr<void> ReadChunk(const Context& context, const Tensor& x, std::span<const uint32_t> rows,
                                  size_t first, size_t end) {
    const DiskTensor* dense = AsDisk(x);
    if (dense == nullptr) return nullptr;
    std::shared_ptr<void> memory = AllocateAligned((end - first) * x.cols * BytesOf(dense->type));
    char* const to = static_cast<char*>(memory.get());
    if (rows.empty()) {
      dense->ReadRows(first, end, reading_, to);
    } else {
      dense->PickRows(context, rows.subspan(first, end - first), to);
    }
    return memory;
  }

  TensorPtr ChunkOf(const Context& context, const Tensor& x, const std::shared_ptr<void>& memory,
                    std::span<const uint32_t> rows, size_t first, size_t end) {
    if (const DiskTensor* dense = AsDisk(x)) {
      return device().Upload(
          context,
          RowsAsFeatures(dense->type, memory, static_cast<const char*>(memory.get()), end - first, x.cols));
    }
    std::vector<uint32_t> named(end - first);
    if (rows.empty()) {
      std::iota(named.begin(), named.end(), static_cast<uint32_t>(first));
    } else {
      std::copy(rows.begin() + first, rows.begin() + end, named.begin());
    }
    return device().Upload(context, mapped_->DownloadStored(context, *mapped_->PickRows(context, x, named)));
  }

  RowScores ScoreChunks(const Context& context, const RowsToScore& rows,
                        const std::function<RowScores(const RowsToScore& chunk)>& score) {
    const auto& given = CheckedCast<DiskRowsToScore>(rows);
    RowScores all;
    const size_t classes = given.targets.classes;
    if (given.margins)
      all.margins = Matrix::Allocate(given.rows.empty() ? given.x.rows() : given.rows.size(), classes);
    ForChunks(context, given.x, given.rows.span(), BlockRows(given.x.cols() * sizeof(float)),
              [&](size_t first, const LayerInput& chunk) {
                const RowScores part = score(*device().PrepareScoring(
                    context, chunk, {}, given.TargetsOf(first, chunk.rows()), given.margins));
                if (given.margins)
                  std::copy(part.margins.values.begin(), part.margins.values.end(),
                            all.margins.values.mutable_data() + first * classes);
                all.losses.insert(all.losses.end(), part.losses.begin(), part.losses.end());
                all.misses.insert(all.misses.end(), part.misses.begin(), part.misses.end());
                all.true_positive += part.true_positive;
                all.false_positive += part.false_positive;
                all.false_negative += part.false_negative;
              });
    all.loss = MeanOfRows<float>(all.losses);
    return all;
  }

  // put(rows, count) for the samples' rows of x, one stretch after another.
  void ForSamples(const Context& context, const DiskTensor& x, const Array<uint32_t>& samples,
                  const std::function<void(const char* rows, size_t count)>& put) {
    const size_t count = samples.empty() ? x.rows : samples.size(), row_bytes = x.cols * BytesOf(x.type);
    const size_t size = BlockRows(row_bytes);
    std::vector<char> rows(std::min(size, count) * row_bytes);
    for (size_t first = 0; first < count; first += size) {
      context.CheckCancelled();
      const size_t end = std::min(count, first + size);
      if (samples.empty()) {
        x.ReadRows(first, end, reading_, rows.data());
      } else {
        x.PickRows(context, samples.span().subspan(first, end - first), rows.data());
      }
      put(rows.data(), end - first);
    }
  }

  // The samples' rows of one block as a tensor: in memory, or in mapped scratch.
  TensorPtr SampleTensor(const Context& context, const Tensor& part, const Array<uint32_t>& samples,
                         bool in_memory) {
    const DiskTensor* dense = AsDisk(part);
    if (dense == nullptr) {
      if (samples.empty()) return device().Upload(context, mapped_->DownloadStored(context, part));
      const TensorPtr picked = mapped_->PickRows(context, part, samples.span());
      return device().Upload(context, mapped_->DownloadStored(context, *picked));
    }
    const size_t count = samples.empty() ? part.rows : samples.size(),
                 row_bytes = part.cols * BytesOf(dense->type);
    const std::shared_ptr<void> memory =
        in_memory ? AllocateAligned(count * row_bytes) : disk_->NewBlock(count * row_bytes);
    char* to = static_cast<char*>(memory.get());
    ForSamples(context, *dense, samples, [&](const char* rows, size_t size) {
      std::memcpy(to, rows, size * row_bytes);
      to += size * row_bytes;
    });
    return device().Upload(context, RowsAsFeatures(dense->type, memory,
                                                   static_cast<const char*>(memory.get()), count, part.cols));
  }

  // Ring buffers of rows that training reads by windows; sets their source in `spec`.
  LayerInput ByWindows(const Context& context, const LayerInput& given, const Array<uint32_t>& samples,
                       LayerSpec& spec) {
    const size_t count = samples.empty() ? given.rows() : samples.size();
    std::vector<size_t> row_bytes;
    for (const TensorPtr& block : given.blocks)
      row_bytes.push_back(block->cols * BytesOf(AsDisk(*block)->type));
    auto windows = std::make_shared<DiskSampleWindows>(*disk_, spec, static_cast<uint32_t>(count),
                                                       given.cols(), row_bytes);
    LayerInput rings;
    for (size_t p = 0; p < given.blocks.size(); ++p) {
      const DiskTensor& dense = *AsDisk(*given.blocks[p]);
      ForSamples(context, dense, samples,
                 [&](const char* rows, size_t size) { windows->Append(p, rows, size); });
      const std::shared_ptr<void> ring = windows->Ring(p);
      rings.blocks.push_back(
          device().Upload(context, RowsAsFeatures(dense.type, ring, static_cast<const char*>(ring.get()),
                                                  windows->RingRows(), dense.cols)));
    }
    spec.windows = std::move(windows);
    return rings;
  }

  static std::unique_ptr<Backend> WideCpu(BackendOptions options) {
    options.features_as = FeatureType::kF32;
    return MakeCpuBackend(options);
  }

  const std::shared_ptr<DiskMemory> disk_;
  const BackendOptions options_;
  const std::shared_ptr<Backend> cpu_;     // aggregates; makes narrower types
  const std::shared_ptr<Backend> wide_;    // the same with results in f32
  const std::unique_ptr<Backend> mapped_;  // the same with results in mapped memory
  const std::unique_ptr<Backend> device_;  // computes all else; null: cpu_ does
  DiskReading reading_;                    // of chunks and samples
  DiskProgress progress_;
  PanelAggregation panels_;
};

}  // namespace

std::unique_ptr<Backend> MakeDiskBackend(const Context& context, const BackendOptions& options,
                                         std::unique_ptr<Backend> device) {
  return std::make_unique<DiskBackend>(context, options, std::move(device));
}

}  // namespace l2gcn
