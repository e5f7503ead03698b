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
// Sums have a fixed order everywhere, so a run is reproducible bit for bit on one card and plan. A step is a
// chain of latencies, not of arithmetic: rows, width and threads are compile-time constants so that little
// else is executed.
#pragma once

#include "core/rng.h"
#include "kernels/cuda/group_barrier.cuh"
#include "kernels/cuda/row_access.cuh"
#include "kernels/cuda/train_kernel.h"
#include "kernels/cuda/warp_mma.cuh"

namespace l2gcn::cuda {

// A sparse row is unpacked into its dense tile. Chunks of a row come in ascending order, so a cursor per row
// remembers where the next chunk's entries begin.
__device__ __noinline__ void LoadSparseRow(DeviceRows x, Tile tile, int row, size_t source, int begin,
                                           int width, uint32_t* cursor) {
  const int lane = threadIdx.x & 31;
#pragma unroll 1
  for (int c = lane * 4; c < width; c += 128) {
    *reinterpret_cast<float4*>(tile.At(row, c)) = make_float4(0, 0, 0, 0);
  }
  const uint64_t row_begin = __ldg(x.indptr + source), row_end = __ldg(x.indptr + source + 1);
  uint64_t entry = row_begin + (begin == 0 ? 0 : cursor[row]);
  __syncwarp();
#pragma unroll 1
  for (;;) {
    const uint64_t mine = entry + lane;
    const int column = mine < row_end ? static_cast<int>(__ldg(x.columns + mine)) - begin : width;
    if (column < width) *tile.At(row, column) = __ldg(x.values + mine);
    const int taken = __popc(__ballot_sync(0xFFFFFFFFu, column < width));
    entry += taken;
    if (taken < 32) break;
  }
  if (lane == 0) cursor[row] = static_cast<uint32_t>(entry - row_begin);
}

// Columns begin … begin+width−1 of `valid` feature rows into `tile`, for rows that cannot be copied as they
// are or come in chunks; one warp a row.
__device__ __noinline__ void LoadOtherRows(DeviceRows x, const uint32_t* rows_of, uint32_t* cursor, Tile tile,
                                           int valid, int begin, int width) {
  const int lane = threadIdx.x & 31;
  const int end = min(width, static_cast<int>(x.stride) - begin);
#pragma unroll 1
  for (int row = threadIdx.x >> 5; row < valid; row += kTrainWarps) {
    const size_t source = rows_of[row], from = source * x.stride + begin;
    if (x.kind == RowKind::kSparse) {
      LoadSparseRow(x, tile, row, source, begin, width, cursor);
      continue;
    }
#pragma unroll 1
    for (int c = lane * 4; c < end; c += 128) {
      float* to = tile.At(row, c);
      if (x.kind == RowKind::kF32) {
        CopyAsync16(to, static_cast<const float*>(x.dense) + from + c);
      } else {
        *reinterpret_cast<float4*>(to) = x.kind == RowKind::kF16 ? Load4<RowKind::kF16>(x.dense, from + c)
                                                                 : Load4<RowKind::kBf16>(x.dense, from + c);
      }
    }
  }
}

// Whether dropout keeps a hidden unit: word (position in batch)·H + unit of the step's stream.
__device__ __noinline__ bool Kept(uint64_t seed, uint32_t layer, uint64_t step, uint64_t word,
                                  float dropout) {
  const RandomStream stream(seed, RandomUse::kDropout, layer, static_cast<uint32_t>(step));
  return stream.Uniform(word) >= dropout;
}

// The epoch's order of samples; the keys are drawn by the lanes of a warp together.
__device__ __forceinline__ Permutation OrderOf(const TrainArguments& a, uint32_t epoch) {
  const RandomStream stream(a.seed, RandomUse::kShuffle, a.layer, epoch);
  const uint32_t key = stream.Word(threadIdx.x & 31);
  Permutation order = a.order;
#pragma unroll
  for (int round = 0; round < Permutation::kRounds; ++round) {
    order.keys[round] = __shfl_sync(0xFFFFFFFFu, key, round);
  }
  return order;
}

// Four lanes' worth of one sum, in every one of them.
__device__ __forceinline__ float SumOverQuad(float x) {
  x += __shfl_xor_sync(0xFFFFFFFFu, x, 1);
  return x + __shfl_xor_sync(0xFFFFFFFFu, x, 2);
}

template <Precision P, int kRows, int kWidth>
class BlockTrainer {
 public:
  __device__ BlockTrainer(const TrainPlan& plan, const TrainArguments& arguments, float* shared)
      : p_(plan),
        a_(arguments),
        warp_(threadIdx.x >> 5),
        lane_(threadIdx.x & 31),
        group_(blockIdx.x / plan.slices),
        slice_(blockIdx.x - group_ * plan.slices),
        base_(shared),
        ring_(shared + plan.ring_at),
        x_{shared, plan.x_stride},
        h_{shared + plan.h_at, TrainTile<kRows, kWidth>::kHiddenStride},
        theta_{shared + plan.theta_at, plan.c_stride},
        dl_{ring_, plan.c_stride},
        labels_(reinterpret_cast<uint8_t*>(shared + plan.labels_at)),
        rows_of_(reinterpret_cast<uint32_t*>(shared + plan.index_at)),
        samples_of_(rows_of_ + kRows),
        cursor_(samples_of_ + kRows),
        warp_loss_(shared + plan.loss_at),
        adam_(reinterpret_cast<AdamFactors*>(shared + plan.loss_at + kTrainWarps)),
        row_barrier_(arguments.flags + group_ * plan.slices, plan.slices, slice_, false),
        slice_barrier_(arguments.flags + plan.blocks() + slice_ * plan.row_groups, plan.row_groups, group_,
                       plan.cluster_all) {}

