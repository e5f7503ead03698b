// Keeps a data set within a memory budget: its mapped pages stay resident only as far as the budget allows.
#pragma once

#include <memory>
#include <string>

#include "core/disk_memory.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Watches every array of the data set that is mapped from a file.
void WatchDataset(const Dataset& dataset, DiskMemory& disk);

// Bytes of the data set's large arrays that are not mapped from files, so that no budget can make them leave memory.
uint64_t BytesInMemoryAlone(const Dataset& dataset);

// What the process holds already, not mapped from files, and at the very least the program itself.
uint64_t HeldBytes();
// Throws Error(kUsage) with the least that would do where the budget (Context::host_memory, if there is one) is below it.
// `name` is what the work is about.
void RefuseBudgetBelow(const Context& context, const std::string& name, uint64_t least);
// The same for what the process holds already and what passes over a mapped data set take.
void RefuseSmallBudget(const Context& context, const std::string& name);

// While it lives, the data set is watched if the context has a budget (Context::host_memory).
std::shared_ptr<DiskMemory> WatchWithin(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
