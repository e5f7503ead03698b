// Sparse matrices as files hold them (CSR, CSC or COO, unsorted, with repeats) brought to CSR with ascending
// columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/npy.h"
#include "data/pickle.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

// The arrays of a stored sparse matrix, not yet checked.
struct StoredSparse {
  std::string layout;  // "csr", "csc" or "coo"
  uint64_t rows = 0, cols = 0;
  Array<uint64_t> indptr;       // csr (rows + 1), csc (cols + 1)
  Array<uint32_t> indices;      // (nnz): columns of csr, rows of csc; coo: columns
  Array<uint32_t> row_indices;  // (nnz), coo only
  Array<float> values;          // (nnz)
  std::string where;
};

// Throws Error(kInput) unless lengths, offsets and indices describe a rows × cols matrix.
void CheckStored(const StoredSparse& stored);

// Rows in order, columns ascending, repeated entries summed (scipy's meaning), zeros dropped if asked.
CsrMatrix ToCsr(const Context& context, const StoredSparse& stored, bool drop_zeros = false);

// A scipy sparse matrix inside a pickle.
StoredSparse SparseFromPickle(const Context& context, const Pickle& pickle, uint32_t value);

}  // namespace l2gcn