  __device__ void Run() {
#pragma unroll 1
    for (size_t i = threadIdx.x; i < p_.shared_bytes / sizeof(float); i += kTrainThreads) base_[i] = 0;
    Position at = PositionOf(a_.first_step), next = Next(at);
    __syncthreads();
    if (threadIdx.x == 0)
      *adam_ = {{a_.w_beta1_power, a_.w_beta2_power}, {a_.theta_beta1_power, a_.theta_beta2_power}, {}, {}};
    PickSample(at);
    __syncthreads();
    StoreSample();
    __syncthreads();
    LoadRows(at, 0);
    LoadLabels(at);
    PickSample(next);
    uint32_t slot = 0, turn = 0;  // turn: passes so far
    uint64_t step = a_.first_step;
#pragma unroll 1
    while (step < a_.last_step) {
      const bool ends = at.pass + 1 == p_.passes, more = !ends || step + 1 < a_.last_step;
      const bool want_loss = a_.every_loss || step + 1 == a_.last_step || at.batch + 1 == a_.steps_per_epoch;
      Gradients(at, next, turn, more, want_loss ? slot : kNoSlot);
      if (ends) {
        slice_barrier_.Arrive();
      } else {
        __syncthreads();
      }
      // Between arriving and waiting: what the next pass needs, and the samples of the pass after it.
      if (more && p_.x_next == 0) LoadRows(next, turn + 1);
      if (more) LoadLabels(next);
      at = next;
      next = Next(at);
      PickSample(next);
      ++turn;
      if (!ends) continue;
      if (threadIdx.x == 0) AdvancePowers();
      slice_barrier_.Wait();
      Update();
      slice_barrier_.Meet();
      slot += want_loss ? 1 : 0;
      ++step;
    }
    CopyWait<0>();
  }

 private:
  using Layout = TrainTile<kRows, kWidth>;
  static constexpr uint32_t kNoSlot = 0xFFFFFFFFu;
  static constexpr int kLossLanes = kTrainThreads / kRows;  // lanes that share a row of logits

  // Where the block is: a batch larger than all blocks' rows takes several passes.
  struct Position {
    uint32_t epoch, batch;
    int pass;
    uint32_t begin, size;  // positions of the epoch's order in this batch
    int first;             // this block's first row of the batch in this pass
    int valid;             // how many it has
  };

  __device__ Position Fill(uint32_t epoch, uint32_t batch, int pass) const {
    Position at{epoch, batch, pass, batch * a_.batch, 0, (pass * p_.row_groups + group_) * kRows, 0};
    at.size = min(a_.batch, a_.count - at.begin);
    at.valid = min(kRows, max(0, static_cast<int>(at.size) - at.first));
    return at;
  }
  __device__ Position PositionOf(uint64_t step) const {
    return Fill(a_.first_epoch + static_cast<uint32_t>(step / a_.steps_per_epoch),
                static_cast<uint32_t>(step % a_.steps_per_epoch), 0);
  }
  __device__ Position Next(const Position& at) const {
    if (at.pass + 1 < p_.passes) return Fill(at.epoch, at.batch, at.pass + 1);
    return at.batch + 1 == a_.steps_per_epoch ? Fill(at.epoch + 1, 0, 0) : Fill(at.epoch, at.batch + 1, 0);
  }

