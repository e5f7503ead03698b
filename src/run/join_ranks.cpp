// Joining the ranks of a launcher, and making sure that they fit together.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "kernels/built.h"
#include "l2gcn/dataset.h"
#include "l2gcn/ranks.h"
#include "l2gcn/version.h"
#include "ranks/collectives.h"
#include "ranks/launched_ranks.h"
#include "run/build_id.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

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

// Names, counts and a checksum of samples of everything that training reads.
std::string FingerprintOf(const Dataset& dataset) {
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

// Every rank's text must be rank 0's.
void CheckSame(const Ranks& ranks, const char* what, const std::vector<std::string>& of_ranks) {
  for (uint32_t r = 1; r < ranks.size(); ++r) {
    if (of_ranks[r] == of_ranks[0]) continue;
    ThrowUsage("{} has another {} than {}: '{}' and '{}'; all ranks must have the same", ranks.Name(r), what,
               ranks.Name(0), of_ranks[r], of_ranks[0]);
  }
}

}  // namespace

std::shared_ptr<Ranks> JoinRanks(std::function<void(const std::string&)> tell) {
  if (!LaunchedBySomething()) return nullptr;
  std::shared_ptr<Ranks> ranks = LaunchRanks(std::move(tell));
  if (ranks == nullptr) return nullptr;
  CheckSame(*ranks, "build", AllGatherText(*ranks, Version() + " " + BuildId()));
  const std::vector<std::string> levels = AllGatherText(*ranks, CpuLevel());
  std::string common = levels[0];
  for (const std::string& level : levels) common = LesserCpuLevel(common, level);
  if (common != CpuLevel()) setenv("L2GCN_SIMD", common.c_str(), 1);
  return ranks;
}

void CheckSameData(const Context& context, const Dataset& dataset) {
  if (context.ranks == nullptr) return;
  CheckSame(*context.ranks, "data set", AllGatherText(*context.ranks, FingerprintOf(dataset)));
}

}  // namespace l2gcn
