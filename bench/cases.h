// The groups of benchmarks that main.cpp runs.
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/context.h"
#include "report.h"

namespace l2gcn::bench {

struct Options {
  std::string only;    // run figures whose name contains this
  double seconds = 1;  // spend about this long on each
  bool bf16 = false;   // layers: products in bf16, where the processor has AMX
  uint32_t nodes = 0;  // panels: over so many; 0: over several
  bool Wants(const std::string& name) const { return name.find(only) != std::string::npos; }
};

void BenchKernels(const Context& context, const Options& options, Report& report);
void BenchLayers(const Context& context, const Options& options, Report& report);
void BenchAggregation(const Context& context, const Options& options, Report& report);
void BenchGrowth(const Context& context, const Options& options, Report& report);
void BenchPanels(const Context& context, const Options& options, Report& report);

}  // namespace l2gcn::bench
