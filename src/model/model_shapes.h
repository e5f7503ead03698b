// Whether the tensors of a model fit together.
#pragma once

#include <string>

#include "l2gcn/model.h"

namespace l2gcn {

// Shapes must chain: features → hidden … → classes. Throws Error(kInput) that starts with `where`.
void CheckModelShapes(const Model& model, const std::string& where);

}  // namespace l2gcn
