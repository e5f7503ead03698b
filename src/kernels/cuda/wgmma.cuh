// Hopper's instructions for tiles in shared memory: products of a warpgroup (wgmma, tf32), bulk copies that
// complete on a barrier in shared memory, and the fences between them and ordinary accesses. Compute
// capability 9.0 only (sm_90a).
//
// Operands. A tile that wgmma reads itself has rows of 32 floats (128 bytes) that run along k, in groups of
// eight rows, its 16-byte units turned by the row: unit u of row r lies at u xor (r mod 8). Wider operands
// are several such tiles. A's fragments may come from registers instead, so that a tile whose rows are the k
// can serve as A: lane 4·g + t then holds rows k = 2t and 2t + 1 (without bank conflicts) where wgmma means k
// = t and t + 4, and the other operand must hold its k in that order: see Turned in train_plan.h.
#pragma once

#include <cstdint>

namespace l2gcn::cuda {

constexpr int kTileColumns = 32;  // floats of a row of a tile

// Loads and stores are not moved past it: where moving them early would only fill registers.
__device__ __forceinline__ void KeepOrder() { asm volatile("" ::: "memory"); }

__device__ __forceinline__ uint32_t SharedAddress(const void* at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}

// The tile whose first row is at `at`; 8·j floats further begins the j-th step along k.
__device__ __forceinline__ uint64_t TileDescriptor(const float* at) {
  constexpr uint64_t kTurned128 = uint64_t{1} << 62, kGroupStride = uint64_t{1024 >> 4} << 32,
                     kUnusedStride = uint64_t{1} << 16;
  return kTurned128 | kGroupStride | kUnusedStride | ((SharedAddress(at) & 0x3FFFF) >> 4);
}

// ---- Products of a warpgroup: 64 rows × 8·kBlocks columns, k = 8 a call
// Lane 4·g + t of the w-th warp holds, for column block j, (row, col) = (16w + g + 8·(e / 2), 8j + 2t + e %
// 2) in value[4j + e].
template <int kBlocks>
struct WarpgroupSums {
  float value[4 * kBlocks];

  // Between the compiler's uses of the sums and the products that fill them in the background.
  __device__ __forceinline__ void Pin() {
#pragma unroll
    for (float& x : value) asm volatile("" : "+f"(x)::"memory");
  }
};

__device__ __forceinline__ void WgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// sums = (add ? sums : 0) + A · B.
__device__ __forceinline__ void Wgmma(WarpgroupSums<4>& sums, uint64_t a, uint64_t b, bool add) {
  float(&d)[16] = sums.value;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, p, 1, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}
__device__ __forceinline__ void Wgmma(WarpgroupSums<4>& sums, const uint32_t (&a)[4], uint64_t b, bool add) {
  float(&d)[16] = sums.value;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, p, 1, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}
__device__ __forceinline__ void Wgmma(WarpgroupSums<2>& sums, const uint32_t (&a)[4], uint64_t b, bool add) {
  float(&d)[8] = sums.value;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, p, 1, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}
__device__ __forceinline__ void Wgmma(WarpgroupSums<8>& sums, const uint32_t (&a)[4], uint64_t b, bool add) {
  float(&d)[32] = sums.value;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, p, 1, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

// ---- Barriers in shared memory and the bulk copies that complete on them
__device__ __forceinline__ void InitBarrier(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(arrivals)
               : "memory");
}
__device__ __forceinline__ void ArriveExpecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}
// Until the barrier's round of this parity is complete.
__device__ __forceinline__ void Await(uint64_t* barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(SharedAddress(barrier)), "r"(parity)
        : "memory");
  } while (done == 0);
}
// By one thread; bytes a multiple of 16, both addresses aligned to it. To the same place in both blocks of a
// cluster of two, completing on the barrier of each.
__device__ __forceinline__ void BulkCopyToPair(float* shared, const float* global, uint32_t bytes,
                                               uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(SharedAddress(shared)),
      "l"(global), "r"(bytes), "r"(SharedAddress(barrier)), "h"(static_cast<uint16_t>(3))
      : "memory");
}

// ---- Blocks of a cluster
__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The address of the same place in the shared memory of block `rank`.
__device__ __forceinline__ uint32_t AddressInPeer(const void* at, uint32_t rank) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(SharedAddress(at)), "r"(rank));
  return address;
}
__device__ __forceinline__ void StoreInPeer(uint32_t address, const float* x) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(address), "f"(x[0]), "f"(x[1]),
               "f"(x[2]), "f"(x[3])
               : "memory");
}
// On a barrier of block `rank`, by a thread that only read what it gives back: a release at the scope of the
// cluster would cost a memory barrier.
__device__ __forceinline__ void ArriveAt(uint64_t* barrier, uint32_t rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(AddressInPeer(barrier, rank)) : "memory");
}

// Ordinary accesses before it are ordered before wgmma's and the bulk copies' after it.
__device__ __forceinline__ void FenceAsync() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ __forceinline__ void FenceAsyncShared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void FenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

}  // namespace l2gcn::cuda
