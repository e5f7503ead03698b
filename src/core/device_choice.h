// Falls back to the CPU for work that it alone can do, or does faster, where the user chose no device.
#pragma once

#include <string>

#include "l2gcn/context.h"

namespace l2gcn {

// `context` on the CPU, with a note, if its device was chosen automatically; else `context` itself.
inline Context PreferCpu(const Context& context, const std::string& work, const std::string& reason) {
  Context chosen = context;
  if (context.device == DeviceKind::kCpu || !context.device_is_automatic) return chosen;
  chosen.device = DeviceKind::kCpu;
  context.Note(work + " runs on the CPU: " + reason);
  return chosen;
}

}  // namespace l2gcn
