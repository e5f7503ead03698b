#include "model/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "kernels/row_loss.h"
#include "model/counts.h"

namespace l2gcn {
namespace {

double LossOf(const Labels& labels, uint32_t node, const float* logits) {
  L2GCN_ASSERT(labels.task() != Task::kRegression);
  if (!labels.multilabel)
    return SoftmaxRowLoss(logits, labels.classes, static_cast<size_t>(labels.classes_of[node]));
  return SigmoidRowLoss(logits, labels.classes, labels.matrix.data() + size_t{node} * labels.classes);
}

// Nodes are scored in parts that do not depend on the number of threads; sums are of parts, in order.
size_t PartsOf(size_t nodes) { return (nodes + kRowsOfPart - 1) / kRowsOfPart; }
template <class Body>
void ForParts(const Context& context, size_t nodes, const Body& body) {
  ParallelTasks(context, PartsOf(nodes), [&](size_t part, uint32_t) {
    body(part, part * kRowsOfPart, std::min(nodes, (part + 1) * kRowsOfPart));
  });
}

}  // namespace

double MicroF1(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
               const Matrix& logits) {
  std::vector<Counts> parts(PartsOf(nodes.size()));
  ForParts(context, nodes.size(), [&](size_t part, size_t begin, size_t end) {
    const DecisionRule rule(labels.multilabel, labels.classes, {});
    std::vector<Counts> counts(labels.classes);
    for (size_t i = begin; i < end; ++i) {
      if (labels.IsLabelled(nodes[i])) CountRow(labels, nodes[i], rule, logits.row(i), counts);
    }
    parts[part] = Sum(counts);
  });
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](uint32_t n) { return labels.IsLabelled(n); });
  return any ? Sum(parts).F1() : std::numeric_limits<double>::quiet_NaN();
}

double MeanLoss(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
                const Matrix& logits) {
  struct Part {
    double sum = 0;
    uint64_t scored = 0;
  };
  std::vector<Part> parts(PartsOf(nodes.size()));
  ForParts(context, nodes.size(), [&](size_t part, size_t begin, size_t end) {
    Part own;
    for (size_t i = begin; i < end; ++i) {
      if (!labels.IsLabelled(nodes[i])) continue;
      own.sum += LossOf(labels, nodes[i], logits.row(i));
      ++own.scored;
    }
    parts[part] = own;
  });
  Part all;
  for (const Part& part : parts) all.sum += part.sum, all.scored += part.scored;
  return all.scored == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : all.sum / static_cast<double>(all.scored);
}

}  // namespace l2gcn