  // One pass, from feature rows to this block's partial gradients.
  __device__ __forceinline__ void Gradients(const Position& at, const Position& next, uint32_t turn,
                                            bool more, uint32_t slot) {
    x_ = RowsTile(turn);
    Forward(at);
    if (more && p_.x_next > 0) {
      StoreSample();
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
    if (more && p_.x_next == 0) StoreSample();
  }

  // ---- Which samples a step takes
  // -------------------------------------------------------------------------- The last warps, a lane per
  // row, look up (sample, row of X); the permutation's keys are drawn by the lanes together.
  __device__ static int PickedRow() { return kTrainThreads - 1 - static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ void PickSample(const Position& at) {
    if (warp_ < kTrainWarps - kRows / 32) return;
    const Permutation order = OrderOf(a_, at.epoch);
    if (PickedRow() >= at.valid) return;
    picked_.x = order(at.begin + static_cast<uint32_t>(at.first + PickedRow()));
    if (a_.staged) {
      const uint64_t step = static_cast<uint64_t>(at.epoch - a_.first_epoch) * a_.steps_per_epoch + at.batch;
      picked_.y = static_cast<uint32_t>(step - a_.first_step) * a_.batch +
                  static_cast<uint32_t>(at.first + PickedRow());
    } else {
      picked_.y = a_.samples == nullptr ? picked_.x : __ldg(a_.samples + picked_.x);
    }
  }
  __device__ void StoreSample() {
    if (PickedRow() >= kRows) return;
    samples_of_[PickedRow()] = picked_.x;
    rows_of_[PickedRow()] = picked_.y;
  }

  // ---- Loading
  // --------------------------------------------------------------------------------------------- Whole
  // feature rows have one place in shared memory, or two taken in turns: then they load a pass ahead.
  __device__ Tile RowsTile(uint32_t turn) const { return {base_ + (turn & 1 ? p_.x_next : 0), p_.x_stride}; }
  __device__ __forceinline__ void LoadRows(const Position& at, uint32_t turn) {
    if (p_.rows_resident) {
      const Tile tile = RowsTile(turn);
      if (a_.x.kind == RowKind::kF32) {
        const float* x = static_cast<const float*>(a_.x.dense);
        const int stride = static_cast<int>(a_.x.stride);
#pragma unroll 1
        for (int row = warp_; row < at.valid; row += kTrainWarps) {
          const float* from = x + static_cast<size_t>(rows_of_[row]) * stride;
          float* to = tile.data + row * tile.stride;
          const int swizzle = Swizzle(row);
#pragma unroll 1
          for (int c = lane_ * 4; c < stride; c += 128) CopyAsync16(to + (c ^ swizzle), from + c);
        }
      } else {
        LoadOtherRows(a_.x, rows_of_, cursor_, tile, at.valid, 0, p_.x_stride);
      }
    }
    CopyCommit();
  }
  __device__ __forceinline__ void LoadLabels(const Position& at) {
    if (a_.multilabel) {
      const int pieces = p_.label_bytes / 16;
#pragma unroll 1
      for (int row = warp_; row < at.valid; row += kTrainWarps) {
        const uint8_t* from = a_.label_rows + static_cast<size_t>(samples_of_[row]) * p_.label_bytes;
#pragma unroll 1
        for (int i = lane_; i < pieces; i += 32) {
          CopyAsync16(reinterpret_cast<float*>(labels_ + row * p_.label_bytes + i * 16), from + i * 16);
        }
      }
    } else if (static_cast<int>(threadIdx.x) < at.valid) {
      CopyAsync4(labels_ + 4 * threadIdx.x, a_.classes_of + samples_of_[threadIdx.x]);
    }
    CopyCommit();
  }

  // What the products read is published as an image of the tiles in shared memory, swizzle and all.
  __device__ const float* Published() const {
    return a_.published + static_cast<size_t>(slice_) * p_.slice_floats();
  }
  __device__ int ThetaAt() const { return p_.features_padded * kWidth; }
  __device__ __forceinline__ void LoadTheta() {
    const float* from = Published() + ThetaAt();
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
        const float* from = Published() + static_cast<size_t>(chunk) * Layout::kChunk * kWidth;
        float* to = Stage(chunk);
        const int count = ChunkWidth(chunk) * kWidth;
#pragma unroll
        for (int i = 0; i < Layout::kChunk * kWidth; i += kTrainThreads * 4) {
          const int place = i + static_cast<int>(threadIdx.x) * 4;
          if (place < count) CopyAsync16(to + place, from + place);
        }
      }
      if (!p_.rows_resident) {
        LoadOtherRows(a_.x, rows_of_, cursor_, StageRows(chunk), at.valid, chunk * Layout::kChunk,
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
  // --------------------------------------------------------------------------------------------- With fewer
  // warp tiles than warps, warps share a tile and split every chunk's k.
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
      float active = fmaxf(sum, 0.0f);
      if (a_.dropout > 0) active = Dropped(at, row, col, active);
      *h_.At(row, col) = ForOperand<P>(active);
    }
  }
  __device__ float Dropped(const Position& at, int row, int col, float active) const {
    const uint64_t step =
        a_.steps_before + static_cast<uint64_t>(at.epoch - a_.first_epoch) * a_.steps_per_epoch + at.batch;
    const uint64_t word =
        static_cast<uint64_t>(at.first + row) * a_.hidden + static_cast<uint64_t>(slice_ * kWidth + col);
    return Kept(a_.seed, a_.layer, step, word, a_.dropout) ? active / (1.0f - a_.dropout) : 0.0f;
  }

  // ---- Classifier and loss
  // --------------------------------------------------------------------------------- Tiles of 16 × 16: the
  // warp's row of tiles is fixed, tiles along the classes go round.
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
    if (slot != kNoSlot && threadIdx.x == 0) {
      float sum = 0;
      for (int w = 0; w < kTrainWarps; ++w) sum += warp_loss_[w];
      float& total = a_.losses[static_cast<size_t>(slot) * p_.blocks() + blockIdx.x];
      total = (at.pass > 0 ? total : 0.0f) + (counts ? sum : 0.0f);
    }
    if (p_.slices > 1 && !p_.whole_logits) ExchangeGradients(begin, end);
  }
  __device__ float* LogitsOf(uint32_t parity, int slice) const {
    const size_t part = static_cast<size_t>(kRows) * p_.c_stride;
    return a_.logits + ((static_cast<size_t>(parity) * p_.row_groups + group_) * p_.slices + slice) * part;
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
    float* mine = LogitsOf(parity, slice_);
    ForQuads(0, kRows, [&](int row, int c, int place) {
      __stcg(reinterpret_cast<float4*>(mine + place), *reinterpret_cast<const float4*>(dl_.At(row, c)));
    });
  }
  __device__ __forceinline__ void SumLogits(uint32_t parity, int begin, int end) {
    const float* from = LogitsOf(parity, 0);
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
    float* shared = a_.dlogits + static_cast<size_t>(group_) * kRows * p_.c_stride;
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
      loss = a_.multilabel ? SigmoidRow(row, rank, at.size, row < at.valid)
                           : SoftmaxRow(row, rank, at.size, row < at.valid);
    }
    if (slot == kNoSlot) return;
    __syncwarp();
    for (int offset = 16; offset > 0; offset >>= 1) loss += __shfl_xor_sync(0xFFFFFFFFu, loss, offset);
    if (lane_ == 0) warp_loss_[warp_] = loss;
  }
  // Both return this lane's part of the row's loss.
  __device__ __forceinline__ float SoftmaxRow(int row, int rank, uint32_t batch, bool valid) {
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
    const float mean = valid ? 1.0f / static_cast<float>(batch) : 0.0f, factor = __fdividef(mean, sum);
#pragma unroll 4
    for (int c = rank; c < p_.classes_padded; c += kLossLanes) {
      const float probability = c < classes ? cells[c ^ swizzle] * factor : 0.0f;
      cells[c ^ swizzle] = ForOperand<P>(probability - (c == target ? mean : 0.0f));
    }
    return valid ? loss + (rank == 0 ? __logf(sum) : 0.0f) : 0.0f;
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
      if (c < classes) loss += fmaxf(z, 0.0f) - z * y + __logf(1.0f + small);
      cells[c ^ swizzle] = c < classes ? ForOperand<P>((probability - y) * mean) : 0.0f;
    }
    return valid ? loss : 0.0f;
  }

