// Estimates the base learning rate of a layer from its input, before the first step.
//
// A step of Adam moves every weight by about the rate, so it moves the product of a row x and W by up to rate · Σ|x|.
// At one and the same rate, rows that are long in this sense (dense features, wide hidden layers) are overfitted within a
// few steps, while short ones (few words, weighted) hardly move. With s = the mean of Σ|x| over a sample of rows
//
//   rate = a · s^−p                          a basic layer
//   rate = a · (s · √D / mean ‖x‖)^−p        a layer with a norm, whose output does not depend on the rows' length
//
// The rate is higher where the budget has few steps, and in basic layers with many train nodes, which overfit later. The
// constants are in train/auto_schedule.h. Rows are those of the layer's input before it is aggregated. The estimate reads no
// labels, and no nodes that training does not see.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/backend.h"
#include "train/auto_schedule.h"

namespace l2gcn {

// `rows`: the rows of x that belong to nodes in training; empty: all. `nodes`: how many nodes the `steps` of the layer's budget
// draw from.
double EstimateRate(const Context& context, Backend& backend, const Tensor& x, std::span<const uint32_t> rows,
                    const LayerArchitecture& architecture, double nodes, double steps,
                    const AutoSchedule& schedule);

}  // namespace l2gcn
