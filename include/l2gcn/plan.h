// What a run will need, from counts alone, before anything is moved: whether it fits into memory, and if not, how it
// goes from disk.
//
// The budget is Context::host_memory or, where that is 0, nine tenths of what the machine and its control group could
// still give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"
#include "l2gcn/step_choice.h"

namespace l2gcn {

struct MemoryPlan {
  uint64_t budget = 0;  // bytes for the whole process
  std::string set_by;   // what says so
  bool in_memory = true;
  uint64_t need_bytes = 0;                   // of a run in memory, everything counted; an estimate from above
  uint64_t least_bytes = 0;                  // the smallest budget that would do from disk
  uint32_t panels = 0;                       // passes over the graph that the widest aggregation takes
  uint64_t read_bytes = 0, write_bytes = 0;  // that a run from disk moves
  uint64_t scratch_bytes = 0;                // disk space that it takes while it lasts
  uint64_t scratch_free = 0;                 // disk space that there is
  double read_rate = 0, write_rate = 0;      // measured in the scratch directory, bytes a second
  double seconds = 0;                        // to move those bytes at those rates; 0 in memory
  DeviceKind device = DeviceKind::kCpu;      // that computes; ranks that share a model have agreed on it
  uint32_t ranks = 1;                        // that make one model together
  bool shares_memory = false;                // they see each other's rows in memory, else by messages
  std::string why_messages;                  // where memory was wanted and cannot be
  std::vector<StepChoice> steps;             // of every layer, where ranks train by messages; else empty

  // Bytes of memory that the run will take: at most the budget.
  uint64_t memory_bytes() const { return in_memory ? need_bytes : budget; }
};

// The plan of RunTraining with this configuration and so many seeds. Throws Error(kUsage), with the figures, where neither
// memory nor disk will do.
//
// Ranks that share one model call this together, and agree on the device: GPUs only where each of them has one and
// nothing goes to disk. Else all take the CPU, with a note, or where a GPU was asked for Error(kUsage) is thrown. Several
// seeds are independent, and so is one of a method whose layers learn together: each is made by one rank, and each rank
// has a plan of its own.
MemoryPlan PlanTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        uint32_t runs = 1);
// The plan of applying a trained model to all nodes, by all ranks together.
MemoryPlan PlanInference(const Context& context, const Dataset& dataset, const Model& model);

// The context with the plan's device, and with the place that it gives to what does not fit (Context::disk). From then on the pages of a
// mapped data set stay resident only as far as the budget allows.
Context Placed(const Context& context, const Dataset& dataset, const MemoryPlan& plan);

// The same for passes that only look at a data set, under Context::host_memory if that is set. Throws Error(kUsage) with
// the least that would do.
Context PlacedForReading(const Context& context, const Dataset& dataset);

// Who makes the steps of each layer, for people; "" where there is no choice.
std::string DescribeSteps(const MemoryPlan& plan);
// A few lines for people, and the object that --dry-run --json prints.
std::string DescribePlan(const MemoryPlan& plan);
std::string PlanToJson(const MemoryPlan& plan);

}  // namespace l2gcn