  // ---- Gradients
  // -------------------------------------------------------------------------------------------
  __device__ float* Partial() const {
    return a_.partial + (static_cast<size_t>(slice_) * p_.row_groups + group_) * p_.slice_floats();
  }
  // Adds to what earlier passes of the batch left there; always the same thread for the same place.
  __device__ __forceinline__ static void Contribute(float* to, bool add, float x, float y) {
    float2* cell = reinterpret_cast<float2*>(to);
    if (add) {
      const float2 before = __ldcg(cell);
      x += before.x, y += before.y;
    }
    __stcg(cell, make_float2(x, y));
  }
  __device__ __forceinline__ void ThetaGradient(bool add) {
    constexpr int kDown = kWidth / 16;
    const int m0 = warp_ % kDown * 16;
    const AcrossRows<2> a(h_, m0);
    float* to = Partial() + ThetaAt();
#pragma unroll 1
    for (int n0 = warp_ / kDown * 16; n0 < p_.classes_padded; n0 += kTrainWarps / kDown * 16) {
      WarpSums<1, 2> sums;
      sums.Clear();
      WarpMultiply<P, false>(sums, a, AcrossRows<2>(dl_, n0), 0, kRows);
      sums.ForEachPair([&](int m, int n, float x, float y) {
        if (n0 + n < p_.classes_padded) Contribute(to + (m0 + m) * p_.c_stride + n0 + n, add, x, y);
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
                       Partial() + static_cast<size_t>(begin) * kWidth, at.pass > 0);
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
        if (m0 + m < width) Contribute(to + (m0 + m) * kWidth + n0 + n, add, x, y);
      });
    }
  }

  // ---- Update
  // ---------------------------------------------------------------------------------------------- This
  // block's share of the slice. Four lanes take four neighbouring weights (a quad): each sums every fourth
  // row group for all four, the parts are added across the lanes, then each lane makes Adam's step for one
  // weight. Several quads are under way at once; lanes past the end repeat the last quad and store nothing,
  // so that warps stay whole.
  __device__ __forceinline__ void Update() {
    constexpr int kWarpQuads = 8, kQuads = kTrainThreads / 4, kAtOnce = kWidth == 64 ? 2 : 4;
    const int quads = static_cast<int>(p_.slice_floats() / 4), begin = p_.share * group_;
    const int end = min(begin + p_.share, quads), rank = lane_ & 3;
    const float* from = a_.partial + static_cast<size_t>(slice_) * p_.row_groups * p_.slice_floats();
#pragma unroll 1
    for (int first = begin + warp_ * kWarpQuads; first < end; first += kQuads * kAtOnce) {
      AdamWeight weight[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * kQuads >= end) break;
        const int quad = min(first + i * kQuads + lane_ / 4, end - 1);
        weight[i].Load(a_, WeightAt(quad * 4 + rank));
        weight[i].gradient = SumPartials(from, quad, rank);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int quad = first + i * kQuads + lane_ / 4;
        if (quad >= end) break;
        Step(quad * 4 + rank, weight[i]);
      }
    }
  }
  __device__ size_t WeightAt(int place) const {
    return static_cast<size_t>(slice_) * p_.slice_floats() + place;
  }
  // The gradient of weight 4·quad + rank.
  __device__ __forceinline__ float SumPartials(const float* from, int quad, int rank) const {
    const float4* at = reinterpret_cast<const float4*>(from) + quad;
    const size_t stride = p_.slice_floats() / 4;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
    for (int group = rank; group < p_.row_groups; group += 4) {
      const float4 x = __ldcg(at + group * stride);
      sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
    }
    sum.x = SumOverQuad(sum.x), sum.y = SumOverQuad(sum.y), sum.z = SumOverQuad(sum.z),
    sum.w = SumOverQuad(sum.w);
    const float low = rank & 1 ? sum.y : sum.x, high = rank & 1 ? sum.w : sum.z;
    return rank & 2 ? high : low;
  }
  // β₁ᵗ and β₂ᵗ of W and of Θ, and what Adam needs of them in this step: lr / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ).
  struct AdamFactors {
    double w_power[2], theta_power[2];
    float rate[2], root[2];  // of W, of Θ
  };
  // By one thread, ahead of the barrier that makes it known to the others.
  __device__ void AdvancePowers() {
    AdamFactors& f = *adam_;
    f.w_power[0] *= a_.beta1, f.w_power[1] *= a_.beta2;
    f.theta_power[0] *= a_.beta1, f.theta_power[1] *= a_.beta2;
    f.rate[0] = __fdividef(a_.lr, static_cast<float>(1.0 - f.w_power[0]));
    f.root[0] = rsqrtf(static_cast<float>(1.0 - f.w_power[1]));
    f.rate[1] = __fdividef(a_.lr, static_cast<float>(1.0 - f.theta_power[0]));
    f.root[1] = rsqrtf(static_cast<float>(1.0 - f.theta_power[1]));
  }
  struct AdamWeight {
    float w, m, v, gradient;

    __device__ __forceinline__ void Load(const TrainArguments& a, size_t at) {
      w = a.master[at];
      m = a.first[at];
      v = a.second[at];
    }
  };
  __device__ __forceinline__ void Step(int place, AdamWeight& x) const {
    const bool is_theta = place >= ThetaAt();
    const float g = x.gradient + a_.weight_decay * x.w;
    x.m = a_.beta1 * x.m + (1.0f - a_.beta1) * g;
    x.v = a_.beta2 * x.v + (1.0f - a_.beta2) * g * g;
    x.w -= adam_->rate[is_theta] * __fdividef(x.m, __fsqrt_rn(x.v) * adam_->root[is_theta] + a_.epsilon);
    const size_t at = WeightAt(place);
    a_.master[at] = x.w;
    a_.first[at] = x.m;
    a_.second[at] = x.v;
    // The image keeps rows in place and turns columns: by the row of W, or of Θ.
    const int local = is_theta ? place - ThetaAt() : place;
    const int row = is_theta ? local >> p_.log_c_stride : local / kWidth;
    const int turn = !is_theta && kWidth == 16 ? NarrowSwizzle(row) : Swizzle(row);
    __stcg(a_.published + (at ^ static_cast<size_t>(turn)), ForOperand<P>(x.w));
  }

  const TrainPlan& p_;
  const TrainArguments& a_;
  const int warp_, lane_;
  const int group_, slice_;
  float* const base_;  // of shared memory
  float* const ring_;
  Tile x_;            // (rows × features) of this pass, if resident
  const Tile h_;      // (rows × width) H, then dH
  const Tile theta_;  // (width × classes)
  const Tile dl_;     // (rows × classes) logits, then dL; shares memory with the ring
  uint8_t* const labels_;
  uint32_t* const rows_of_;     // (rows) row of X
  uint32_t* const samples_of_;  // (rows)
  uint32_t* const cursor_;      // (rows) next entry of a sparse row
  float* const warp_loss_;      // (warps)
  AdamFactors* const adam_;
  GroupBarrier row_barrier_, slice_barrier_;
  uint2 picked_ = {0, 0};  // (sample, row of X) this thread picked for the next pass
};

