// How far a run from disk has come, told a few times a second: bytes moved of those planned, their rate, the time left.
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
  // Throws if the run is to stop.
  void Report(const Context& context);

 private:
  const std::shared_ptr<DiskMemory> disk_;
  std::string text_;  // what was said last
  Stopwatch told_;
};

}  // namespace l2gcn
