#include "ceilings.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "l2gcn/array.h"

namespace l2gcn::bench {
namespace {

// cblas_sgemm's own enumerators.
constexpr int kRowMajor = 101, kNoTranspose = 111;
using SgemmFunction = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                               const float* a, int lda, const float* b, int ldb, float beta, float* c,
                               int ldc);

void NameTheCore() {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  }
}

}  // namespace

double MeasureSgemm(uint32_t threads, int repeats, std::string* kernel) {
  NameTheCore();
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const auto sgemm = reinterpret_cast<SgemmFunction>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto core_name = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
  if (sgemm == nullptr || set_threads == nullptr) return 0;
  if (core_name != nullptr && kernel != nullptr) *kernel = core_name();
  set_threads(static_cast<int>(threads));
  constexpr int kSize = 4096;
  const auto a = Array<float>::Filled(size_t{kSize} * kSize, 0.5f);
  const auto b = Array<float>::Filled(size_t{kSize} * kSize, 0.25f);
  auto c = Array<float>::Zeros(size_t{kSize} * kSize);
  double best = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Stopwatch watch;
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, kSize, kSize, kSize, 1.0f, a.data(), kSize, b.data(), kSize,
          0.0f, c.mutable_data(), kSize);
    best = std::min(best, watch.Seconds());
  }
  set_threads(1);
  return 2.0 * kSize * kSize * kSize / best / 1e9;
}

}  // namespace l2gcn::bench
