#include "train/layer_rate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace l2gcn {
namespace {

constexpr size_t kMostRowsSeen = 128;
constexpr double kLeastRate = 1e-5, kMostRate = 0.1, kLeastLength = 1e-6;

// Means over a sample of rows.
struct RowLengths {
  double sum = 0;     // Σ|x|
  double length = 0;  // ‖x‖
};

RowLengths MeasureRows(const Matrix& x) {
  RowLengths mean;
  const auto n = static_cast<double>(x.rows);
  for (size_t i = 0; i < x.rows; ++i) {
    double sum = 0, squares = 0;
    for (size_t c = 0; c < x.cols; ++c) {
      const double value = double{x.row(i)[c]};
      sum += std::abs(value);
      squares += value * value;
    }
    mean.sum += sum / n;
    mean.length += std::sqrt(squares) / n;
  }
  return {std::max(mean.sum, kLeastLength), std::max(mean.length, kLeastLength)};
}

}  // namespace

double EstimateRate(const Context& context, Backend& backend, const Tensor& x, std::span<const uint32_t> rows,
                    const LayerArchitecture& form, double nodes, double steps, const AutoSchedule& schedule) {
  const size_t all = rows.empty() ? x.rows : rows.size(), count = std::min(all, kMostRowsSeen);
  std::vector<uint32_t> seen(count);  // evenly spread
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * all / count;
    seen[i] = rows.empty() ? static_cast<uint32_t>(at) : rows[at];
  }
  const RowLengths mean = MeasureRows(backend.Download(context, x, seen));
  const double relative = mean.sum * std::sqrt(static_cast<double>(x.cols)) / mean.length;
  const double level = form.norm ? schedule.norm_rate * std::pow(relative, -schedule.norm_power)
                                 : schedule.basic_rate * std::pow(mean.sum, -schedule.basic_power);
  const double few = std::pow(std::max(1.0, schedule.many_steps / steps), schedule.few_power);
  const double plenty = std::pow(std::max(1.0, nodes / schedule.plenty), schedule.plenty_power);
  const double many = form.norm ? 1 : std::min(plenty, schedule.plenty_most);
  return std::clamp(level * few * many, kLeastRate, kMostRate);
}

}  // namespace l2gcn
