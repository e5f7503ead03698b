// The training kernel for blocks of 64 samples × 64 hidden units in tf32 on compute capability 9.0: the same
// steps as train_kernel.cuh, with the products by warpgroups (wgmma), W, Θ and dL fetched by bulk copies, and
// the blocks of two row groups paired in a cluster: they fetch W and Θ once and add their gradients.
//
// With tiles this large the shared-memory loads and instructions of mma.sync took half of a step. wgmma reads
// B (and, for the first product, A) from shared memory by itself, but only with k along the rows of a tile.
// What the block computes is therefore kept transposed, and A's fragments come from registers:
//
//   product               A                        B               k
//   H   = X W             X (64 × D), a tile       Wᵀ (64 × D)     features
//   L   = H Θ             H, columns of Hᵀ         Θᵀ (C × 64)     hidden units, turned
//   dΘᵀ = dLᵀ H           dLᵀ, columns of dL       Hᵀ (64 × 64)    samples, turned
//   dHᵀ = Θ dLᵀ           Θ, columns of Θᵀ         dL (64 × C)     classes, turned
//   dW  = Xᵀ dH           Xᵀ, columns of X         dHᵀ (64 × 64)   samples, turned
//
// The slice of the parameters lies everywhere (weights, Adam's state, gradients) as the tiles the products
// read, so the update does not see rows and columns at all.
#pragma once

#include "kernels/cuda/relu.cuh"
#include "kernels/cuda/train_block.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace l2gcn::cuda {

// Where a lane finds its elements of A in tiles whose rows are the k: columns `column` and column + 8 of rows
// 2t and 2t + 1 of every eight.
class ColumnFragments {
 public:
  // tile: the one that holds the warp's 16 columns, of which `column` is this lane's first.
  __device__ __forceinline__ ColumnFragments(const float* tile, int column) {
    const int t = threadIdx.x & 3;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = 2 * t + i / 2, unit = (column >> 2) + 2 * (i % 2);
      at_[i] = tile + row * kTileColumns + ((unit ^ row) << 2) + (column & 3);
    }
  }
  // The `step`-th eight rows.
  __device__ __forceinline__ void Load(uint32_t (&a)[4], int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(at_[i][step * 8 * kTileColumns]);
  }

 private:
  const float* at_[4];
};

// Which thread this is; read anew in every phase.
struct ThreadPlace {
  int thread;        // number within the warpgroup
  int team, member;  // the warpgroup, and the warp's place there
  int lane, g, t;    // lane = 4·g + t

  __device__ __forceinline__ ThreadPlace() {
    const int index = Opaque(static_cast<int>(threadIdx.x));
    thread = index & 127;
    team = index >> 7;
    member = index >> 5 & 3;
    lane = index & 31;
    g = lane >> 2;
    t = lane & 3;
  }
};

class WarpgroupTrainer : private TrainBlock<64, 64> {
  using Block = TrainBlock<64, 64>;
  friend Block;
  using Layout = WarpgroupTile;

 public:
  // Blocks 2i and 2i + 1 are a cluster: two row groups of one slice.
  __device__ WarpgroupTrainer(const TrainPlan& plan, const TrainArguments& arguments, float* shared)
      : Block(plan, arguments, shared,
              static_cast<int>(blockIdx.x >> 1) / plan.slices * 2 + static_cast<int>(blockIdx.x & 1),
              static_cast<int>(blockIdx.x >> 1) % plan.slices),
        rank_(static_cast<int>(blockIdx.x & 1)) {}

  __device__ void Run() {
    ClearShared();
    if (threadIdx.x == 0) {
      for (int i = 0; i < 5; ++i) InitBarrier(Full() + i, 1);  // and ThetaHere
      InitBarrier(FirstFree(), 2 * kTrainWarps);
      InitBarrier(ThirdFree(), 2 * kTrainWarps);
      FenceBarrierInit();
    }
    FenceAsync();
    ClusterArrive();
    ClusterWait();
    RunSteps(*this);
    ClusterArrive();  // the other block may still write here
    ClusterWait();
  }

