#include "l2gcn/ceilings.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"
#include "core/threads.h"
#include "core/usable.h"
#include "kernels/cpu/kernels.h"
#include "l2gcn/array.h"

namespace l2gcn {
namespace {

constexpr int kRepeats = 5;  // the fastest counts: others may be using the machine

}  // namespace

// Panels of 64 rows as a training step multiplies them, (64 × 256) · (256 × 128), again and again.
double MeasureProduct(const Context& context) {
  CheckContext(context);
  constexpr size_t kRows = 64, kInner = 256, kWidth = 128, kTimes = 300;
  const CpuKernels& kernels = CpuKernelTable();
  double best = 1e30;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Stopwatch watch;
    ParallelTasks(context, context.threads, [&](size_t, uint32_t) {
      const auto a = Array<float>::Filled(kRows * kInner, 0.5f),
                 b = Array<float>::Filled(kInner * kWidth, 0.25f);
      auto c = Array<float>::Zeros(kRows * kWidth);
      for (size_t i = 0; i < kTimes; ++i) {
        kernels.gemm({kRows, kWidth, kInner, a.data(), kInner, b.data(), kWidth, c.mutable_data(), kWidth});
      }
    });
    best = std::min(best, watch.Seconds());
  }
  return 2.0 * kRows * kInner * kWidth * kTimes * context.threads / best / 1e9;
}

double MeasureCopy(const Context& context, size_t bytes) {
  CheckContext(context);
  const auto from = Array<char>::Filled(bytes, 1);
  auto to = Array<char>::Filled(bytes, 2);
  double best = 1e30;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Stopwatch watch;
    ParallelFor(context, bytes, size_t{1} << 20, [&](size_t begin, size_t end) {
      std::memcpy(to.mutable_data() + begin, from.data() + begin, end - begin);
    });
    best = std::min(best, watch.Seconds());
  }
  return 2.0 * static_cast<double>(bytes) / best / 1e9;
}

}  // namespace l2gcn
