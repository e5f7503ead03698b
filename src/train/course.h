// The constants of a layer's course where the program finds the rate (--lr auto): how high the rate is, when its fall
// begins, and when a layer is done. scripts/tune-rate.py tries them on generated graphs; docs/controller.md says what was
// tried and how far that goes.
#pragma once

#include <cstdint>

namespace l2gcn {

struct Course {
  // Level of the rate (train/layer_rate.h): factor and power for plain layers, and for layers with a norm.
  double plain_rate = 0.02, plain_power = 0.6;
  double norm_rate = 0.025, norm_power = 0.65;
  // Budgets of fewer steps than this get a higher rate: × (many_steps / steps)^few_power.
  double many_steps = 1500, few_power = 0.6;
  // Epochs between looks grow with the epochs done by this share.
  double growth = 0.25;
  // What a node's look counts: (1 − loss_part) · miss + loss_part · loss / chance loss. Losses of nodes that are wrong
  // and sure of it grow long after the answers have stopped getting worse; misses are bounded.
  double loss_part = 1, labels_loss_part = 0;  // the second where nodes have several labels
  // A look is better than the best so far if its levels are lower by so many standard errors of their difference. The
  // layer goes back to the last look that is not worse than the best one by more than `slack` of them.
  double sure = 1, slack = -1;
  // A layer is done once doubling its epochs is not worth it: the looks of the last part of its epochs, 1 − window, are
  // lower than those of the part before, `doubt` standard errors granted, by less than this share of all that was gained
  // on chance: worth · (epochs / budget)^worth_power. Steps are paid for as they are used, so the more epochs doubling
  // takes, the more it has to bring. Or once no look was better for `patience` times the epochs that led to the best one.
  double window = 0.5, worth = 0.03, worth_power = 0, doubt = 0, patience = 1;
  // No layer is done before so many steps, unless its budget is spent.
  double least_steps = 30;
  // Then the rate falls to nothing, from the best weights on, over this share of the epochs that led to them; a layer
  // that is not told to stop falls over the last part of its budget.
  double landing = 0.4, last_part = 0.4;
};

}  // namespace l2gcn
