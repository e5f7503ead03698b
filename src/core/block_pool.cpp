#include "core/block_pool.h"

#include <algorithm>
#include <utility>

namespace l2gcn {

std::shared_ptr<void> BlockPool::Take(size_t bytes) {
  if (bytes < kLeastBytes) return bytes == 0 ? nullptr : AllocateAligned(bytes);
  Block block = TakeKept(*shelf_, bytes);
  if (block.memory == nullptr) block = {AllocateAligned(bytes), bytes};
  void* start = block.memory.get();
  return std::shared_ptr<void>(
      start, [block = std::move(block), shelf = std::weak_ptr<Shelf>(shelf_)](void*) mutable {
        if (const std::shared_ptr<Shelf> alive = shelf.lock()) GiveBack(*alive, std::move(block));
      });
}

// The smallest kept block that serves; those too small to serve are let go.
BlockPool::Block BlockPool::TakeKept(Shelf& shelf, size_t bytes) {
  const std::lock_guard<std::mutex> lock(shelf.mutex);
  Block* best = nullptr;
  for (Block& block : shelf.kept) {
    if (block.bytes < bytes || block.bytes / kMostSlack > bytes) continue;
    if (best == nullptr || block.bytes < best->bytes) best = &block;
  }
  if (best != nullptr) return std::exchange(*best, Block{});
  for (Block& block : shelf.kept) {
    if (block.bytes < bytes) block = Block{};
  }
  return {};
}

void BlockPool::GiveBack(Shelf& shelf, Block block) {
  const std::lock_guard<std::mutex> lock(shelf.mutex);
  Block& smallest = *std::min_element(std::begin(shelf.kept), std::end(shelf.kept),
                                      [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
  if (smallest.bytes < block.bytes) smallest = std::move(block);
}

void BlockPool::Clear() {
  Block gone[kKept];  // freed outside the lock
  const std::lock_guard<std::mutex> lock(shelf_->mutex);
  for (size_t i = 0; i < kKept; ++i) gone[i] = std::exchange(shelf_->kept[i], Block{});
}

size_t BlockPool::kept_bytes() const {
  const std::lock_guard<std::mutex> lock(shelf_->mutex);
  size_t sum = 0;
  for (const Block& block : shelf_->kept) sum += block.bytes;
  return sum;
}

}  // namespace l2gcn
