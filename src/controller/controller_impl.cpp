#include "controller/controller_impl.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr uint32_t kLossFeatures = 8, kValidationFeatures = 8;
constexpr uint32_t kDecisionsPerBudget = 16;
constexpr double kLearnt = 0.95;  // a share of the prior loss; above it nothing was learned

// Mean over the last `count` epochs before `end`: single batches are noisy.
double MeanBefore(std::span<const double> losses, size_t end, size_t count) {
  const size_t begin = end > count ? end - count : 0;
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += losses[i];
  return sum / static_cast<double>(std::max<size_t>(1, end - begin));
}

double SafeLog(double x) { return std::log(std::max(x, 1e-8)); }

}  // namespace

PolicyShape PaperShape(uint32_t layers, uint32_t decisions, uint32_t hidden) {
  // The cell's input is as wide as its state; what loss and layer leave free is the embedding.
  const uint32_t features = 1 + layers;
  if (features + 1 > hidden) {
    ThrowUsage(
        "a paper-kind controller {} wide serves at most {} layers, not {}; use --hidden {} or kind general",
        hidden, hidden - 2, layers, features + 1);
  }
  return {features, hidden - features, decisions * 2, hidden, decisions};
}

PolicyShape GeneralShape(uint32_t hidden, bool sees_validation) {
  return {kLossFeatures + (sees_validation ? kValidationFeatures : 0), 0, 0, hidden, 1};
}

bool ControllerImpl::SeesValidation() const {
  return kind == SearchConfig::Kind::kGeneral && net.shape().features > kLossFeatures;
}

std::vector<double> PaperInputs(double loss, double first_loss, uint32_t layer, uint32_t layers) {
  std::vector<double> inputs(1 + layers, (loss - first_loss + 1) * 0.1);
  inputs[1 + layer] = 0.1;
  return inputs;
}

bool MayStop(double training_loss, double prior_loss) { return training_loss < kLearnt * prior_loss; }

uint32_t GeneralInterval(uint32_t budget) {
  return std::max(1u, (budget + kDecisionsPerBudget / 2) / kDecisionsPerBudget);
}

namespace {

// What any loss curve shows. (8)
std::vector<double> LossInputs(std::span<const double> losses, const GeneralView& view) {
  const size_t now = losses.size(), span = view.interval;
  const double recent = MeanBefore(losses, now, span);
  const double earlier = MeanBefore(losses, now > span ? now - span : 1, span);
  const double long_ago = MeanBefore(losses, now > 3 * span ? now - 3 * span : 1, span);
  double spread = 0;
  const size_t begin = now > 2 * span ? now - 2 * span : 0;
  for (size_t i = begin + 1; i < now; ++i) spread += std::abs(losses[i] - losses[i - 1]);
  spread /= static_cast<double>(std::max<size_t>(1, now - begin - 1)) * std::max(recent, 1e-8);
  const double share = static_cast<double>(now) / view.budget;
  // Logarithms make curves of different levels alike; everything is scaled to about ±1.
  return {std::clamp(recent / view.prior_loss, 0.0, 2.0),
          0.25 * std::clamp(SafeLog(recent) - SafeLog(losses.front()), -8.0, 2.0),
          2.0 * std::clamp(SafeLog(recent) - SafeLog(earlier), -1.0, 1.0),
          std::clamp(SafeLog(recent) - SafeLog(long_ago), -2.0, 2.0),
          std::clamp(spread, 0.0, 2.0),
          share,
          static_cast<double>(view.layer + 1) / view.layers,
          view.layer + 1 == view.layers ? 1.0 : 0.0};
}

// What the validation nodes show: level of the loss, its gap to the training loss, and what the last one and
// the last three decisions and the best of all brought. Before the first decision stands the prior loss, and F1 has
// come a good way. (8)
void AppendValidationInputs(std::span<const double> losses, const GeneralView& view,
                            std::span<const Observation::Validation> scores, std::vector<double>& inputs) {
  const Observation::Validation now = scores.back();
  const auto before = [&](size_t decisions, double points) {
    if (scores.size() > decisions) return scores[scores.size() - 1 - decisions];
    return Observation::Validation{now.f1 - points / 100, view.prior_loss};
  };
  const auto change = [&](double loss) { return SafeLog(now.loss) - SafeLog(loss); };
  const auto gain = [&](double f1) { return 100 * (now.f1 - f1); };
  double best_f1 = now.f1, best_loss = now.loss;
  for (const Observation::Validation& score : scores) {
    best_f1 = std::max(best_f1, score.f1);
    best_loss = std::min(best_loss, score.loss);
  }
  const Observation::Validation last = before(1, 5), third = before(3, 10);
  inputs.insert(
      inputs.end(),
      {0.5 * change(view.prior_loss),
       0.5 * std::clamp(change(MeanBefore(losses, losses.size(), 2)), -1.0, 3.0),
       3.0 * std::clamp(change(last.loss), -0.6, 0.3), 1.5 * std::clamp(change(third.loss), -1.0, 0.6),
       std::clamp(gain(last.f1) / 3, -1.0, 2.0), std::clamp(gain(third.f1) / 6, -1.0, 2.0),
       std::clamp(gain(best_f1) / 2, -2.0, 0.0), std::clamp(3 * change(best_loss), 0.0, 2.0)});
}

}  // namespace

std::vector<double> GeneralInputs(std::span<const double> losses, const GeneralView& view,
                                  std::span<const Observation::Validation> scores) {
  std::vector<double> inputs = LossInputs(losses, view);
  if (!scores.empty()) AppendValidationInputs(losses, view, scores, inputs);
  return inputs;
}

bool BestDecision::Offer(const Observation::Validation& score) {
  constexpr double kLossWeight = 10, kMargin = 0.3;  // points
  const double points = 100 * score.f1 - kLossWeight * SafeLog(score.loss);
  if (!(points > best_ + kMargin)) return false;
  best_ = points;
  return true;
}

}  // namespace l2gcn
