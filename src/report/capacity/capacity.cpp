// Which networks are measured on which graphs, and how their counts are set beside exact refinement's.
#include "report/capacity/capacity.h"

#include <algorithm>
#include <map>

#include "core/clock.h"
#include "core/error_format.h"
#include "core/threads.h"
#include "l2gcn/config.h"
#include "report/capacity/network.h"
#include "report/capacity/refinement.h"

namespace l2gcn::capacity {
namespace {

constexpr double kTolerance = 1e-10, kOtherTolerances[] = {1e-8, 1e-12};
constexpr uint32_t kRegularGraphs = 8;
constexpr uint32_t kMostLayers = 12, kMostWidth = 512;

// One network of one seed on one set, and what it told apart.
struct NetworkJob {
  size_t set = 0, entry = 0;  // entry: index in the set's networks
  NetworkOptions options;
  bool whole = false;
  std::vector<uint64_t> classes;   // by depth
  std::vector<uint32_t> class_of;  // of every graph at full depth
  bool tolerance_free = true;
};

void CheckOptions(const ReproduceOptions::Theorems& options) {
  if (options.least_nodes < 2 || options.most_nodes > kMostCapacityNodes ||
      options.least_nodes > options.most_nodes) {
    ThrowUsage("--nodes {}..{}: expected sizes from 2 to {}, the smaller first", options.least_nodes,
               options.most_nodes, kMostCapacityNodes);
  }
  if (options.layers < 1 || options.layers > kMostLayers) {
    ThrowUsage("--layers {}: expected 1 to {}", options.layers, kMostLayers);
  }
  if (options.seeds < 1) ThrowUsage("--seeds 0: expected at least 1");
  for (const uint32_t width : options.widths) {
    if (width < 1 || width > kMostWidth) ThrowUsage("--widths {}: expected 1 to {}", width, kMostWidth);
  }
  if (options.widths.empty()) ThrowUsage("--widths: name at least one");
  const auto check = [](const char* flag, const std::string& value, const std::vector<std::string>& valid) {
    if (std::find(valid.begin(), valid.end(), value) != valid.end()) return;
    ThrowUsage("--{} {}: did you mean '{}'? Valid: {}, {}", flag, value, NearestName(value, valid), valid[0],
               valid[1]);
  };
  for (const std::string& features : options.features) check("features", features, {"constant", "degree"});
  if (options.features.empty()) ThrowUsage("--features: name constant, degree or both");
  check("activation", options.activation, {"relu", "tanh"});
}

SmallGraph FromEdges(uint32_t nodes, std::initializer_list<std::pair<uint32_t, uint32_t>> edges) {
  SmallGraph graph;
  graph.nodes = nodes;
  for (const auto& [a, b] : edges) graph.AddEdge(a, b);
  return graph;
}

class CapacityMeasurement {
 public:
  CapacityMeasurement(const Context& context, const ReproduceOptions::Theorems& options)
      : context_(context), options_(options) {}

  CapacityResult Run() {
    CheckOptions(options_);
    Stopwatch watch;
    result_.options = options_;
    result_.seed = options_.seed;
    for (uint32_t n = options_.least_nodes; n <= options_.most_nodes; ++n) {
      AddSet(fmt::format("n={}", n), AllGraphs(context_, n), true);
    }
    AddHardSets();
    context_.Note(fmt::format("capacity: {} networks on {} sets of graphs", jobs_.size(), sets_.size()));
    // Large sets last in the list and first in work, so that the threads end together.
    ParallelTasks(context_, jobs_.size(), [&](size_t task, uint32_t) {
      context_.CheckCancelled();
      Measure(jobs_[order_.empty() ? task : order_[task]]);
    });
    for (const NetworkJob& job : jobs_) Keep(job);
    result_.seconds = watch.Seconds();
    return std::move(result_);
  }

