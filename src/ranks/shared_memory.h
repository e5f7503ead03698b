// Memory that all ranks of one machine see.
//
// Rank 0 makes a file in memory that has no name (memfd), and the others open it through /proc. It lasts as long as some
// rank maps it, so a rank that is killed leaves nothing behind, and the size of /dev/shm does not matter. Ranks verify that they
// see the same memory instead of comparing host names.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "l2gcn/context.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

// What Ranks::AllocateShared promises, for ranks that are processes.
std::shared_ptr<void> MapTogether(Ranks& ranks, size_t bytes);

// Lets the system give all pages of this part now, by all threads, in place of one interrupted write for each page: huge
// ones where it can (Linux from 6.1 on, and a huge page whose beginning lies in this part), so that the other ranks map
// them at once and rows read in any order miss fewer addresses; else small ones. A system that cannot do either (Linux
// before 5.14) gives pages as they are written.
void PopulateShared(const Context& context, char* begin, size_t bytes);

// Keeps shared memory that was given back, so that the next matrix is not made of fresh pages, each of which
// is zeroed first. What is asked for twice as large as needed costs nothing, because pages come into being when they are
// written; so a block serves the somewhat larger matrices of later layers, too.
//
// Guarantees: a block is used again only when every rank has given it back, which the ranks tell each other when they ask
// for one. At most kKept blocks stay behind, the largest; those too small for a request are let go.
class SharedPool {
 public:
  explicit SharedPool(std::shared_ptr<Ranks> ranks)
      : ranks_(std::move(ranks)), shelf_(std::make_shared<Shelf>()) {}

  // `bytes` that every rank sees, not initialised; they come back when the last copy of the pointer is gone, and may
  // outlive the pool. Called by all ranks at the same time with the same size.
  std::shared_ptr<void> Take(size_t bytes);

 private:
  static constexpr size_t kKept = 2;
  struct Block {
    std::shared_ptr<void> memory;
    size_t bytes = 0;
    uint64_t number = 0;  // from 1, the same on all ranks; 0: none
  };
  using Blocks = std::array<Block, kKept>;
  struct Shelf {
    std::mutex mutex;
    Blocks kept;
  };

  Block TakeKept(size_t bytes);
  static void GiveBack(Shelf& shelf, Block block);

  const std::shared_ptr<Ranks> ranks_;
  const std::shared_ptr<Shelf> shelf_;
  uint64_t made_ = 0;
};

}  // namespace l2gcn
