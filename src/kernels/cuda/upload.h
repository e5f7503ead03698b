// Arrays on their way to a GPU. Copies from pageable memory run at a tenth of the bus's rate, because one thread of the
// driver stages them; and page-locking a large array costs more than copying it. So several threads fill small
// page-locked slots and send them off, each filling one slot while its other one is on the way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "l2gcn/context.h"

namespace l2gcn::cuda {

class Uploader {
 public:
  explicit Uploader(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Writes units first … first + count − 1 of an array to `out`; called by several threads.
  using Fill = std::function<void(size_t first, size_t count, char* out)>;
  // Fills `to` from byte `at` on with `count` units of `unit` bytes, and returns when they are there.
  void Upload(const Context& context, const Buffer& to, size_t at, size_t count, size_t unit,
              const Fill& fill);
  // The same of bytes as they lie.
  void Upload(const Context& context, const Buffer& to, const void* from, size_t bytes);

 private:
  static constexpr size_t kSlotBytes = size_t{512} << 10;
  static constexpr uint32_t kMostLanes = 8;
  // What one thread has: two slots and the stream they leave by.
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t gone[2] = {};
    char* slots = nullptr;  // (2 × kSlotBytes)
    uint64_t sent = 0;
  };
  void MakeLanes(uint32_t count);
  void Send(Lane& lane, char* to, size_t first, size_t count, size_t unit, const Fill& fill);

  const std::shared_ptr<Device> device_;
  std::vector<Lane> lanes_;
};

}  // namespace l2gcn::cuda
