#include "core/array_sum.h"

#include <algorithm>
#include <vector>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kDataSumBlock = size_t{4} << 20;

}  // namespace

void AddArray(const Context& context, const void* data, size_t bytes, ChecksumStream& sum) {
  const size_t blocks = (bytes + kDataSumBlock - 1) / kDataSumBlock;
  std::vector<uint64_t> sums(blocks);
  ParallelFor(context, blocks, 1, [&](size_t begin, size_t end) {
    for (size_t block = begin; block < end; ++block) {
      const size_t first = block * kDataSumBlock;
      sums[block] = Checksum(static_cast<const char*>(data) + first, std::min(kDataSumBlock, bytes - first));
    }
  });
  const uint64_t length = bytes;
  sum.Add(&length, sizeof(length));
  sum.Add(sums.data(), sums.size() * sizeof(uint64_t));
}

}  // namespace l2gcn
