// Checks of a whole data set, at the speed of memory and on all threads; under a budget of memory at that of the disk,
// past the page cache. The first thing wrong is the same one whatever the number of threads: each check keeps the
// smallest offending index.
#include "data/validate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "data/node_types.h"
#include "data/relations.h"
#include "data/table_schema.h"

namespace l2gcn {
namespace {

constexpr size_t kNothing = ~size_t{0};

constexpr size_t kPieceBytes = size_t{1} << 20;  // that a thread checks in one go

// Keeps the smallest of the indices offered by all threads.
class SmallestIndex {
 public:
  void Offer(size_t index) {
    size_t seen = first_.load(std::memory_order_relaxed);
    while (index < seen && !first_.compare_exchange_weak(seen, index, std::memory_order_relaxed)) {
    }
  }
  size_t Get() const { return first_.load(); }

 private:
  std::atomic<size_t> first_{kNothing};
};

// The index of the first wrong element, or kNothing. A piece is asked as a whole first, without a branch an element:
// nearly always nothing is wrong.
template <class T, class Wrong>
size_t FirstWrong(const Context& context, const Array<T>& array, const Wrong& wrong) {
  constexpr size_t kPiece = kPieceBytes / sizeof(T);
  SmallestIndex first;
  std::vector<DiskBuffer> buffers(context.threads);
  ParallelTasks(context, (array.size() + kPiece - 1) / kPiece, [&](size_t piece, uint32_t worker) {
    context.CheckCancelled();
    const size_t begin = piece * kPiece, count = std::min(kPiece, array.size() - begin);
    const T* const values = ViewOf(context.disk, array, begin, count, buffers[worker]);
    uint32_t any = 0;
    for (size_t i = 0; i < count; ++i) any |= wrong(values[i]) ? 1u : 0u;
    if (any == 0) return;
    first.Offer(begin + static_cast<size_t>(std::find_if(values, values + count, wrong) - values));
  });
  return first.Get();
}

// The first row of [0, rows) whose indices do not ascend below `bound`, or kNothing; offsets are in order. A row may be
// longer than what is checked in one go.
size_t FirstWrongRow(const std::shared_ptr<DiskMemory>& disk, const uint64_t* offsets, size_t rows,
                     const Array<uint32_t>& indices, uint64_t bound, DiskBuffer& buffer) {
  constexpr size_t kPiece = kPieceBytes / sizeof(uint32_t);
  size_t row = 0;
  uint32_t before = 0;
  for (uint64_t at = offsets[0]; at < offsets[rows]; at += kPiece) {
    const uint64_t end = std::min(offsets[rows], at + kPiece);
    const uint32_t* const values = ViewOf(disk, indices, at, end - at, buffer);
    for (uint64_t e = at; e < end;) {
      while (offsets[row + 1] <= e) ++row;
      const uint64_t until = std::min(end, offsets[row + 1]);
      uint32_t any = values[e - at] >= bound || (e > offsets[row] && before >= values[e - at]) ? 1u : 0u;
      for (uint64_t k = e + 1 - at; k < until - at; ++k)
        any |= static_cast<uint32_t>(values[k] >= bound) | static_cast<uint32_t>(values[k - 1] >= values[k]);
      if (any != 0) return row;
      before = values[until - at - 1];
      e = until;
    }
  }
  return kNothing;
}

// Offsets ascend from 0 to `entries`, and each row's indices ascend below `bound`.
void CheckRows(const Context& context, const Dataset& dataset, const char* what,
               const Array<uint64_t>& indptr, const Array<uint32_t>& indices, uint64_t rows, uint64_t bound,
               const char* column) {
  if (indptr.size() != rows + 1 || indptr[0] != 0 || indptr[rows] != indices.size()) {
    ThrowInput("{}: the {} has {} offsets for {} nodes", PlaceOf(dataset), what, indptr.size(), rows);
  }
  constexpr size_t kRows = 8192;
  SmallestIndex wrong_offset, wrong_row;
  struct Buffers {
    DiskBuffer offsets, indices;
  };
  std::vector<Buffers> buffers(context.threads);
  ParallelTasks(context, (rows + kRows - 1) / kRows, [&](size_t piece, uint32_t worker) {
    context.CheckCancelled();
    const size_t begin = piece * kRows, count = std::min<size_t>(kRows, rows - begin);
    const uint64_t* const offsets = ViewOf(context.disk, indptr, begin, count + 1, buffers[worker].offsets);
    for (size_t i = 0; i < count; ++i) {
      if (offsets[i] > offsets[i + 1] || offsets[i + 1] > indices.size())
        return wrong_offset.Offer(begin + i);
    }
    const size_t row = FirstWrongRow(context.disk, offsets, count, indices, bound, buffers[worker].indices);
    if (row != kNothing) wrong_row.Offer(begin + row);
  });
  if (wrong_offset.Get() != kNothing) {
    ThrowInput("{}: the {}'s offsets fall at node {}; the file is damaged", PlaceOf(dataset), what,
               dataset.NodeName(static_cast<uint32_t>(wrong_offset.Get())));
  }
  const size_t row = wrong_row.Get();
  if (row == kNothing) return;
  const std::string node = dataset.NodeName(static_cast<uint32_t>(row));
  for (uint64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
    if (indices[e] >= bound) {
      ThrowInput("{}: node {} has {} {}, but there are {}", PlaceOf(dataset), node, column, indices[e],
                 bound);
    }
  }
  ThrowInput("{}: the {} of node {} does not ascend or repeats; convert the source again", PlaceOf(dataset),
             what, node);
}

// The first stored value that is NaN, infinite or larger than kLargestFeature, in the order they lie in. Larger magnitudes
// have larger bits, and NaN the largest. Of float16 only the infinite and NaN are that large.
size_t FirstUnusableValue(const Context& context, const Features& features) {
  constexpr uint32_t kLargest = std::bit_cast<uint32_t>(kLargestFeature);
  const auto wide = [](float value) { return (std::bit_cast<uint32_t>(value) & 0x7FFFFFFF) > kLargest; };
  if (features.stores_sparse()) return FirstWrong(context, features.csr().values, wide);
  if (features.type() == FeatureType::kF32) return FirstWrong(context, features.matrix().values, wide);
  const uint16_t largest = features.type() == FeatureType::kF16 ? 0x7BFF : kLargest >> 16;
  return FirstWrong(context, features.halves(),
                    [largest](uint16_t value) { return (value & 0x7FFF) > largest; });
}

void CheckValues(const Context& context, const Dataset& dataset) {
  const Features& features = dataset.features;
  const size_t wrong = FirstUnusableValue(context, features);
  if (wrong == kNothing) return;
  size_t node = 0, column = 0;
  float value = 0;
  if (features.stores_sparse()) {
    const Array<uint64_t>& indptr = features.csr().indptr;
    node = static_cast<size_t>(std::upper_bound(indptr.begin(), indptr.end(), wrong) - indptr.begin()) - 1;
    column = features.csr().indices[wrong];
    value = features.csr().values[wrong];
  } else {
    node = wrong / features.cols();
    column = wrong % features.cols();
    value = *features.ReadColumns(node, column, column + 1, &value);
  }
  const std::string name = FeatureName(dataset.schema, column);
  const std::string of_node = dataset.NodeName(static_cast<uint32_t>(node));
  if (!std::isfinite(value)) {
    ThrowInput("{}: {} of node {} is {}; replace it by a finite number", PlaceOf(dataset), name, of_node,
               value);
  }
  ThrowInput(
      "{}: {} of node {} is {}, and its square overflows; replace it, or divide the column by a constant",
      PlaceOf(dataset), name, of_node, value);
}

void CheckFeatures(const Context& context, const Dataset& dataset) {
  const Features& features = dataset.features;
  if (features.rows() != dataset.nodes()) {
    ThrowInput("{}: {} rows of features for {} nodes; expected one a node", PlaceOf(dataset), features.rows(),
               dataset.nodes());
  }
  if (features.stores_sparse()) {
    CheckRows(context, dataset, "feature matrix", features.csr().indptr, features.csr().indices,
              features.rows(), features.cols(), "a value in column");
  }
  CheckValues(context, dataset);
}

void CheckTargets(const Context& context, const Dataset& dataset) {
  const Labels& labels = dataset.labels;
  const auto node_of = [&](size_t at) { return dataset.NodeName(static_cast<uint32_t>(at)); };
  const size_t infinite =
      FirstWrong(context, labels.targets.values, [](float value) { return std::isinf(value); });
  if (infinite != kNothing) {
    ThrowInput("{}: target '{}' of node {} is infinite; expected a number, or NaN where it is missing",
               PlaceOf(dataset), dataset.ClassName(static_cast<uint32_t>(infinite % labels.classes)),
               node_of(infinite / labels.classes));
  }
  const size_t wrong = FirstWrong(context, labels.node_weights,
                                  [](float weight) { return !(weight > 0) || std::isinf(weight); });
  if (wrong != kNothing) {
    ThrowInput("{}: the sample weight of node {} is {}; expected a number above zero", PlaceOf(dataset),
               node_of(wrong), labels.node_weights[wrong]);
  }
}

void CheckLabels(const Context& context, const Dataset& dataset) {
  CheckLabelRows(dataset);
  const Labels& labels = dataset.labels;
  if (labels.classes > kMostClasses) {
    ThrowInput(
        "{}: {} classes for {} nodes, but at most {} are supported; does the label column hold classes?",
        PlaceOf(dataset), labels.classes, dataset.nodes(), kMostClasses);
  }
  if (labels.task() == Task::kRegression) return CheckTargets(context, dataset);
  const size_t wrong = labels.multilabel
                           ? FirstWrong(context, labels.matrix, [](uint8_t value) { return value > 1; })
                           : FirstWrong(context, labels.classes_of, [&](int32_t value) {
                               return value < -1 || value >= static_cast<int64_t>(labels.classes);
                             });
  if (wrong == kNothing) return;
  if (labels.multilabel) {
    ThrowInput("{}: label {} of node {} is {}; expected 0 or 1", PlaceOf(dataset), wrong % labels.classes,
               dataset.NodeName(static_cast<uint32_t>(wrong / labels.classes)), labels.matrix[wrong]);
  }
  ThrowInput("{}: node {} has class {}, but the classes are 0 to {} (−1: unlabelled)", PlaceOf(dataset),
             dataset.NodeName(static_cast<uint32_t>(wrong)), labels.classes_of[wrong],
             int64_t{labels.classes} - 1);
}

void CheckSplits(const Context& context, const Dataset& dataset) {
  for (const Split& split : dataset.splits) {
    CheckSplitLength(dataset, split);
    const size_t wrong = FirstWrong(context, split.roles, [](uint8_t role) { return role > 3; });
    if (wrong != kNothing) {
      ThrowInput("{}: split {} gives node {} the role {}; expected 0 to 3", PlaceOf(dataset), split.name,
                 dataset.NodeName(static_cast<uint32_t>(wrong)), split.roles[wrong]);
    }
  }
}

// Before the other checks, which name nodes in their messages.
void CheckNames(const Dataset& dataset) {
  const size_t nodes = dataset.nodes();
  const NameTable& names = dataset.node_names;
  if (!dataset.node_ids.empty() && dataset.node_ids.size() != nodes) {
    ThrowInput("{}: {} node ids for {} nodes", PlaceOf(dataset), dataset.node_ids.size(), nodes);
  }
  if (names.empty()) return;
  const bool fits =
      names.size() == nodes && names.offsets[0] == 0 && names.offsets[nodes] == names.text.size();
  if (!fits || !std::is_sorted(names.offsets.begin(), names.offsets.end())) {
    ThrowInput("{}: the node names are damaged", PlaceOf(dataset));
  }
}

}  // namespace

namespace {

void CheckGraph(const Context& context, const Dataset& dataset, const Graph& graph) {
  CheckRows(context, dataset, "neighbour list", graph.indptr, graph.indices, graph.nodes, graph.nodes,
            "an edge to node");
  if (!graph.weighted()) return;
  if (graph.weights.size() != graph.entries())
    ThrowInput("{}: {} weights for {} edges", PlaceOf(dataset), graph.weights.size(), graph.entries());
  const size_t wrong = FirstWrong(context, graph.weights, [](float value) { return !std::isfinite(value); });
  if (wrong != kNothing)
    ThrowInput("{}: the weight of edge {} is {}", PlaceOf(dataset), wrong, graph.weights[wrong]);
}

}  // namespace

void ValidateLabels(const Context& context, const Dataset& dataset) {
  CheckNames(dataset);
  CheckLabels(context, dataset);
  CheckSplits(context, dataset);
}

void ValidateDataset(const Context& context, const Dataset& dataset) {
  CheckContext(context);
  CheckNames(dataset);
  CheckNodeTypes(dataset);
  CheckRelations(dataset);
  CheckGraph(context, dataset, dataset.graph);
  for (const Relation& relation : dataset.relations) CheckGraph(context, dataset, relation.graph);
  CheckFeatures(context, dataset);
  ValidateLabels(context, dataset);
}

}  // namespace l2gcn
