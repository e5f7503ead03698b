#include "pipeline/label_inputs.h"

#include <algorithm>
#include <vector>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kLabelRows = 512;  // at once, by one thread

// Labels at the ends of a node's walks, by class, and in the last place how many walks end at a labelled node.
// Whole numbers, so what is taken away leaves nothing behind.
using Ends = std::vector<double>;  // (classes + 1)

void AddLabels(const Labels& labels, int64_t node, double times, Ends& ends) {
  const auto at = static_cast<size_t>(node);
  ends.back() += times;
  if (!labels.multilabel) {
    ends[static_cast<size_t>(labels.classes_of[at])] += times;
    return;
  }
  for (uint32_t c = 0; c < labels.classes; ++c) ends[c] += times * labels.matrix[at * labels.classes + c];
}

std::span<const uint32_t> NeighboursOf(const Graph& graph, size_t node) {
  return {graph.indices.data() + graph.indptr[node], graph.indptr[node + 1] - graph.indptr[node]};
}

bool Reaches(const Graph& graph, size_t from, size_t to) {
  const std::span<const uint32_t> row = NeighboursOf(graph, from);
  return std::binary_search(row.begin(), row.end(), static_cast<uint32_t>(to));
}

// Calls count(node, ends) for every node, with ends of 0, and lets keep(node, ends) store the result.
template <class Count, class Keep>
void ForEachNode(const Context& context, const Graph& graph, size_t classes, Count count, Keep keep) {
  ParallelFor(context, graph.nodes, kLabelRows, [&](size_t begin, size_t end) {
    Ends ends(classes + 1);
    for (size_t node = begin; node < end; ++node) {
      std::fill(ends.begin(), ends.end(), 0.0);
      for (const uint32_t other : NeighboursOf(graph, node)) {
        if (other != node) count(node, other, ends);
      }
      keep(node, ends);
    }
  });
}

}  // namespace

Matrix LabelInputs(const Context& context, const Graph& graph, const Labels& labels,
                   std::span<const int64_t> label_of) {
  const size_t classes = labels.classes, width = classes + 1;
  std::vector<float> one(size_t{graph.nodes} * width);  // ends of the walks of one step
  Matrix z = Matrix::Zeros(graph.nodes, 2 * classes);
  float* out = z.values.mutable_data();
  const auto shares = [&](size_t node, size_t first, const Ends& ends) {
    if (ends.back() <= 0) return;
    float* row = out + node * 2 * classes + first;
    for (size_t c = 0; c < classes; ++c) row[c] = static_cast<float>(ends[c] / ends.back());
  };
  ForEachNode(
      context, graph, classes,
      [&](size_t, uint32_t other, Ends& ends) {
        if (label_of[other] >= 0) AddLabels(labels, label_of[other], 1, ends);
      },
      [&](size_t node, const Ends& ends) {
        for (size_t c = 0; c < width; ++c) one[node * width + c] = static_cast<float>(ends[c]);
        shares(node, 0, ends);
      });
  ForEachNode(
      context, graph, classes,
      [&](size_t node, uint32_t other, Ends& ends) {
        for (size_t c = 0; c < width; ++c) ends[c] += static_cast<double>(one[other * width + c]);
        if (label_of[node] >= 0 && Reaches(graph, other, node)) AddLabels(labels, label_of[node], -1, ends);
      },
      [&](size_t node, const Ends& ends) { shares(node, classes, ends); });
  return z;
}

}  // namespace l2gcn
