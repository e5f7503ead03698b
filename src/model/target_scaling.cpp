#include "model/target_scaling.h"

#include <cmath>

#include "core/error_format.h"
#include "core/usable.h"

namespace l2gcn {
namespace {

// Calls body with every value of target `c` that is not missing.
template <class Body>
uint64_t ForPresent(const Labels& labels, std::span<const uint32_t> nodes, uint32_t c, const Body& body) {
  uint64_t count = 0;
  for (const uint32_t node : nodes) {
    const double value = labels.targets.row(node)[c];
    if (std::isnan(value)) continue;
    body(value);
    ++count;
  }
  return count;
}

}  // namespace

Model::TargetScaling FitTargetScaling(const Dataset& dataset, std::span<const uint32_t> train_nodes) {
  const Labels& labels = dataset.labels;
  Model::TargetScaling scaling;
  for (uint32_t c = 0; c < labels.classes; ++c) {
    double sum = 0, squares = 0;
    const uint64_t count = ForPresent(labels, train_nodes, c, [&](double value) { sum += value; });
    if (count == 0) {
      ThrowInput("{}: no train node has target '{}'; leave it out of --label, or choose another --split",
                 PlaceOf(dataset), dataset.ClassName(c));
    }
    const double mean = sum / static_cast<double>(count);
    ForPresent(labels, train_nodes, c, [&](double value) { squares += (value - mean) * (value - mean); });
    if (squares == 0) {
      ThrowInput("{}: target '{}' is {} for all {} train nodes that have it: there is nothing to learn",
                 PlaceOf(dataset), dataset.ClassName(c), mean, count);
    }
    scaling.mean.push_back(mean);
    scaling.deviation.push_back(std::sqrt(squares / static_cast<double>(count)));
  }
  return scaling;
}

Labels StandardisedLabels(const Labels& labels, const Model::TargetScaling& scaling) {
  Labels standardised = labels;
  standardised.targets = Matrix::Allocate(labels.targets.rows, labels.targets.cols);
  for (size_t i = 0; i < labels.targets.rows; ++i) {
    for (size_t c = 0; c < labels.targets.cols; ++c) {
      const double value = labels.targets.row(i)[c];
      standardised.targets.mutable_row(i)[c] =
          static_cast<float>((value - scaling.mean[c]) / scaling.deviation[c]);
    }
  }
  return standardised;
}

void UndoTargetScaling(const Model::TargetScaling& scaling, Matrix& predicted) {
  if (scaling.mean.empty()) return;
  for (size_t i = 0; i < predicted.rows; ++i) {
    float* row = predicted.mutable_row(i);
    for (size_t c = 0; c < predicted.cols; ++c)
      row[c] = static_cast<float>(row[c] * scaling.deviation[c] + scaling.mean[c]);
  }
}

}  // namespace l2gcn