 private:
  static constexpr int kGroup = Layout::kGroup;
  static constexpr int kTileStep = Layout::kTile * 4 >> 4,
                       kEightStep = 32 >> 4;               // in units of matrix descriptors
  static constexpr int kTile = Layout::kTile, kSteps = 8;  // kSteps: of k in 64

  // ---- Regions of shared memory
  __device__ float* At(int offset) const { return base_ + Opaque(offset); }
  __device__ float* Ring() const { return At(p_.ring_at); }  // chunks of Wᵀ, tiles of 64 units × 32 features
  __device__ float* Hidden() const { return At(p_.h_at); }        // Hᵀ, then dHᵀ
  __device__ float* Theta() const { return At(p_.theta_at); }     // Θᵀ, tiles of classes × 32 units
  __device__ float* LossTiles() const { return At(p_.ring_at); }  // dL, tiles of 64 samples × 32 classes
  // From the other block of the pair: (teams × 32 × 128) of dW, (2 × 16 × 128) of dΘ.
  __device__ float* Inbox() const { return At(p_.ring_at); }
  __device__ uint64_t* Full() const { return reinterpret_cast<uint64_t*>(At(p_.barriers_at)); }
  __device__ uint64_t* ThetaHere() const { return Full() + 4; }
  __device__ uint64_t* FirstFree() const { return Full() + 5; }
  __device__ uint64_t* ThirdFree() const { return Full() + 6; }

