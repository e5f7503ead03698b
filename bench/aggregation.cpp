// Aggregation with the train graph of the reddit shape, how aggregation and an epoch grow with the graph, and panels of
// one cache line a node, as runs from disk gather them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cases.h"
#include "core/clock.h"
#include "core/rng.h"
#include "core/threads.h"
#include "kernels/backend.h"
#include "l2gcn/ceilings.h"
#include "problems.h"

namespace l2gcn::bench {
namespace {

constexpr int kAggregationTurns = 4;

struct Aggregation {
  double seconds = 1e30;  // the fastest
  double copy = 0;        // GB/s of the fastest copy, which takes turns with it
};

Aggregation BestAggregation(const Context& context, double budget, Backend& backend, const DeviceGraph& graph,
                            const Tensor& x) {
  Aggregation best;
  for (int turn = 0; turn < kAggregationTurns; ++turn) {
    best.copy = std::max(best.copy, MeasureCopy(context, size_t{1} << 30));
    const Stopwatch total;
    do {
      const Stopwatch watch;
      const TensorPtr out = backend.Aggregate(context, graph, x, {});
      best.seconds = std::min(best.seconds, watch.Seconds());
    } while (total.Seconds() < budget / kAggregationTurns);
  }
  return best;
}

// Slope of log y over log x by least squares: the exponent of growth.
double Exponent(const std::vector<double>& x, const std::vector<double>& y) {
  double mean_x = 0, mean_y = 0, top = 0, bottom = 0;
  const double n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    top += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    bottom += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  return top / bottom;
}

constexpr size_t kLineFloats = 16;  // of a cache line

// `count` numbers below `rows`, drawn evenly.
Array<uint32_t> DrawRows(const Context& context, size_t rows, size_t count) {
  auto drawn = Array<uint32_t>::Allocate(count);
  const RandomStream stream(1, RandomUse::kGenerator, 77);
  ParallelFor(context, count, size_t{1} << 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      drawn.mutable_data()[i] = static_cast<uint32_t>(stream.Below(i, rows));
  });
  return drawn;
}

// Lines a second at which rows of kLines cache lines, drawn evenly from `rows`, can be added up: what memory and page
// tables give to a gather without any reuse.
template <size_t kLines>
double RandomLines(const Context& context, size_t rows, const Array<uint32_t>& drawn) {
  constexpr size_t kFloats = kLines * kLineFloats, kAhead = 128, kChunk = 1 << 16;
  const size_t count = drawn.size() - kAhead;
  const auto x = Array<float>::Filled(rows * kFloats, 1.0f);
  std::vector<float> sums((count + kChunk - 1) / kChunk);
  double best = 1e30;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Stopwatch watch;
    ParallelTasks(context, sums.size(), [&](size_t task, uint32_t) {
      float sum[kFloats] = {};
      for (size_t i = task * kChunk; i < std::min(count, (task + 1) * kChunk); ++i) {
        const float* ahead = x.data() + drawn[i + kAhead] * kFloats;
        for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(ahead + line * kLineFloats, 0, 2);
        const float* row = x.data() + drawn[i] * kFloats;
        for (size_t j = 0; j < kFloats; ++j) sum[j] += row[j];
      }
      sums[task] = *std::max_element(sum, sum + kFloats);
    });
    best = std::min(best, watch.Seconds());
  }
  const bool added = std::all_of(sums.begin(), sums.end(), [](float sum) { return sum > 0; });
  return added ? static_cast<double>(count * kLines) / best : 0;
}

// Rows of `degree` entries each, drawn evenly from `nodes` nodes.
Propagation RandomRows(const Context& context, uint32_t nodes, uint32_t rows, uint32_t degree) {
  Propagation a;
  a.nodes = rows;
  a.indices = DrawRows(context, nodes, size_t{rows} * degree);
  a.indptr = Array<uint64_t>::Allocate(size_t{rows} + 1);
  for (size_t row = 0; row <= rows; ++row) a.indptr.mutable_data()[row] = row * degree;
  a.row_scale = a.self_scale = Array<float>::Filled(rows, 0.5f);
  return a;
}

// GB/s at which fresh memory of `bytes` can be written once: what the system takes to hand out pages.
double FirstTouch(const Context& context, size_t bytes) {
  auto fresh = Array<char>::Allocate(bytes);
  const Stopwatch watch;
  ParallelFor(context, bytes, size_t{1} << 21,
              [&](size_t begin, size_t end) { std::memset(fresh.mutable_data() + begin, 1, end - begin); });
  return static_cast<double>(bytes) / watch.Seconds() / 1e9;
}

}  // namespace

void BenchAggregation(const Context& context, const Options& options, Report& report) {
  GenerateOptions shape;
  shape.shape = "reddit";
  shape.features = 1;  // the graph alone is wanted
  const Propagation a = TrainPropagation(context, shape);
  struct Storage {
    const char* name;
    FeatureType type;
  };
  for (const Storage& storage : {Storage{"f32", FeatureType::kF32}, Storage{"f16", FeatureType::kF16},
                                 Storage{"bf16", FeatureType::kBf16}}) {
    for (uint32_t cols : {602u, 128u}) {
      const std::string name = fmt::format("reddit train x {} {}", cols, storage.name);
      if (!options.Wants(name)) continue;
      BackendOptions backend_options;
      backend_options.features_as = storage.type;
      auto backend = MakeBackend(context, backend_options);
      const TensorPtr x = backend->Upload(context, RandomFeatures(context, a.nodes, cols, 1));
      const DeviceGraphPtr graph = backend->Upload(context, a);
      const Aggregation best = BestAggregation(context, options.seconds, *backend, *graph, *x);
      const double bytes = static_cast<double>(a.entries()) * static_cast<double>(x->bytes / x->rows);
      report.Add({"aggregate", name, best.seconds, 0, bytes / best.seconds / 1e9,
                  fmt::format("{} entries, copy {:.1f}", a.entries(), best.copy), best.copy});
    }
  }
}

