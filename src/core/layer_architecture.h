// The parts that a layer has besides W and Θ. With all of them off it is the basic layer of the paper.
#pragma once

#include <cstdint>

#include "l2gcn/choices.h"

namespace l2gcn {

struct LayerArchitecture {
  bool bias = false;  // where there is a norm, its bias takes the place of the hidden layers' own
  HiddenNorm norm = HiddenNorm::kNone;
  uint32_t head = 0;  // width of a hidden layer before Θ; 0: none
  float input_dropout = 0;

  bool basic() const { return !shifts() && head == 0 && input_dropout == 0; }
  // Whether hidden values and logits are shifted, by a bias or by that of a norm.
  bool shifts() const { return bias || norm != HiddenNorm::kNone; }
};

}  // namespace l2gcn
