#include "controller/learned_stop.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "config/stop_policies.h"
#include "core/error_format.h"
#include "train/held_out.h"
#include "train/training_set.h"

namespace l2gcn {
namespace {

// The state of the net that runs through all layers, as numbers: whether there is one, the last action, h, c.
void AppendStep(const std::optional<PolicyNet::Step>& step, std::vector<double>& memory) {
  memory.push_back(step ? 1 : 0);
  if (!step) return;
  memory.push_back(step->action);
  memory.insert(memory.end(), step->h.begin(), step->h.end());
  memory.insert(memory.end(), step->c.begin(), step->c.end());
}

std::optional<PolicyNet::Step> StepFrom(std::span<const double> memory, size_t hidden) {
  if (memory.size() == 1 && memory[0] == 0) return std::nullopt;
  if (memory.size() != 2 + 2 * hidden) ThrowInput("the checkpoint's controller is damaged");
  PolicyNet::Step step;
  step.action = static_cast<int>(memory[1]);
  step.h.assign(memory.begin() + 2, memory.begin() + 2 + static_cast<ptrdiff_t>(hidden));
  step.c.assign(memory.begin() + 2 + static_cast<ptrdiff_t>(hidden), memory.end());
  return step;
}

// Decisions every 1/16 of a layer's budget; stops at the learned probability. One that sees validation nodes, or train
// nodes held out in their place, goes back to the best weights.
class GeneralStop final : public StopPolicy {
 public:
  GeneralStop(const Controller& controller, double prior_loss, bool held_out)
      : controller_(controller), prior_loss_(prior_loss), held_out_(held_out) {}

  void BeginLayer(const LayerView& view) override {
    view_ = {view.layer, view.layers, view.budget, GeneralInterval(view.budget), prior_loss_};
    scores_.clear();
    best_ = {};
  }
  uint32_t EpochsUntilDecision(uint32_t) const override { return view_.interval; }
  Decision Decide(const Observation& observation) override {
    const ControllerImpl& impl = controller_.impl();
    const bool sees_validation = impl.SeesValidation();
    if (sees_validation) scores_.push_back(observation.validation);
    const std::vector<double> inputs = GeneralInputs(observation.losses, view_, scores_);
    step_ = impl.net.Decide(step_ ? &*step_ : nullptr, inputs, 0, 0);
    return {MayStop(observation.losses.back(), prior_loss_) && step_->probability[1] >= impl.threshold,
            step_->probability[1], sees_validation && best_.Offer(observation.validation)};
  }
  bool WantsValidation() const override { return controller_.impl().SeesValidation() && !held_out_; }
  bool WantsNodeLosses() const override { return controller_.impl().SeesValidation() && held_out_; }
  bool KeepsBest() const override { return controller_.impl().SeesValidation(); }
  std::string Name() const override { return "controller"; }
  std::vector<double> Memory() const override {
    std::vector<double> memory = {best_.best(), static_cast<double>(scores_.size())};
    for (const Observation::Validation& score : scores_) memory.insert(memory.end(), {score.f1, score.loss});
    AppendStep(step_, memory);
    return memory;
  }
  void Restore(std::span<const double> memory) override {
    const size_t scores = memory.size() < 2 ? 0 : static_cast<size_t>(memory[1]);
    if (memory.size() < 3 || scores > (memory.size() - 3) / 2)
      ThrowInput("the checkpoint's controller is damaged");
    best_.set_best(memory[0]);
    scores_.clear();
    for (size_t i = 0; i < scores; ++i) scores_.push_back({memory[2 + 2 * i], memory[3 + 2 * i]});
    step_ = StepFrom(memory.subspan(2 + 2 * scores), controller_.impl().net.shape().hidden);
  }