// Brings the rows of steps first … last−1, in the order the training kernel takes them, from host memory into
// staging (steps·batch × stride); one warp a row. A few blocks suffice to fill the bus.
__global__ void __launch_bounds__(kStageThreads)
    StageRowsKernel(const __grid_constant__ TrainArguments a, float* staging) {
  const int lane = threadIdx.x & 31, warps = kStageThreads / 32 * gridDim.x;
  uint32_t epoch = 0xFFFFFFFFu;
  Permutation order;
  const uint64_t rows = (a.last_step - a.first_step) * a.batch;
  const int stride = static_cast<int>(a.x.stride);
  for (uint64_t i = blockIdx.x * (kStageThreads / 32) + (threadIdx.x >> 5); i < rows; i += warps) {
    const uint64_t step = a.first_step + i / a.batch;
    const uint32_t position =
        static_cast<uint32_t>(step % a.steps_per_epoch) * a.batch + static_cast<uint32_t>(i % a.batch);
    const uint32_t now = a.first_epoch + static_cast<uint32_t>(step / a.steps_per_epoch);
    if (now != epoch) {
      order = OrderOf(a, now);
      epoch = now;
    }
    if (position >= a.count) continue;
    const uint32_t sample = order(position);
    const size_t row = a.samples == nullptr ? sample : __ldg(a.samples + sample);
    const float4* from = reinterpret_cast<const float4*>(static_cast<const float*>(a.x.dense) + row * stride);
    float4* to = reinterpret_cast<float4*>(staging + i * stride);
#pragma unroll 4
    for (int c = lane; c < stride / 4; c += 32) to[c] = from[c];
  }
}

template <Precision P, int kRows, int kWidth>
__global__ void __launch_bounds__(kTrainThreads, 1)
    TrainKernel(const __grid_constant__ TrainPlan plan, const __grid_constant__ TrainArguments arguments) {
  extern __shared__ __align__(128) float shared[];
  BlockTrainer<P, kRows, kWidth>(plan, arguments, shared).Run();
}

}  // namespace l2gcn::cuda
