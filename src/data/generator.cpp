// Synthetic data sets in memory. Everything is drawn straight into its final array, so that the peak is the
// data set and one block of edges a thread.
#include <algorithm>
#include <numeric>

#include "core/error_format.h"
#include "core/memory_meter.h"
#include "core/threads.h"
#include "core/usable.h"
#include "data/generator_graph.h"
#include "data/generator_nodes.h"
#include "data/generator_relations.h"
#include "data/generator_shapes.h"
#include "data/generator_targets.h"
#include "l2gcn/generate.h"

namespace l2gcn {
namespace {

constexpr uint64_t kLargestInMemory = uint64_t{64} << 30;  // past this a data set is better mapped than held

uint64_t BytesNeeded(const GeneratorPlan& plan) {
  const uint64_t nodes = plan.nodes;
  const uint64_t graph = (nodes + 1) * sizeof(uint64_t) + 2 * plan.edges * sizeof(uint32_t);
  const uint64_t features =
      plan.sparse() ? (nodes + 1) * sizeof(uint64_t) +
                          static_cast<uint64_t>(static_cast<double>(nodes) * plan.words) * 2 * sizeof(float)
                    : nodes * plan.features * sizeof(float);
  const uint64_t labels = nodes * (plan.multilabel ? plan.classes : sizeof(int32_t));
  return graph + features + labels + nodes;  // and a byte a node for its role
}

void RefuseWhatDoesNotFit(const GeneratorPlan& plan) {
  const uint64_t needed = BytesNeeded(plan);
  const uint64_t available = AvailableBytes();
  const uint64_t room = available == 0 ? kLargestInMemory : std::min(kLargestInMemory, available);
  if (needed <= room) return;
  constexpr double kGiB = 1u << 30;
  ThrowInput(
      "synthetic:{} with {} nodes and {} edges needs {:.1f} GiB of memory, and at most {:.1f} GiB may be "
      "taken "
      "here; generate it into a directory, which streams, or scale it down by {:.2g}",
      plan.shape, plan.nodes, plan.edges, static_cast<double>(needed) / kGiB,
      static_cast<double>(room) / kGiB, 0.9 * static_cast<double>(room) / static_cast<double>(needed));
}

Graph DrawGraph(const Context& context, const GeneratorPlan& plan, const GeneratorLayout& layout) {
  Graph graph;
  graph.nodes = plan.nodes;
  graph.indptr = Array<uint64_t>::Allocate(static_cast<size_t>(plan.nodes) + 1);
  graph.indices = Array<uint32_t>::Allocate(2 * plan.edges);
  std::vector<uint64_t> first(layout.blocks() + 1, 0);  // entries before each block
  for (uint32_t block = 0; block < layout.blocks(); ++block) {
    first[block + 1] = first[block] + layout.BlockEntries(block);
  }
  L2GCN_ASSERT(first.back() == 2 * plan.edges);
  uint64_t* indptr = graph.indptr.mutable_data();
  indptr[0] = 0;
  ParallelTasks(context, layout.blocks(), [&](size_t task, uint32_t) {
    context.CheckCancelled();
    const auto block = static_cast<uint32_t>(task);
    const std::span<uint64_t> row_end(indptr + 1 + layout.BlockBegin(block), layout.BlockRows(block));
    layout.FillRows(block, row_end,
                    graph.indices.mutable_span().subspan(first[block], first[block + 1] - first[block]));
    for (uint64_t& end : row_end) end += first[block];
  });
  return graph;
}

// fill(begin, count) over all nodes, by ranges.
template <class Fill>
void EachNode(const Context& context, const GeneratorPlan& plan, const Fill& fill) {
  context.CheckCancelled();
  ParallelFor(context, plan.nodes, kNodeGrain, [&](size_t begin, size_t end) {
    fill(static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin));
  });
}

Features DrawFeatures(const Context& context, const GeneratorPlan& plan, const GeneratorNodes& nodes) {
  if (!plan.sparse()) {
    Matrix rows = Matrix::Allocate(plan.nodes, plan.features);
    EachNode(context, plan,
             [&](uint32_t begin, uint32_t count) { nodes.FillDense(begin, count, rows.mutable_row(begin)); });
    return Features::Dense(std::move(rows));
  }
  CsrMatrix words;
  words.rows = plan.nodes;
  words.cols = plan.features;
  words.indptr = Array<uint64_t>::Allocate(static_cast<size_t>(plan.nodes) + 1);
  uint64_t* indptr = words.indptr.mutable_data();
  indptr[0] = 0;
  EachNode(context, plan, [&](uint32_t begin, uint32_t count) {
    for (uint32_t node = begin; node < begin + count; ++node) indptr[node + 1] = nodes.WordCount(node);
  });
  std::partial_sum(indptr, indptr + plan.nodes + 1, indptr);
  words.indices = Array<uint32_t>::Allocate(indptr[plan.nodes]);
  words.values = Array<float>::Allocate(indptr[plan.nodes]);
  EachNode(context, plan, [&](uint32_t begin, uint32_t count) {
    nodes.FillWords(begin, count, words.indices.mutable_data() + indptr[begin],
                    words.values.mutable_data() + indptr[begin]);
  });
  return Features::Sparse(std::move(words));
}

Labels DrawLabels(const Context& context, const GeneratorPlan& plan, const GeneratorNodes& nodes) {
  Labels labels;
  labels.multilabel = plan.multilabel;
  labels.classes = plan.classes;
  if (plan.multilabel) {
    labels.matrix = Array<uint8_t>::Allocate(static_cast<size_t>(plan.nodes) * plan.classes);
  } else {
    labels.classes_of = Array<int32_t>::Allocate(plan.nodes);
  }
  EachNode(context, plan, [&](uint32_t begin, uint32_t count) {
    if (plan.multilabel) {
      nodes.FillLabelSets(begin, count,
                          labels.matrix.mutable_data() + static_cast<size_t>(begin) * plan.classes);
    } else {
      nodes.FillClasses(begin, count, labels.classes_of.mutable_data() + begin);
    }
  });
  return labels;
}

}  // namespace

Dataset GenerateDataset(const Context& context, const GenerateOptions& options) {
  CheckContext(context);
  const GeneratorPlan plan = ResolveGeneratorPlan(options);
  RefuseWhatDoesNotFit(plan);
  const GeneratorLayout layout(plan);
  const GeneratorNodes nodes(plan, layout);
  Dataset dataset;
  dataset.name = "synthetic:" + plan.shape;
  dataset.preset_row = plan.preset_row;
  dataset.format = "synthetic";
  dataset.features = DrawFeatures(context, plan, nodes);
  dataset.labels = DrawLabels(context, plan, nodes);
  if (HasRelations(options)) {
    DrawRelations(context, options, plan, layout, dataset);
  } else {
    dataset.edges = plan.edges;
    dataset.graph = DrawGraph(context, plan, layout);
  }
  // Relations follow from the classes, and targets from the graph.
  if (options.regression) dataset.labels = DrawTargets(context, plan, dataset.graph, dataset.features);
  Split split{"paper", Array<uint8_t>::Allocate(plan.nodes)};
  EachNode(context, plan, [&](uint32_t begin, uint32_t count) {
    nodes.FillRoles(begin, count, split.roles.mutable_data() + begin);
  });
  dataset.splits.push_back(std::move(split));
  dataset.changes.entries_read = dataset.graph.entries();
  dataset.checked = true;
  return dataset;
}

}  // namespace l2gcn
