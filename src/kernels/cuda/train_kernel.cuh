// One layer's training as one persistent kernel: many steps per launch, blocks meeting at group barriers.
//
// A step, seen by one block (train_plan.h explains rows and slices; tiles lie in shared memory):
//   Forward        H = dropout(ReLU(X W))         W streamed from L2 through a ring of chunks
//   Logits         L = H Θ                        summed over the slices of the row group
//   LossGradient   dL, and the loss's sum
//   ThetaGradient  dΘ = Hᵀ dL                     partial, to L2
//   HiddenGradient dH = (dL Θᵀ) ∘ [H > 0]         in place of H
//   WeightGradient dW = Xᵀ dH                     partial, to L2
//   the next step's rows start loading; the slice's blocks meet
//   Update         owned share: Σ partials in the order of the row groups, Adam, publish; the blocks meet
//
// Sums have a fixed order everywhere, so a run is reproducible bit for bit on one GPU and plan. A step is a
// chain of latencies, not of arithmetic: rows, width and threads are compile-time constants so that little
// else is executed.
#pragma once

#include "kernels/cuda/feature_rows.cuh"
#include "kernels/cuda/relu.cuh"
#include "kernels/cuda/train_block.cuh"

namespace l2gcn::cuda {

template <Precision P, int kRows, int kWidth>
class BlockTrainer : private TrainBlock<kRows, kWidth> {
  using Block = TrainBlock<kRows, kWidth>;
  using typename Block::Position;
  friend Block;

 public:
  __device__ BlockTrainer(const TrainPlan& plan, const TrainArguments& arguments, float* shared)
      : Block(plan, arguments, shared, blockIdx.x / plan.slices, blockIdx.x % plan.slices),
        ring_(shared + plan.ring_at),
        x_{shared, plan.x_stride},
        h_{shared + plan.h_at, TrainTile<kRows, kWidth>::kHiddenStride},
        theta_{shared + plan.theta_at, plan.c_stride},
        dl_{ring_, plan.c_stride},
        cursor_(samples_of_ + kRows) {}

  __device__ void Run() {
    this->ClearShared();
    this->RunSteps(*this);
  }

 private:
  using Block::a_, Block::base_, Block::group_, Block::kNoSlot, Block::labels_, Block::lane_, Block::p_,
      Block::row_barrier_, Block::rows_of_, Block::samples_of_, Block::slice_, Block::warp_;
  using Layout = TrainTile<kRows, kWidth>;
  static constexpr int kLossLanes = kTrainThreads / kRows;  // lanes that share a row of logits

  // One pass, from feature rows to this block's partial gradients.
  __device__ __forceinline__ void Gradients(const Position& at, const Position& next, uint32_t turn,
                                            bool more, uint32_t slot) {
    x_ = RowsTile(turn);
    Forward(at);
    if (more && p_.x_next > 0) {
      this->StoreSample();
      __syncthreads();
      LoadRows(next, turn + 1);
    }
    Logits();
    LossGradient(at, turn & 1, slot);
    ThetaGradient(at.pass > 0);
    __syncthreads();
    HiddenGradient();
    __syncthreads();
    WeightGradient(at);
    if (more && p_.x_next == 0) this->StoreSample();
  }

  // ---- Loading
  // Whole feature rows have one place in shared memory, or two taken in turns: then they load a pass
  // ahead.
  __device__ Tile RowsTile(uint32_t turn) const { return {base_ + (turn & 1 ? p_.x_next : 0), p_.x_stride}; }
  __device__ __forceinline__ void LoadRows(const Position& at, uint32_t turn) {
    if (p_.rows_resident) {
      const Tile tile = RowsTile(turn);
      if (a_.x.kind == RowKind::kF32) {
        const float* x = static_cast<const float*>(a_.x.dense);
        const int stride = static_cast<int>(a_.x.stride);
        const int valid = this->ValidOf(at);
#pragma unroll 1
        for (int row = warp_; row < valid; row += kTrainWarps) {
          const float* from = x + static_cast<size_t>(rows_of_[row]) * stride;
          float* to = tile.data + row * tile.stride;
          const int swizzle = Swizzle(row);
#pragma unroll 1
          for (int c = lane_ * 4; c < stride; c += 128) CopyAsync16(to + (c ^ swizzle), from + c);
        }
      } else {
        LoadOtherRows(a_.x, rows_of_, cursor_, tile, this->ValidOf(at), 0, p_.x_stride);
      }
    }
    CopyCommit();
  }
  __device__ __forceinline__ void LoadLabels(const Position& at) { Block::LoadLabels(at, 0, kRows); }

