// The device of a model that ranks make together.
#pragma once

#include "core/device_choice.h"
#include "core/error_format.h"
#include "l2gcn/ranks.h"
#include "ranks/collectives.h"

namespace l2gcn {

// The context in which ranks share one model: all of them compute on the CPU, or each on a GPU. Where the device was left
// to the program and some rank has no GPU, all take the CPU. Called by all ranks.
inline Context ForSharedModel(const Context& context) {
  if (context.ranks == nullptr) return context;
  const uint64_t on_cpu = SumOverRanks(*context.ranks, context.device == DeviceKind::kCpu ? 1 : 0);
  if (on_cpu == 0 || context.device == DeviceKind::kCpu) return context;
  if (!context.device_is_automatic)
    ThrowUsage("--device {}: {} of {} ranks compute on the CPU; all must have a GPU, or use --device cpu",
               DeviceName(context.device), on_cpu, context.ranks->size());
  return PreferCpu(context, "a model that ranks share", "not every rank has a GPU");
}

}  // namespace l2gcn
