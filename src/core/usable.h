// Checks of the arguments of public calls, so that a caller's mistake is an Error and never a crash.
#pragma once

#include <string>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Dataset::format of a data set that MakeDataset made: there is no file to open it from again.
inline constexpr const char* kInMemoryFormat = "memory";

// Throws Error(kUsage) for a context that MakeContext did not make: one with more threads than its pool has.
void CheckContext(const Context& context);

// Throw Error(kInput) if there is not one row of labels, and in each split one role, for each node. They take
// no time: contents are not read.
void CheckLabelRows(const Dataset& dataset);
void CheckSplitLength(const Dataset& dataset, const Split& split);
void CheckLengths(const Dataset& dataset);

// The context, and the data set: lengths alone where its contents were checked before, else everything.
void CheckUsable(const Context& context, const Dataset& dataset);

// The path of a data set, or its name where it has none, for messages.
std::string PlaceOf(const Dataset& dataset);

}  // namespace l2gcn