  // What the products read is published as an image of the tiles in shared memory, swizzle and all.
  __device__ __forceinline__ void LoadTheta() {
    const float* from = this->Published() + this->ThetaAt();
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < kWidth * p_.c_stride; i += kTrainThreads * 4)
      CopyAsync16(theta_.data + i, from + i);
  }

  // ---- The ring: chunk c of W's rows and, if feature rows are not resident, the same columns of those.
  __device__ int ChunkWidth(int chunk) const {
    return min(Layout::kChunk, p_.features_padded - chunk * Layout::kChunk);
  }
  __device__ float* Stage(int chunk) const { return ring_ + chunk % Layout::kStages * p_.stage_floats; }
  __device__ Tile StageRows(int chunk) const {
    return {Stage(chunk) + Layout::kChunk * kWidth, Layout::kChunk};
  }
  __device__ __forceinline__ void FillStage(const Position& at, int chunk, bool weights) {
    if (chunk < p_.chunks) {
      if (weights) {
        const float* from = this->Published() + static_cast<size_t>(chunk) * Layout::kChunk * kWidth;
        float* to = Stage(chunk);
        const int count = ChunkWidth(chunk) * kWidth;
#pragma unroll
        for (int i = 0; i < Layout::kChunk * kWidth; i += kTrainThreads * 4) {
          const int place = i + static_cast<int>(threadIdx.x) * 4;
          if (place < count) CopyAsync16(to + place, from + place);
        }
      }
      if (!p_.rows_resident) {
        LoadOtherRows(a_.x, rows_of_, cursor_, StageRows(chunk), this->ValidOf(at), chunk * Layout::kChunk,
                      Layout::kChunk);
      }
    }
    CopyCommit();
  }
  __device__ void WaitStage() const {
    CopyWait<Layout::kStages - 2>();
    __syncthreads();
  }

  // ---- Forward
  // With fewer warp tiles than warps, warps share a tile
  // and split every chunk's k.
  __device__ __forceinline__ void Forward(const Position& at) {
    constexpr int kTile = 8 * Layout::kForwardBlocks;
    constexpr int kAcross = kWidth / kTile, kTiles = kRows / (16 * Layout::kForwardRows) * kAcross;
    constexpr int kSplits = Layout::kSplits, kSteps = Layout::kChunk / 8 / kSplits * 8;
    static_assert(kTiles * kSplits == kTrainWarps);
    const int tile = warp_ % kTiles, split = warp_ / kTiles;
    const int m0 = tile / kAcross * 16 * Layout::kForwardRows, n0 = tile % kAcross * kTile;
    WarpSums<Layout::kForwardRows, Layout::kForwardBlocks> sums;
    sums.Clear();
    LoadTheta();
#pragma unroll 1
    for (int chunk = 1 - Layout::kStages; chunk < p_.chunks; ++chunk) {
      if (chunk >= 0) WaitStage();
      FillStage(at, chunk + Layout::kStages - 1, true);
      if (chunk < 0) continue;
      const Tile rows =
          p_.rows_resident ? Tile{x_.data + chunk * Layout::kChunk, x_.stride} : StageRows(chunk);
      const Tile weights{Stage(chunk), kWidth};
      WarpMultiply<P, false>(sums, AlongRows(rows, m0),
                             AcrossRows<Layout::kForwardBlocks, kWidth == 16>(weights, n0), split * kSteps,
                             min((split + 1) * kSteps, ChunkWidth(chunk)));
    }
    __syncthreads();
    float* scratch = ring_ + split * kRows * Layout::kScratchStride;
    sums.ForEachPair([&](int m, int n, float x, float y) {
      *reinterpret_cast<float2*>(scratch + (m0 + m) * Layout::kScratchStride + n0 + n) = make_float2(x, y);
    });
    __syncthreads();
    FinishHidden(at);
    __syncthreads();
  }
  __device__ __forceinline__ void FinishHidden(const Position& at) {
#pragma unroll
    for (int i = 0; i < kRows * kWidth / kTrainThreads; ++i) {
      const int place = i * kTrainThreads + static_cast<int>(threadIdx.x), row = place / kWidth,
                col = place % kWidth;
      float sum = 0;
#pragma unroll
      for (int s = 0; s < Layout::kSplits; ++s)
        sum += ring_[(s * kRows + row) * Layout::kScratchStride + col];
      float active = Relu(sum);
      if (a_.dropout > 0) active = this->Dropped(at, row, col, active);
      *h_.At(row, col) = ForOperand<P>(active);
    }
  }
  // ---- Classifier and loss
  // Tiles of 16 × 16: the warp's row of tiles is fixed,
  // tiles along the classes go round.
  __device__ __forceinline__ void Logits() {
    constexpr int kDown = kRows / 16;
    const int m0 = warp_ % kDown * 16;
    const AlongRows a(h_, m0);
#pragma unroll 1
    for (int n0 = warp_ / kDown * 16; n0 < p_.classes_padded; n0 += kTrainWarps / kDown * 16) {
      WarpSums<1, 2> sums;
      sums.Clear();
      WarpMultiply<P, false>(sums, a, AcrossRows<2>(theta_, n0), 0, kWidth);
      sums.ForEachPair([&](int m, int n, float x, float y) {
        *reinterpret_cast<float2*>(dl_.At(m0 + m, n0 + n)) = make_float2(x, y);
      });
    }
    __syncthreads();
  }

