// Work that only the CPU can do, or does faster, where the device was left to the program.
#pragma once

#include <string>

#include "core/error_format.h"
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

// The context in which ranks share one model: on the CPU, which alone can.
inline Context ForSharedModel(const Context& context) {
  if (context.ranks == nullptr) return context;
  Context chosen = PreferCpu(context, "a model that ranks share", "cards have no part in their exchange");
  if (chosen.device == DeviceKind::kCpu) return chosen;
  ThrowUsage(
      "--device {}: ranks share one model on the CPU alone; use --device cpu, or share seeds out with --runs",
      DeviceName(chosen.device));
}

}  // namespace l2gcn