  // ---- Loading
  __device__ __forceinline__ void LoadRows(const Position& at, uint32_t) {
    const float* x = static_cast<const float*>(a_.x.dense);
    const int stride = static_cast<int>(a_.x.stride);
    const int valid = ValidOf(at);
#pragma unroll 1
    for (int row = warp_; row < valid; row += kTrainWarps) {
      const float* from = x + static_cast<size_t>(rows_of_[row]) * stride;
      float* to = base_ + row * kTileColumns;
#pragma unroll 4
      for (int c = lane_ * 4; c < stride; c += 128) {
        const int unit = (c >> 2) & 7;
        CopyAsync16(to + (c >> 5) * kTile + ((unit ^ (row & 7)) << 2), from + c);
      }
    }
    CopyCommit();
  }
  __device__ __forceinline__ void LoadLabels(const Position& at) {
    Block::LoadLabels(at, FirstLossRow(slice_), FirstLossRow(slice_ + 1));
  }
  // W comes in groups of kGroup tiles. There is room for three of them, partly where Θᵀ and Hᵀ will be; the
  // fourth follows the first, and Θ the third, once every warp of both blocks is done with those. A thread
  // sends its block's half of a group to both blocks of the pair, as the other half comes from there.
  __device__ int Groups() const { return (p_.chunks + kGroup - 1) / kGroup; }
  __device__ __forceinline__ void FillGroup(int group) {
    const uint32_t floats = min(kGroup, p_.chunks - group * kGroup) * kTile, half = rank_ * floats / 2;
    ArriveExpecting(Full() + group, floats * sizeof(float));
    BulkCopyToPair(Ring() + group % 3 * kGroup * kTile + half, Published() + group * kGroup * kTile + half,
                   floats / 2 * sizeof(float), Full() + group);
  }
  __device__ __forceinline__ void FillTheta() {
    const int floats = Layout::kWidth * p_.c_stride, half = rank_ * floats / 2;
    ArriveExpecting(ThetaHere(), floats * sizeof(float));
    BulkCopyToPair(Theta() + half, Published() + ThetaAt() + half, floats / 2 * sizeof(float), ThetaHere());
  }
  // After a group's products: gives its place back to both blocks, and fills it.
  __device__ __forceinline__ void PassOn(const ThreadPlace& me, int group, uint32_t parity) {
    const int groups = Groups();
    if (group == 0 && groups > 3) {
      if (me.lane < 2) ArriveAt(FirstFree(), me.lane);
      if (threadIdx.x == 0) {
        Await(FirstFree(), parity);
        FillGroup(3);
      }
    }
    if (group == min(2, groups - 1) && groups > 1) {
      if (me.lane < 2) ArriveAt(ThirdFree(), me.lane);
      if (threadIdx.x == kTrainThreads - 32) {
        Await(ThirdFree(), parity);
        FillTheta();
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ void Gradients(const Position& at, const Position&, uint32_t turn, bool more,
                                            uint32_t slot) {
    Forward(at, turn & 1);
    Logits(turn & 1);
    row_barrier_.Meet();
    LossGradient(at, turn & 1, slot);
    row_barrier_.Meet();
    WarpgroupSums<4> theta;
    ClassifierGradients(theta);
    PairGradients(theta, at.pass > 0);
    if (more) StoreSample();
  }

  // ---- Forward
  // Two teams share 32 of the columns and split the k of every tile; then each finishes half of them.
  __device__ __forceinline__ void Forward(const Position& at, uint32_t parity) {
    const ThreadPlace me;
    if (me.lane == 0 && (warp_ < 3 || warp_ == kTrainWarps - 1)) {
      FenceAsync();
      if (warp_ < min(3, Groups())) FillGroup(warp_);
      if (warp_ == kTrainWarps - 1 && Groups() == 1) FillTheta();
    }
    CopyWait<0>();
    FenceAsyncShared();
    __syncthreads();
    const int across = me.team & 1, along = me.team >> 1;
    WarpgroupSums<4> sums;
    uint64_t rows = TileDescriptor(base_ + along * 16);
    const uint64_t weights = TileDescriptor(Ring() + across * 32 * kTileColumns + along * 16);
    sums.Pin();
#pragma unroll 1
    for (int group = 0; group * kGroup < p_.chunks; ++group) {
      Await(Full() + group, parity);
      uint64_t b = weights + static_cast<uint64_t>(group % 3 * kGroup * kTileStep);
      const int end = min((group + 1) * kGroup, p_.chunks);
#pragma unroll 1
      for (int tile = group * kGroup; tile < end; ++tile) {
        WgmmaFence();
        Wgmma(sums, rows, b, tile > 0);
        Wgmma(sums, rows + kEightStep, b + kEightStep, true);
        WgmmaCommit();
        rows += kTileStep;
        b += kTileStep;
      }
      WgmmaWait<0>();
      PassOn(me, group, parity);
    }
    sums.Pin();
    __syncthreads();
    FinishHidden(at, sums, across, along);
  }
  __device__ __forceinline__ void FinishHidden(const Position& at, const WarpgroupSums<4>& sums, int across,
                                               int along) {
    const ThreadPlace me;
    float* scratch = Ring() + me.thread;  // (teams × 8 × 128)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      scratch[(me.team * 8 + i) * 128] = along == 0 ? sums.value[i + 8] : sums.value[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float mine = along == 0 ? sums.value[i] : sums.value[i + 8];
      const int row = 16 * me.member + me.g + 8 * (i / 2 % 2),
                col = 32 * across + 16 * along + 8 * (i / 4) + 2 * me.t + i % 2;
      float active = Relu(mine + scratch[((me.team ^ 2) * 8 + i) * 128]);
      if (a_.dropout > 0) active = Dropped(at, row, col, active);
      *HiddenAt(row, col) = ForOperand<Precision::kTf32>(active);
    }
    FenceAsyncShared();
    __syncthreads();
  }
  // H or dH of a sample and a hidden unit, transposed: tiles of 64 units × 32 samples.
  __device__ __forceinline__ float* HiddenAt(int sample, int unit) const {
    return Hidden() + (sample >> 5) * kTile + TilePlace(unit, Turned(sample & 31));
  }

  // ---- Classifier and loss
  // Each team takes 32 classes; the parts of all slices meet in L2.
  __device__ __forceinline__ void Logits(uint32_t parity) {
    const ThreadPlace me;
    uint32_t a[kSteps][4];
    const ColumnFragments hidden(Hidden() + (me.member >> 1) * kTile, 16 * (me.member & 1) + Turned(me.g));
#pragma unroll
    for (int step = 0; step < kSteps; ++step) hidden.Load(a[step], step);
    Await(ThetaHere(), parity);
    float* mine = LogitsOf(parity, slice_) + (16 * me.member + me.g) * p_.c_stride + 2 * me.t;
#pragma unroll 1
    for (int first = me.team * 32; first < p_.classes_padded; first += 128) {
      WarpgroupSums<4> sums;
      const uint64_t b = TileDescriptor(Theta() + first * kTileColumns),
                     next = static_cast<uint64_t>(p_.c_stride * kTileColumns * 4 >> 4);
      sums.Pin();
      WgmmaFence();
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        Wgmma(sums, a[step], b + (step / 4) * next + step % 4 * 2, step > 0);
      WgmmaCommit();
      WgmmaWait<0>();
      sums.Pin();
#pragma unroll
      for (int i = 0; i < 16; i += 2) {
        float* to = mine + (i / 2 % 2) * 8 * p_.c_stride + first + i / 4 * 8;
        __stcg(reinterpret_cast<float2*>(to), make_float2(sums.value[i], sums.value[i + 1]));
      }
    }
  }

  // The rows of the group whose loss the block of a slice takes.
  __device__ int FirstLossRow(int slice) const { return Layout::kRows * slice / p_.slices; }
  // Gradients go to L2 as the tiles of dL.
  __device__ __forceinline__ void LossGradient(const Position& at, uint32_t parity, uint32_t slot) {
    const float* logits = LogitsOf(parity, 0);
    const float loss = a_.multilabel ? SigmoidRows(at, logits, slot != kNoSlot) : SoftmaxRows(at, logits);
    if (slot == kNoSlot) return;
    AddLoss(loss);
    __syncthreads();
    StoreLoss(at, slot, true);
  }
  // Logits of two classes, summed over the slices in their order.
  __device__ __forceinline__ float2 SumLogits(const float* at) const {
    float2 sum = make_float2(0, 0);
#pragma unroll 8
    for (int s = 0; s < p_.slices; ++s) {
      const float2 x = __ldcg(reinterpret_cast<const float2*>(at + s * Layout::kRows * p_.c_stride));
      sum.x += x.x, sum.y += x.y;
    }
    return sum;
  }
  __device__ __forceinline__ void SendGradient(int row, int pair, float x, float y) const {
    float* tile = GradientsOfLogits() + (pair >> 4) * kTile;
    const int place = Turned(2 * (pair & 15));  // and four further
    __stcg(tile + TilePlace(row, place), ForOperand<Precision::kTf32>(x));
    __stcg(tile + TilePlace(row, place + 4), ForOperand<Precision::kTf32>(y));
  }
  // Both return this lane's part of the loss; rows past the batch's end have no gradient.
  // Two classes a thread.
  __device__ __forceinline__ float SigmoidRows(const Position& at, const float* logits,
                                               bool want_loss) const {
    const int begin = FirstLossRow(slice_), rows = FirstLossRow(slice_ + 1) - begin;
    const int classes = static_cast<int>(a_.classes), shift = p_.log_c_stride - 1;
    const float mean = __fdividef(1.0f, static_cast<float>(SizeOf(at)) * static_cast<float>(classes));
    const int valid = ValidOf(at) - begin;
    float loss = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < rows << shift; i += kTrainThreads) {
      const int row = i >> shift, pair = i & ((1 << shift) - 1);
      const uint8_t* labels = labels_ + row * p_.label_bytes;
      const auto gradient_of = [&](float z, int c) {
        if (c >= classes || row >= valid) return 0.0f;
        const float small = __expf(-fabsf(z)), y = labels[c];
        // log1p(small): its derivative is at most 1, so an absolute error of 1e-7 is all that 1 + small can
        // cost.
        const float weight = y > 0 ? WeightOf(c) : 1.0f;
        if (want_loss) loss += weight * (fmaxf(z, 0.0f) - z * y + __logf(1.0f + small));
        return (__fdividef(z >= 0 ? 1.0f : small, 1.0f + small) - y) * (mean * weight);
      };
      const float2 z = SumLogits(logits + (begin + row) * p_.c_stride + 2 * pair);
      const float x = gradient_of(z.x, 2 * pair), y = gradient_of(z.y, 2 * pair + 1);
      SendGradient(begin + row, pair, x, y);
    }
    return loss;
  }
  // A warp a row.
  __device__ __forceinline__ float SoftmaxRows(const Position& at, const float* logits) const {
    float loss = 0;
#pragma unroll 1
    for (int row = FirstLossRow(slice_) + warp_; row < FirstLossRow(slice_ + 1); row += kTrainWarps)
      loss += SoftmaxRow(at, row, logits + row * p_.c_stride);
    return loss;
  }
  // The row waits in shared memory between the passes over it; a lane returns to its own pairs of classes.
  __device__ __forceinline__ float SoftmaxRow(const Position& at, int row, const float* logits) const {
    const int classes = static_cast<int>(a_.classes), target = reinterpret_cast<const int32_t*>(labels_)[row];
    const bool valid = row < ValidOf(at);
    float* kept = Ring() + warp_ * p_.c_stride;
    float top = -INFINITY, sum = 0, loss = 0;
    const auto for_pairs = [&](const auto& body) {
#pragma unroll 1
      for (int pair = lane_; pair < p_.c_stride / 2; pair += 32) body(pair);
    };
    const auto for_classes = [&](const auto& body) {
      for_pairs([&](int pair) {
        if (2 * pair < classes) body(2 * pair);
        if (2 * pair + 1 < classes) body(2 * pair + 1);
      });
    };
    for_pairs([&](int pair) { *reinterpret_cast<float2*>(kept + 2 * pair) = SumLogits(logits + 2 * pair); });
    for_classes([&](int c) { top = fmaxf(top, kept[c]); });
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
      top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, offset));
    for_classes([&](int c) {
      const float above = kept[c] - top;
      if (c == target) loss = -above;
      sum += kept[c] = __expf(above);
    });
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
    const float weight = valid ? WeightOf(target) : 0.0f, mean = ShareOf(at) * weight,
                factor = __fdividef(mean, sum);
    const auto gradient_of = [&](int c) {
      return c < classes ? kept[c] * factor - (c == target ? mean : 0.0f) : 0.0f;
    };
    for_pairs([&](int pair) { SendGradient(row, pair, gradient_of(2 * pair), gradient_of(2 * pair + 1)); });
    return valid ? weight * (loss + (lane_ == 0 ? __logf(sum) : 0.0f)) : 0.0f;
  }

  // ---- Gradients
  // dΘ's part in registers, dHᵀ in place of Hᵀ.
  __device__ __forceinline__ void ClassifierGradients(WarpgroupSums<4>& theta) {
    const ThreadPlace me;
    const float* from = GradientsOfLogits();
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < Layout::kRows * p_.c_stride; i += kTrainThreads * 4)
      CopyAsync16(LossTiles() + i, from + i);
    CopyCommit();
    const ColumnFragments columns(Theta() + (me.member >> 1) * p_.c_stride * kTileColumns,
                                  16 * (me.member & 1) + Turned(me.g));
    uint32_t a[2][4][4];  // fragments of 32 classes, and of the next
