// The parts that a layer has besides W and Θ. With all of them off it is the basic layer of the paper.
#pragma once

#include <cstddef>
#include <cstdint>

namespace l2gcn {

struct LayerArchitecture {
  bool bias = false;  // where norm is on, its shift takes the place of the hidden layers' bias
  bool norm = false;
  uint32_t head = 0;  // width of a hidden layer before Θ; 0: none
  float input_dropout = 0;

  bool basic() const { return !bias && !norm && head == 0 && input_dropout == 0; }
  // Rows of a hidden layer's norm weight and bias, of its bias alone, or none.
  size_t affine_rows() const { return norm ? 2 : bias ? 1 : 0; }
};

}  // namespace l2gcn