void BenchGrowth(const Context& context, const Options& options, Report& report) {
  constexpr uint32_t kFeatures = 32, kHidden = 16, kClasses = 8, kEdgesPerNode = 5;
  std::vector<double> nodes, entries, aggregate, epoch;
  for (uint64_t size : {100000ull, 300000ull, 1000000ull, 3000000ull, 10000000ull}) {
    GenerateOptions shape;
    shape.shape = "amazon670k";
    shape.nodes = size;
    shape.edges = size * kEdgesPerNode;
    shape.features = 1;
    shape.classes = kClasses;
    const Propagation a = TrainPropagation(context, shape);
    auto backend = MakeBackend(context, {});
    const TensorPtr x = backend->Upload(context, RandomFeatures(context, a.nodes, kFeatures, 1));
    const DeviceGraphPtr graph = backend->Upload(context, a);
    const Aggregation best = BestAggregation(context, options.seconds, *backend, *graph, *x);
    const LayerProblem problem{"growth", a.nodes, kFeatures, kHidden, kClasses, 1024, 1, false};
    LayerSpec spec;
    auto training = backend->BeginLayer(context, x, {}, RandomTargets(problem), spec, RandomState(problem));
    std::vector<double> losses(1);
    double epoch_seconds = 1e30;
    for (uint32_t e = 0; e < 3; ++e) {
      const Stopwatch watch;
      training->RunEpochs(context, e, 1, losses);
      epoch_seconds = std::min(epoch_seconds, watch.Seconds());
    }
    nodes.push_back(a.nodes);
    entries.push_back(static_cast<double>(a.entries()));
    aggregate.push_back(best.seconds);
    epoch.push_back(epoch_seconds);
    const double bytes = static_cast<double>(a.entries()) * kFeatures * sizeof(float);
    report.Add(
        {"growth", fmt::format("aggregate, {} nodes", size), best.seconds, 0, bytes / best.seconds / 1e9,
         fmt::format("{} entries; random rows {:.1f} GB/s, fresh pages {:.1f} GB/s", a.entries(),
                     1e-9 * kLineFloats * sizeof(float) *
                         RandomLines<2>(context, a.nodes,
                                        DrawRows(context, a.nodes, std::min<size_t>(a.entries(), 20000000))),
                     FirstTouch(context, a.nodes * kFeatures * sizeof(float))),
         best.copy});
    report.Add({"growth", fmt::format("epoch, {} nodes", size), epoch_seconds,
                a.nodes * problem.FlopsPerSample() / epoch_seconds / 1e9, 0,
                fmt::format("{} samples", a.nodes)});
  }
  const double by_edges = Exponent(entries, aggregate), by_nodes = Exponent(nodes, epoch);
  fmt::print("growth     seconds of aggregation ~ edges^{:.2f}, seconds of an epoch ~ nodes^{:.2f}\n",
             by_edges, by_nodes);
  report.extra["growth"] = {{"aggregation_exponent", by_edges}, {"epoch_exponent", by_nodes}};
}

// A line a node in f16, as papers100m's shape has them: the kernel against what memory gives to single lines.
void BenchPanels(const Context& context, const Options& options, Report& report) {
  constexpr uint32_t kDegree = 29, kColumns = 32, kRows = 2000000;
  for (const uint32_t nodes : options.nodes > 0 ? std::vector<uint32_t>{options.nodes}
                                                : std::vector<uint32_t>{7000000, 14000000, 28000000}) {
    const Propagation a = RandomRows(context, nodes, std::min(nodes, kRows), kDegree);
    const double most = RandomLines<1>(context, nodes, a.indices);
    BackendOptions half;
    half.features_as = FeatureType::kF16;
    auto backend = MakeBackend(context, half);
    const auto lines = Array<uint16_t>::Filled(size_t{nodes} * kColumns, 0x3C00);
    const TensorPtr x = backend->Upload(context, Features::Stored(FeatureType::kF16, lines, nodes, kColumns));
    const DeviceGraphPtr graph = backend->Upload(context, a);
    double seconds = 1e30;
    for (int turn = 0; turn < kAggregationTurns; ++turn) {
      const Stopwatch watch;
      const TensorPtr out = backend->Aggregate(context, *graph, *x, {});
      seconds = std::min(seconds, watch.Seconds());
    }
    const double rate = static_cast<double>(a.entries()) / seconds;
    report.Add({"panels", fmt::format("{} nodes", nodes), seconds, 0, 64e-9 * rate,
                fmt::format("{:.0f} M lines/s of {:.0f} M that memory gives", rate / 1e6, most / 1e6),
                64e-9 * most});
    report.extra["panels"][std::to_string(nodes)] = {{"lines", rate}, {"most_lines", most}};
  }
}

}  // namespace l2gcn::bench
