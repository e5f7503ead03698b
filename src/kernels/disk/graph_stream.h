// The rows of an operator, read from disk in order, some blocks of rows at a time: while one stretch is used the next
// one is read.
#pragma once

#include <future>
#include <vector>

#include "core/disk_memory.h"
#include "core/propagation.h"
#include "l2gcn/context.h"

namespace l2gcn {

class GraphStream {
 public:
  // Where the stretches of an operator end, in rows: whole blocks of `block_rows` rows, at least one, and as many as fit
  // `stretch_bytes` of entries.
  static std::vector<size_t> Cut(const Context& context, const DiskMemory& disk, const Propagation& a,
                                 size_t block_rows, size_t stretch_bytes);
  // One pass over the operator; `ends` must stay.
  GraphStream(const DiskMemory& disk, const Propagation& a, const std::vector<size_t>& ends);
  // The next rows as an operator of their own (Propagation::first_row); null at the end. Valid until the next call.
  const Propagation* Next();

 private:
  struct Stretch {
    DiskBuffer offsets, indices, weights;
    std::vector<uint64_t> indptr;
    Propagation rows;
  };

  void Read(size_t begin, size_t end, Stretch& stretch) const;
  void ReadAhead();

  const DiskMemory& disk_;
  const Propagation& a_;
  const std::vector<size_t>& ends_;  // of the stretches, in rows
  size_t next_ = 0;                  // stretch to be handed out
  Stretch stretches_[2];
  std::future<void> reading_;
};

}  // namespace l2gcn
