// A controller at work: the StopPolicy of method l2gcn.
#pragma once

#include "controller/controller_impl.h"
#include "train/stop_policy.h"

namespace l2gcn {

// `prior_loss`: of a classifier that knows nothing (ln classes; ln 2 for multi-label). `held_out`: it sees train nodes
// that the steps leave out where it would see validation nodes.
std::unique_ptr<StopPolicy> MakeLearnedStop(const Controller& controller, double prior_loss,
                                            bool held_out = false);
double PriorLoss(const Labels& labels);

}  // namespace l2gcn
