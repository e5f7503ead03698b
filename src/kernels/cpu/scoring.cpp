#include "kernels/cpu/scoring.h"

#include <algorithm>
#include <atomic>

#include "core/error_format.h"
#include "core/threads.h"
#include "kernels/cpu/row_products.h"
#include "kernels/row_loss.h"

namespace l2gcn {
namespace {

constexpr double kTaskFlops = 2e6;  // what a thread gets at least

// One thread's scratch and counts.
class BlockScorer {
 public:
  BlockScorer(const CpuKernels& kernels, const CpuLayerWeights& layer, const CpuRowsToScore& rows)
      : kernels_(kernels),
        layer_(layer),
        rows_(rows),
        x_stride_(GatheredStride(rows.x)),
        widest_(std::max({layer.hidden.stride(), layer.head.stride(), layer.theta.stride})) {
    gathered_ = Array<float>::Allocate(kProductRows * x_stride_);
    y_ = Array<float>::Allocate(kProductRows * widest_);
    h_ = Array<float>::Allocate(kProductRows * widest_);
  }

  // Rows first … first + count − 1 of those to score, at most kProductRows; their losses and misses (count), and their
  // margins (count × classes) unless null.
  void Score(size_t first, size_t count, double* losses, float* misses, float* margins) {
    uint32_t picked[kProductRows];
    for (size_t i = 0; i < count; ++i)
      picked[i] = rows_.rows.empty() ? static_cast<uint32_t>(first + i) : rows_.rows[first + i];
    const bool hidden = layer_.hidden.weight != nullptr;
    BlocksProduct(kernels_, rows_.x, hidden ? *layer_.hidden.weight : layer_.theta, picked, count, false,
                  x_stride_, gathered_.mutable_data(), h_.mutable_data(), y_.mutable_data());
    if (hidden) FinishHidden(count);
    for (size_t i = 0; i < count; ++i) {
      float* const logits = y_.mutable_data() + i * stride();
      losses[i] = ScoreLogits(first + i, logits, misses[i]);
      if (margins == nullptr) continue;
      const size_t classes = rows_.targets.classes;
      RowMargins(logits, classes, static_cast<size_t>(rows_.targets.classes_of[first + i]),
                 margins + i * classes);
    }
  }

  uint64_t true_positive = 0, false_positive = 0, false_negative = 0;

 private:
  size_t stride() const { return layer_.theta.stride; }

  // y ← logits, from the products of the first hidden layer.
  void FinishHidden(size_t count) {
    Values(layer_.hidden, count);
    const PaddedWeights* last = layer_.hidden.weight;
    if (layer_.head.weight != nullptr) {
      Multiply(*last, *layer_.head.weight, count);
      Values(layer_.head, count);
      last = layer_.head.weight;
    }
    Multiply(*last, layer_.theta, count);
  }

  // h ← the values of the products y.
  void Values(const CpuHidden& layer, size_t count) {
    float inverse[kProductRows];
    Activate(kernels_, layer, count, y_.mutable_data(), inverse, h_.mutable_data());
  }
  // y ← h · weights.
  void Multiply(const PaddedWeights& from, const PaddedWeights& weights, size_t count) {
    kernels_.gemm({count, PadWidth(weights.cols), from.cols, h_.data(), from.stride, weights.w.data(),
                   weights.stride, y_.mutable_data(), weights.stride});
  }

  // Counts the answer of one row and returns its loss. The bias is added to the logits (classes).
  double ScoreLogits(size_t row, float* logits, float& miss) {
    const Targets& targets = rows_.targets;
    const size_t classes = targets.classes;
    if (layer_.bias != nullptr) {
      for (size_t c = 0; c < classes; ++c) logits[c] += layer_.bias[c];
    }
    if (targets.regression()) {
      const double loss =
          RegressionRowLoss(targets.loss, logits, classes, targets.values.data() + row * classes);
      miss = RegressionRowMiss(loss);
      return loss;
    }
    if (targets.multilabel) {
      const uint8_t* truth = targets.matrix.data() + row * classes;
      for (size_t c = 0; c < classes; ++c) Count(logits[c] > 0, truth[c] != 0);
      miss = SigmoidRowMiss(logits, classes, truth);
      return SigmoidRowLoss(logits, classes, truth);
    }
    const auto truth = static_cast<size_t>(targets.classes_of[row]);
    const bool right = std::max_element(logits, logits + classes) == logits + truth;
    Count(true, right);
    if (!right) Count(false, true);
    const double loss = SoftmaxRowLoss(logits, classes, truth);
    miss = SoftmaxRowMiss(loss);
    return loss;
  }
  void Count(bool predicted, bool actual) {
    true_positive += predicted && actual;
    false_positive += predicted && !actual;
    false_negative += !predicted && actual;
  }

  const CpuKernels& kernels_;
  const CpuLayerWeights& layer_;
  const CpuRowsToScore& rows_;
  const size_t x_stride_, widest_;
  Array<float> gathered_;  // (kProductRows × x_stride_)
  Array<float> y_, h_;     // (kProductRows × stride of the current weights)
};

// Rows that are worth waking a thread for, in whole blocks.
size_t RowsOfTask(const CpuLayerWeights& layer, const CpuRowsToScore& rows) {
  const auto product = [](double depth, size_t width) { return 2 * depth * static_cast<double>(width); };
  const double sparse =
      static_cast<double>(rows.x.sparse.nnz()) / static_cast<double>(std::max<size_t>(1, rows.x.rows));
  const double inputs = static_cast<double>(rows.x.dense_cols()) + (rows.x.sparse.cols > 0 ? 3 * sparse : 0);
  const double flops = product(inputs, layer.hidden.width()) +
                       product(static_cast<double>(layer.hidden.width()), layer.head.width()) +
                       product(static_cast<double>(layer.theta.rows), layer.theta.cols);
  const auto blocks = static_cast<size_t>(kTaskFlops / (flops * kProductRows)) + 1;
  return blocks * kProductRows;
}

}  // namespace

RowScores ScoreRows(const Context& context, const CpuKernels& kernels, const CpuLayerWeights& layer,
                    const CpuRowsToScore& rows) {
  L2GCN_ASSERT(rows.targets.classes == layer.theta.cols &&
               !(rows.margins && (rows.targets.multilabel || rows.targets.regression())));
  RowScores scores;
  const size_t count = rows.count();
  std::vector<double> losses(count);
  scores.misses.resize(count);
  const size_t classes = rows.targets.classes;
  if (rows.margins) scores.margins = Matrix::Allocate(count, classes);
  float* const margins = rows.margins ? scores.margins.values.mutable_data() : nullptr;
  std::atomic<uint64_t> true_positive{0}, false_positive{0}, false_negative{0};
  ParallelFor(context, count, RowsOfTask(layer, rows), [&](size_t begin, size_t end) {
    BlockScorer scorer(kernels, layer, rows);
    for (size_t first = begin; first < end; first += kProductRows)
      scorer.Score(first, std::min(kProductRows, end - first), losses.data() + first,
                   scores.misses.data() + first, margins == nullptr ? nullptr : margins + first * classes);
    true_positive += scorer.true_positive;
    false_positive += scorer.false_positive;
    false_negative += scorer.false_negative;
  });
  scores.losses.assign(losses.begin(), losses.end());
  scores.loss = MeanOfRows<float>(scores.losses);
  scores.true_positive = true_positive;
  scores.false_positive = false_positive;
  scores.false_negative = false_negative;
  return scores;
}

}  // namespace l2gcn