#pragma unroll
    for (int step = 0; step < 8; ++step) columns.Load(a[step / 4][step % 4], step);
    CopyWait<0>();
    FenceAsyncShared();
    __syncthreads();
    // Each team takes 16 of the samples.
    WarpgroupSums<2> hidden;
    const uint64_t b = TileDescriptor(LossTiles() + me.team * 16 * kTileColumns);
#pragma unroll
    for (int block = 0; block < Layout::kMaxClasses / 32; ++block) {
      if (block * 32 >= p_.c_stride) break;
      hidden.Pin();
      WgmmaFence();
#pragma unroll
      for (int step = 0; step < 4; ++step)
        Wgmma(hidden, a[block % 2][step], b + block * kTileStep + step * 2, block + step > 0);
      WgmmaCommit();
      WgmmaWait<0>();
      hidden.Pin();
      if ((block + 2) * 32 >= p_.c_stride) continue;
#pragma unroll
      for (int step = 0; step < 4; ++step) columns.Load(a[block % 2][step], block * 4 + 8 + step);
    }
    ThetaGradient(theta);
    __syncthreads();  // Hᵀ has been read
    const float scale = a_.dropout > 0 ? 1.0f / (1.0f - a_.dropout) : 1.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int unit = 16 * me.member + me.g + 8 * (i / 2 % 2),
                sample = 16 * me.team + 8 * (i / 4) + 2 * me.t + i % 2;
      float* cell = HiddenAt(sample, unit);
      *cell = *cell > 0 ? ForOperand<Precision::kTf32>(hidden.value[i] * scale) : 0.0f;
    }
    FenceAsyncShared();
  }
  // A team takes 64 of at most 128 classes and 32 of the hidden units.
  __device__ __forceinline__ void ThetaGradient(WarpgroupSums<4>& sums) const {
    const ThreadPlace me;
    const ColumnFragments columns(LossTiles() + ((me.team >> 1) * 2 + (me.member >> 1)) * kTile,
                                  16 * (me.member & 1) + Turned(me.g));
    const uint64_t b = TileDescriptor(Hidden() + (me.team & 1) * 32 * kTileColumns);
    MultiplyColumns(sums, columns, b);
  }
  // k = 64.
  template <int kBlocks>
  __device__ __forceinline__ static void MultiplyColumns(WarpgroupSums<kBlocks>& sums,
                                                         const ColumnFragments& columns, uint64_t b) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t a[4][4];
