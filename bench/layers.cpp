// Training of one layer, per shape: whole epochs of Backend::BeginLayer's RunEpochs, on random data.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cases.h"
#include "core/clock.h"
#include "kernels/backend.h"
#include "problems.h"

namespace l2gcn::bench {
namespace {

constexpr int kTurns = 4;

void TimeLayer(const Context& context, const Options& options, const LayerProblem& problem, Report& report) {
  BackendOptions backend_options;
  if (options.bf16) backend_options.precision = Precision::kBf16;
  auto backend = MakeBackend(context, backend_options);
  const Features features = RandomFeatures(context, problem.samples, problem.features, problem.density);
  auto training = backend->BeginLayer(context, backend->Upload(context, features), {}, RandomTargets(problem),
                                      SpecOf(problem), RandomState(problem));
  std::vector<double> losses(1);
  uint32_t epoch = 0;
  training->RunEpochs(context, epoch++, 1, losses);
  // The clock of a shared machine changes from second to second: layer and ceiling take turns, and the
  // fastest of each counts.
  double best = 1e30, sgemm = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    sgemm = std::max(sgemm, MeasureSgemm(context.threads, 1));
    double total = 0;
    while (total < options.seconds / kTurns) {
      const Stopwatch watch;
      training->RunEpochs(context, epoch++, 1, losses);
      const double seconds = watch.Seconds();
      best = std::min(best, seconds);
      total += seconds;
    }
  }
  const double steps = problem.samples / problem.batch, samples = steps * problem.batch;
  report.Add({"layer", problem.name, best, samples * problem.FlopsPerSample() / best / 1e9, 0,
              fmt::format("{:.1f} us a step, {} epochs, sgemm {:.0f}", 1e6 * best / steps, epoch - 1, sgemm),
              sgemm});
}

}  // namespace

void BenchLayers(const Context& context, const Options& options, Report& report) {
  for (const LayerProblem& problem : LayerProblems()) {
    if (options.Wants(problem.name)) TimeLayer(context, options, problem, report);
  }
}

}  // namespace l2gcn::bench
