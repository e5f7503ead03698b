// Points in the plane for rows of embeddings: the two leading principal axes, or t-SNE (van der Maaten and
// Hinton, 2008) begun from them.
//
// t-SNE here is exact: every pair of points, perplexity 30, 350 steps. The same bits for any thread count.
#pragma once

#include <string>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

struct PlanePoints {
  std::vector<double> x, y;
};

// kind: "pca" or "tsne". Fewer than four rows are placed by their axes whatever the kind.
PlanePoints PlaceInPlane(const Context& context, const Matrix& rows, const std::string& kind);

}  // namespace l2gcn
