// The one place that names the instruction-set variants of the CPU kernels.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error_format.h"
#include "kernels/built.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {

extern const CpuKernels kBaselineKernels;
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;
extern const CpuKernels kAmxProducts;  // the products alone

namespace {

// A level's kernels, and those whose products are in bf16.
struct KernelLevel {
  const char* name;
  const CpuKernels* fp32;
  const CpuKernels* bf16;
};

const CpuKernels& AmxKernels() {
  static const CpuKernels kernels = [] {
    CpuKernels amx = kAvx512Kernels;
    amx.name = kAmxProducts.name;
    amx.gemm = kAmxProducts.gemm;
    amx.gemm_transposed = kAmxProducts.gemm_transposed;
    amx.packed_values = kAmxProducts.packed_values;
    amx.pack = kAmxProducts.pack;
    return amx;
  }();
  return kernels;
}

// All levels, best first. The last three have no products in bf16.
std::vector<KernelLevel> AllLevels() {
  return {{"amx", &kAvx512Kernels, &AmxKernels()},
          {"avx512", &kAvx512Kernels, &kAvx512Kernels},
          {"avx2", &kAvx2Kernels, &kAvx2Kernels},
          {"baseline", &kBaselineKernels, &kBaselineKernels}};
}

bool RunsAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

// Tiles must be in the processor, and the kernel must let this process use them; a system that is too old, or a
// sandbox, may not.
bool AskForTiles() {
  constexpr unsigned kTile = 1u << 24, kTileBf16 = 1u << 22, kVectorBf16 = 1u << 5;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTile) == 0 || (d & kTileBf16) == 0) return false;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & kVectorBf16) == 0) return false;
  return RunsAvx512() && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
bool RunsAmx() {
  static const bool runs = AskForTiles();
  return runs;
}

std::vector<KernelLevel> RunnableLevels() {
  std::vector<KernelLevel> levels = AllLevels();
  size_t best = 3;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = 2;
  if (RunsAvx512()) best = 1;
  if (RunsAmx()) best = 0;
  levels.erase(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(best));
  return levels;
}

KernelLevel LevelNamed(const std::string& name) {
  for (const KernelLevel& level : RunnableLevels()) {
    if (name == level.name) return level;
  }
  ThrowUsage("L2GCN_SIMD={}: this processor and build run only: {}", name,
             fmt::join(CpuKernelLevels(), ", "));
}

KernelLevel PresentLevel() {
  const char* forced = std::getenv("L2GCN_SIMD");
  if (forced != nullptr && *forced != '\0') return LevelNamed(forced);
  return RunnableLevels().front();
}

const CpuKernels& TableOf(const KernelLevel& level, Precision precision) {
  return precision == Precision::kBf16 ? *level.bf16 : *level.fp32;
}

}  // namespace

std::vector<std::string> CpuKernelLevels() {
  std::vector<std::string> names;
  for (const KernelLevel& level : RunnableLevels()) names.emplace_back(level.name);
  return names;
}

const CpuKernels& CpuKernelTable(const std::string& level, Precision precision) {
  return TableOf(LevelNamed(level), precision);
}
const CpuKernels& CpuKernelTable(Precision precision) { return TableOf(PresentLevel(), precision); }

std::string CpuLevel() { return PresentLevel().name; }

std::string LesserCpuLevel(const std::string& a, const std::string& b) {
  const std::vector<KernelLevel> levels = AllLevels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (a == level->name || b == level->name) return level->name;
  }
  return a;
}

}  // namespace l2gcn
