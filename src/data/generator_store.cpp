// Synthetic data sets streamed to a native directory: file by file, each by blocks of rows, so that memory
// holds a block a thread and never all features or all edges. The files equal those SaveDataset writes for
// the same data set in memory.
#include <algorithm>
#include <numeric>

#include "core/error_format.h"
#include "core/files.h"
#include "core/threads.h"
#include "data/generator_graph.h"
#include "data/generator_nodes.h"
#include "data/generator_relations.h"
#include "data/generator_shapes.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "data/watch.h"
#include "l2gcn/generate.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kRowsInFlightBytes = size_t{32} << 20;  // what the rows in flight may take
constexpr size_t kFewRowsInFlightBytes = size_t{1} << 20;

// How much is made at a time: as much as the threads can make use of and the budget has room for.
struct InFlight {
  uint32_t blocks = 0;  // of the graph's rows
  size_t row_bytes = 0;
};

// Making a block of the graph's rows takes its entries, the edges they come from, and copies of those while they are
// sorted. Throws Error(kUsage) where not even one fits.
InFlight InFlightWithin(const Context& context, const GeneratorPlan& plan, const GeneratorLayout& layout) {
  constexpr uint64_t kOfAnEntry = 3 * sizeof(uint32_t), kOfARow = 2 * sizeof(uint64_t);
  if (context.host_memory == 0) return {context.threads, kRowsInFlightBytes};
  uint64_t most = kFewRowsInFlightBytes;
  for (uint32_t block = 0; block < layout.blocks(); ++block)
    most = std::max(most, kOfAnEntry * layout.BlockEntries(block) + kOfARow * layout.BlockRows(block));
  const uint64_t held = HeldBytes();
  RefuseBudgetBelow(context, "synthetic:" + plan.shape, held + most);
  const uint64_t room = context.host_memory - held;
  return {static_cast<uint32_t>(std::min<uint64_t>(context.threads, room / most)),
          static_cast<size_t>(std::min<uint64_t>(kRowsInFlightBytes, room))};
}

void StreamGraph(const Context& context, const GeneratorPlan& plan, const GeneratorLayout& layout,
                 uint32_t at_once, const fs::path& directory) {
  struct Rows {
    std::vector<uint64_t> ends;
    std::vector<uint32_t> indices;
  };
  std::vector<Rows> in_flight(at_once);
  NpyWriter indptr(directory / kGraphIndptrFile, NpyDescr<uint64_t>());
  NpyWriter indices(directory / kGraphIndicesFile, NpyDescr<uint32_t>());
  uint64_t written = 0;
  indptr.Write(&written, sizeof(written));
  for (uint32_t first = 0; first < layout.blocks(); first += at_once) {
    const uint32_t count = std::min(at_once, layout.blocks() - first);
    ParallelTasks(context, count, [&](size_t task, uint32_t) {
      context.CheckCancelled();
      const uint32_t block = first + static_cast<uint32_t>(task);
      in_flight[task].ends.resize(layout.BlockRows(block));
      in_flight[task].indices.resize(layout.BlockEntries(block));
      layout.FillRows(block, in_flight[task].ends, in_flight[task].indices);
    });
    for (uint32_t task = 0; task < count; ++task) {
      Rows& rows = in_flight[task];
      for (uint64_t& end : rows.ends) end += written;
      written += rows.indices.size();
      indptr.Write(rows.ends.data(), rows.ends.size() * sizeof(uint64_t));
      indices.Write(rows.indices.data(), rows.indices.size() * sizeof(uint32_t));
    }
  }
  indptr.Close(static_cast<uint64_t>(plan.nodes) + 1);
  indices.Close(written);
}

// A file of one row a node; fill(begin, count, T* rows) makes a range of them.
template <class T, class Fill>
void StreamRows(const Context& context, const GeneratorPlan& plan, size_t bytes_at_once, const fs::path& path,
                std::vector<uint64_t> inner_shape, const Fill& fill,
                const std::string& descr = NpyDescr<T>()) {
  const size_t width = inner_shape.empty() ? 1 : inner_shape[0];
  NpyWriter writer(path, descr, std::move(inner_shape));
  const size_t rows = std::clamp<size_t>(bytes_at_once / (width * sizeof(T)), 1, plan.nodes);
  std::vector<T> buffer(rows * width);
  for (size_t first = 0; first < plan.nodes; first += rows) {
    context.CheckCancelled();
    const size_t count = std::min<size_t>(rows, plan.nodes - first);
    ParallelFor(context, count, kNodeGrain, [&](size_t begin, size_t end) {
      fill(static_cast<uint32_t>(first + begin), static_cast<uint32_t>(end - begin),
           buffer.data() + begin * width);
    });
    writer.Write(buffer.data(), count * width * sizeof(T));
  }
  writer.Close(plan.nodes);
}

