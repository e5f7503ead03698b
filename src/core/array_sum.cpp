#include "core/array_sum.h"

#include <algorithm>
#include <vector>

#include "core/disk_memory.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kDataSumBlock = size_t{4} << 20;

}  // namespace

void AddArray(const Context& context, const void* data, size_t bytes, ChecksumStream& sum) {
  const size_t blocks = (bytes + kDataSumBlock - 1) / kDataSumBlock;
  std::vector<uint64_t> sums(blocks);
  std::vector<DiskBuffer> buffers(context.threads);
  ParallelTasks(context, blocks, [&](size_t block, uint32_t worker) {
    const size_t first = block * kDataSumBlock, count = std::min(kDataSumBlock, bytes - first);
    const char* from = static_cast<const char*>(data) + first;
    if (context.disk != nullptr) from = context.disk->View(from, count, buffers[worker]);
    sums[block] = Checksum(from, count);
  });
  const uint64_t length = bytes;
  sum.Add(&length, sizeof(length));
  sum.Add(sums.data(), sums.size() * sizeof(uint64_t));
}

}  // namespace l2gcn
