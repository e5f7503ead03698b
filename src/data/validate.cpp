// Checks of a whole data set, at memory speed and on all threads. The first thing wrong is the same one
// whatever the number of threads: each check keeps the smallest offending index.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "l2gcn/dataset.h"

namespace l2gcn {
namespace {

constexpr size_t kNothing = ~size_t{0};

// The smallest i < count with wrong(i), or kNothing.
template <class Wrong>
size_t FirstWrong(const Context& context, size_t count, size_t grain, const Wrong& wrong) {
  std::atomic<size_t> first{kNothing};
  ParallelFor(context, count, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!wrong(i)) continue;
      size_t seen = first.load(std::memory_order_relaxed);
      while (i < seen && !first.compare_exchange_weak(seen, i, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  return first.load();
}

// Offsets ascend from 0 to `entries`, and each row's indices ascend below `bound`.
void CheckRows(const Context& context, const Dataset& dataset, const char* what,
               const Array<uint64_t>& indptr, const Array<uint32_t>& indices, uint64_t rows, uint64_t bound,
               const char* column) {
  if (indptr.size() != rows + 1 || indptr[0] != 0 || indptr[rows] != indices.size()) {
    ThrowInput("{}: the {} has {} offsets for {} nodes", PlaceOf(dataset), what, indptr.size(), rows);
  }
  const size_t offset = FirstWrong(context, rows, 4096, [&](size_t i) {
    return indptr[i] > indptr[i + 1] || indptr[i + 1] > indices.size();
  });
  if (offset != kNothing) {
    ThrowInput("{}: the {}'s offsets fall at node {}; the file is damaged", PlaceOf(dataset), what,
               dataset.NodeName(static_cast<uint32_t>(offset)));
  }
  const size_t row = FirstWrong(context, rows, 1024, [&](size_t i) {
    for (uint64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      if (indices[e] >= bound || (e > indptr[i] && indices[e - 1] >= indices[e])) return true;
    }
    return false;
  });
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

// Whether element i of the stored features, in the order they lie in, is neither infinite nor NaN.
bool IsFinite(const Features& features, size_t i) {
  if (features.stores_sparse()) return std::isfinite(features.csr().values[i]);
  if (features.type() == FeatureType::kF32) return std::isfinite(features.matrix().values[i]);
  const uint16_t exponent = features.type() == FeatureType::kF16 ? 0x7C00 : 0x7F80;
  return (features.halves()[i] & exponent) != exponent;
}

constexpr size_t kFiniteBlock = 4096;  // elements

// The same of all elements from `begin` to before `end`.
bool IsFiniteBlock(const Features& features, size_t begin, size_t end) {
  const bool sparse = features.stores_sparse();
  if (!sparse && features.type() != FeatureType::kF32) {
    for (size_t i = begin; i < end; ++i)
      if (!IsFinite(features, i)) return false;
    return true;
  }
  constexpr uint32_t kExponent = 0x7F800000;  // all ones: infinite or NaN
  const float* values = sparse ? features.csr().values.data() : features.matrix().values.data();
  uint32_t wrong = 0;
  for (size_t i = begin; i < end; ++i)
    wrong |= (std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent ? 1u : 0u;
  return wrong == 0;
}

void CheckFinite(const Context& context, const Dataset& dataset) {
  const Features& features = dataset.features;
  const size_t count = features.stores_sparse() ? features.csr().nnz() : features.rows() * features.cols();
  // Nearly always every value is finite, so whole blocks are asked first, without a branch an element.
  const size_t block = FirstWrong(context, (count + kFiniteBlock - 1) / kFiniteBlock, 16, [&](size_t i) {
    return !IsFiniteBlock(features, i * kFiniteBlock, std::min(count, (i + 1) * kFiniteBlock));
  });
  size_t wrong = kNothing;
  for (size_t i = block * kFiniteBlock; block != kNothing && wrong == kNothing; ++i)
    if (!IsFinite(features, i)) wrong = i;
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
  ThrowInput("{}: feature {} of node {} is {}; replace it by a finite number", PlaceOf(dataset), column,
             dataset.NodeName(static_cast<uint32_t>(node)), value);
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
  CheckFinite(context, dataset);
}

void CheckLabels(const Context& context, const Dataset& dataset) {
  CheckLabelRows(dataset);
  const Labels& labels = dataset.labels;
  const size_t nodes = dataset.nodes();
  const size_t wrong = labels.multilabel
                           ? FirstWrong(context, labels.matrix.size(), size_t{1} << 16,
                                        [&](size_t i) { return labels.matrix[i] > 1; })
                           : FirstWrong(context, nodes, size_t{1} << 16, [&](size_t i) {
                               return labels.classes_of[i] < -1 ||
                                      labels.classes_of[i] >= static_cast<int64_t>(labels.classes);
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
    const size_t wrong = FirstWrong(context, split.roles.size(), size_t{1} << 16,
                                    [&](size_t i) { return split.roles[i] > 3; });
    if (wrong != kNothing) {
      ThrowInput("{}: split {} gives node {} the role {}; expected 0 to 3", PlaceOf(dataset), split.name,
                 dataset.NodeName(static_cast<uint32_t>(wrong)), split.roles[wrong]);
    }
  }
}

// Before the other checks, which name nodes in their messages.
void CheckNames(const Context& context, const Dataset& dataset) {
  const size_t nodes = dataset.nodes();
  const NameTable& names = dataset.node_names;
  if (!dataset.node_ids.empty() && dataset.node_ids.size() != nodes) {
    ThrowInput("{}: {} node ids for {} nodes", PlaceOf(dataset), dataset.node_ids.size(), nodes);
  }
  if (names.empty()) return;
  const bool fits =
      names.size() == nodes && names.offsets[0] == 0 && names.offsets[nodes] == names.text.size();
  if (!fits || FirstWrong(context, nodes, 4096,
                          [&](size_t i) { return names.offsets[i] > names.offsets[i + 1]; }) != kNothing) {
    ThrowInput("{}: the node names are damaged", PlaceOf(dataset));
  }
}

}  // namespace

void ValidateDataset(const Context& context, const Dataset& dataset) {
  CheckContext(context);
  CheckNames(context, dataset);
  const Graph& graph = dataset.graph;
  CheckRows(context, dataset, "neighbour list", graph.indptr, graph.indices, graph.nodes, graph.nodes,
            "an edge to node");
  if (graph.weighted()) {
    if (graph.weights.size() != graph.entries()) {
      ThrowInput("{}: {} weights for {} edges", PlaceOf(dataset), graph.weights.size(), graph.entries());
    }
    const size_t wrong = FirstWrong(context, graph.weights.size(), size_t{1} << 16,
                                    [&](size_t i) { return !std::isfinite(graph.weights[i]); });
    if (wrong != kNothing)
      ThrowInput("{}: the weight of edge {} is {}", PlaceOf(dataset), wrong, graph.weights[wrong]);
  }
  CheckFeatures(context, dataset);
  CheckLabels(context, dataset);
  CheckSplits(context, dataset);
}

}  // namespace l2gcn