 private:
  Controller controller_;
  double prior_loss_;
  bool held_out_;
  GeneralView view_;
  std::vector<Observation::Validation> scores_;  // at the layer's decisions so far
  BestDecision best_;
  std::optional<PolicyNet::Step> step_;  // the state runs through all layers
};

// Decisions every `interval` epochs of the whole run; between min_epochs and max_epochs of a layer.
class PaperStop final : public StopPolicy {
 public:
  explicit PaperStop(const Controller& controller) : controller_(controller) {}

  void BeginLayer(const LayerView& view) override {
    if (view.layers != controller_.impl().layers) {
      ThrowUsage(
          "this paper-kind controller was learned for {} layers, not {}; learn one with l2gcn "
          "learn-controller "
          "--layers {} "
          "or use a general controller",
          controller_.impl().layers, view.layers, view.layers);
    }
    view_ = view;
  }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override {
    const uint32_t interval = controller_.impl().interval;
    return interval - (view_.epochs_before + epoch) % interval;
  }
  Decision Decide(const Observation& observation) override {
    const ControllerImpl& impl = controller_.impl();
    const auto inputs =
        PaperInputs(observation.losses.back(), observation.losses.front(), view_.layer, view_.layers);
    const uint32_t embedding = 2 * decision_ + static_cast<uint32_t>(step_ ? step_->action : 0);
    step_ = impl.net.Decide(step_ ? &*step_ : nullptr, inputs, embedding, decision_);
    ++decision_;
    const double probability = step_->probability[1];
    const bool stop = (probability >= impl.threshold && observation.epoch > impl.min_epochs) ||
                      observation.epoch > impl.max_epochs;
    step_->action = stop ? 1 : 0;
    return {stop, probability};
  }
  std::string Name() const override { return "controller"; }
  std::vector<double> Memory() const override {
    std::vector<double> memory = {static_cast<double>(decision_)};
    AppendStep(step_, memory);
    return memory;
  }
  void Restore(std::span<const double> memory) override {
    if (memory.size() < 2) ThrowInput("the checkpoint's controller is damaged");
    decision_ = static_cast<uint32_t>(memory[0]);
    step_ = StepFrom(memory.subspan(1), controller_.impl().net.shape().hidden);
  }

 private:
  Controller controller_;
  LayerView view_;
  uint32_t decision_ = 0;  // over all layers
  std::optional<PolicyNet::Step> step_;
};

// The user's controller, or a shipped one. Without validation nodes the general one is that which sees training
// losses alone.
Controller ControllerFor(const PolicyRequest& request) {
  const std::string& file = request.config.controller_file;
  const bool validated = HasValidationLabels(request.dataset, request.nodes);
  if (file.empty() && request.config.paper_controller) return Controller::Shipped("paper");
  if (file.empty()) return Controller::Shipped(validated ? "general" : "general-loss");
  Controller controller = Controller::Load(file);
  if (controller.impl().SeesValidation() && !validated) {
    ThrowUsage(
        "{}: this controller needs validation nodes, and split '{}' of {} has none; learn one with l2gcn "
        "learn-controller --sees loss, use a shipped one, or take another --split",
        file, request.nodes.split.name, request.dataset.name);
  }
  return controller;
}

}  // namespace

std::unique_ptr<StopPolicy> MakeControllerStopping(const PolicyRequest& request) {
  const bool held_out = HeldOutCount(request.config, request.dataset, request.nodes) > 0;
  return MakeLearnedStop(ControllerFor(request), PriorLoss(request.dataset.labels), held_out);
}

std::unique_ptr<StopPolicy> MakeLearnedStop(const Controller& controller, double prior_loss, bool held_out) {
  if (controller.impl().kind == SearchConfig::Kind::kPaper) return std::make_unique<PaperStop>(controller);
  return std::make_unique<GeneralStop>(controller, prior_loss, held_out);
}

double PriorLoss(const Labels& labels) {
  return labels.multilabel ? std::log(2.0) : std::log(std::max(2.0, static_cast<double>(labels.classes)));
}

}  // namespace l2gcn