  // From logits to dL in place. With several slices, the logits are summed over the row group first: each
  // block all rows (whole_logits) or its share of them, whose gradients are then exchanged.
  __device__ __forceinline__ void LossGradient(const Position& at, uint32_t parity, uint32_t slot) {
    int begin = 0, end = kRows;
    if (p_.slices > 1) {
      SendLogits(parity);
      row_barrier_.Meet();
      if (!p_.whole_logits) {
        begin = kRows * slice_ / p_.slices;
        end = kRows * (slice_ + 1) / p_.slices;
      }
      SumLogits(parity, begin, end);
      __syncthreads();
    }
    const bool counts = !p_.whole_logits || slice_ == 0;
    RowLosses(at, begin, end, counts ? slot : kNoSlot);
    __syncthreads();
    this->StoreLoss(at, slot, counts);
    if (p_.slices > 1 && !p_.whole_logits) ExchangeGradients(begin, end);
  }
  // Rows of classes_padded floats lie c_stride apart in global memory, too, unswizzled.
  template <class Body>
  __device__ __forceinline__ void ForQuads(int begin, int end, const Body& body) const {
    const int shift = p_.log_c_stride - 2, quads = p_.classes_padded / 4;
#pragma unroll 1
    for (int i = (begin << shift) + static_cast<int>(threadIdx.x); i < end << shift; i += kTrainThreads) {
      const int row = i >> shift, quad = i & ((1 << shift) - 1);
      if (quad < quads) body(row, quad * 4, i * 4);
    }
  }
  __device__ __forceinline__ void SendLogits(uint32_t parity) {
    float* mine = this->LogitsOf(parity, slice_);
    ForQuads(0, kRows, [&](int row, int c, int place) {
      __stcg(reinterpret_cast<float4*>(mine + place), *reinterpret_cast<const float4*>(dl_.At(row, c)));
    });
  }
  __device__ __forceinline__ void SumLogits(uint32_t parity, int begin, int end) {
    const float* from = this->LogitsOf(parity, 0);
    const int part = kRows * p_.c_stride;
    ForQuads(begin, end, [&](int row, int c, int place) {
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
      for (int s = 0; s < p_.slices; ++s) {
        const float4 x = __ldcg(reinterpret_cast<const float4*>(from + place + s * part));
        sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
      }
      *reinterpret_cast<float4*>(dl_.At(row, c)) = sum;
    });
  }
  __device__ void ExchangeGradients(int begin, int end) {
    float* shared = this->GradientsOfLogits();
    ForQuads(begin, end, [&](int row, int c, int place) {
      __stcg(reinterpret_cast<float4*>(shared + place), *reinterpret_cast<const float4*>(dl_.At(row, c)));
    });
    row_barrier_.Meet();
    ForQuads(0, kRows, [&](int row, int c, int place) {
      *reinterpret_cast<float4*>(dl_.At(row, c)) = __ldcg(reinterpret_cast<const float4*>(shared + place));
    });
    __syncthreads();
  }

