#include "kernels/cuda/pinned.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <vector>

#include "l2gcn/context.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kHugePage = size_t{2} << 20, kSmallPage = 4096;
constexpr size_t kMostTouching = 8;  // threads

size_t WholePages(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Has the system give every page, by several threads where it lets us.
void Touch(char* data, size_t bytes) {
  const size_t parts = std::min({kMostTouching, size_t{UsableCores()}, bytes / kHugePage});
  const auto touch = [=](size_t part) {
    const size_t begin = bytes / kHugePage * part / parts * kHugePage;
    const size_t end = bytes / kHugePage * (part + 1) / parts * kHugePage;
    for (size_t at = begin; at < end; at += kSmallPage) static_cast<volatile char*>(data)[at] = 0;
  };
  std::vector<std::future<void>> others;
  for (size_t part = 1; part < parts; ++part) {
    try {
      others.push_back(std::async(std::launch::async, touch, part));
    } catch (const std::system_error&) {  // no thread is to be had
      touch(part);
    }
  }
  touch(0);
}

}  // namespace

void* AllocatePinned(size_t bytes) {
  const size_t whole = WholePages(bytes);
  void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, whole, MADV_HUGEPAGE);  // small pages do, too
  Touch(static_cast<char*>(data), whole);
  if (cudaHostRegister(data, whole, cudaHostRegisterPortable | cudaHostRegisterMapped) == cudaSuccess)
    return data;
  cudaGetLastError();
  munmap(data, whole);
  return nullptr;
}

void ReleasePinned(void* data, size_t bytes) {
  cudaHostUnregister(data);
  munmap(data, WholePages(bytes));
}

}  // namespace l2gcn::cuda
