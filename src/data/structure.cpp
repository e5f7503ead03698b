#include "data/structure.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "core/rng.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kHops = 3, kSigns = 32, kDegrees = 2;
constexpr size_t kStructureWidth = kDegrees + kHops * kSigns;
constexpr size_t kStructureRows = 256;
constexpr uint64_t kStructureSeed = 0x5349474e;  // fixed: predict must draw the same signs

// Mean of the neighbours' rows of `from` (nodes × width); zeros where there are none.
Matrix MeanOfNeighbours(const Context& context, const Graph& graph, const Matrix& from) {
  Matrix to = Matrix::Zeros(from.rows, from.cols);
  float* const out = to.values.mutable_data();
  ParallelFor(context, from.rows, kStructureRows, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      float* row = out + node * from.cols;
      const uint64_t first = graph.indptr[node], last = graph.indptr[node + 1];
      for (uint64_t e = first; e < last; ++e) {
        const float* other = from.row(graph.indices[e]);
        for (size_t c = 0; c < from.cols; ++c) row[c] += other[c];
      }
      const float share = last > first ? 1.0f / static_cast<float>(last - first) : 0.0f;
      for (size_t c = 0; c < from.cols; ++c) row[c] *= share;
    }
  });
  return to;
}

// A column to mean 0 and deviation 1, in column `at` of `features`.
void PlaceScaled(const Matrix& column, size_t at, float* features) {
  double mean = 0, variance = 0;
  for (size_t i = 0; i < column.rows; ++i) mean += column.values[i];
  mean /= static_cast<double>(column.rows);
  for (size_t i = 0; i < column.rows; ++i) variance += std::pow(column.values[i] - mean, 2);
  const double deviation = std::sqrt(variance / static_cast<double>(column.rows));
  for (size_t i = 0; i < column.rows; ++i) {
    features[i * kStructureWidth + at] =
        deviation > 0 ? static_cast<float>((column.values[i] - mean) / deviation) : 0.0f;
  }
}

// Rows of `part` at length 1, from column `at` on.
void PlaceUnit(const Context& context, const Matrix& part, size_t at, float* features) {
  ParallelFor(context, part.rows, kStructureRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double square = 0;
      for (size_t c = 0; c < part.cols; ++c) square += double{part.row(i)[c]} * part.row(i)[c];
      const auto factor = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0.0f;
      for (size_t c = 0; c < part.cols; ++c) features[i * kStructureWidth + at + c] = part.row(i)[c] * factor;
    }
  });
}

Matrix StructureOf(const Context& context, const Graph& graph) {
  Matrix features = Matrix::Zeros(graph.nodes, kStructureWidth);
  float* const out = features.values.mutable_data();
  Matrix degrees = Matrix::Zeros(graph.nodes, 1);
  Matrix signs = Matrix::Zeros(graph.nodes, kSigns);
  float* const degree = degrees.values.mutable_data();
  float* const sign = signs.values.mutable_data();
  const RandomStream stream(kStructureSeed, RandomUse::kGenerator);
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    degree[node] = static_cast<float>(std::log1p(static_cast<double>(graph.degree(node))));
    const auto bits = static_cast<uint32_t>(stream.Below(node, uint64_t{1} << kSigns));
    for (size_t c = 0; c < kSigns; ++c) sign[node * kSigns + c] = (bits >> c & 1) != 0 ? 1.0f : -1.0f;
  }
  PlaceScaled(degrees, 0, out);
  PlaceScaled(MeanOfNeighbours(context, graph, degrees), 1, out);
  for (size_t hop = 0; hop < kHops; ++hop) {
    signs = MeanOfNeighbours(context, graph, signs);
    PlaceUnit(context, signs, kDegrees + hop * kSigns, out);
  }
  return features;
}

}  // namespace

Dataset WithStructure(const Context& context, const Dataset& dataset) {
  if (dataset.features.cols() > 0 || dataset.nodes() == 0) return dataset;
  Dataset made = dataset;
  made.features = Features::Dense(StructureOf(context, dataset.graph));
  made.structure = true;
  context.Note(fmt::format(
      "{}: has no features; {} are made from the graph: degrees, and the position by {} hops of random signs",
      dataset.name, kStructureWidth, kHops));
  return made;
}

}  // namespace l2gcn