  // kLossLanes lanes a row: the block does all its rows at once.
  __device__ __forceinline__ void RowLosses(const Position& at, int begin, int end, uint32_t slot) {
    const int row = begin + static_cast<int>(threadIdx.x) / kLossLanes, rank = lane_ % kLossLanes;
    float loss = 0;
    if (row < end) {  // rows past the batch's end have no gradient
      loss = a_.multilabel ? SigmoidRow(row, rank, this->SizeOf(at), row < this->ValidOf(at))
                           : SoftmaxRow(row, rank, this->ShareOf(at), row < this->ValidOf(at));
    }
    if (slot != kNoSlot) this->AddLoss(loss);
  }
  // Both return this lane's part of the row's loss.
  __device__ __forceinline__ float SoftmaxRow(int row, int rank, float share, bool valid) {
    const uint32_t team = ((1u << kLossLanes) - 1) << (lane_ - rank);
    const int classes = static_cast<int>(a_.classes), target = reinterpret_cast<const int32_t*>(labels_)[row];
    float* cells = dl_.data + row * dl_.stride;
    const int swizzle = Swizzle(row);
    float top = -INFINITY, sum = 0, loss = 0;
#pragma unroll 4
    for (int c = rank; c < classes; c += kLossLanes) top = fmaxf(top, cells[c ^ swizzle]);
#pragma unroll
    for (int offset = kLossLanes / 2; offset > 0; offset >>= 1)
      top = fmaxf(top, __shfl_xor_sync(team, top, offset));
#pragma unroll 4
    for (int c = rank; c < classes; c += kLossLanes) {
      const float above = cells[c ^ swizzle] - top, power = __expf(above);
      if (c == target) loss = -above;
      sum += power;
      cells[c ^ swizzle] = power;
    }
#pragma unroll
    for (int offset = kLossLanes / 2; offset > 0; offset >>= 1) sum += __shfl_xor_sync(team, sum, offset);
    const float weight = valid ? this->WeightOf(target) : 0.0f, mean = share * weight,
                factor = __fdividef(mean, sum);
#pragma unroll 4
    for (int c = rank; c < p_.classes_padded; c += kLossLanes) {
      const float probability = c < classes ? cells[c ^ swizzle] * factor : 0.0f;
      cells[c ^ swizzle] = ForOperand<P>(probability - (c == target ? mean : 0.0f));
    }
    return valid ? weight * (loss + (rank == 0 ? __logf(sum) : 0.0f)) : 0.0f;
  }
  __device__ __forceinline__ float SigmoidRow(int row, int rank, uint32_t batch, bool valid) {
    const int classes = static_cast<int>(a_.classes);
    const float mean = valid ? 1.0f / (static_cast<float>(batch) * static_cast<float>(classes)) : 0.0f;
    float* cells = dl_.data + row * dl_.stride;
    const int swizzle = Swizzle(row);
    float loss = 0;
#pragma unroll 4
    for (int c = rank; c < p_.classes_padded; c += kLossLanes) {
      const float z = cells[c ^ swizzle], small = __expf(-fabsf(z)), y = labels_[row * p_.label_bytes + c];
      const float probability = __fdividef(z >= 0 ? 1.0f : small, 1.0f + small);
      // log1p(small): its derivative is at most 1, so an absolute error of 1e-7 is all that 1 + small can
      // cost.
      const float weight = c < classes && y > 0 ? this->WeightOf(c) : 1.0f;
      if (c < classes) loss += weight * (fmaxf(z, 0.0f) - z * y + __logf(1.0f + small));
      cells[c ^ swizzle] = c < classes ? ForOperand<P>((probability - y) * (mean * weight)) : 0.0f;
    }
    return valid ? loss : 0.0f;
  }

