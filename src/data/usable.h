// What public calls check before they work, so that a caller's mistake is an Error and never a crash.
#pragma once

#include <string>

#include "core/context_check.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Dataset::format of a data set that MakeDataset made: there is no file to open it from again.
inline constexpr const char* kInMemoryFormat = "memory";

// Throws Error(kInput) if the arrays of `dataset` differ in length. Takes no time: contents are not read.
void CheckLengths(const Dataset& dataset);

// Both, and ValidateDataset where the data set's contents were not checked before.
void CheckUsable(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
