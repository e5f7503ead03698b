#include "kernels/cpu/layer_training.h"

#include <algorithm>

#include "core/clock.h"
#include "core/threads.h"

namespace l2gcn {

CpuLayerTraining::CpuLayerTraining(std::unique_ptr<TrainingStep> step, const LayerSpec& spec)
    : step_(std::move(step)), spec_(spec), steps_(step_->draw().steps()) {}

void CpuLayerTraining::RunEpochs(const Context& context, uint32_t first, uint32_t count,
                                 std::span<double> losses, std::vector<double>* step_losses) {
  Prepare(context, first);
  StepPosition at{first, 0, steps_done_};
  const auto want_loss = [&] { return step_losses != nullptr || at.step + 1 == steps_; };
  step_->BeginRun(at);
  Stopwatch watch;
  RunPhases(
      context, team_->most(), BeginStep(at, want_loss()), [&](const PhaseTask& task) { step_->Run(task); },
      [&]() -> PhasePlan {
        if (const PhasePlan next = step_->Next(); next.tasks > 0) return next;
        if (step_losses != nullptr) step_losses->push_back(step_->Loss());
        if (at.step + 1 == steps_) losses[at.epoch - first] = step_->Loss();
        steps_done_ = ++at.done;
        if (++at.step == steps_) at.step = 0, ++at.epoch;
        if (at.epoch == first + count) return {};
        if (context.cancel != nullptr && context.cancel->load(std::memory_order_relaxed)) return {};
        team_->Took(watch.Seconds());
        watch = {};
        return BeginStep(at, want_loss());
      },
      step_->heads());
  context.CheckCancelled();
}

// Small steps begin with few threads: waking one costs more than it brings.
void CpuLayerTraining::Prepare(const Context& context, uint32_t first_epoch) {
  const auto likely =
      static_cast<uint32_t>(std::clamp(step_->WorthThreads(), 1.0, static_cast<double>(context.threads)));
  const uint32_t most = std::min(context.threads, 2 * likely);
  if (!team_ || team_->most() != most) {
    team_ = TeamSize(std::min(likely, context.pool->Prompt()), most);
    step_->Prepare(most);
  }
  // A training that goes on where another ended counts its steps from the layer's first epoch, too: they name the
  // dropout's random streams.
  if (steps_done_ > 0 || first_epoch == 0) return;
  steps_done_ = uint64_t{first_epoch} * steps_;
  for (CpuParameter* parameter : step_->parameters()) parameter->steps -= steps_done_;
}

PhasePlan CpuLayerTraining::BeginStep(const StepPosition& at, bool want_loss) {
  const float rate = spec_.lr * spec_.schedule.InSteps(steps_).Share(at.done);
  for (CpuParameter* parameter : step_->parameters()) parameter->BeginStep(spec_, rate, at.done);
  return step_->Begin(at, team_->size(), want_loss);
}

LayerState CpuLayerTraining::Read() const {
  LayerState state;
  for (const CpuParameter* parameter : step_->parameters())
    state.parameters.push_back(parameter->Read(steps_done_));
  return state;
}

}  // namespace l2gcn
