#include "run/data_fingerprint.h"

#include <algorithm>

#include "core/checksum.h"
#include "core/error_format.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr size_t kSampledBlocks = 64, kSampledBytes = 4096;

// Of blocks that are spread evenly over an array: enough to tell two data sets apart without reading them.
template <class T>
void AddSample(const Array<T>& array, ChecksumStream& sum) {
  const uint64_t bytes = array.bytes();
  sum.Add(&bytes, sizeof(bytes));
  const char* const data = reinterpret_cast<const char*>(array.data());
  for (size_t block = 0; block < kSampledBlocks && bytes > 0; ++block) {
    const size_t first = ShareBegin(bytes, static_cast<uint32_t>(block), kSampledBlocks);
    sum.Add(data + first, std::min<size_t>(kSampledBytes, bytes - first));
  }
}

}  // namespace

std::string DataFingerprint(const Dataset& dataset) {
  ChecksumStream sum;
  AddSample(dataset.graph.indptr, sum);
  AddSample(dataset.graph.indices, sum);
  AddSample(dataset.graph.weights, sum);
  const Features& features = dataset.features;
  if (features.stores_sparse()) {
    AddSample(features.csr().indptr, sum);
    AddSample(features.csr().indices, sum);
    AddSample(features.csr().values, sum);
  } else {
    const auto* elements = static_cast<const char*>(features.elements());
    AddSample(Array<char>::Borrow(nullptr, elements, features.bytes()), sum);
  }
  AddSample(dataset.labels.classes_of, sum);
  AddSample(dataset.labels.matrix, sum);
  for (const Split& split : dataset.splits) AddSample(split.roles, sum);
  return fmt::format("{}, {} nodes, {} features, {}", dataset.name, dataset.nodes(), features.cols(),
                     ChecksumText(sum.Sum()));
}

}  // namespace l2gcn
