// A barrier for a group of co-resident blocks, with everything written before it visible after it.
//
// Every member owns one flag and watches all of them, so no two blocks write one word and arrival costs one
// store. Where the group is a thread-block cluster, the cluster's hardware barrier is used instead.
#pragma once

#include <cstdint>

namespace l2gcn::cuda {

class GroupBarrier {
 public:
  // flags: (size) zeroed before the launch.
  __device__ GroupBarrier(uint32_t* flags, int size, int self, bool cluster)
      : flags_(flags), size_(size), self_(self), cluster_(cluster) {}

  // All threads of the block call both, in order; between them other work may be done. Each is a barrier of
  // the block, too: what its threads did before is known to all of them after.
  __device__ void Arrive() {
    ++round_;
    __syncthreads();
    if (cluster_) {
#if __CUDA_ARCH__ >= 900
      asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
      return;
    }
    if (threadIdx.x == 0) {
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags_ + self_), "r"(round_) : "memory");
    }
  }
  __device__ void Wait() {
    if (cluster_) {
#if __CUDA_ARCH__ >= 900
      asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
      __syncthreads();
      return;
    }
    for (int i = threadIdx.x; i < size_; i += blockDim.x) {
      uint32_t seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags_ + i) : "memory");
      } while (seen < round_);
    }
    __syncthreads();
  }
  __device__ void Meet() {
    Arrive();
    Wait();
  }

 private:
  uint32_t* flags_;
  int size_, self_;
  uint32_t round_ = 0;
  bool cluster_;
};

}  // namespace l2gcn::cuda
