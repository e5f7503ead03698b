#include "data/generator_targets.h"

#include <cmath>
#include <vector>

#include "core/threads.h"
#include "data/generator_random.h"

namespace l2gcn {
namespace {

constexpr double kNoise = 0.5, kProduct = 0.5;

// The product of every row with a direction of normal components, drawn as number `which`.
std::vector<double> Projected(const Context& context, const GeneratorPlan& plan, const Features& features,
                              uint32_t which) {
  const RandomStream stream = GeneratorStream(plan.seed, GeneratorUse::kTargets, which);
  std::vector<double> direction(features.cols()), out(features.rows());
  for (size_t c = 0; c < direction.size(); ++c) direction[c] = double{BellNoise(stream.Word(c))};
  ParallelFor(context, features.rows(), 256, [&](size_t begin, size_t end) {
    std::vector<float> row(features.cols());
    for (size_t i = begin; i < end; ++i) {
      features.ReadRows(i, 1, row.data());
      for (size_t c = 0; c < row.size(); ++c) out[i] += direction[c] * double{row[c]};
    }
  });
  return out;
}

// A node without neighbours has its own value.
std::vector<double> NeighbourMeans(const Graph& graph, const std::vector<double>& values) {
  std::vector<double> means = values;
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    if (graph.degree(node) == 0) continue;
    double sum = 0;
    for (uint64_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) sum += values[graph.indices[e]];
    means[node] = sum / static_cast<double>(graph.degree(node));
  }
  return means;
}

void Standardise(std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean) / n;
  const double deviation = squares > 0 ? std::sqrt(squares) : 1;
  for (double& value : values) value = (value - mean) / deviation;
}

}  // namespace

Labels DrawTargets(const Context& context, const GeneratorPlan& plan, const Graph& graph,
                   const Features& features) {
  std::vector<double> own = Projected(context, plan, features, 0);
  std::vector<double> near = NeighbourMeans(graph, Projected(context, plan, features, 1));
  Standardise(own);
  Standardise(near);
  const RandomStream noise = GeneratorStream(plan.seed, GeneratorUse::kTargets, 2);
  Labels labels;
  labels.classes = 1;
  labels.targets = Matrix::Allocate(plan.nodes, 1);
  for (uint32_t node = 0; node < plan.nodes; ++node) {
    const double signal = own[node] + near[node] + kProduct * own[node] * near[node];
    labels.targets.mutable_row(node)[0] =
        static_cast<float>(signal + kNoise * double{BellNoise(noise.Word(node))});
  }
  return labels;
}

}  // namespace l2gcn
