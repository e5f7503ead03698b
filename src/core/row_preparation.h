// What Features does to a row as it is read (l2gcn/features.h has the arithmetic).
#pragma once

#include "l2gcn/array.h"

namespace l2gcn {

// Empty arrays do nothing.
struct RowPreparation {
  Array<float> row_factor;  // (rows)
  Array<float> shift;       // (stored columns), together with factor
  Array<float> factor;      // (stored columns)
  Matrix projection;        // (stored columns × components), in place of shift and factor
  Array<float> offset;      // (components), together with projection
};

}  // namespace l2gcn
