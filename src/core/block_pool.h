// Keeps large freed blocks for the next matrix of their size. Fresh pages are expensive: the system hands them out at a
// fraction of the rate at which memory can be written.
//
// Guarantees: at most kKept blocks are kept, the largest ones freed. A block too small for a request is freed before new memory
// is allocated, so a pool never adds to the peak of a growing run.
// Blocks may outlive their pool. All calls may come from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "l2gcn/array.h"

namespace l2gcn {

class BlockPool {
 public:
  BlockPool() : shelf_(std::make_shared<Shelf>()) {}

  // `size` elements, not initialised, that come back to this pool when the last copy of the array is gone.
  template <class T>
  Array<T> Allocate(size_t size) {
    return Array<T>::Adopt(Take(size * sizeof(T)), size);
  }
  size_t kept_bytes() const;
  // Gives the kept blocks back to the system: for a pause between two kinds of work, whose blocks differ in
  // size.
  void Clear();

 private:
  static constexpr size_t kKept = 2;
  static constexpr size_t kLeastBytes = size_t{4} << 20;  // smaller blocks are the heap's business
  static constexpr size_t kMostSlack = 8;                 // times the size asked for

  struct Block {
    std::shared_ptr<void> memory;
    size_t bytes = 0;
  };
  struct Shelf {
    std::mutex mutex;
    Block kept[kKept];
  };

  std::shared_ptr<void> Take(size_t bytes);
  static Block TakeKept(Shelf& shelf, size_t bytes);
  static void GiveBack(Shelf& shelf, Block block);

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace l2gcn
