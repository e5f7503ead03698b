// Principal axes of features that are dense or sparse, scaled or not, without forming the scaled, centred
// matrix.
//
// With A = (X − shift)·diag(factor) − 1·centerᵀ, the leading eigenvectors of AᵀA are found by subspace
// iteration from a random start (k + 10 columns, Halko et al. 2011). A is never built: A·Q = X·(diag(factor)
// Q) − 1·offsetᵀ, and likewise for AᵀY. Rows go by in blocks, so memory is (features × k) and one block.
#pragma once

#include <cstdint>
#include <span>

#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// Fills projection (features × components) and center (features) of `preparation`, which already holds the
// shift and factor that scale the features; notes the share of the variance that the components hold.
// `features` are stored sparse, or dense with at most a factor for each row. `fit_rows` as in FitPreparation.
void FitPca(const Context& context, const Features& features, std::span<const uint8_t> fit_rows,
            uint32_t components, uint64_t seed, Model::Preparation& preparation);

// The projection and offset that take a stored row to its scaled, centred and projected one.
void ScaledProjection(const Model::Preparation& preparation, RowPreparation& rows);

}  // namespace l2gcn
