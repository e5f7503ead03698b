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

// Fills projection (features × components) and center (features) for features already scaled by
// `preparation`'s shift and factor; notes the share of the variance that the components hold. `fit_rows` as
// in FitPreparation.
void FitPca(const Context& context, const Features& features, std::span<const uint8_t> fit_rows,
            uint32_t components, uint64_t seed, Preparation& preparation);

// Scaled, centred and projected: (rows × components), dense.
Features Project(const Context& context, const Preparation& preparation, const Features& features);

}  // namespace l2gcn
