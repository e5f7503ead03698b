// How close predicted numbers are to true ones, by the definitions of scikit-learn and SciPy:
//
//   r2                 r2_score: of a constant truth 1 where it is met, else 0; NaN of fewer than two nodes
//   mae, rmse          mean_absolute_error, root_mean_squared_error
//   spearman           scipy.stats.spearmanr, equal values having the mean of their ranks; NaN of a constant
//
// Targets are scored one by one, each over the nodes that have it; means are over the targets whose figure is defined.
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/model.h"

namespace l2gcn {

// All NaN where a prediction is not finite.
Score::Numbers FiguresOf(std::span<const double> truth, std::span<const double> predicted);

// Scores `nodes`, beside the mean that each target has over the train nodes of the split; without train nodes, over these.
Score ScoreRegression(const Dataset& dataset, const Matrix& predicted, const Split& split,
                      std::span<const uint32_t> nodes);

// The mean R² of `nodes`; row i of `predicted` belongs to nodes[i].
double MeanR2(const Labels& labels, std::span<const uint32_t> nodes, const Matrix& predicted);

}  // namespace l2gcn
