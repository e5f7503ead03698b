// l2gcn_bench: kernels, layers, aggregation and growth with the graph, beside the machine's ceilings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cases.h"
#include "ceilings.h"
#include "kernels/cpu/kernels.h"
#include "l2gcn/ceilings.h"
#include "l2gcn/error.h"

namespace {

int Run(int argc, char** argv) {
  using namespace l2gcn;
  bench::Options options;
  uint32_t threads = 0;
  std::string json, groups = "kernels,layers,aggregation";
  CLI::App app("Benchmarks of l2gcn's CPU kernels: each is verified, then timed.");
  app.add_option("--groups", groups, "Which to run: kernels, layers, aggregation, growth, panels")
      ->capture_default_str();
  app.add_option("--only", options.only, "Run only figures whose name contains this text");
  app.add_option("--nodes", options.nodes, "Panels: over so many nodes; 0: over several");
  app.add_option("--threads", threads, "Threads; 0: one per core")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Time to spend on each figure")->capture_default_str();
  app.add_flag("--bf16", options.bf16, "Layers: products in bf16, where the processor has AMX");
  app.add_option("--json", json, "Write the figures to this file");
  CLI11_PARSE(app, argc, argv);

  const Context context = MakeContext(threads);
  bench::Report report;
  report.ceilings.sgemm_gflops = bench::MeasureSgemm(context.threads, 5, &report.ceilings.sgemm_kernel);
  report.ceilings.copy_gbps = MeasureCopy(context, size_t{1} << 30);
  report.extra["threads"] = context.threads;
  report.extra["simd"] = CpuKernelTable().name;
  fmt::print("{} threads, kernels: {}\n", context.threads, CpuKernelTable().name);
  report.PrintCeilings();
  const auto wanted = [&](const char* group) { return groups.find(group) != std::string::npos; };
  if (wanted("kernels")) bench::BenchKernels(context, options, report);
  if (wanted("layers")) bench::BenchLayers(context, options, report);
  if (wanted("aggregation")) bench::BenchAggregation(context, options, report);
  if (wanted("growth")) bench::BenchGrowth(context, options, report);
  if (wanted("panels")) bench::BenchPanels(context, options, report);
  if (!json.empty()) report.WriteJson(json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const l2gcn::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