#pragma unroll
      for (int step = 0; step < 4; ++step) columns.Load(a[step], half * 4 + step);
      sums.Pin();
      WgmmaFence();
#pragma unroll
      for (int step = 0; step < 4; ++step)
        Wgmma(sums, a[step], b + half * kTileStep + step * 2, half + step > 0);
      WgmmaCommit();
      WgmmaWait<0>();
      sums.Pin();
    }
  }
  __device__ __forceinline__ void WeightGradient(WarpgroupSums<8>& sums, int first) const {
    const ThreadPlace me;
    const ColumnFragments columns(base_ + ((first >> 5) + (me.member >> 1)) * kTile,
                                  16 * (me.member & 1) + me.g);
    MultiplyColumns(sums, columns, TileDescriptor(Hidden()));
  }

  // The pair's gradients are added before they go to L2. The first block of a pair answers for the first 256
  // features and 64 classes, the second one for the others; each sends what the other answers for into its
  // inbox, which takes the place of the ring and of Θ, thread by thread.
  __device__ __forceinline__ void PairGradients(const WarpgroupSums<4>& theta, bool add) {
    const ThreadPlace me;
    ClusterArrive();
    ClusterWait();  // both blocks are done with Θ and dL
    const int mine = me.team * 64 + rank_ * 256, others = me.team * 64 + (rank_ ^ 1) * 256;
    const bool owns_theta = me.team >> 1 == rank_;
    float* inbox = Inbox() + 4 * me.thread;
    {
      WarpgroupSums<8> sums;
      WeightGradient(sums, others < p_.features_padded ? others : 0);
      const uint32_t to = AddressInPeer(inbox + me.team * 32 * 128, rank_ ^ 1);
      if (others < p_.features_padded) {
#pragma unroll
        for (int i = 0; i < 32; i += 4) StoreInPeer(to + i * 128 * sizeof(float), &sums.value[i]);
      }
    }
    float* theta_inbox = inbox + (64 * 2 + (me.team & 1) * 16) * 128;
    if (!owns_theta) {
      const uint32_t to = AddressInPeer(theta_inbox, rank_ ^ 1);
#pragma unroll
      for (int i = 0; i < 16; i += 4) StoreInPeer(to + i * 128 * sizeof(float), &theta.value[i]);
    }
    ClusterArrive();
    WarpgroupSums<8> sums;
    WeightGradient(sums, mine < p_.features_padded ? mine : 0);
    ClusterWait();
    if (mine < p_.features_padded) StoreWeightGradient(sums, inbox + me.team * 32 * 128, mine, add);
    if (owns_theta) StoreThetaGradient(theta, theta_inbox, add);
  }
  __device__ __forceinline__ void StoreWeightGradient(const WarpgroupSums<8>& sums, const float* inbox,
                                                      int first, bool add) const {
    const ThreadPlace me;
    const int feature = first + 16 * me.member + me.g;
    if ((feature & ~15) >= p_.features_padded) return;
    // Lanes of neighbouring features trade, so that each holds two features of one hidden unit.
    const bool odd = me.g & 1;
    float* partial = Partial() + (feature >> 5) * kTile;
    float* const low = partial + TilePlace(2 * me.t + (odd ? 1 : 0), feature & 30);
    float* const high = partial + TilePlace(2 * me.t + (odd ? 1 : 0), (feature & 30) + 8);
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
      const float4 other = *reinterpret_cast<const float4*>(inbox + i * 128);
      const auto contribute = [&](float* to, float x, float y) {
        const float got = __shfl_xor_sync(0xFFFFFFFFu, odd ? x : y, 4);
        Contribute(to + i / 4 * 8 * kTileColumns, add, odd ? got : x, odd ? y : got);
      };
      contribute(low, sums.value[i] + other.x, sums.value[i + 1] + other.y);
      contribute(high, sums.value[i + 2] + other.z, sums.value[i + 3] + other.w);
      if (i % 8 == 4) KeepOrder();
    }
  }
  __device__ __forceinline__ void StoreThetaGradient(const WarpgroupSums<4>& sums, const float* inbox,
                                                     bool add) const {
    const ThreadPlace me;
    // Likewise for the places of neighbouring hidden units: t and t + 4.
    const bool odd = me.t & 1;
    const int first = (me.team >> 1) * 64 + 16 * me.member + me.g, place = (me.t & 2) + (odd ? 4 : 0);
    float* partial = Partial() + ThetaAt() + (me.team & 1) * p_.c_stride * kTileColumns;
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      const float4 other = *reinterpret_cast<const float4*>(inbox + i * 128);
      const auto contribute = [&](int c, float x, float y) {
        const float got = __shfl_xor_sync(0xFFFFFFFFu, odd ? x : y, 1);
        if (c >= p_.c_stride) return;
        Contribute(partial + TilePlace(c, 2 * i + place), add, odd ? got : x, odd ? y : got);
      };
      contribute(first, sums.value[i] + other.x, sums.value[i + 1] + other.y);
      contribute(first + 8, sums.value[i + 2] + other.z, sums.value[i + 3] + other.w);
      KeepOrder();
    }
  }

  // The other block's next chunks of W may come into the inbox.
  __device__ void EndPass() {
    ClusterArrive();
    ClusterWait();
  }

  __device__ __forceinline__ void Update() {
    UpdateShare<3, 2>(
        [&](int, size_t at, float w) { __stcg(a_.published + at, ForOperand<Precision::kTf32>(w)); });
  }

  const int rank_;  // in the pair
};

}  // namespace l2gcn::cuda
