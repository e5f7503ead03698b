#include "run/data_fingerprint.h"

#include <algorithm>

#include "core/checksum.h"
#include "core/error_format.h"
#include "data/relations.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr size_t kSampledBlocks = 64, kSampledBytes = 4096;

template <class T>
void AddArray(const Array<T>& array, Reads reads, ChecksumStream& sum) {
  const uint64_t bytes = array.bytes();
  sum.Add(&bytes, sizeof(bytes));
  const char* const data = reinterpret_cast<const char*>(array.data());
  if (reads == Reads::kEverything) {
    if (bytes > 0) sum.Add(data, bytes);
    return;
  }
  for (size_t block = 0; block < kSampledBlocks && bytes > 0; ++block) {
    const size_t first = ShareBegin(bytes, static_cast<uint32_t>(block), kSampledBlocks);
    sum.Add(data + first, std::min<size_t>(kSampledBytes, bytes - first));
  }
}

}  // namespace

std::string DataFingerprint(const Dataset& dataset, Reads reads) {
  ChecksumStream sum;
  const auto add = [&](const auto& array) { AddArray(array, reads, sum); };
  VisitGraphArrays(dataset, add);
  const Features& features = dataset.features;
  if (features.stores_sparse()) {
    add(features.csr().indptr);
    add(features.csr().indices);
    add(features.csr().values);
  } else {
    const auto* elements = static_cast<const char*>(features.elements());
    add(Array<char>::Borrow(nullptr, elements, features.bytes()));
  }
  add(dataset.labels.classes_of);
  add(dataset.labels.matrix);
  add(dataset.labels.targets.values);
  add(dataset.labels.node_weights);
  for (const Split& split : dataset.splits) add(split.roles);
  for (const Split::Column& column : dataset.split_columns) add(column.places);
  return fmt::format("{}, {} nodes, {} features, {}", dataset.name, dataset.nodes(), features.cols(),
                     ChecksumText(sum.Sum()));
}

}  // namespace l2gcn
