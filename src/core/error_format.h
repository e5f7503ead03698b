// Throws users' mistakes as formatted errors, and asserts the program's own.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "l2gcn/error.h"

namespace l2gcn {

template <class... Args>
[[noreturn]] void ThrowUsage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void ThrowInput(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kInput, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void ThrowRuntime(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kRuntime, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] inline void AssertFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace l2gcn

// For what only a bug of ours can break; stays on in release builds, so keep it out of inner loops.
#define L2GCN_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::l2gcn::AssertFailed(#condition, __FILE__, __LINE__))
