// Weights of the classes in the loss (Targets::weights).
//
//   balanced   one label a node: n / (classes · members of the class), as scikit-learn has it, over the train
//              nodes; multi-label: others / members of the label, so that a label's ones weigh as much as its
//              zeros. A class without train members weighs 1.
//   FILE       a table of two columns, class name and weight, a row for every class
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/array.h"
#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// (classes), or empty where config asks for none. Throws Error for a file that cannot be used.
Array<float> ClassWeightsOf(const Context& context, const Dataset& dataset,
                            std::span<const uint32_t> train_nodes, const TrainConfig& config);

}  // namespace l2gcn
