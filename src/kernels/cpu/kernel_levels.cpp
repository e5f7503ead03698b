// The one place that names the instruction-set variants of the CPU kernels.
#include <cstdlib>

#include "core/error_format.h"
#include "kernels/built.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

extern const CpuKernels kBaselineKernels;
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;

namespace {

std::vector<const CpuKernels*> RunnableTables() {
  std::vector<const CpuKernels*> tables;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    tables.push_back(&kAvx512Kernels);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(&kAvx2Kernels);
  tables.push_back(&kBaselineKernels);
  return tables;
}

}  // namespace

std::vector<std::string> CpuKernelLevels() {
  std::vector<std::string> names;
  for (const CpuKernels* table : RunnableTables()) names.emplace_back(table->name);
  return names;
}

const CpuKernels& CpuKernelTable(const std::string& level) {
  for (const CpuKernels* table : RunnableTables()) {
    if (level == table->name) return *table;
  }
  ThrowUsage("L2GCN_SIMD={}: this processor and build run only: {}", level,
             fmt::join(CpuKernelLevels(), ", "));
}

std::string LesserCpuLevel(const std::string& a, const std::string& b) {
  for (const CpuKernels* table : {&kBaselineKernels, &kAvx2Kernels}) {
    if (a == table->name || b == table->name) return table->name;
  }
  return a;
}

const CpuKernels& CpuKernelTable() {
  const char* forced = std::getenv("L2GCN_SIMD");
  if (forced != nullptr && *forced != '\0') return CpuKernelTable(std::string(forced));
  return *RunnableTables().front();
}

}  // namespace l2gcn
