// What a run will need, from counts alone, before anything is moved: whether it fits into memory, and if not, how it
// goes from disk.
//
// The budget is Context::host_memory or, where that is 0, nine tenths of what the machine and its control group could
// still give.
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// The plan of RunTraining with this configuration and so many seeds: a few lines for people, or the object that
// --dry-run --json prints. Throws Error(kUsage), with the figures, where neither
// memory nor disk will do.
//
// Ranks that share one model call this together, and agree on the device: GPUs only where each of them has one and
// nothing goes to disk. Else all take the CPU, with a note, or where a GPU was asked for Error(kUsage) is thrown. Several
// seeds are independent, and so is one of a method whose layers learn together: each is made by one rank, and each rank
// has a plan of its own.
std::string TrainingPlan(const Context& context, const Dataset& dataset, const TrainConfig& config,
                         uint32_t runs, bool as_json);
// The same of scoring every node with a model (PredictLogits, Embed).
std::string InferencePlan(const Context& context, const Dataset& dataset, const Model& model, bool as_json);

// A context for passes that only look at a data set, under Context::host_memory if that is set. Throws Error(kUsage) with
// the least that would do.
Context PlacedForReading(const Context& context, const Dataset& dataset);

}  // namespace l2gcn