  // ---- Gradients
  __device__ __forceinline__ void ThetaGradient(bool add) {
    constexpr int kDown = kWidth / 16;
    const int m0 = warp_ % kDown * 16;
    const AcrossRows<2> a(h_, m0);
    float* to = this->Partial() + this->ThetaAt();
#pragma unroll 1
    for (int n0 = warp_ / kDown * 16; n0 < p_.classes_padded; n0 += kTrainWarps / kDown * 16) {
      WarpSums<1, 2> sums;
      sums.Clear();
      WarpMultiply<P, false>(sums, a, AcrossRows<2>(dl_, n0), 0, kRows);
      sums.ForEachPair([&](int m, int n, float x, float y) {
        if (n0 + n < p_.classes_padded) this->Contribute(to + (m0 + m) * p_.c_stride + n0 + n, add, x, y);
      });
    }
  }
  __device__ __forceinline__ void HiddenGradient() {
    constexpr int kDown = kRows / 16, kBlocks = kWidth == 64 ? 2 : 1,
                  kTiles = kDown * (kWidth / (8 * kBlocks));
    if (warp_ >= kTiles) return;
    const float scale = a_.dropout > 0 ? 1.0f / (1.0f - a_.dropout) : 1.0f;
    const int m0 = warp_ % kDown * 16, n0 = warp_ / kDown * 8 * kBlocks;
    WarpSums<1, kBlocks> sums;
    sums.Clear();
    WarpMultiply<P, false>(sums, AlongRows(dl_, m0), AlongRows(theta_, n0), 0, p_.classes_padded);
    sums.ForEachPair([&](int m, int n, float x, float y) {
      float2* cell = reinterpret_cast<float2*>(h_.At(m0 + m, n0 + n));
      const float2 active = *cell;
      *cell = make_float2(active.x > 0 ? ForOperand<P>(x * scale) : 0.0f,
                          active.y > 0 ? ForOperand<P>(y * scale) : 0.0f);
    });
  }
  __device__ __forceinline__ void WeightGradient(const Position& at) {
    const int pieces = p_.rows_resident ? 1 : p_.chunks;
#pragma unroll 1
    for (int piece = p_.rows_resident ? 0 : 1 - Layout::kStages; piece < pieces; ++piece) {
      if (!p_.rows_resident) {
        if (piece >= 0) WaitStage();
        FillStage(at, piece + Layout::kStages - 1, false);
        if (piece < 0) continue;
      }
      const int begin = piece * Layout::kChunk;
      WeightGradientOf(p_.rows_resident ? x_ : StageRows(piece),
                       p_.rows_resident ? p_.features_padded : ChunkWidth(piece),
                       this->Partial() + static_cast<size_t>(begin) * kWidth, at.pass > 0);
    }
    if (!p_.rows_resident) __syncthreads();
  }
  __device__ __forceinline__ void WeightGradientOf(const Tile& rows, int width, float* to, bool add) {
    constexpr int MT = Layout::kGradientRows, NT = Layout::kGradientBlocks, kAcross = kWidth / (8 * NT);
    const int n0 = warp_ % kAcross * 8 * NT;
    const AcrossRows<NT> b(h_, n0);
#pragma unroll 1
    for (int m0 = warp_ / kAcross * 16 * MT; m0 < width; m0 += kTrainWarps / kAcross * 16 * MT) {
      WarpSums<MT, NT> sums;
      sums.Clear();
      WarpMultiply<P, false>(sums, AcrossRows<2 * MT>(rows, m0), b, 0, kRows);
      sums.ForEachPair([&](int m, int n, float x, float y) {
        if (m0 + m < width) this->Contribute(to + (m0 + m) * kWidth + n0 + n, add, x, y);
      });
    }
  }

  __device__ void EndPass() { __syncthreads(); }

  // ---- Update
  // The image keeps rows in place and turns columns: by the row of W, or of Θ.
  __device__ __forceinline__ void Update() {
    const auto publish = [&](int place, size_t at, float w) {
      const bool is_theta = place >= this->ThetaAt();
      const int local = is_theta ? place - this->ThetaAt() : place;
      const int row = is_theta ? local >> p_.log_c_stride : local / kWidth;
      const int turn = !is_theta && kWidth == 16 ? NarrowSwizzle(row) : Swizzle(row);
      __stcg(a_.published + (at ^ static_cast<size_t>(turn)), ForOperand<P>(w));
    };
    if (kWidth == 16 && p_.partials() <= 8) {  // few row groups have large shares
      this->template UpdateShare<4, 2>(publish);
    } else {
      this->template UpdateShare<2, kWidth == 64 ? 4 : 8>(publish);
    }
  }

  float* const ring_;
  Tile x_;                  // (rows × features) of this pass, if resident
  const Tile h_;            // (rows × width) H, then dH
  const Tile theta_;        // (width × classes)
  const Tile dl_;           // (rows × classes) logits, then dL; shares memory with the ring
  uint32_t* const cursor_;  // (rows) next entry of a sparse row
};

template <Precision P, int kRows, int kWidth>
__global__ void __launch_bounds__(kTrainThreads, 1)
    TrainKernel(const __grid_constant__ TrainPlan plan, const __grid_constant__ TrainArguments arguments) {
  extern __shared__ __align__(128) float shared[];
  BlockTrainer<P, kRows, kWidth>(plan, arguments, shared).Run();
}

}  // namespace l2gcn::cuda
