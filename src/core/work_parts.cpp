#include "core/work_parts.h"

#include <fmt/format.h>

namespace l2gcn {

Context WorkParts::Part(const Context& context, size_t at) {
  using Clock = std::chrono::steady_clock;
  if (!start_) start_ = {Clock::now(), at};
  Context part = context;
  if (count_ < 2 || !context.on_progress) return part;
  part.on_progress = [show = context.on_progress, label = fmt::format("{} {}/{}", name_, at + 1, count_),
                      start = *start_, at, later = count_ - at - 1](const Progress& progress) {
    Progress named = progress;
    named.parts = progress.parts.empty() ? label : label + "  " + progress.parts;
    if (progress.seconds_left > 0 && at >= start.part) {
      const double passed = std::chrono::duration<double>(Clock::now() - start.time).count();
      const auto begun = static_cast<double>(at - start.part + 1);
      named.seconds_left += (passed + progress.seconds_left) / begun * static_cast<double>(later);
    }
    show(named);
  };
  return part;
}

}  // namespace l2gcn
