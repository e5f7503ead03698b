// The learning rate of a layer from what it is about to train on, before its first step.
//
// A step of Adam moves every weight by about the rate, so it moves the product of a row x and W by up to rate · Σ|x|.
// Rows that are long in that sense (dense features, wide hidden layers) are learned by heart within a few steps at a
// rate at which short ones (few words, weighted) hardly move. With s = the mean of Σ|x| over a sample of rows
//
//   rate = a · s^−p                          a basic layer
//   rate = a · (s · √D / mean ‖x‖)^−p        a layer with a norm, whose output does not depend on the rows' length
//
// and more where the budget has few steps: they have to suffice; and more in basic layers with plenty of train nodes, which
// they do not learn by heart so soon. The constants were picked on generated graphs
// (train/auto_schedule.h). Rows are those of the layer's input before it is aggregated; labels are not looked at, nor are
// nodes that training does not see.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/backend.h"
#include "train/auto_schedule.h"

namespace l2gcn {

// `rows` of x are those of nodes in training; empty: all. `nodes` are drawn from, in all `steps` of the layer's budget.
double EstimateRate(const Context& context, Backend& backend, const Tensor& x, std::span<const uint32_t> rows,
                    const LayerArchitecture& form, double nodes, double steps, const AutoSchedule& schedule);

}  // namespace l2gcn
