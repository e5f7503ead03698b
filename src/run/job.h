// One training, resolved once: what does not change while a seed is trained, evaluated and written. RunTraining makes a job
// for each of its seeds and passes it down; nothing below chooses a device or resolves a split again.
#pragma once

#include <memory>
#include <string>

#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"
#include "pipeline/memory_plan.h"
#include "train/training_set.h"

namespace l2gcn {

// A copy shares the arrays of the data set and the split.
struct Job {
  Context context;  // on the device to train on, and with a place on disk for what does not fit into memory
  Dataset dataset;  // with features, made from the graph where it has none
  TrainConfig config;
  std::shared_ptr<const SplitNodes> nodes;  // the split of config.seed
  MemoryPlan plan;                          // of the whole run, once it is placed (PlaceJob)
};

// Checks data set and configuration, makes features where there are none, and chooses device and split. Throws
// Error(kInput) where there are no labels to learn from.
Job MakeJob(const Context& context, const Dataset& dataset, const TrainConfig& config);

// The same training with another seed and its split.
Job WithSeed(const Job& job, uint64_t seed);

// Plans the memory of `runs` seeds, and moves to disk what does not fit.
void PlaceJob(uint32_t runs, Job& job);

// The context to train `method` in. Where the method has no part for the context's device, this is the CPU if
// the device was chosen automatically (with a note); else Error(kUsage).
Context OnDeviceOf(const Context& context, const std::string& method);

}  // namespace l2gcn
