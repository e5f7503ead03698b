#include "model/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "l2gcn/model.h"

namespace l2gcn {
namespace {

struct Counts {
  uint64_t true_positive = 0, false_positive = 0, false_negative = 0;
  uint64_t members() const { return true_positive + false_negative; }
  double Precision() const { return Ratio(true_positive, true_positive + false_positive); }
  double Recall() const { return Ratio(true_positive, true_positive + false_negative); }
  double F1() const { return Ratio(2 * true_positive, 2 * true_positive + false_positive + false_negative); }
  static double Ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

void CountRow(const Labels& labels, uint32_t node, const float* logits, std::vector<Counts>& counts) {
  if (labels.multilabel) {
    const uint8_t* truth = labels.matrix.data() + size_t{node} * labels.classes;
    for (uint32_t c = 0; c < labels.classes; ++c) {
      const bool predicted = logits[c] > 0, actual = truth[c] != 0;
      counts[c].true_positive += predicted && actual;
      counts[c].false_positive += predicted && !actual;
      counts[c].false_negative += !predicted && actual;
    }
    return;
  }
  const auto predicted = static_cast<size_t>(std::max_element(logits, logits + labels.classes) - logits);
  const auto actual = static_cast<size_t>(labels.classes_of[node]);
  if (predicted == actual) {
    ++counts[actual].true_positive;
  } else {
    ++counts[predicted].false_positive;
    ++counts[actual].false_negative;
  }
}

double SoftmaxLoss(const Labels& labels, uint32_t node, const float* logits) {
  const double top = *std::max_element(logits, logits + labels.classes);
  double sum = 0;
  for (uint32_t c = 0; c < labels.classes; ++c) sum += std::exp(logits[c] - top);
  return std::log(sum) + top - logits[labels.classes_of[node]];
}

double SigmoidLoss(const Labels& labels, uint32_t node, const float* logits) {
  const uint8_t* truth = labels.matrix.data() + size_t{node} * labels.classes;
  double sum = 0;
  for (uint32_t c = 0; c < labels.classes; ++c) {
    const double z = logits[c];
    sum += std::max(z, 0.0) - (truth[c] != 0 ? z : 0.0) + std::log1p(std::exp(-std::abs(z)));
  }
  return sum / labels.classes;
}

Counts Sum(const std::vector<Counts>& counts) {
  Counts sum;
  for (const Counts& c : counts) {
    sum.true_positive += c.true_positive;
    sum.false_positive += c.false_positive;
    sum.false_negative += c.false_negative;
  }
  return sum;
}

// Nodes are scored in parts that do not depend on the number of threads; sums are of parts, in order.
constexpr size_t kPartNodes = 16384;
size_t PartsOf(size_t nodes) { return (nodes + kPartNodes - 1) / kPartNodes; }
template <class Body>
void ForParts(const Context& context, size_t nodes, const Body& body) {
  ParallelTasks(context, PartsOf(nodes), [&](size_t part, uint32_t) {
    body(part, part * kPartNodes, std::min(nodes, (part + 1) * kPartNodes));
  });
}

// Always answering the largest class, or switching every label on.
double BaselineF1(const Labels& labels, const std::vector<Counts>& counts, uint64_t nodes) {
  uint64_t members = 0, largest = 0;
  for (const Counts& c : counts) {
    members += c.members();
    largest = std::max(largest, c.members());
  }
  if (!labels.multilabel) return Counts::Ratio(largest, nodes);
  const uint64_t entries = nodes * labels.classes;
  return Counts::Ratio(2 * members, members + entries);
}

}  // namespace

double MicroF1(const Context& context, const Labels& labels, std::span<const uint32_t> nodes,
               const Matrix& logits) {
  std::vector<Counts> parts(PartsOf(nodes.size()));
  ForParts(context, nodes.size(), [&](size_t part, size_t begin, size_t end) {
    std::vector<Counts> counts(labels.classes);
    for (size_t i = begin; i < end; ++i) {
      if (labels.IsLabelled(nodes[i])) CountRow(labels, nodes[i], logits.row(i), counts);
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
      own.sum += labels.multilabel ? SigmoidLoss(labels, nodes[i], logits.row(i))
                                   : SoftmaxLoss(labels, nodes[i], logits.row(i));
      ++own.scored;
    }
    parts[part] = own;
  });
  Part all;
  for (const Part& part : parts) all.sum += part.sum, all.scored += part.scored;
  return all.scored == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : all.sum / static_cast<double>(all.scored);
}

Score ScoreLogits(const Dataset& dataset, const Matrix& logits, const Split& split, Role role) {
  CheckLengths(dataset);
  const Labels& labels = dataset.labels;
  if (logits.rows != dataset.nodes() || logits.cols != labels.classes ||
      logits.values.size() != logits.rows * logits.cols) {
    ThrowInput("{}: logits of {} × {} for {} nodes and {} classes; score the data set they were made for",
               dataset.name, logits.rows, logits.cols, dataset.nodes(), labels.classes);
  }
  if (role != Role::kNone && split.roles.size() != dataset.nodes()) {
    ThrowInput("{}: split '{}' covers {} nodes of {}", dataset.name, split.name, split.roles.size(),
               dataset.nodes());
  }
  std::vector<Counts> counts(labels.classes);
  Score score;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    const bool picked = role == Role::kNone || split.roles[node] == static_cast<uint8_t>(role);
    if (!picked || !labels.IsLabelled(node)) continue;
    CountRow(labels, node, logits.row(node), counts);
    ++score.nodes;
  }
  score.micro_f1 = score.nodes == 0 ? std::numeric_limits<double>::quiet_NaN() : Sum(counts).F1();
  score.baseline_f1 = BaselineF1(labels, counts, score.nodes);
  for (uint32_t c = 0; c < labels.classes; ++c) {
    score.classes.push_back({dataset.ClassName(c), counts[c].Precision(), counts[c].Recall(), counts[c].F1(),
                             counts[c].members()});
    score.macro_f1 += counts[c].F1() / labels.classes;
  }
  return score;
}

void LogitsToProbabilities(Matrix& logits, bool multilabel) {
  if (logits.values.size() != logits.rows * logits.cols) {
    ThrowInput("logits of {} × {} with {} values", logits.rows, logits.cols, logits.values.size());
  }
  if (logits.cols == 0) return;
  for (size_t i = 0; i < logits.rows; ++i) {
    float* row = logits.mutable_row(i);
    if (multilabel) {
      for (size_t c = 0; c < logits.cols; ++c) row[c] = 1 / (1 + std::exp(-row[c]));
      continue;
    }
    const float top = *std::max_element(row, row + logits.cols);
    float sum = 0;
    for (size_t c = 0; c < logits.cols; ++c) sum += row[c] = std::exp(row[c] - top);
    for (size_t c = 0; c < logits.cols; ++c) row[c] /= sum;
  }
}

}  // namespace l2gcn
