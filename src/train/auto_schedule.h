// The constants of a layer's schedule where the program finds the rate (--lr auto): how high the rate is, when its fall
// begins, and when a layer is done. bench/tune_rate.py tries them on generated graphs; notes/controller.md says what was
// tried and how far that goes.
#pragma once

#include <cstdint>

namespace l2gcn {

struct AutoSchedule {
  // Level of the rate (train/layer_rate.h): factor and power for basic layers, and for layers with a norm.
  double basic_rate = 0.02, basic_power = 0.6;
  double norm_rate = 0.025, norm_power = 0.65;
  // Budgets of fewer steps than this get a higher rate: × (many_steps / steps)^few_power.
  double many_steps = 1500, few_power = 0.6;
  // Plain layers of more train nodes than this get a higher rate, × (nodes / plenty)^plenty_power, at most plenty_most
  // times as high: they learn less by heart. More train nodes than reach the most were not tried.
  double plenty = 15000, plenty_power = 0.6, plenty_most = 4;
  // Epochs between looks grow with the epochs done by this share.
  double growth = 0.25;
  // A look is better than the best so far if its levels are lower by so many standard errors of their difference.
  double sure = 0.5;
  // A layer is done once doubling its epochs is not worth it: the looks of the last part of its epochs, 1 − window, are
  // lower than those of the part before by less than a price times the square of the share of the budget that its epochs are.
  double window = 0.5;
  // It is done, too, once no look was better for so many times the epochs that led to the best one. Layers with a norm, whose
  // levels jump about more, wait longer.
  double basic_patience = 0.5, norm_patience = 1.5;
  // The price is a share of what was gained on chance; of that gain no more counts than `much`, in nats or in F1. Plain layers
  // pay basic_threshold, or f1_threshold where the F1 of several labels judges them, and inner_factor times that if they are not the
  // last. Layers with a norm pay norm_threshold.
  double basic_threshold = 2.8, f1_threshold = 0.4, inner_factor = 2, norm_threshold = 0.4, much = 0.5;
  // The first of the two does not count while less than this share of the chance level was gained: a slow start is no end.
  double nothing = 0.05;
  // No layer is done before so many steps, unless its budget is spent.
  double least_steps = 30;
  // Then the last layer's rate falls to nothing, from the best weights on, over this share of the epochs that led to them;
  // inner layers end at their best weights. A layer that is not told to stop falls over the last part of its budget.
  double cool_down = 0.4, last_part = 0.4;
};

}  // namespace l2gcn
