// The CUDA runtime with our manners: failures become Error, memory has one owner and is counted.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/cuda/check.h"
#include "kernels/cuda/train_plan.h"

namespace l2gcn::cuda {

// The device in use: its stream, its limits, and how much of its memory is taken.
//
// With a budget, large arrays that do not fit it live in pinned host memory, which kernels read and write
// over the bus; without one, an array that the GPU cannot hold is an error that names the budget flag.
class Device {
 public:
  // Makes GPU `index` (Context::device_index) the calling thread's; budget in bytes, 0: none. Throws Error(kUsage) if
  // there is no GPU.
  Device(uint32_t index, uint64_t budget);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  const DeviceLimits& limits() const { return limits_; }
  const std::string& name() const { return name_; }
  uint64_t peak_bytes() const { return peak_; }
  // What a short-lived array may take under the budget (no budget: what the GPU has free).
  uint64_t FreeBytes() const;
  void Synchronise(const char* what) const;
  // Makes the GPU the calling thread's.
  void MakeCurrent() const { Check(cudaSetDevice(gpu_), "choosing the device"); }
  bool has_budget() const { return budget_ != 0; }
  // Called before every allocation with the memory that will then be in use, and the most that was before. It may free.
  using BeforeAllocation = std::function<void(uint64_t wanted, uint64_t peak)>;
  void SetBeforeAllocation(BeforeAllocation call) { before_allocation_ = std::move(call); }

 private:
  friend class Buffer;
  // Large arrays may take this share of a budget; the rest is for the arrays kernels need while they run.
  static constexpr double kLargeShare = 0.6;
  void* Allocate(size_t bytes, const char* what);
  void Release(void* data, size_t bytes);

  const int gpu_;
  cudaStream_t stream_ = nullptr;
  DeviceLimits limits_;
  std::string name_;
  uint64_t budget_ = 0, used_ = 0, peak_ = 0;
  BeforeAllocation before_allocation_;
};

// Memory that kernels can use; moves, does not copy. The device must outlive it.
class Buffer {
 public:
  Buffer() = default;
  // On the device; throws Error(kRuntime) if it does not fit.
  static Buffer OnDevice(const std::shared_ptr<Device>& device, size_t bytes, const char* what);
  // On the device if the budget allows, else in pinned host memory.
  static Buffer Anywhere(const std::shared_ptr<Device>& device, size_t bytes, const char* what);
  ~Buffer();
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }
  bool on_host() const { return on_host_; }
  void CopyFrom(const void* host, size_t bytes, size_t at = 0);  // ordered on the stream; host may be reused
  void CopyTo(void* host, size_t bytes, size_t at = 0) const;    // returns when done
  void Clear();

 private:
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool on_host_ = false;
};

}  // namespace l2gcn::cuda
