// Sparse rows that lie among ranks, brought together. Rank r has rows count·r/R … count·(r+1)/R − 1 of the matrix.
#pragma once

#include "l2gcn/features.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

// The matrix of `count` rows of which this rank has `own`, on every rank.
CsrMatrix AllSparseRows(Ranks& ranks, const CsrMatrix& own, size_t count);
// The same on rank 0 alone; empty on the others.
CsrMatrix SparseRowsAtRank0(Ranks& ranks, const CsrMatrix& own, size_t count);

}  // namespace l2gcn
