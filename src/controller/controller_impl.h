// What a controller file holds, and how its inputs are made: shared by search and use, so that both see the
// same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/policy_net.h"
#include "l2gcn/controller.h"

namespace l2gcn {

struct ControllerImpl {
  std::string kind = "general";
  PolicyNet net;
  uint32_t layers = 0;     // paper: the number of layers it was made for
  uint32_t interval = 10;  // paper: epochs between decisions
  double threshold = 0.5;
  uint32_t min_epochs = 0, max_epochs = 0;  // paper
  std::string learned_on;                   // names of the data sets, for people
  uint32_t rounds = 0;
};

PolicyShape PaperShape(uint32_t layers, uint32_t decisions, uint32_t hidden);
PolicyShape GeneralShape(uint32_t hidden);

// Paper: (loss − first loss + 1) · 0.1 in every slot but the layer's, which holds 0.1. (1 + layers)
std::vector<double> PaperInputs(double loss, double first_loss, uint32_t layer, uint32_t layers);

// General: what any loss curve shows at epoch `losses.size()` of a layer with `budget` epochs, `interval`
// epochs after the last decision. Independent of the data set's size, its number of classes and the number of
// layers.
struct GeneralView {
  uint32_t layer = 0, layers = 1, budget = 1, interval = 1;
  double chance_loss = 1;  // of a classifier that knows nothing
};
std::vector<double> GeneralInputs(std::span<const double> losses, const GeneralView& view);

// Epochs between two decisions of the general kind.
uint32_t GeneralInterval(uint32_t budget);

}  // namespace l2gcn
