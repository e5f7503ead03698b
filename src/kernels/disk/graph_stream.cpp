#include "kernels/disk/graph_stream.h"

#include <algorithm>

#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kOffsetsAtOnce = size_t{1} << 17;

// Part of an array, which must stay while the part is used.
template <class T>
Array<T> PartOf(const Array<T>& array, size_t first, size_t count) {
  return Array<T>::Borrow(nullptr, array.data() + first, count);
}

}  // namespace

std::vector<size_t> GraphStream::Cut(const Context& context, const DiskMemory& disk, const Propagation& a,
                                     size_t block_rows, size_t stretch_bytes) {
  const size_t blocks = (a.nodes + block_rows - 1) / block_rows;
  std::vector<uint64_t> entries(blocks + 1);  // before each block
  const size_t at_once = std::max<size_t>(1, kOffsetsAtOnce / block_rows);
  std::vector<DiskBuffer> buffers(context.threads);
  ParallelTasks(context, (blocks + at_once - 1) / at_once, [&](size_t task, uint32_t worker) {
    const size_t first = task * at_once, end = std::min(blocks, first + at_once);
    const size_t begin = first * block_rows, rows = std::min<size_t>(a.nodes, end * block_rows) - begin;
    const auto* offsets = reinterpret_cast<const uint64_t*>(
        disk.View(a.indptr.data() + begin, (rows + 1) * sizeof(uint64_t), buffers[worker]));
    for (size_t block = first; block < end; ++block) entries[block] = offsets[(block - first) * block_rows];
    if (end == blocks) entries[blocks] = offsets[rows];
  });
  const uint64_t most = stretch_bytes / (a.weights.empty() ? sizeof(uint32_t) : 2 * sizeof(uint32_t));
  const size_t most_rows = stretch_bytes / sizeof(uint64_t);
  std::vector<size_t> ends;
  for (size_t begin = 0; begin < blocks;) {
    size_t end = begin + 1;
    while (end < blocks && entries[end + 1] - entries[begin] <= most &&
           (end + 1 - begin) * block_rows <= most_rows)
      ++end;
    ends.push_back(std::min<size_t>(a.nodes, end * block_rows));
    begin = end;
  }
  return ends;
}

GraphStream::GraphStream(const DiskMemory& disk, const Propagation& a, const std::vector<size_t>& ends)
    : disk_(disk), a_(a), ends_(ends) {
  ReadAhead();
}

void GraphStream::ReadAhead() {
  if (next_ == ends_.size()) return;
  const size_t begin = next_ == 0 ? 0 : ends_[next_ - 1];
  reading_ = std::async(std::launch::async, [this, begin, end = ends_[next_], at = next_ % 2] {
    Read(begin, end, stretches_[at]);
  });
}

void GraphStream::Read(size_t begin, size_t end, Stretch& stretch) const {
  const size_t rows = end - begin;
  const uint64_t* offsets = disk_.Fetch(a_.indptr, begin, rows + 1, stretch.offsets);
  const uint64_t first = offsets[0], entries = offsets[rows] - first;
  stretch.indptr.resize(rows + 1);
  for (size_t row = 0; row <= rows; ++row) stretch.indptr[row] = offsets[row] - first;
  Propagation& part = stretch.rows;
  part = {};
  part.nodes = static_cast<uint32_t>(rows);
  part.first_row = a_.first_row + static_cast<uint32_t>(begin);
  part.indptr = Array<uint64_t>::Borrow(nullptr, stretch.indptr.data(), rows + 1);
  part.indices =
      Array<uint32_t>::Borrow(nullptr, disk_.Fetch(a_.indices, first, entries, stretch.indices), entries);
  if (!a_.weights.empty())
    part.weights =
        Array<float>::Borrow(nullptr, disk_.Fetch(a_.weights, first, entries, stretch.weights), entries);
  part.row_scale = PartOf(a_.row_scale, begin, rows);
  part.self_scale = PartOf(a_.self_scale, begin, rows);
  part.col_scale = a_.col_scale;
  if (!a_.own.empty()) part.own = PartOf(a_.own, begin, rows);
}

const Propagation* GraphStream::Next() {
  if (next_ == ends_.size()) return nullptr;
  reading_.get();
  const Propagation* ready = &stretches_[next_ % 2].rows;
  ++next_;
  ReadAhead();
  return ready;
}

}  // namespace l2gcn
