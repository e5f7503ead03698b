#include "graph/normalise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "l2gcn/error.h"

namespace l2gcn {
namespace {

constexpr uint32_t kNodes = 4;
using Dense = std::vector<double>;  // (kNodes × kNodes)

// A path 0 – 1 – 2 with weights 2 and 3, and node 3 alone.
Graph PathWithIsolatedNode(bool weighted) {
  Graph graph;
  graph.nodes = kNodes;
  graph.indptr = Array<uint64_t>::CopyOf(std::vector<uint64_t>{0, 1, 3, 4, 4});
  graph.indices = Array<uint32_t>::CopyOf(std::vector<uint32_t>{1, 0, 2, 1});
  if (weighted) graph.weights = Array<float>::CopyOf(std::vector<float>{2, 2, 3, 3});
  return graph;
}

Dense AdjacencyWithLoops(const Graph& graph, double loop) {
  Dense a(kNodes * kNodes, 0);
  for (uint32_t i = 0; i < kNodes; ++i) {
    a[i * kNodes + i] = loop;
    for (uint64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
      a[i * kNodes + graph.indices[e]] += graph.weighted() ? graph.weights[e] : 1.0f;
    }
  }
  return a;
}

// The definition of each normalisation, written on dense matrices.
Dense Expected(const Graph& graph, Adjacency norm) {
  Dense a = AdjacencyWithLoops(graph, norm == Adjacency::kMean ? 0 : 1);
  double degree[kNodes] = {};
  for (uint32_t i = 0; i < kNodes; ++i) {
    for (uint32_t j = 0; j < kNodes; ++j) degree[i] += a[i * kNodes + j];
  }
  for (uint32_t i = 0; i < kNodes; ++i) {
    for (uint32_t j = 0; j < kNodes; ++j) {
      double& value = a[i * kNodes + j];
      const double identity = i == j ? 1 : 0;
      if (norm == Adjacency::kRowPlusI) value = value / degree[i] + identity;
      if (norm == Adjacency::kRow) value /= degree[i];
      if (norm == Adjacency::kMean) value /= std::max(degree[i], 1e-9);
      if (norm == Adjacency::kSym) value /= std::sqrt(degree[i] * degree[j]);
      if (norm == Adjacency::kNone) value = identity;
    }
  }
  return a;
}

Dense Multiplied(const Propagation& p) {
  Dense a(kNodes * kNodes, 0);
  for (uint32_t i = 0; i < kNodes; ++i) {
    a[i * kNodes + i] = p.self_scale[i];
    for (uint64_t e = p.indptr[i]; e < p.indptr[i + 1]; ++e) {
      const uint32_t j = p.indices[e];
      const double weight = p.weights.empty() ? 1 : p.weights[e],
                   col = p.col_scale.empty() ? 1 : p.col_scale[j];
      a[i * kNodes + j] += p.row_scale[i] * weight * col;
    }
  }
  return a;
}

TEST(MakePropagation, FactorsGiveTheDefinition) {
  const Context context = MakeContext(2);
  for (const bool weighted : {false, true}) {
    const Graph graph = PathWithIsolatedNode(weighted);
    for (const Adjacency norm : {Adjacency::kRowPlusI, Adjacency::kRow, Adjacency::kSym, Adjacency::kSum,
                                 Adjacency::kMean, Adjacency::kNone}) {
      const int name = static_cast<int>(norm);
      const Dense expected = Expected(graph, norm),
                  actual = Multiplied(MakePropagation(context, graph, norm));
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_NEAR(actual[k], expected[k], 1e-6) << name << (weighted ? " weighted" : "") << " entry " << k;
      }
      // Rows of all nodes in another order.
      const std::vector<uint32_t> order = {2, 0, 3, 1};
      const Propagation rows = RowsOf(context, MakePropagation(context, graph, norm), order);
      Dense turned(kNodes * kNodes, 0);
      for (uint32_t r = 0; r < kNodes; ++r) {
        EXPECT_TRUE(std::is_sorted(&rows.indices[rows.indptr[r]], &rows.indices[0] + rows.indptr[r + 1]));
        EXPECT_EQ(rows.self_scale[r], 0);
        for (uint64_t e = rows.indptr[r]; e < rows.indptr[r + 1]; ++e) {
          const uint32_t j = rows.indices[e];
          const double col = rows.col_scale.empty() ? 1 : rows.col_scale[j];
          turned[order[r] * kNodes + j] += rows.row_scale[r] * rows.weights[e] * col;
        }
      }
      for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(turned[k], expected[k], 1e-6) << name << k;
    }
  }
}

}  // namespace
}  // namespace l2gcn
