// Work of several parts, such as the seeds of a run or the cells of a table, as progress shows it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "l2gcn/context.h"

namespace l2gcn {

class WorkParts {
 public:
  // `name` of one part, such as "seed".
  WorkParts(std::string name, size_t count) : name_(std::move(name)), count_(count) {}

  // A copy of `context` for part `at`, counted from 0: its progress names the part, and its time left counts later parts as
  // long as those before them. Parts before the first that is asked for took no time. Where there is one part alone, or no
  // progress is shown, the copy is the same.
  Context Part(const Context& context, size_t at);

 private:
  struct Start {
    std::chrono::steady_clock::time_point time;
    size_t part = 0;
  };
  std::string name_;
  size_t count_;
  std::optional<Start> start_;  // of the first part that was asked for
};

}  // namespace l2gcn
