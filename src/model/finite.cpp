#include "model/finite.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "data/table_schema.h"

namespace l2gcn {
namespace {

constexpr size_t kNamedNodes = 5;
constexpr size_t kNamedFeatures = 3;
constexpr size_t kMostSearched = 10'000;  // nodes whose features are looked at for a message

// The node with the largest feature, and its features (columns) from the largest down.
std::pair<uint32_t, std::vector<float>> LargestFeatures(const Features& features,
                                                        std::span<const uint32_t> nodes) {
  const auto magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
  std::vector<float> row(features.cols()), largest(features.cols());
  uint32_t node = nodes.front();
  for (const uint32_t one : nodes.first(std::min(nodes.size(), kMostSearched))) {
    features.ReadRows(one, 1, row.data());
    const float top = *std::max_element(row.begin(), row.end(), magnitude);
    if (!magnitude(*std::max_element(largest.begin(), largest.end(), magnitude), top)) continue;
    largest = row;
    node = one;
  }
  return {node, largest};
}

}  // namespace

std::vector<uint32_t> RowsNotFinite(const Context& context, const Matrix& rows) {
  constexpr size_t kRows = 4096;
  std::vector<uint8_t> wrong(rows.rows, 0);
  ParallelFor(context, rows.rows, kRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      // A sum of products by 0 is 0 where all are finite, and NaN elsewhere.
      float zero = 0;
      for (size_t c = 0; c < rows.cols; ++c) zero += rows.row(i)[c] * 0.0f;
      wrong[i] = std::isnan(zero) ? 1 : 0;
    }
  });
  std::vector<uint32_t> found;
  for (size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i] != 0) found.push_back(static_cast<uint32_t>(i));
  }
  return found;
}

std::string DescribeNotFinite(const Dataset& dataset, std::span<const uint32_t> nodes) {
  std::vector<std::string> names;
  for (const uint32_t node : nodes.first(std::min(nodes.size(), kNamedNodes)))
    names.push_back(dataset.NodeName(node));
  std::string text = fmt::format("{} node{} ({}{})", nodes.size(), nodes.size() == 1 ? "" : "s",
                                 fmt::join(names, ", "), nodes.size() > kNamedNodes ? ", …" : "");
  if (dataset.features.cols() == 0) return text;
  const auto [node, values] = LargestFeatures(dataset.features, nodes);
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const size_t shown = std::min(kNamedFeatures, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                    [&](size_t a, size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  std::vector<std::string> largest;
  for (size_t i = 0; i < shown; ++i)
    largest.push_back(fmt::format("{} is {}", FeatureName(dataset.schema, order[i]), values[order[i]]));
  return fmt::format("{}; the largest features are those of node {}: {}", text, dataset.NodeName(node),
                     fmt::join(largest, ", "));
}

void CheckFiniteRows(const Context& context, const Dataset& dataset, const Matrix& rows, const char* what) {
  const std::vector<uint32_t> wrong = RowsNotFinite(context, rows);
  if (wrong.empty()) return;
  ThrowInput("{}: {} overflow for {}; replace or drop these values, or scale the features", PlaceOf(dataset),
             what, DescribeNotFinite(dataset, wrong));
}

}  // namespace l2gcn
