#include "data/subset.h"

#include <cstring>

#include "graph/build.h"

namespace l2gcn {
namespace {

Features RowsOf(const Features& from, std::span<const uint32_t> rows) {
  Features to;
  to.is_sparse = from.is_sparse;
  if (!from.is_sparse) {
    to.dense = Matrix::Allocate(rows.size(), from.dense.cols);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(to.dense.mutable_row(i), from.dense.row(rows[i]), from.dense.cols * sizeof(float));
    }
    return to;
  }
  const CsrMatrix& csr = from.sparse;
  to.sparse.rows = rows.size();
  to.sparse.cols = csr.cols;
  to.sparse.indptr = Array<uint64_t>::Zeros(rows.size() + 1);
  uint64_t* indptr = to.sparse.indptr.mutable_data();
  for (size_t i = 0; i < rows.size(); ++i)
    indptr[i + 1] = indptr[i] + csr.indptr[rows[i] + 1] - csr.indptr[rows[i]];
  to.sparse.indices = Array<uint32_t>::Allocate(indptr[rows.size()]);
  to.sparse.values = Array<float>::Allocate(indptr[rows.size()]);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t begin = csr.indptr[rows[i]], count = indptr[i + 1] - indptr[i];
    std::copy_n(csr.indices.data() + begin, count, to.sparse.indices.mutable_data() + indptr[i]);
    std::copy_n(csr.values.data() + begin, count, to.sparse.values.mutable_data() + indptr[i]);
  }
  return to;
}

Labels LabelsOf(const Labels& from, std::span<const uint32_t> nodes) {
  Labels to;
  to.multilabel = from.multilabel;
  to.classes = from.classes;
  if (!from.multilabel) {
    to.classes_of = Array<int32_t>::Allocate(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) to.classes_of.mutable_data()[i] = from.classes_of[nodes[i]];
    return to;
  }
  to.matrix = Array<uint8_t>::Allocate(nodes.size() * from.classes);
  to.labelled = Array<uint8_t>::Allocate(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::copy_n(from.matrix.data() + size_t{nodes[i]} * from.classes, from.classes,
                to.matrix.mutable_data() + i * from.classes);
    to.labelled.mutable_data()[i] = from.IsLabelled(nodes[i]) ? 1 : 0;
  }
  return to;
}

}  // namespace

Dataset SubsetDataset(const Context& context, const Dataset& dataset, std::span<const uint32_t> nodes) {
  Dataset subset;
  subset.name = dataset.name;
  subset.recipe = dataset.recipe;
  subset.format = dataset.format;
  subset.graph = InducedSubgraph(context, dataset.graph, nodes);
  subset.features = RowsOf(dataset.features, nodes);
  subset.labels = LabelsOf(dataset.labels, nodes);
  subset.class_names = dataset.class_names;
  return subset;
}

}  // namespace l2gcn
