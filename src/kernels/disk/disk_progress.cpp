#include "kernels/disk/disk_progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace l2gcn {
namespace {

constexpr double kSecondsBetweenDiskReports = 0.25;

}  // namespace

void DiskProgress::Report(const Context& context) {
  context.CheckCancelled();
  if (!context.on_progress || since_report_.Seconds() < kSecondsBetweenDiskReports) return;
  since_report_ = Stopwatch();
  const DiskUse use = disk_->Use();
  const double moved = static_cast<double>(use.read_bytes + use.written_bytes);
  const double planned = static_cast<double>(use.planned_bytes), rate = moved / std::max(use.seconds, 1e-9);
  text_ = fmt::format("{}  {:.1f} GB of {:.1f} moved  {:.2f} GB/s", kPhaseOnDisk, moved / 1e9,
                      std::max(planned, moved) / 1e9, rate / 1e9);
  if (planned > moved && rate > 0) text_ += fmt::format("  {:.0f} s left", (planned - moved) / rate);
  Progress progress;
  progress.phase = text_.c_str();
  context.on_progress(progress);
}

}  // namespace l2gcn
