// Feature preparation: fitted once on chosen rows, kept in the model, applied again by predict.
//
//   scale   standard  (x − mean) / deviation of each column; a constant column is only shifted
//           minmax    (x − min) / (max − min)
//           row       each row divided by the sum of its absolute values
//           none
//   pca K   projection on the K leading principal axes of the scaled features, found by randomised subspace
//           iteration (Halko et al. 2011, algorithm 4.4); the mean is removed implicitly, so sparse features
//           are never densified on the way
//
// Applying a preparation copies nothing: rows are prepared as they are read (l2gcn/features.h). Shifting
// sparse features without pca makes their rows dense; a note says so. Guarantees: same bits for any thread
// count.
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/choices.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// `fit_rows` (rows) 0/1 says which rows are looked at; empty: all. pca = 0: none.
Model::Preparation FitPreparation(const Context& context, const Features& features,
                                  std::span<const uint8_t> fit_rows, Scale scale, uint32_t pca,
                                  uint64_t seed);

// `features` as rows that are prepared when they are read.
Features ApplyPreparation(const Context& context, const Model::Preparation& preparation,
                          const Features& features);

}  // namespace l2gcn
