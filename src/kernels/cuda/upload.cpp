#include "kernels/cuda/upload.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"

namespace l2gcn::cuda {
namespace {

constexpr const char* kUploading = "uploading";
constexpr size_t kPieceBytes = size_t{1} << 20;  // what a thread fills at once of an array in host memory

}  // namespace

Uploader::~Uploader() {
  for (Lane& lane : lanes_) {
    cudaStreamSynchronize(lane.stream);
    for (const cudaEvent_t event : lane.gone) cudaEventDestroy(event);
    cudaStreamDestroy(lane.stream);
    cudaFreeHost(lane.slots);
  }
}

void Uploader::MakeLanes(uint32_t count) {
  while (lanes_.size() < count) {
    Lane lane;
    void* slots = nullptr;
    Check(cudaMallocHost(&slots, 2 * kSlotBytes), "page-locking memory");
    lane.slots = static_cast<char*>(slots);
    Check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "creating a stream");
    for (cudaEvent_t& event : lane.gone)
      Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    lanes_.push_back(lane);
  }
}

// Units first … first + count − 1, which fit one slot, to `to`.
void Uploader::Send(Lane& lane, char* to, size_t first, size_t count, size_t unit, const Fill& fill) {
  const uint64_t slot = lane.sent++ % 2;
  Check(cudaEventSynchronize(lane.gone[slot]), kUploading);  // one that was never recorded is past
  char* const bytes = lane.slots + slot * kSlotBytes;
  fill(first, count, bytes);
  Check(cudaMemcpyAsync(to + first * unit, bytes, count * unit, cudaMemcpyHostToDevice, lane.stream),
        kUploading);
  Check(cudaEventRecord(lane.gone[slot], lane.stream), kUploading);
}

void Uploader::Upload(const Context& context, const Buffer& to, size_t at, size_t count, size_t unit,
                      const Fill& fill) {
  if (count == 0) return;
  char* const target = to.as<char>() + at;
  device_->Synchronise(kUploading);  // the array is there, and nobody uses it
  if (to.on_host()) {
    ParallelFor(context, count, std::max<size_t>(1, kPieceBytes / unit),
                [&](size_t begin, size_t end) { fill(begin, end - begin, target + begin * unit); });
    return;
  }
  if (unit > kSlotBytes) {
    std::vector<char> one(unit);
    for (size_t i = 0; i < count; ++i) {
      fill(i, 1, one.data());
      Check(cudaMemcpy(target + i * unit, one.data(), unit, cudaMemcpyHostToDevice), kUploading);
    }
    return;
  }
  const size_t block = kSlotBytes / unit, blocks = (count + block - 1) / block;
  Context few = context;
  few.threads = std::min(context.threads, kMostLanes);
  MakeLanes(static_cast<uint32_t>(std::min<size_t>(few.threads, blocks)));
  ParallelTasks(few, blocks, [&](size_t task, uint32_t worker) {
    device_->MakeCurrent();
    Send(lanes_[worker], target, task * block, std::min(block, count - task * block), unit, fill);
  });
  for (const Lane& lane : lanes_) Check(cudaStreamSynchronize(lane.stream), kUploading);
}

void Uploader::Upload(const Context& context, const Buffer& to, const void* from, size_t bytes) {
  Upload(context, to, 0, bytes, 1, [from](size_t first, size_t count, char* out) {
    std::memcpy(out, static_cast<const char*>(from) + first, count);
  });
}

}  // namespace l2gcn::cuda
