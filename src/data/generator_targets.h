// Targets of a regression for a synthetic graph. With u and v random directions in the space of the features and o, n
// the standardised values of u·x of a node and of the mean of v·x over its neighbours:
//
//   y = o + n + o·n/2 + noise of deviation 1/2
//
// so that nothing explains more than nine tenths of its variance, and a linear model of own and neighbours' features eight.
#pragma once

#include "data/generator_shapes.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

Labels DrawTargets(const Context& context, const GeneratorPlan& plan, const Graph& graph,
                   const Features& features);

}  // namespace l2gcn
