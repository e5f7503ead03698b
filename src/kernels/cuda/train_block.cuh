// What every variant of the training kernel shares: the loop over steps, which samples a block takes, their
// labels, where gradients are left, the loss of a step and Adam's update of a block's share.
//
// Sums have a fixed order everywhere, so a run is reproducible bit for bit on one GPU and plan.
#pragma once

#include "core/rng.h"
#include "kernels/cuda/group_barrier.cuh"
#include "kernels/cuda/train_kernel.h"
#include "kernels/cuda/warp_mma.cuh"

namespace l2gcn::cuda {

// Whether dropout keeps a hidden unit: word (position in batch)·H + unit of the step's stream.
static __device__ __noinline__ bool Kept(uint64_t seed, uint32_t layer, uint64_t step, uint64_t word,
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

// x, of which the compiler may not know that it has it already: what follows from it is computed where it is
// needed instead of being kept in registers all through the loop over steps.
__device__ __forceinline__ int Opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// A block of kRows samples a pass; a variant of the kernel derives from it and adds
//   LoadRows(position, turn)   starts copying feature rows, whose indices are in rows_of_
//   Gradients(position, next, turn, more, slot)   one pass, from feature rows to partial gradients
//   EndPass()                  after a pass that is not the last of its batch: a barrier of the block
//   Update()                   sums the block's share of the partial gradients and steps
template <int kRows, int kWidth>
class TrainBlock {
 public:
  __device__ TrainBlock(const TrainPlan& plan, const TrainArguments& arguments, float* shared, int group,
                        int slice)
      : p_(plan),
        a_(arguments),
        warp_(threadIdx.x >> 5),
        lane_(threadIdx.x & 31),
        group_(group),
        slice_(slice),
        base_(shared),
        labels_(reinterpret_cast<uint8_t*>(shared + plan.labels_at)),
        rows_of_(reinterpret_cast<uint32_t*>(shared + plan.index_at)),
        samples_of_(rows_of_ + kRows),
        warp_loss_(shared + plan.loss_at),
        adam_(reinterpret_cast<AdamFactors*>(shared + plan.loss_at + kTrainWarps)),
        row_barrier_(arguments.flags + group * plan.slices, plan.slices, slice, false),
        slice_barrier_(arguments.flags + plan.blocks() + slice * plan.row_groups, plan.row_groups, group,
                       plan.cluster_all) {}

 protected:
  static constexpr uint32_t kNoSlot = 0xFFFFFFFFu;

  // Where the block is: a batch larger than all blocks' rows takes several passes.
  struct Position {
    uint32_t epoch, batch;
    int pass;
  };
  // What follows from it is computed where it is needed: registers are scarcer than instructions.
  // Positions of the epoch's order in this batch; this block's first row of the batch in this pass.
  __device__ uint32_t BeginOf(const Position& at) const { return at.batch * a_.batch; }
  __device__ int FirstOf(const Position& at) const { return (at.pass * p_.row_groups + group_) * kRows; }
  // Samples of the batch; rows of it that this block has in this pass.
  __device__ uint32_t SizeOf(const Position& at) const { return min(a_.batch, a_.count - BeginOf(at)); }
  __device__ int ValidOf(const Position& at) const {
    return min(kRows, max(0, static_cast<int>(SizeOf(at)) - FirstOf(at)));
  }

  __device__ Position PositionOf(uint64_t step) const {
    return {a_.first_epoch + static_cast<uint32_t>(step / a_.steps_per_epoch),
            static_cast<uint32_t>(step % a_.steps_per_epoch), 0};
  }
  __device__ Position Next(const Position& at) const {
    if (at.pass + 1 < p_.passes) return {at.epoch, at.batch, at.pass + 1};
    return at.batch + 1 == a_.steps_per_epoch ? Position{at.epoch + 1, 0, 0}
                                              : Position{at.epoch, at.batch + 1, 0};
  }

  template <class Variant>
  __device__ __forceinline__ void RunSteps(Variant& variant) {
    Position at = PositionOf(a_.first_step), next = Next(at);
    if (threadIdx.x == 0)
      *adam_ = {{a_.w_beta1_power, a_.w_beta2_power}, {a_.theta_beta1_power, a_.theta_beta2_power}, {}, {}};
    PickSample(at);
    __syncthreads();
    StoreSample();
    __syncthreads();
    variant.LoadRows(at, 0);
    variant.LoadLabels(at);
    PickSample(next);
    uint32_t slot = 0, turn = 0;  // turn: passes so far
    uint64_t step = a_.first_step;
#pragma unroll 1
    while (step < a_.last_step) {
      const bool ends = at.pass + 1 == p_.passes, more = !ends || step + 1 < a_.last_step;
      const bool want_loss = a_.every_loss || step + 1 == a_.last_step || at.batch + 1 == a_.steps_per_epoch;
      variant.Gradients(at, next, turn, more, want_loss ? slot : kNoSlot);
      if (ends) {
        slice_barrier_.Arrive();
      } else {
        variant.EndPass();
      }
      // Between arriving and waiting: what the next pass needs, and the samples of the pass after it.
      if (more && p_.x_next == 0) variant.LoadRows(next, turn + 1);
      if (more) variant.LoadLabels(next);
      at = next;
      next = Next(at);
      PickSample(next);
      ++turn;
      if (!ends) continue;
      if (threadIdx.x == 0) AdvancePowers(a_.lr * a_.decay.Share(a_.steps_before + step));
      slice_barrier_.Wait();
      variant.Update();
      slice_barrier_.Meet();
      slot += want_loss ? 1 : 0;
      ++step;
    }
    CopyWait<0>();
  }
  __device__ __forceinline__ void ClearShared() {
#pragma unroll 1
    for (size_t i = threadIdx.x; i < p_.shared_bytes / sizeof(float); i += kTrainThreads) base_[i] = 0;
    __syncthreads();
  }

  // ---- Which samples a step takes
  // The last warps, a lane per row, look up (sample, row of X); the permutation's keys are drawn by the lanes
  // together.
  __device__ static int PickedRow() { return kTrainThreads - 1 - static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ void PickSample(const Position& at) {
    if (warp_ < kTrainWarps - kRows / 32) return;
    const Permutation order = OrderOf(a_, at.epoch);
    if (PickedRow() >= ValidOf(at)) return;
    picked_.x = order(BeginOf(at) + static_cast<uint32_t>(FirstOf(at) + PickedRow()));
    if (a_.staged) {
      const uint64_t step = static_cast<uint64_t>(at.epoch - a_.first_epoch) * a_.steps_per_epoch + at.batch;
      picked_.y = static_cast<uint32_t>(step - a_.first_step) * a_.batch +
                  static_cast<uint32_t>(FirstOf(at) + PickedRow());
    } else {
      picked_.y = a_.samples == nullptr ? picked_.x : __ldg(a_.samples + picked_.x);
    }
  }
  __device__ void StoreSample() {
    if (PickedRow() >= kRows) return;
    samples_of_[PickedRow()] = picked_.x;
    rows_of_[PickedRow()] = picked_.y;
  }

  __device__ __forceinline__ void LoadLabels(const Position& at, int begin, int end) {
    if (a_.multilabel) {
      const int pieces = p_.label_bytes / 16;
      const int last = min(ValidOf(at), end);
#pragma unroll 1
      for (int row = begin + warp_; row < last; row += kTrainWarps) {
        const uint8_t* from = a_.label_rows + static_cast<size_t>(samples_of_[row]) * p_.label_bytes;
#pragma unroll 1
        for (int i = lane_; i < pieces; i += 32) {
          CopyAsync16(reinterpret_cast<float*>(labels_ + (row - begin) * p_.label_bytes + i * 16),
                      from + i * 16);
        }
      }
    } else if (static_cast<int>(threadIdx.x) < ValidOf(at)) {
      CopyAsync4(labels_ + 4 * threadIdx.x, a_.classes_of + samples_of_[threadIdx.x]);
    }
    CopyCommit();
  }

  __device__ float Dropped(const Position& at, int row, int col, float active) const {
    const uint64_t step =
        a_.steps_before + static_cast<uint64_t>(at.epoch - a_.first_epoch) * a_.steps_per_epoch + at.batch;
    const uint64_t word =
        static_cast<uint64_t>(FirstOf(at) + row) * a_.hidden + static_cast<uint64_t>(slice_ * kWidth + col);
    return Kept(a_.seed, a_.layer, step, word, a_.dropout) ? active / (1.0f - a_.dropout) : 0.0f;
  }

  // ---- Parameters and gradients of the slice
  __device__ const float* Published() const {
    return a_.published + static_cast<size_t>(slice_) * p_.slice_floats();
  }
  __device__ int ThetaAt() const { return p_.features_padded * kWidth; }
  __device__ float* Partial() const {
    const int part = p_.warpgroups ? group_ >> 1 : group_;
    return a_.partial + (static_cast<size_t>(slice_) * p_.partials() + part) * p_.slice_floats();
  }
  __device__ float* LogitsOf(uint32_t parity, int slice) const {
    const size_t part = static_cast<size_t>(kRows) * p_.c_stride;
    return a_.logits + ((static_cast<size_t>(parity) * p_.row_groups + group_) * p_.slices + slice) * part;
  }
  __device__ float* GradientsOfLogits() const {
    return a_.dlogits + static_cast<size_t>(group_) * kRows * p_.c_stride;
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

  // ---- Class weights; all 1 where none are given
  // What a loss of this class, or of this label where it is on, counts.
  __device__ __forceinline__ float WeightOf(int label) const {
    return a_.weights == nullptr ? 1.0f : __ldg(a_.weights + label);
  }
  // What a sample of weight 1 counts in the mean over the batch.
  __device__ __forceinline__ float ShareOf(const Position& at) const {
    if (a_.weights == nullptr) return 1.0f / static_cast<float>(SizeOf(at));
    const uint64_t step = static_cast<uint64_t>(at.epoch - a_.first_epoch) * a_.steps_per_epoch + at.batch;
    return __ldg(a_.shares + (step - a_.first_step));
  }

  // This lane's part of the block's loss, before a barrier of the block; then the sum, by one thread.
  __device__ __forceinline__ void AddLoss(float loss) {
    __syncwarp();
    for (int offset = 16; offset > 0; offset >>= 1) loss += __shfl_xor_sync(0xFFFFFFFFu, loss, offset);
    if (lane_ == 0) warp_loss_[warp_] = loss;
  }
  __device__ __forceinline__ void StoreLoss(const Position& at, uint32_t slot, bool counts) {
    if (slot == kNoSlot || threadIdx.x != 0) return;
    float sum = 0;
    for (int w = 0; w < kTrainWarps; ++w) sum += warp_loss_[w];
    float& total = a_.losses[static_cast<size_t>(slot) * p_.blocks() + blockIdx.x];
    total = (at.pass > 0 ? total : 0.0f) + (counts ? sum : 0.0f);
  }

  // ---- Update
  // This block's share of the slice. Four lanes take four neighbouring weights (a quad): each sums every
  // fourth partial gradient for all four, the parts are added across the lanes, then each lane makes Adam's
  // step for one weight and calls publish(place in the slice, place among all, weight). The loads of kAtOnce
  // quads × kDepth partials are under way at once; lanes past the end repeat the last quad and store nothing,
  // so that warps stay whole.
  template <int kAtOnce, int kDepth, class Publish>
  __device__ __forceinline__ void UpdateShare(const Publish& publish) {
    constexpr int kWarpQuads = 8, kQuads = kTrainThreads / 4;
    const int quads = static_cast<int>(p_.slice_floats() / 4), begin = p_.share * Opaque(group_);
    const int end = min(begin + p_.share, quads), rank = lane_ & 3;
    const size_t slice = static_cast<size_t>(Opaque(slice_)) * p_.slice_floats();
#pragma unroll 1
    for (int first = begin + warp_ * kWarpQuads; first < end; first += kQuads * kAtOnce) {
      AdamWeight weight[kAtOnce];
      float4 sum[kAtOnce] = {};
      const auto quad_of = [&](int i) { return min(first + i * kQuads + lane_ / 4, end - 1); };
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (first + i * kQuads < end) weight[i].Load(a_, slice + quad_of(i) * 4 + rank);
      const float* from = a_.partial + slice * static_cast<size_t>(p_.partials());
#pragma unroll 1
      for (int part = rank; part < p_.partials(); part += 4 * kDepth) {
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          if (first + i * kQuads < end) AddPartials<kDepth>(sum[i], from + quad_of(i) * 4, part);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * kQuads >= end) break;
        weight[i].gradient = OfQuad(sum[i], rank);
        const int quad = first + i * kQuads + lane_ / 4, place = quad * 4 + rank;
        if (quad >= end) continue;
        Step(place, slice + place, weight[i]);
        publish(place, slice + place, weight[i].w);
      }
    }
  }
  template <int kDepth>
  __device__ __forceinline__ void AddPartials(float4& sum, const float* at, int part) const {
    float4 x[kDepth];
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const bool there = part + 4 * i < p_.partials();
      const float* from = at + static_cast<size_t>(part + 4 * i) * p_.slice_floats();
      x[i] = there ? __ldcg(reinterpret_cast<const float4*>(from)) : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) sum.x += x[i].x, sum.y += x[i].y, sum.z += x[i].z, sum.w += x[i].w;
  }
  // The sum over four lanes of element `rank`.
  __device__ __forceinline__ static float OfQuad(const float4& part, int rank) {
    const float x = SumOverQuad(part.x), y = SumOverQuad(part.y), z = SumOverQuad(part.z),
                w = SumOverQuad(part.w);
    const float low = rank & 1 ? y : x, high = rank & 1 ? w : z;
    return rank & 2 ? high : low;
  }
  // β₁ᵗ and β₂ᵗ of W and of Θ, and what Adam needs of them in this step: lr / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ).
  struct AdamFactors {
    double w_power[2], theta_power[2];
    float rate[2], root[2];  // for W and for Θ
  };
  // By one thread, ahead of the barrier that makes it known to the others.
  __device__ void AdvancePowers(float lr) {
    AdamFactors& f = *adam_;
    f.w_power[0] *= a_.beta1, f.w_power[1] *= a_.beta2;
    f.theta_power[0] *= a_.beta1, f.theta_power[1] *= a_.beta2;
    f.rate[0] = __fdividef(lr, static_cast<float>(1.0 - f.w_power[0]));
    f.root[0] = rsqrtf(static_cast<float>(1.0 - f.w_power[1]));
    f.rate[1] = __fdividef(lr, static_cast<float>(1.0 - f.theta_power[0]));
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
  __device__ __forceinline__ void Step(int place, size_t at, AdamWeight& x) const {
    const bool is_theta = place >= ThetaAt();
    const float g = x.gradient + a_.weight_decay * x.w;
    x.m = a_.beta1 * x.m + (1.0f - a_.beta1) * g;
    x.v = a_.beta2 * x.v + (1.0f - a_.beta2) * g * g;
    x.w -= adam_->rate[is_theta] * __fdividef(x.m, __fsqrt_rn(x.v) * adam_->root[is_theta] + a_.epsilon);
    a_.master[at] = x.w;
    a_.first[at] = x.m;
    a_.second[at] = x.v;
  }

  const TrainPlan& p_;
  const TrainArguments& a_;
  const int warp_, lane_;
  const int group_, slice_;
  float* const base_;  // where shared memory begins
  uint8_t* const labels_;
  uint32_t* const rows_of_;     // (rows) row of X
  uint32_t* const samples_of_;  // (rows)
  float* const warp_loss_;      // (warps)
  AdamFactors* const adam_;
  GroupBarrier row_barrier_, slice_barrier_;
  uint2 picked_ = {0, 0};  // (sample, row of X) this thread picked for the next pass
};

}  // namespace l2gcn::cuda
