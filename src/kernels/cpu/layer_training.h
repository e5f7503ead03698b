// Runs the steps of one layer's training on the CPU: epochs, phases, threads, learning rates and losses. How a step
// is computed is its TrainingStep's business.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/team_size.h"
#include "kernels/backend.h"
#include "kernels/cpu/training_step.h"

namespace l2gcn {

class CpuLayerTraining final : public LayerTraining {
 public:
  CpuLayerTraining(std::unique_ptr<TrainingStep> step, const LayerSpec& spec);

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses = nullptr) override;
  LayerState Read() const override;
  CpuLayerWeights Weights() const { return step_->Weights(); }

 private:
  void Prepare(const Context& context, uint32_t first_epoch);
  PhasePlan BeginStep(const StepPosition& at, bool want_loss);

  const std::unique_ptr<TrainingStep> step_;
  const LayerSpec spec_;
  const uint32_t steps_;     // of an epoch
  uint64_t steps_done_ = 0;  // of the layer
  std::optional<TeamSize> team_;
};

}  // namespace l2gcn
