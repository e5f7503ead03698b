// The constants of automatic training (--lr auto, --stop plateau): the base learning rate of a layer, when the rate decays,
// and when the layer stops. bench/tune_rate.py fits them on generated graphs alone.
#pragma once

#include <cstdint>

namespace l2gcn {

struct AutoSchedule {
  // Base rate (train/layer_rate.h): factor and power, for basic layers and for layers with a norm.
  double basic_rate = 0.02, basic_power = 0.6;
  double norm_rate = 0.025, norm_power = 0.65;
  // A budget of fewer steps than this gets a higher rate: × (many_steps / steps)^few_power.
  double many_steps = 1500, few_power = 0.6;
  // Basic layers with more train nodes than this overfit less and get a higher rate: × (nodes / many_nodes)^many_nodes_power,
  // at most × many_nodes_cap.
  double many_nodes = 15000, many_nodes_power = 0.6, many_nodes_cap = 4;
  // The epochs between evaluations grow with the epochs done by this share.
  double growth = 0.25;
  // An evaluation is the best so far if its losses are lower by this many standard errors of the mean difference.
  double standard_errors = 0.5;
  // A layer stops once doubling its epochs no longer pays: the mean loss over the last part of its epochs, 1 − window, is
  // below that of the part before by less than the improvement threshold times the squared share of the budget spent.
  double window = 0.5;
  // A layer also stops once no evaluation was better for this many times the epochs that led to the best one. Losses of layers
  // with a norm vary more from evaluation to evaluation, so these layers wait longer.
  double basic_patience = 0.5, norm_patience = 1.5;
  // The improvement threshold, relative to the improvement on the prior baseline, of which at most `gain_cap` (nats or F1)
  // counts. Basic layers have basic_threshold, or f1_threshold where nodes have several labels, times inner_factor if another
  // layer follows. Layers with a norm have norm_threshold.
  double basic_threshold = 2.8, f1_threshold = 0.4, inner_factor = 2, norm_threshold = 0.4, gain_cap = 0.5;
  // The first of the two rules needs an improvement of at least this share of the prior loss: a slow start is no plateau.
  double min_gain = 0.05;
  // No layer stops before this many steps, unless its budget is spent.
  double least_steps = 30;
  // After the stop, the last layer's rate cools down to 0, from the best weights on, over this share of the epochs that led to
  // them. Inner layers end at their best weights. A layer that never stops decays over the last part of its budget.
  double cool_down = 0.4, last_part = 0.4;
};

}  // namespace l2gcn
