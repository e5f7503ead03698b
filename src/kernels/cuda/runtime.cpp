#include "kernels/cuda/runtime.h"

#include <algorithm>
#include <utility>

#include "core/error_format.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pinned.h"

namespace l2gcn::cuda {

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that the next check reports its own failure
  ThrowRuntime("CUDA failed while {}: {}", what, cudaGetErrorString(status));
}

std::string WhyNoDevice() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return fmt::format("no usable CUDA device ({})", cudaGetErrorString(status));
  if (count == 0) return "no CUDA device was found";
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return "the CUDA device does not answer";
  if (properties.major < 8) {
    return fmt::format("{} has compute capability {}.{}; 8.0 or later is needed", properties.name,
                       properties.major, properties.minor);
  }
  return "";
}

namespace {

// The GPU that an index stands for: after the last one the first is counted again.
int GpuOf(uint32_t index) {
  int count = 0;
  Check(cudaGetDeviceCount(&count), "counting devices");
  if (count == 0) ThrowUsage("no CUDA device was found");
  return static_cast<int>(index % static_cast<uint32_t>(count));
}

}  // namespace

void StartDevice(uint32_t index) {
  cudaSetDevice(GpuOf(index));
  cudaFree(nullptr);  // where choosing a device does not make its context yet
  cudaGetLastError();
}

Device::Device(uint32_t index, uint64_t budget) : gpu_(GpuOf(index)), budget_(budget) {
  MakeCurrent();
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, gpu_), "asking for the device's properties");
  limits_ = {properties.multiProcessorCount, static_cast<int>(properties.sharedMemPerBlockOptin),
             properties.major};
  name_ = properties.name;
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  // Freed memory stays with the process, so that a layer's arrays cost no system call.
  cudaMemPool_t pool;
  uint64_t keep = budget_ != 0 ? budget_ : UINT64_MAX;
  Check(cudaDeviceGetDefaultMemPool(&pool, gpu_), "asking for the memory pool");
  Check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the memory pool");
}

Device::~Device() {
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

uint64_t Device::FreeBytes() const {
  if (budget_ != 0) return budget_ - std::min(budget_, used_);
  size_t free = 0, total = 0;
  Check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

void Device::Synchronise(const char* what) const { Check(cudaStreamSynchronize(stream_), what); }

void* Device::Allocate(size_t bytes, const char* what) {
  void* data = nullptr;
  if (before_allocation_) before_allocation_(used_ + bytes, peak_);
  if (budget_ != 0 && used_ + bytes > budget_) {
    ThrowRuntime(
        "{} needs {} MiB of device memory, but {} of the {} MiB of --device-memory are in use; "
        "raise --device-memory or use --device cpu",
        what, bytes >> 20, used_ >> 20, budget_ >> 20);
  }
  const cudaError_t status = cudaMallocAsync(&data, bytes, stream_);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    ThrowRuntime(
        "{} needs {} MiB of device memory, but {} has only {} of its {} MiB free; give a budget, e.g. "
        "--device-memory {}M, to keep large arrays in host memory",
        what, bytes >> 20, name_, free >> 20, total >> 20, std::max<size_t>(64, (free >> 20) * 8 / 10));
  }
  Check(status, what);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return data;
}

void Device::Release(void* data, size_t bytes) {
  cudaFreeAsync(data, stream_);
  used_ -= bytes;
}

Buffer Buffer::OnDevice(const std::shared_ptr<Device>& device, size_t bytes, const char* what) {
  Buffer buffer;
  buffer.bytes_ = std::max<size_t>(bytes, 16);
  buffer.data_ = device->Allocate(buffer.bytes_, what);
  buffer.device_ = device;
  return buffer;
}

Buffer Buffer::Anywhere(const std::shared_ptr<Device>& device, size_t bytes, const char* what) {
  const uint64_t large = static_cast<uint64_t>(Device::kLargeShare * static_cast<double>(device->budget_));
  if (device->budget_ == 0 || device->used_ + bytes <= large) return OnDevice(device, bytes, what);
  Buffer buffer;
  buffer.bytes_ = std::max<size_t>(bytes, 16);
  buffer.data_ = AllocatePinned(buffer.bytes_);
  if (buffer.data_ == nullptr) {
    ThrowRuntime("{} needs {} MiB of pinned host memory, which this machine does not give", what,
                 bytes >> 20);
  }
  buffer.device_ = device;
  buffer.on_host_ = true;
  return buffer;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (on_host_) {
    cudaStreamSynchronize(device_->stream_);
    ReleasePinned(data_, bytes_);
  } else {
    device_->Release(data_, bytes_);
  }
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(on_host_, other.on_host_);
  return *this;
}

void Buffer::CopyFrom(const void* host, size_t bytes, size_t at) {
  L2GCN_ASSERT(at + bytes <= bytes_);
  Check(cudaMemcpyAsync(as<char>() + at, host, bytes, cudaMemcpyDefault, device_->stream_),
        "copying to the device");
}

void Buffer::CopyTo(void* host, size_t bytes, size_t at) const {
  L2GCN_ASSERT(at + bytes <= bytes_);
  Check(cudaMemcpyAsync(host, as<char>() + at, bytes, cudaMemcpyDefault, device_->stream_),
        "copying from the device");
  device_->Synchronise("copying from the device");
}

void Buffer::Clear() { Check(cudaMemsetAsync(data_, 0, bytes_, device_->stream_), "clearing device memory"); }

}  // namespace l2gcn::cuda
