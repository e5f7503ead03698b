// Reports the progress of a run from disk a few times a second: bytes moved of those planned, their rate, the time left.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/disk_memory.h"
#include "l2gcn/context.h"

namespace l2gcn {

class DiskProgress {
 public:
  explicit DiskProgress(std::shared_ptr<DiskMemory> disk) : disk_(std::move(disk)) {}
  // Reports if it is time. Throws if the run was cancelled.
  void Report(const Context& context);

 private:
  const std::shared_ptr<DiskMemory> disk_;
  std::string text_;  // the last report
  Stopwatch since_report_;
};

}  // namespace l2gcn
