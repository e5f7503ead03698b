#include "report/capacity/refinement.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace l2gcn::capacity {
namespace {

constexpr uint32_t kNoColour = std::numeric_limits<uint32_t>::max();  // fills keys up to their stride

// Divides the multiplicities of a sorted multiset by their greatest common divisor.
void ToDistribution(std::vector<uint32_t>& sorted) {
  uint32_t divisor = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    divisor = std::gcd(divisor, static_cast<uint32_t>(end - begin));
  }
  std::vector<uint32_t> kept;
  for (size_t i = 0; i < sorted.size(); i += divisor) kept.push_back(sorted[i]);
  sorted = std::move(kept);
}

}  // namespace

const char* NameOf(Operation operation) {
  switch (operation) {
    case Operation::kOwnAndNeighbours:
      return "own+neighbours";
    case Operation::kSum:
      return "sum";
    case Operation::kRow:
      return "row";
    case Operation::kRowPlusI:
      return "row+i";
  }
  return "";
}

GraphSet::GraphSet(std::vector<SmallGraph> from) : graphs(std::move(from)), first(1, 0), start(1, 0) {
  for (const SmallGraph& graph : graphs) {
    for (uint32_t v = 0; v < graph.nodes; ++v) {
      for (uint64_t left = graph.rows[v]; left != 0; left &= left - 1) {
        neighbours.push_back(first.back() + static_cast<uint32_t>(std::countr_zero(left)));
      }
      start.push_back(static_cast<uint32_t>(neighbours.size()));
      most_degree = std::max(most_degree, graph.Degree(v));
    }
    most_nodes = std::max(most_nodes, graph.nodes);
    first.push_back(first.back() + graph.nodes);
  }
}

Ranking RankKeys(std::span<const uint32_t> keys, size_t stride) {
  const size_t count = keys.size() / stride;
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](uint32_t i) { return keys.subspan(i * stride, stride); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(key(a).begin(), key(a).end(), key(b).begin(), key(b).end());
  });
  Ranking ranking;
  ranking.rank.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || !std::equal(key(order[i]).begin(), key(order[i]).end(), key(order[i - 1]).begin())) {
      ++ranking.distinct;
    }
    ranking.rank[order[i]] = ranking.distinct - 1;
  }
  return ranking;
}

std::vector<uint32_t> FirstColours(const GraphSet& set, const std::string& features) {
  std::vector<uint32_t> colours(set.rows(), 0);
  if (features != "degree") return colours;
  for (uint32_t row = 0; row < set.rows(); ++row) colours[row] = set.Degree(row);
  return colours;
}

Ranking RefineOnce(const GraphSet& set, const std::vector<uint32_t>& colours, Operation operation) {
  const size_t stride = set.most_degree + 2;
  const bool own_apart = operation == Operation::kOwnAndNeighbours || operation == Operation::kRowPlusI;
  const bool own_inside = operation != Operation::kOwnAndNeighbours;
  const bool shares = operation == Operation::kRow || operation == Operation::kRowPlusI;
  std::vector<uint32_t> keys(set.rows() * stride, kNoColour);
  std::vector<uint32_t> around;
  for (uint32_t row = 0; row < set.rows(); ++row) {
    around.clear();
    if (own_inside) around.push_back(colours[row]);
    for (uint32_t e = set.start[row]; e < set.start[row + 1]; ++e) {
      around.push_back(colours[set.neighbours[e]]);
    }
    std::sort(around.begin(), around.end());
    if (shares) ToDistribution(around);
    auto key = keys.begin() + static_cast<ptrdiff_t>(row * stride);
    if (own_apart) *key++ = colours[row];
    std::copy(around.begin(), around.end(), key);
  }
  return RankKeys(keys, stride);
}

Ranking ClassesOfGraphs(const GraphSet& set, const std::vector<uint32_t>& colours) {
  const size_t stride = set.most_nodes;
  std::vector<uint32_t> keys(set.graphs.size() * stride, kNoColour);
  for (size_t g = 0; g < set.graphs.size(); ++g) {
    const auto begin = keys.begin() + static_cast<ptrdiff_t>(g * stride);
    const auto end = std::copy(colours.begin() + set.first[g], colours.begin() + set.first[g + 1], begin);
    std::sort(begin, end);
  }
  return RankKeys(keys, stride);
}

}  // namespace l2gcn::capacity
