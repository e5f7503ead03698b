#include "kernels/ranks/ranks_backend.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/row_preparation.h"
#include "core/threads.h"
#include "kernels/checked_cast.h"
#include "kernels/cpu/aggregate.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/matrix_memory.h"
#include "kernels/cpu/row_products.h"
#include "kernels/disk/disk_tensor.h"
#include "kernels/ranks/column_exchange.h"
#include "kernels/ranks/rank_rows.h"
#include "kernels/ranks/rank_scoring.h"
#include "kernels/ranks/rank_sparse.h"
#include "kernels/ranks/rank_training.h"
#include "kernels/ranks/shared_rows.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

// A matrix of which this rank has its share.
struct RankTensor final : Tensor {
  TensorPtr own;      // this rank's rows
  TensorPtr whole;    // of sparse features, which every rank has; null elsewhere
  Features uploaded;  // of dense features: this rank's rows as they were given; empty elsewhere
  Features seen;      // dense rows of all ranks, where every rank sees them in place; empty elsewhere
};

struct RankGraph final : DeviceGraph {
  Propagation propagation;
  DeviceGraphPtr local;  // the whole of it
};

const RankTensor& AsShared(const Tensor& tensor) { return CheckedCast<RankTensor>(tensor); }

std::vector<const RankTensor*> SharedBlocks(const LayerInput& x) {
  std::vector<const RankTensor*> blocks;
  for (const TensorPtr& block : x.blocks) blocks.push_back(&AsShared(*block));
  return blocks;
}

// This rank's rows.
LayerInput OwnBlocks(const LayerInput& x) {
  LayerInput own;
  for (const TensorPtr& block : x.blocks) own.blocks.push_back(AsShared(*block).own);
  return own;
}

std::vector<uint32_t> Range(size_t begin, size_t end) {
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  return rows;
}

class RanksBackend final : public Backend {
 public:
  RanksBackend(const Context& context, const BackendOptions& options, const LocalBackends& backends)
      : ranks_(context.ranks),
        options_(options),
        product_type_(backends.product_type),
        sparse_density_(backends.sparse_density),
        local_(backends.make_local(options)),
        trainer_(backends.make_trainer(options)),
        in_place_(backends.sum_in_place &&
                  SumOverRanks(*context.ranks, context.disk != nullptr ? 1 : 0) == 0 &&
                  context.ranks->shares_memory()),
        shared_memory_(context.ranks),
        threads_of_all_(in_place_ ? ThreadsOfAllRanks(context) : nullptr) {
    BackendOptions other = options;
    other.features_as = product_type_;
    products_ = product_type_ == options.features_as ? local_ : backends.make_local(other);
    other = options;
    other.sparse = Choice::kOn;
    sparse_ = backends.make_local(other);
    other.sparse = Choice::kOff;
    dense_ = backends.make_local(other);
  }

  TensorPtr Upload(const Context& context, const Features& features) override {
    auto tensor = NewTensor(features.rows(), features.cols());
    const size_t begin = Begin(features.rows(), rank()), count = Begin(features.rows(), rank() + 1) - begin;
    if (features.is_sparse()) {
      tensor->whole = local_->Upload(context, features);
      tensor->own = local_->PickRows(context, *tensor->whole, Range(begin, begin + count));
      tensor->sparse = true;
      tensor->nonzeros = tensor->whole->nonzeros;
      tensor->shares_features = tensor->whole->shares_features;
    } else {
      const Features part = RowRangeOf(features, begin, count);
      const RowPreparation* preparation = features.preparation();
      tensor->own = local_->Upload(context, part);
      tensor->shares_features = tensor->own->shares_features;
      if (!features.stores_sparse() && (preparation == nullptr || preparation->projection.rows == 0))
        tensor->uploaded = part;
      if (in_place_ && tensor->shares_features) tensor->seen = features;
    }
    tensor->bytes = tensor->own->bytes;
    return tensor;
  }

  DeviceGraphPtr Upload(const Context& context, const Propagation& propagation) override {
    auto graph = std::make_shared<RankGraph>();
    graph->propagation = propagation;
    graph->nodes = propagation.nodes;
    graph->entries = propagation.entries();
    graph->local = local_->Upload(context, propagation);
    return graph;
  }

  TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                      std::span<const uint32_t> row_of_node) override {
    const auto& a = CheckedCast<RankGraph>(graph);
    if (x.sparse) return AggregateSparse(context, a.propagation, AsShared(x), row_of_node);
    if (in_place_) return AggregateInPlace(context, a, AsShared(x), row_of_node, options_.features_as, false);
    return AggregateColumns(context, a, AsShared(x), row_of_node, *local_, options_.features_as, false);
  }

  TensorPtr PickRows(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    const RankTensor& shared = AsShared(x);
    auto out = NewTensor(rows.size(), x.cols);
    const size_t begin = Begin(rows.size(), rank()), end = Begin(rows.size(), rank() + 1);
    if (x.sparse) {
      const TensorPtr whole = Whole(context, shared);
      out->own = local_->PickRows(context, *whole, rows.subspan(begin, end - begin));
      out->sparse = true;
      out->nonzeros = SumOverRanks(*ranks_, out->own->nonzeros);
    } else {
      out->own =
          local_->Upload(context, RoutedRows(*ranks_, RowsToSend(context, shared), {x.rows, x.cols}, rows));
    }
    out->bytes = out->own->bytes;
    return out;
  }

  TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                      std::span<const uint32_t> rows) override {
    if (in_place_ && rows.empty()) return TransformInPlace(context, OwnBlocks(x), x.rows(), hidden);
    LayerInput picked;
    for (size_t b = 0; !rows.empty() && b < x.blocks.size(); ++b)
      picked.blocks.push_back(PickRows(context, *x.blocks[b], rows));
    auto out = NewTensor(rows.empty() ? x.rows() : rows.size(), hidden.weight.cols);
    out->own = local_->Transform(context, OwnBlocks(rows.empty() ? x : picked), hidden);
    out->bytes = out->own->bytes;
    return out;
  }

  Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                std::span<const uint32_t> rows) override {
    const auto positions = PositionsByRank(*ranks_, rows, x.rows);
    const std::vector<uint32_t> own = OwnRows(*ranks_, positions, rows, x.rows);
    Matrix part = Matrix::Allocate(0, theta.cols);
    if (!own.empty())
      part =
          local_->Logits(context, *AsShared(x).own, theta, rows.empty() ? std::span<const uint32_t>() : own);
    return GatherRows(*ranks_, part, rows.empty() ? x.rows : rows.size(), positions);
  }

  Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) override {
    const auto positions = PositionsByRank(*ranks_, rows, x.rows);
    const std::vector<uint32_t> own = OwnRows(*ranks_, positions, rows, x.rows);
    Matrix part = Matrix::Allocate(0, x.cols);
    if (!own.empty())
      part = local_->Download(context, *AsShared(x).own, rows.empty() ? std::span<const uint32_t>() : own);
    return GatherRows(*ranks_, part, rows.empty() ? x.rows : rows.size(), positions);
  }

  void ReadRows(const Context& context, const Tensor& x, size_t first, size_t count, float* out) override {
    const Matrix part = Download(context, x, Range(first, first + count));
    std::memcpy(out, part.values.data(), part.bytes());
  }

  Features DownloadFeatures(const Context& context, const Tensor& x) override {
    if (!x.sparse) return Features::Dense(Download(context, x, {}));
    return local_->DownloadFeatures(context, *Whole(context, AsShared(x)));
  }

  std::unique_ptr<LayerTraining> BeginLayer(const Context& context, const LayerInput& xhat,
                                            Array<uint32_t> samples, const Targets& targets,
                                            const LayerSpec& spec, const LayerState& start) override {
    ReleaseSpareMemory();
    ReturnFreeMemory();
    const std::vector<const RankTensor*> parts = SharedBlocks(xhat);
    const size_t count = samples.empty() ? xhat.rows() : samples.size();
    const bool all_dense =
        std::none_of(parts.begin(), parts.end(), [](const RankTensor* part) { return part->sparse; });
    const bool by_windows = context.device == DeviceKind::kCpu && all_dense &&
                            OrderOf(spec, static_cast<uint32_t>(count), xhat.cols(), 0).block > 0;
    LayerSpec reading = spec;
    LayerInput input;  // of rank 0
    std::shared_ptr<RankSampleWindows> windows;
    if (by_windows) {
      std::vector<RankRows> rows;  // which stay where they are
      for (const RankTensor* part : parts) rows.push_back(RowsToSend(context, *part));
      windows = std::make_shared<RankSampleWindows>(*ranks_, PoolOfAll(), spec, std::move(rows),
                                                    ColumnsOf(parts), samples, xhat.rows());
      reading.windows = windows;
      for (size_t p = 0; ranks_->leads() && p < parts.size(); ++p)
        input.blocks.push_back(trainer_->Upload(context, windows->Ring(p)));
    } else {
      for (const RankTensor* part : parts) input.blocks.push_back(WholeInput(context, *part, samples.span()));
    }
    std::unique_ptr<LayerTraining> own;
    if (ranks_->leads()) own = trainer_->BeginLayer(context, input, {}, targets, reading, start);
    return std::make_unique<RankTraining>(ranks_, std::move(own), std::move(windows), threads_of_all_, spec,
                                          ColumnsOf(parts));
  }

  std::shared_ptr<const RowsToScore> PrepareScoring(const Context& context, const LayerInput& x,
                                                    Array<uint32_t> rows, const Targets& targets,
                                                    bool margins) override {
    auto prepared =
        std::make_shared<RankRowsToScore>(*ranks_, rows.span(), x.rows(), targets.classes, margins);
    const std::vector<uint32_t>& mine = prepared->positions[rank()];
    if (mine.empty()) return prepared;
    prepared->own = local_->PrepareScoring(
        context, OwnBlocks(x),
        Array<uint32_t>::CopyOf(OwnRows(*ranks_, prepared->positions, rows.span(), x.rows())),
        TargetsAt(targets, mine), margins);
    return prepared;
  }

  RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) override {
    const auto& together = CheckedCast<RankTraining>(training);
    const LayerState state = together.Read();
    return ScoresOfAll(*ranks_, CheckedCast<RankRowsToScore>(rows), [&](const RowsToScore& own) {
      if (together.own() != nullptr) return local_->Score(context, *together.own(), own);
      return local_->Score(context, *HolderOf(context, *trainer_, state, together), own);
    });
  }
  RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) override {
    return ScoresOfAll(*ranks_, CheckedCast<RankRowsToScore>(rows),
                       [&](const RowsToScore& own) { return local_->Score(context, theta, own); });
  }

  void ReleaseSpareMemory() override {
    for (Backend* backend : {local_.get(), trainer_.get(), products_.get(), sparse_.get(), dense_.get()})
      backend->ReleaseSpareMemory();
    memory_.ReleaseSpare();
  }

  uint64_t PeakDeviceBytes() const override { return local_->PeakDeviceBytes(); }

  std::string Explain() const override {
    if (in_place_)
      return fmt::format("{} ranks that see each other's rows in memory{}; {}", ranks_->size(),
                         threads_of_all_ == nullptr ? ""
                                                    : fmt::format(", training steps on all their {} threads",
                                                                  threads_of_all_->threads()),
                         local_->Explain());
    return fmt::format("{} ranks, {} columns of the graph's {} at a time on each; {}", ranks_->size(),
                       panel_columns_, aggregated_columns_, local_->Explain());
  }

 protected:
  TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                               const Matrix& w) override {
    RankTensor narrow;
    narrow.rows = x.rows;
    narrow.cols = w.cols;
    narrow.uploaded = Features::Dense(local_->Logits(context, *AsShared(x).own, w, {}));
    const auto& a = CheckedCast<RankGraph>(graph);
    if (in_place_) return AggregateInPlace(context, a, narrow, {}, product_type_, true);
    return AggregateColumns(context, a, narrow, {}, *products_, product_type_, true);
  }

 private:
  uint32_t rank() const { return ranks_->rank(); }
  // The first of `count` rows that a rank has.
  size_t Begin(size_t count, uint32_t rank) const { return ShareBegin(count, rank, ranks_->size()); }
  static std::shared_ptr<RankTensor> NewTensor(size_t rows, size_t cols) {
    auto tensor = std::make_shared<RankTensor>();
    tensor->rows = rows;
    tensor->cols = cols;
    return tensor;
  }
  static std::vector<size_t> ColumnsOf(const std::vector<const RankTensor*>& parts) {
    std::vector<size_t> cols;
    for (const RankTensor* part : parts) cols.push_back(part->cols);
    return cols;
  }
  // Memory that all ranks see; null where rows travel by messages.
  SharedPool* PoolOfAll() { return in_place_ ? &shared_memory_ : nullptr; }
  // Dense rows of this rank, to be sent.
  RankRows RowsToSend(const Context& context, const RankTensor& x) {
    if (x.uploaded.rows() > 0 || x.own == nullptr) return RankRows(x.uploaded);
    return RankRows(local_->DownloadStored(context, *x.own));
  }
  // The rows of a sparse matrix, all of them on every rank.
  TensorPtr Whole(const Context& context, const RankTensor& x) {
    if (x.whole != nullptr) return x.whole;
    return local_->Upload(context, Features::Sparse(AllSparseRows(*ranks_, OwnSparse(context, x), x.rows)));
  }

  // The same on rank 0 alone; empty on the others.
  Features SparseAtRank0(const Context& context, const RankTensor& x) {
    if (x.whole != nullptr) return local_->DownloadStored(context, *x.whole);
    const CsrMatrix all = SparseRowsAtRank0(*ranks_, OwnSparse(context, x), x.rows);
    return ranks_->leads() ? Features::Sparse(all) : Features();
  }
  CsrMatrix OwnSparse(const Context& context, const RankTensor& x) {
    return local_->DownloadStored(context, *x.own).csr();
  }

  // Every rank sums its own rows. Whether they stay sparse is decided by all of them together.
  TensorPtr AggregateSparse(const Context& context, const Propagation& a, const RankTensor& x,
                            std::span<const uint32_t> row_of_node) {
    const TensorPtr whole = Whole(context, x);
    std::vector<uint64_t> offsets;
    const Propagation rows = RowsOfOperator(a, Begin(a.nodes, rank()), Begin(a.nodes, rank() + 1), offsets);
    auto out = NewTensor(a.nodes, x.cols);
    if (options_.sparse != Choice::kOff) {
      out->own = sparse_->Aggregate(context, *sparse_->Upload(context, rows), *whole, row_of_node);
      out->nonzeros = SumOverRanks(*ranks_, out->own->nonzeros);
      const double density =
          static_cast<double>(out->nonzeros) / (static_cast<double>(a.nodes) * static_cast<double>(x.cols));
      out->sparse = options_.sparse == Choice::kOn || density <= sparse_density_;
    }
    if (!out->sparse) {
      out->nonzeros = 0;
      out->own.reset();
      out->own = dense_->Aggregate(context, *dense_->Upload(context, rows), *whole, row_of_node);
    }
    out->bytes = out->own->bytes;
    return out;
  }

  // Â X where every rank sees all of X; with `relu`, ReLU of it.
  TensorPtr AggregateInPlace(const Context& context, const RankGraph& a, const RankTensor& x,
                             std::span<const uint32_t> row_of_node, FeatureType out_type, bool relu) {
    const Features seen = x.seen.rows() > 0 ? x.seen : SharedRowsOf(context, x);
    auto out = std::make_shared<StoredMatrix>(
        AggregateOwnRows(context, shared_memory_, memory_, a.propagation, seen, row_of_node, out_type));
    if (relu) Rectify(context, out_type, out->mutable_data(), out->rows * out->cols);
    return FromOwnRows(
        context, a.nodes, x.cols,
        RowsAsFeatures(out_type, out, static_cast<const char*>(out->data()), out->rows, x.cols));
  }
  Features SharedRowsOf(const Context& context, const RankTensor& x) {
    const Features own = x.own != nullptr ? local_->DownloadStored(context, *x.own) : x.uploaded;
    return ShareRows(context, shared_memory_, RankRows(own), x.rows, x.cols);
  }
  TensorPtr FromOwnRows(const Context& context, size_t rows, size_t cols, const Features& own) {
    auto tensor = NewTensor(rows, cols);
    tensor->own = local_->Upload(context, own);
    tensor->bytes = tensor->own->bytes;
    return tensor;
  }

  // Rows of a layer's output, where all ranks see them: the next layer sums them over the graph.
  TensorPtr TransformInPlace(const Context& context, const LayerInput& own, size_t rows,
                             const HiddenParameters& hidden) {
    const size_t cols = hidden.weight.cols, row_bytes = cols * BytesOf(options_.features_as);
    const auto write = [&](size_t first, size_t count, char* to) {
      const TensorPtr part = local_->Transform(context, own, hidden, Range(first, first + count));
      const Features made = local_->DownloadStored(context, *part);
      const char* const from = ElementsOf(made);
      ParallelFor(context, count, kProductRows, [&](size_t begin, size_t end) {
        std::memcpy(to + begin * row_bytes, from + begin * row_bytes, (end - begin) * row_bytes);
      });
    };
    const Features seen = WriteSharedRows(context, shared_memory_, options_.features_as, rows, cols, write);
    auto tensor = NewTensor(rows, cols);
    const size_t begin = Begin(rows, rank());
    tensor->own = local_->Upload(context, RowRangeOf(seen, begin, Begin(rows, rank() + 1) - begin));
    tensor->bytes = tensor->own->bytes;
    tensor->seen = seen;
    return tensor;
  }

  // Â X by panels, with the kernels of `kernels`; with `relu`, ReLU of it.
  TensorPtr AggregateColumns(const Context& context, const RankGraph& a, const RankTensor& x,
                             std::span<const uint32_t> row_of_node, Backend& kernels, FeatureType out_type,
                             bool relu) {
    const RankRows rows = RowsToSend(context, x);
    const FeatureType in_type = rows.type();
    const ColumnExchange columns(*ranks_, rows, {x.rows, x.cols, a.nodes, row_of_node, BytesOf(out_type)});
    aggregated_columns_ = x.cols;
    panel_columns_ = columns.width();
    const size_t own_rows = columns.own_results();
    const std::shared_ptr<void> out = AllocateAligned(own_rows * x.cols * BytesOf(out_type));
    for (size_t round = 0; round < columns.rounds(); ++round) {
      context.CheckCancelled();
      const ColumnPanel mine = columns.Mine(round);
      Features result;
      {
        const Array<char> panel = columns.Receive(context, round);
        if (mine.count > 0) {
          const TensorPtr part = kernels.Upload(
              context, RowsAsFeatures(in_type, nullptr, panel.data(), columns.sources(), mine.stride));
          const DeviceGraphPtr graph =
              &kernels == local_.get() ? a.local : kernels.Upload(context, a.propagation);
          result = kernels.DownloadStored(context, *kernels.AggregatePanel(context, *graph, *part, x.cols));
          L2GCN_ASSERT(result.type() == out_type);
        }
      }
      const void* elements = mine.count > 0 ? result.elements() : nullptr;
      columns.Send(context, round, static_cast<const char*>(elements), static_cast<char*>(out.get()));
    }
    kernels.ReleaseSpareMemory();
    ReturnFreeMemory();
    if (relu) Rectify(context, out_type, out.get(), own_rows * x.cols);
    return FromOwnRows(context, a.nodes, x.cols,
                       RowsAsFeatures(out_type, out, static_cast<const char*>(out.get()), own_rows, x.cols));
  }

  // The samples' rows of a part as a tensor of rank 0; null on the others.
  TensorPtr WholeInput(const Context& context, const RankTensor& x, std::span<const uint32_t> samples) {
    const Features rows =
        x.sparse ? SparseAtRank0(context, x)
                 : RowsOfSamples(context, PoolOfAll(), RowsToSend(context, x), {x.rows, x.cols}, samples);
    if (!ranks_->leads()) return nullptr;
    return trainer_->Upload(context, x.sparse && !samples.empty() ? rows.PickRows(samples) : rows);
  }

  const std::shared_ptr<Ranks> ranks_;
  const BackendOptions options_;
  const FeatureType product_type_;  // in which Forward sums a product over the graph
  const double sparse_density_;     // up to which aggregated features stay sparse
  const std::shared_ptr<Backend> local_, trainer_;
  // Ranks see each other's rows in memory: the CPU computes on all ranks, and no rank goes to disk.
  const bool in_place_;
  SharedPool shared_memory_;                          // where those rows lie that are not features
  const std::shared_ptr<ThreadPool> threads_of_all_;  // for training steps; null elsewhere than on rank 0
  MatrixMemory memory_;                               // of what is aggregated there
  // Local ones with results in product_type_, sparse, or dense.
  std::shared_ptr<Backend> products_, sparse_, dense_;
  size_t panel_columns_ = 0, aggregated_columns_ = 0;  // of the last aggregation
};

}  // namespace

std::unique_ptr<Backend> MakeRanksBackend(const Context& context, const BackendOptions& options,
                                          const LocalBackends& backends) {
  return std::make_unique<RanksBackend>(context, options, backends);
}

}  // namespace l2gcn