 private:
  void AddHardSets() {
    const std::pair<uint32_t, uint32_t> regular[] = {{10, 3}, {12, 3}, {12, 4}, {16, 3}};
    for (const auto& [nodes, degree] : regular) {
      AddSet(fmt::format("random regular, {} nodes of degree {}", nodes, degree),
             RandomRegularGraphs(nodes, degree, kRegularGraphs, options_.seed), false);
    }
    AddSet("CFI pair of K4", CfiPair(FromEdges(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}})), false);
    AddSet("CFI pair of K3,3",
           CfiPair(FromEdges(6, {{0, 3}, {0, 4}, {0, 5}, {1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}})),
           false);
    AddSet("CFI pair of the prism",
           CfiPair(FromEdges(6, {{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}, {0, 3}, {1, 4}, {2, 5}})),
           false);
  }

  void AddSet(const std::string& name, std::vector<SmallGraph> graphs, bool enumerated) {
    context_.CheckCancelled();
    CapacitySet set;
    set.name = name;
    set.nodes = graphs.empty() ? 0 : graphs.front().nodes;
    set.graphs = graphs.size();
    set.enumerated = enumerated;
    sets_.emplace_back(std::move(graphs));
    classes_.emplace_back();
    for (const std::string& features : options_.features) {
      for (const Operation operation :
           {Operation::kOwnAndNeighbours, Operation::kSum, Operation::kRow, Operation::kRowPlusI}) {
        set.refinements.push_back(RefineFully(features, operation));
      }
    }
    result_.sets.push_back(std::move(set));
    AddNetworks(enumerated);
  }

  // Rounds of one operator on the newest set until nothing splits; at least as many as layers are asked for.
  CapacityRefinement RefineFully(const std::string& features, Operation operation) {
    const GraphSet& set = sets_.back();
    CapacityRefinement done;
    done.features = features;
    done.operation = NameOf(operation);
    std::vector<uint32_t> colours = FirstColours(set, features);
    uint32_t distinct = 0;
    Ranking graphs;
    auto& by_round = classes_.back()[{features, operation}];
    for (;;) {
      const Ranking next = RefineOnce(set, colours, operation);
      const bool no_finer = next.distinct == distinct;
      colours = next.rank;
      distinct = next.distinct;
      graphs = ClassesOfGraphs(set, colours);
      by_round.push_back(graphs.rank);
      if (!no_finer || done.classes.empty()) done.classes.push_back(graphs.distinct);
      if (no_finer && by_round.size() >= options_.layers) break;
    }
    // Rounds at the end that tell no more graphs apart are left out.
    while (done.classes.size() > 1 && done.classes.back() == done.classes[done.classes.size() - 2]) {
      done.classes.pop_back();
    }
    const auto& reference = classes_.back().at({features, Operation::kOwnAndNeighbours});
    for (size_t round = 0; round < by_round.size() && done.confused.empty(); ++round) {
      done.confused = PairsWithin(set, by_round[round], reference[std::min(round, reference.size() - 1)]);
      if (!done.confused.empty()) done.confused_at = static_cast<uint32_t>(round + 1);
    }
    return done;
  }

  // Pairs of graphs that are equal by `coarse` and differ by `fine`, the first of each class.
  std::vector<GraphPair> PairsWithin(const GraphSet& set, const std::vector<uint32_t>& coarse,
                                     const std::vector<uint32_t>& fine) const {
    std::map<uint32_t, size_t> first;
    std::vector<GraphPair> pairs;
    for (size_t g = 0; g < coarse.size() && pairs.size() < options_.examples; ++g) {
      const auto [seen, fresh] = first.try_emplace(coarse[g], g);
      if (fresh || fine[seen->second] == fine[g]) continue;
      pairs.emplace_back(ToGraph6(set.graphs[seen->second]), ToGraph6(set.graphs[g]));
    }
    return pairs;
  }

  void AddNetworks(bool enumerated) {
    const uint32_t widest = *std::max_element(options_.widths.begin(), options_.widths.end());
    for (const std::string& features : options_.features) {
      for (const uint32_t width : enumerated ? options_.widths : std::vector<uint32_t>{widest}) {
        for (const bool whole : {false, true}) AddNetwork(features, Operation::kSum, width, whole);
      }
      if (!enumerated) continue;
      AddNetwork(features, Operation::kRow, widest, false);
      AddNetwork(features, Operation::kRowPlusI, widest, false);
    }
  }

