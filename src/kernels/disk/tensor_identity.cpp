#include "kernels/disk/tensor_identity.h"

#include <algorithm>

namespace l2gcn {

TensorIdentity::TensorIdentity(const Context& context, const DiskMemory& disk, std::string_view verb)
    : context_(context), disk_(disk), known_(disk.kept() != nullptr) {
  sum_.Add(verb.data(), verb.size());
}

TensorIdentity& TensorIdentity::Add(uint64_t word) {
  sum_.Add(&word, sizeof(word));
  return *this;
}

TensorIdentity& TensorIdentity::From(uint64_t identity) {
  known_ = known_ && identity != 0;
  return Add(identity);
}

TensorIdentity& TensorIdentity::Add(const void* data, size_t bytes) {
  if (known_) disk_.AddIdentity(context_, data, bytes, sum_);
  return *this;
}

TensorIdentity& TensorIdentity::Add(const Matrix& matrix) {
  return Add(matrix.rows).Add(matrix.cols).AddArray(matrix.values);
}

TensorIdentity& TensorIdentity::Add(const Features& features) {
  Add(features.rows()).Add(features.cols()).Add(static_cast<uint64_t>(features.type()));
  if (features.stores_sparse()) {
    const CsrMatrix& sparse = features.csr();
    AddArray(sparse.indptr).AddArray(sparse.indices).AddArray(sparse.values);
  } else {
    Add(features.elements(), features.bytes());
  }
  const RowPreparation* preparation = features.preparation();
  if (preparation == nullptr) return *this;
  AddArray(preparation->row_factor).AddArray(preparation->shift).AddArray(preparation->factor);
  return Add(preparation->projection).AddArray(preparation->offset);
}

TensorIdentity& TensorIdentity::Add(const Propagation& a) {
  Add(a.nodes).Add(a.first_row).AddArray(a.indptr).AddArray(a.indices).AddArray(a.weights);
  AddArray(a.own);
  return AddArray(a.row_scale).AddArray(a.col_scale).AddArray(a.self_scale);
}

uint64_t TensorIdentity::Sum() const { return known_ ? std::max<uint64_t>(1, sum_.Sum()) : 0; }

}  // namespace l2gcn
