#include "controller/controller_impl.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr uint32_t kGeneralFeatures = 8;
constexpr uint32_t kDecisionsPerBudget = 16;

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

PolicyShape GeneralShape(uint32_t hidden) { return {kGeneralFeatures, 0, 0, hidden, 1}; }

std::vector<double> PaperInputs(double loss, double first_loss, uint32_t layer, uint32_t layers) {
  std::vector<double> inputs(1 + layers, (loss - first_loss + 1) * 0.1);
  inputs[1 + layer] = 0.1;
  return inputs;
}

uint32_t GeneralInterval(uint32_t budget) {
  return std::max(1u, (budget + kDecisionsPerBudget / 2) / kDecisionsPerBudget);
}

std::vector<double> GeneralInputs(std::span<const double> losses, const GeneralView& view) {
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
  return {std::clamp(recent / view.chance_loss, 0.0, 2.0),
          0.25 * std::clamp(SafeLog(recent) - SafeLog(losses.front()), -8.0, 2.0),
          2.0 * std::clamp(SafeLog(recent) - SafeLog(earlier), -1.0, 1.0),
          std::clamp(SafeLog(recent) - SafeLog(long_ago), -2.0, 2.0),
          std::clamp(spread, 0.0, 2.0),
          share,
          static_cast<double>(view.layer + 1) / view.layers,
          view.layer + 1 == view.layers ? 1.0 : 0.0};
}

}  // namespace l2gcn