void StreamWords(const Context& context, const GeneratorPlan& plan, size_t bytes_at_once,
                 const GeneratorNodes& nodes, const fs::path& directory) {
  NpyWriter indptr(directory / kFeatureIndptrFile, NpyDescr<uint64_t>());
  NpyWriter indices(directory / kFeatureIndicesFile, NpyDescr<uint32_t>());
  NpyWriter values(directory / kFeatureValuesFile, NpyDescr<float>());
  const auto typical = static_cast<size_t>(std::max(1.0, plan.words)) * 2 * sizeof(float) + sizeof(uint64_t);
  const size_t rows = std::clamp<size_t>(bytes_at_once / typical, 1, plan.nodes);
  std::vector<uint64_t> ends(rows + 1);  // where each row's words end, from the chunk's start
  std::vector<uint32_t> columns;
  std::vector<float> weights;
  uint64_t written = 0;
  indptr.Write(&written, sizeof(written));
  for (size_t first = 0; first < plan.nodes; first += rows) {
    context.CheckCancelled();
    const size_t count = std::min<size_t>(rows, plan.nodes - first);
    ends[0] = 0;
    for (size_t row = 0; row < count; ++row) {
      ends[row + 1] = ends[row] + nodes.WordCount(static_cast<uint32_t>(first + row));
    }
    columns.resize(ends[count]);
    weights.resize(ends[count]);
    ParallelFor(context, count, kNodeGrain, [&](size_t begin, size_t end) {
      nodes.FillWords(static_cast<uint32_t>(first + begin), static_cast<uint32_t>(end - begin),
                      columns.data() + ends[begin], weights.data() + ends[begin]);
    });
    for (size_t row = 1; row <= count; ++row) ends[row] += written;
    written = ends[count];
    indptr.Write(ends.data() + 1, count * sizeof(uint64_t));
    indices.Write(columns.data(), columns.size() * sizeof(uint32_t));
    values.Write(weights.data(), weights.size() * sizeof(float));
  }
  indptr.Close(static_cast<uint64_t>(plan.nodes) + 1);
  indices.Close(written);
  values.Close(written);
}

NativeInfo InfoOfPlan(const GeneratorPlan& plan) {
  NativeInfo info;
  info.name = "synthetic:" + plan.shape;
  info.preset_row = plan.preset_row;
  info.nodes = plan.nodes;
  info.edges = plan.edges;
  info.features = plan.features;
  info.multilabel = plan.multilabel;
  info.classes = plan.classes;
  info.splits = {"paper"};
  info.changes.entries_read = 2 * plan.edges;
  return info;
}

}  // namespace

void GenerateToDirectory(const Context& context, const GenerateOptions& options, const std::string& directory,
                         bool force) {
  const GeneratorPlan plan = ResolveGeneratorPlan(options);
  if (HasRelations(options)) {
    RefuseToReplaceOthers(directory);
    return SaveDatasetAs(context, GenerateDataset(context, options), directory, force, options.features_as);
  }
  if (plan.sparse() && options.features_as == FeatureType::kF16)
    ThrowUsage("--features-as f16 has no effect on {}, whose features are sparse; leave it out", plan.shape);
  RefuseToReplaceOthers(directory);
  if (options.regression) {  // a target depends on other nodes' features
    const auto as = plan.sparse() ? std::nullopt : std::optional(options.features_as);
    return SaveDatasetAs(context, GenerateDataset(context, options), directory, force, as);
  }
  const GeneratorLayout layout(plan);
  const GeneratorNodes nodes(plan, layout);
  const InFlight in_flight = InFlightWithin(context, plan, layout);
  StagedDirectory staged(directory, force);
  StreamGraph(context, plan, layout, in_flight.blocks, staged.path());
  if (plan.sparse()) {
    StreamWords(context, plan, in_flight.row_bytes, nodes, staged.path());
  } else if (options.features_as == FeatureType::kF16) {
    StreamRows<uint16_t>(
        context, plan, in_flight.row_bytes, staged.path() / kFeaturesFile, {plan.features},
        [&](uint32_t begin, uint32_t count, uint16_t* rows) {
          std::vector<float> row(plan.features);
          for (uint32_t i = 0; i < count; ++i, rows += plan.features) {
            nodes.FillDense(begin + i, 1, row.data());
            std::transform(row.begin(), row.end(), rows, NarrowToF16);
          }
        },
        "<f2");
  } else {
    StreamRows<float>(
        context, plan, in_flight.row_bytes, staged.path() / kFeaturesFile, {plan.features},
        [&](uint32_t begin, uint32_t count, float* rows) { nodes.FillDense(begin, count, rows); });
  }
  if (plan.multilabel) {
    StreamRows<uint8_t>(
        context, plan, in_flight.row_bytes, staged.path() / kLabelsFile, {plan.classes},
        [&](uint32_t begin, uint32_t count, uint8_t* rows) { nodes.FillLabelSets(begin, count, rows); });
  } else {
    StreamRows<int32_t>(
        context, plan, in_flight.row_bytes, staged.path() / kLabelsFile, {},
        [&](uint32_t begin, uint32_t count, int32_t* rows) { nodes.FillClasses(begin, count, rows); });
  }
  StreamRows<uint8_t>(
      context, plan, in_flight.row_bytes, staged.path() / SplitFile(0), {},
      [&](uint32_t begin, uint32_t count, uint8_t* rows) { nodes.FillRoles(begin, count, rows); });
  WriteManifest(staged.path(), InfoOfPlan(plan));
  staged.Commit();
}

}  // namespace l2gcn
