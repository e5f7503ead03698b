// The plan of l2gcn/plan.h, as the library acts on it.
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/plan.h"

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

  // Bytes of memory that the run will take: at most the budget.
  uint64_t memory_bytes() const { return in_memory ? need_bytes : budget; }
};

// The plan that TrainingPlan tells, likewise called by all ranks that share one model.
MemoryPlan PlanTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        uint32_t runs = 1);
// The plan of applying a trained model to all nodes, by all ranks together.
MemoryPlan PlanInference(const Context& context, const Dataset& dataset, const Model& model);

// A few lines for people.
std::string DescribePlan(const MemoryPlan& plan);

// The context with the plan's device, and with the place that it gives to what does not fit (Context::disk). From then on the pages of a
// mapped data set stay resident only as far as the budget allows.
Context Placed(const Context& context, const Dataset& dataset, const MemoryPlan& plan);

}  // namespace l2gcn
