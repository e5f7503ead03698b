// The content of a controller file and the inputs of its network. The search and training share them, so that both see
// the same inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/policy_net.h"
#include "l2gcn/controller.h"
#include "train/stop_policy.h"

namespace l2gcn {

struct ControllerImpl {
  SearchConfig::Kind kind = SearchConfig::Kind::kGeneral;
  PolicyNet net;
  uint32_t layers = 0;     // paper: the number of layers it was made for
  uint32_t interval = 10;  // paper: epochs between decisions
  double threshold = 0.5;
  uint32_t min_epochs = 0, max_epochs = 0;  // paper
  std::string learned_on;                   // names of the data sets, for people
  uint32_t rounds = 0;

  bool SeesValidation() const;  // general: what its net has inputs for
};

PolicyShape PaperShape(uint32_t layers, uint32_t decisions, uint32_t hidden);
PolicyShape GeneralShape(uint32_t hidden, bool sees_validation);

// Paper: (loss − first loss + 1) · 0.1 in every slot but the layer's, which holds 0.1. (1 + layers)
std::vector<double> PaperInputs(double loss, double first_loss, uint32_t layer, uint32_t layers);

// General: what any loss curve shows at epoch `losses.size()` of a layer with `budget` epochs, `interval`
// epochs after the last decision. Independent of the data set's size, its number of classes and the number of
// layers.
struct GeneralView {
  uint32_t layer = 0, layers = 1, budget = 1, interval = 1;
  double prior_loss = 1;  // the loss of a classifier that predicts all classes alike
};
// `scores`: the validation nodes at every decision of the layer so far, the present one last; empty for a net
// that sees losses alone.
std::vector<double> GeneralInputs(std::span<const double> losses, const GeneralView& view,
                                  std::span<const Observation::Validation> scores);

// To which decision's weights a layer goes back when it ends. F1 alone is a matter of luck where validation
// nodes are few, the loss alone keeps falling after F1 has turned and the other way round; so both count: a
// tenth of the loss is worth a point of F1, and a later decision has to be better by 0.3.
class BestDecision {
 public:
  // Whether this decision is the best so far.
  bool Offer(const Observation::Validation& score);
  double best() const { return best_; }
  void set_best(double best) { best_ = best; }

 private:
  double best_ = -std::numeric_limits<double>::infinity();
};

// Whether the general kind may stop a layer: while its training loss is near the prior loss nothing was learned, and a slow
// start is no plateau. Training and the search follow the same rule.
bool MayStop(double training_loss, double prior_loss);

// Epochs between two decisions of the general kind.
uint32_t GeneralInterval(uint32_t budget);

}  // namespace l2gcn
