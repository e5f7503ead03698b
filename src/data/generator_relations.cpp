#include "data/generator_relations.h"

#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/edge_relations.h"
#include "data/generator_nodes.h"
#include "data/generator_random.h"

namespace l2gcn {
namespace {

// The classes that edges lead to, and nodes by their own class and one of those.
class LedNodes {
 public:
  LedNodes(const GeneratorPlan& plan, const std::vector<int32_t>& own) : plan_(plan), own_(own) {}

  // The class that relation `k` leads to from `node`.
  uint32_t Led(uint32_t node, uint32_t k) const {
    return static_cast<uint32_t>(
        GeneratorStream(plan_.seed, GeneratorUse::kRelations, k).Below(node, plan_.classes));
  }
  // The nodes of each pair of own class and class led to by relation `k`.
  std::vector<std::vector<uint32_t>> ByPair(uint32_t k) const {
    std::vector<std::vector<uint32_t>> nodes(size_t{plan_.classes} * plan_.classes);
    for (uint32_t node = 0; node < plan_.nodes; ++node)
      nodes[PairOf(own_[node], Led(node, k))].push_back(node);
    return nodes;
  }
  size_t PairOf(int32_t own, uint32_t led) const { return static_cast<size_t>(own) * plan_.classes + led; }

 private:
  const GeneratorPlan& plan_;
  const std::vector<int32_t>& own_;
};

struct DrawnEdges {
  std::vector<uint32_t> source, target;  // (edges)
  EdgeTypes types;
};

// Edges of one type: `out` leads from their source, `in` from their target; without directions both are one relation. An
// edge to the node itself stands for one that cannot be drawn.
void DrawType(const Context& context, const GeneratorPlan& plan, const std::vector<int32_t>& own,
              uint32_t out, uint32_t in, size_t begin, size_t end, DrawnEdges& edges) {
  const LedNodes led(plan, own);
  const std::vector<std::vector<uint32_t>> targets = led.ByPair(in);
  const RandomStream stream = GeneratorStream(plan.seed, GeneratorUse::kRelationEdges, out);
  ParallelFor(context, end - begin, 4096, [&](size_t first, size_t last) {
    for (size_t e = first; e < last; ++e) {
      const auto node = static_cast<uint32_t>(stream.Below(3 * e, plan.nodes));
      const auto& fitting =
          targets[led.PairOf(static_cast<int32_t>(led.Led(node, out)), static_cast<uint32_t>(own[node]))];
      const bool on_purpose = stream.Uniform(3 * e + 1) < static_cast<float>(plan.homophily);
      edges.source[begin + e] = node;
      if (!on_purpose) {
        edges.target[begin + e] = static_cast<uint32_t>(stream.Below(3 * e + 2, plan.nodes));
      } else {
        edges.target[begin + e] = fitting.empty() ? node : fitting[stream.Below(3 * e + 2, fitting.size())];
      }
    }
  });
}

// The class of each node's features.
std::vector<int32_t> OwnClasses(GeneratorPlan plan, const GeneratorLayout& layout) {
  plan.label_noise = 0;
  plan.unlabelled_rest = false;
  std::vector<int32_t> own(plan.nodes);
  GeneratorNodes(plan, layout).FillClasses(0, plan.nodes, own.data());
  return own;
}

}  // namespace

bool HasRelations(const GenerateOptions& options) { return options.edge_types > 1 || options.directed; }

void DrawRelations(const Context& context, const GenerateOptions& options, const GeneratorPlan& plan,
                   const GeneratorLayout& layout, Dataset& dataset) {
  const uint32_t types = options.edge_types;
  if (plan.multilabel)
    ThrowUsage("--edge-types and --directed: shape {} has label sets, not classes", plan.shape);
  if (types > kMostEdgeTypes) ThrowUsage("--edge-types {}: expected 1 to {}", types, kMostEdgeTypes);
  const std::vector<int32_t> own = OwnClasses(plan, layout);
  DrawnEdges edges;
  edges.source.resize(plan.edges);
  edges.target.resize(plan.edges);
  for (uint32_t type = 0; type < types; ++type) {
    const size_t begin = plan.edges * type / types, end = plan.edges * (type + 1) / types;
    const uint32_t out = options.directed ? 2 * type : type;
    DrawType(context, plan, own, out, options.directed ? out + 1 : out, begin, end, edges);
    for (size_t e = begin; types > 1 && e < end; ++e) edges.types.Add(fmt::format("type{:02}", type));
  }
  const EdgeArrays arrays{plan.nodes, edges.source, edges.target, {}, types > 1 ? &edges.types : nullptr, {}};
  AttachEdges(context, arrays, {{options.directed, false, dataset.name}, {}, false}, dataset);
  SplitDirections(context, dataset);
  dataset.changes = {};
  dataset.self_loops = 0;
  const LedNodes led(plan, own);
  const RandomStream noise = GeneratorStream(plan.seed, GeneratorUse::kRelationNoise);
  int32_t* const labels = dataset.labels.classes_of.mutable_data();
  for (uint32_t node = 0; node < plan.nodes; ++node) {
    const bool replaced = noise.Uniform(2 * uint64_t{node}) < static_cast<float>(plan.label_noise);
    const uint64_t label = replaced ? noise.Below(2 * uint64_t{node} + 1, plan.classes) : led.Led(node, 0);
    if (labels[node] >= 0) labels[node] = static_cast<int32_t>(label);
  }
}

}  // namespace l2gcn
