// One step of a layer's mini-batch training on the CPU: what CpuLayerTraining (layer_training.h) runs again and again. A step
// is a sequence of phases of tasks (core/phases.h). Results do not depend on how many threads take part.
//
// GeneralStep computes every architecture (general_step.h), FusedStep the basic layer with less traffic (fused_step.h).
#pragma once

#include <span>

#include "core/phases.h"
#include "kernels/backend.h"
#include "kernels/cpu/parameter.h"
#include "kernels/cpu/sample_draw.h"
#include "kernels/cpu/scoring.h"

namespace l2gcn {

// Which step of a training it is.
struct StepPosition {
  uint32_t epoch, step;
  uint64_t done;  // the layer's steps before this one
};

class TrainingStep {
 public:
  virtual ~TrainingStep() = default;

  virtual const SampleDraw& draw() const = 0;
  // In the order of the layer's state.
  virtual std::span<CpuParameter* const> parameters() const = 0;
  virtual CpuLayerWeights Weights() const = 0;
  // A rough count of the threads that a step has enough work for.
  virtual double WorthThreads() const = 0;

  // The steps that follow run on up to `workers` threads.
  virtual void Prepare(uint32_t workers) = 0;
  // Before the first of several steps in a row.
  virtual void BeginRun(const StepPosition&) {}
  // The first phase of a step on `workers` threads, and the one that follows the last: without tasks when the step is done.
  // Called by one thread between phases.
  virtual PhasePlan Begin(const StepPosition& at, uint32_t workers, bool want_loss) = 0;
  virtual PhasePlan Next() = 0;
  // A task of the current phase.
  virtual void Run(const PhaseTask& task) = 0;
  // How many tasks of a unit are heads, in phases that have units.
  virtual uint32_t heads() const { return 0; }
  // The loss of the step that has ended, if it was wanted.
  virtual double Loss() const = 0;
};

}  // namespace l2gcn
