// Graphs from the two shapes in which arrays hold them: a sparse matrix, or pairs of nodes.
#include <algorithm>

#include "core/error_format.h"
#include "data/reader.h"

namespace l2gcn {
namespace {

bool AllOnes(const Array<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 1; });
}

// Weights matter only where they differ from 1.
std::span<const float> WeightsOf(const Array<float>& values) {
  return AllOnes(values) ? std::span<const float>() : values.span();
}

}  // namespace

BuildOptions BuildFor(const OpenOptions& options, const std::string& where) {
  return {options.directed, options.keep_self_loops, where};
}

BuiltGraph GraphFromSparse(const Context& context, const StoredSparse& stored, const OpenOptions& options) {
  if (stored.rows != stored.cols) {
    ThrowInput("{}: the adjacency is {} × {}; expected a square matrix", stored.where, stored.rows,
               stored.cols);
  }
  CheckStored(stored);
  const uint32_t nodes = CheckedNodeCount(stored.rows, stored.where);
  if (stored.layout == "coo") {
    return BuildGraph(context, nodes, stored.row_indices.span(), stored.indices.span(),
                      WeightsOf(stored.values), BuildFor(options, stored.where));
  }
  // Columns in place of rows turn every edge around, which matters only where directions are kept.
  if (stored.layout == "csc" && options.directed) {
    const CsrMatrix rows = ToCsr(context, stored);
    return BuildGraphFromCsr(context, nodes, rows.indptr.span(), rows.indices.span(), WeightsOf(rows.values),
                             BuildFor(options, stored.where));
  }
  return BuildGraphFromCsr(context, nodes, stored.indptr.span(), stored.indices.span(),
                           WeightsOf(stored.values), BuildFor(options, stored.where));
}

BuiltGraph GraphFromPairs(const Context& context, const NpyArray& edges, uint32_t nodes,
                          const BuildOptions& options) {
  edges.ExpectDimensions(2);
  const bool columns = edges.shape()[0] == 2 && edges.shape()[1] != 2;
  if (!columns && edges.shape()[1] != 2) {
    ThrowInput("{}: expected edges of shape (E, 2) or (2, E), found ({}, {})", edges.where(),
               edges.shape()[0], edges.shape()[1]);
  }
  const Array<uint32_t> flat = edges.As<uint32_t>(context);
  const size_t count = flat.size() / 2;
  if (columns) {
    return BuildGraph(context, nodes, flat.span().first(count), flat.span().subspan(count), {}, options);
  }
  Array<uint32_t> source = Array<uint32_t>::Allocate(count), target = Array<uint32_t>::Allocate(count);
  for (size_t e = 0; e < count; ++e) {
    source.mutable_data()[e] = flat[2 * e];
    target.mutable_data()[e] = flat[2 * e + 1];
  }
  return BuildGraph(context, nodes, source.span(), target.span(), {}, options);
}

}  // namespace l2gcn