  void AddNetwork(const std::string& features, Operation operation, uint32_t width, bool whole) {
    CapacityNetworks entry;
    entry.training = whole ? "end-to-end" : "layer-wise";
    entry.features = features;
    entry.operation = NameOf(operation);
    entry.width = width;
    auto& networks = result_.sets.back().networks;
    for (uint32_t i = 0; i < options_.seeds; ++i) {
      NetworkJob job;
      job.set = sets_.size() - 1;
      job.entry = networks.size();
      job.options = {operation,       features,       options_.activation, width,
                     options_.layers, options_.steps, options_.seed + i};
      job.whole = whole;
      jobs_.push_back(std::move(job));
      order_.push_back(order_.size());
    }
    networks.push_back(std::move(entry));
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return Cost(a) > Cost(b); });
  }

  uint64_t Cost(size_t job) const {
    const NetworkJob& of = jobs_[job];
    return uint64_t{sets_[of.set].rows()} * of.options.width * (of.whole ? 3 : 1);
  }

  void Measure(NetworkJob& job) const {
    const GraphSet& set = sets_[job.set];
    const uint32_t degrees = set.most_degree + 1;
    std::vector<NetworkLayer> layers;
    if (!job.whole) layers = TrainLayers(set, job.options, degrees);
    Dense x = NetworkInput(set, job.options.features, degrees);
    for (uint32_t depth = 1; depth <= job.options.layers; ++depth) {
      context_.CheckCancelled();
      if (job.whole) {
        NetworkOptions shallower = job.options;
        shallower.layers = depth;
        layers = TrainWhole(set, shallower, degrees);
        x = NetworkInput(set, job.options.features, degrees);
      }
      for (uint32_t l = job.whole ? 0 : depth - 1; l < depth; ++l) {
        x = ApplyLayer(layers[l], job.options.activation, AggregateRows(set, job.options.operation, x));
      }
      Count(set, x, job);
    }
  }

  static void Count(const GraphSet& set, const Dense& x, NetworkJob& job) {
    const Ranking graphs = ClassesOfGraphs(set, ColoursOfRows(x, kTolerance).rank);
    job.classes.push_back(graphs.distinct);
    job.class_of = graphs.rank;
    for (const double tolerance : kOtherTolerances) {
      const Ranking other = ClassesOfGraphs(set, ColoursOfRows(x, tolerance).rank);
      job.tolerance_free = job.tolerance_free && other.distinct == graphs.distinct;
    }
  }

  void Keep(const NetworkJob& job) {
    CapacityNetworks& entry = result_.sets[job.set].networks[job.entry];
    const auto& exact = classes_[job.set].at({job.options.features, job.options.operation});
    for (size_t depth = 0; depth < job.classes.size(); ++depth) {
      const auto& ranks = exact[depth];
      const uint64_t expected = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end()) + 1;
      entry.matches_refinement = entry.matches_refinement && job.classes[depth] == expected;
      entry.monotone = entry.monotone && (depth == 0 || job.classes[depth] >= job.classes[depth - 1]);
    }
    entry.tolerance_free = entry.tolerance_free && job.tolerance_free;
    if (entry.missed.empty())
      entry.missed = PairsWithin(sets_[job.set], job.class_of, exact[job.classes.size() - 1]);
    entry.classes.push_back(job.classes);
  }

  const Context& context_;
  const ReproduceOptions::Theorems& options_;
  CapacityResult result_;
  std::vector<GraphSet> sets_;
  // For every set: the graphs' classes after each round, by features and operator.
  std::vector<std::map<std::pair<std::string, Operation>, std::vector<std::vector<uint32_t>>>> classes_;
  std::vector<NetworkJob> jobs_;
  std::vector<size_t> order_;  // of jobs, costly ones first
};

}  // namespace
}  // namespace l2gcn::capacity

namespace l2gcn {

CapacityResult MeasureCapacity(const Context& context, const ReproduceOptions::Theorems& options) {
  return capacity::CapacityMeasurement(context, options).Run();
}

}  // namespace l2gcn
