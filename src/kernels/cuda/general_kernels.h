// What a layer of any architecture does on a GPU besides its matrix products: draws a batch, gathers its rows,
// normalises, activates, drops, takes the loss and its gradient, and updates.
//
// Widths are padded to multiples of 8 with zeros that stay zeros. A batch always has the same number of rows: those
// beyond a short batch's end are zero rows, whose gradient is set to 0, so that a step is the same launches with the
// same arguments every time and can be replayed as a CUDA graph. What changes from step to step is read from
// device memory (StepCursor, StepNow).
//
// Sums over the rows of a batch are taken chunk by chunk of rows, and the chunks in order; nothing is added
// atomically. So equal calls give equal bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/rng.h"
#include "kernels/cuda/regression.h"
#include "kernels/cuda/rows.h"
#include "kernels/lr_schedule.h"
#include "l2gcn/choices.h"

namespace l2gcn::cuda {

constexpr uint32_t kNoRow = 0xFFFFFFFFu;
constexpr int kPartsAtOnce = 8;

// Matrices side by side, each where it lies.
struct BlockRows {
  int parts = 0;
  DeviceRows part[kPartsAtOnce];
  uint32_t width[kPartsAtOnce] = {};  // columns with padding
  uint32_t first[kPartsAtOnce] = {};  // number of a part's first column among all true columns
  uint32_t at[kPartsAtOnce] = {};     // where the part begins in a gathered row
};

// Elements of row i that DropsColumn(keys[i], column, threshold) names become 0, the others are scaled.
struct Dropping {
  const uint32_t* keys = nullptr;  // (rows), or null: nothing is dropped
  uint32_t threshold = 0;
  float scale = 1;
};

// Row i of `to` (count × stride, f32 or bf16) = row rows[i] of x (null: row first + i), or zeros for kNoRow.
void LaunchGather(const BlockRows& x, const uint32_t* rows, size_t first, size_t count, RowKind kind,
                  void* to, size_t stride, const Dropping& dropping, cudaStream_t stream);

// Where the training is: set by the host before the first of several steps, advanced by the last kernel of a step.
struct StepCursor {
  uint32_t epoch = 0, step = 0;           // of the epoch
  uint64_t done = 0;                      // steps of the layer before this one; names the random streams
  uint64_t w_steps = 0, other_steps = 0;  // of Adam before this one
  uint64_t slot = 0;                      // where this step's loss goes
};

// What the current step makes of it.
struct StepNow {
  uint32_t size;                      // rows of the batch
  float scale;                        // of a loss's gradient: 1 / terms
  double terms;                       // what the summed loss is divided by
  float rate;                         // lr in this step
  float w_step_size, w_inverse_bias;  // Adam's lr / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ)
  float other_step_size, other_inverse_bias;
};

struct BatchDraw {
  const StepCursor* cursor = nullptr;
  StepNow* now = nullptr;
  Permutation order;                  // shuffles `count` samples; each epoch's keys are drawn
  const uint32_t* samples = nullptr;  // (count) row of each sample, or null: itself
  uint32_t count = 0, batch = 0, classes = 0;
  bool multilabel = false;
  uint64_t seed = 0;
  uint32_t layer = 0;
  LrDecay decay;  // what becomes of lr, by steps of the layer
  float lr = 0, beta1 = 0, beta2 = 0;
  uint32_t* drawn = nullptr;       // (batch) samples
  uint32_t* rows = nullptr;        // (batch) their rows, or kNoRow
  uint32_t* input_keys = nullptr;  // (batch) of dropout masks; null where nothing is dropped
  uint32_t* hidden_keys = nullptr;
  uint32_t* head_keys = nullptr;
  const int32_t* classes_of = nullptr;  // with `weights`: each sample's class
  const float* weights = nullptr;       // (classes), or null: samples count alike
  RegressionTargets regression;
};
// Fills everything that is not const. With `weights`, or of a regression, the terms are the weights of the batch.
void LaunchDraw(const BatchDraw& draw, cudaStream_t stream);

// One hidden layer of a batch, after its product: y (rows × stride) and what it becomes.
struct Activation {
  size_t rows = 0;
  uint32_t width = 0, stride = 0;                  // true columns, and with padding
  HiddenNorm norm = HiddenNorm::kNone;             // kBatch: by the statistics of the batch
  const float *scale = nullptr, *shift = nullptr;  // (stride) each, or null: after the norm
  float* y =
      nullptr;  // becomes the normalised product with batch norm, and with LayerNorm if `inverse` is given
  float* inverse =
      nullptr;  // 1 / √(var + ε): (rows), written, or null with LayerNorm; (stride), read, with batch norm
  const float* mean = nullptr;   // (stride) with batch norm
  RowKind kind = RowKind::kF32;  // of h
  void* h = nullptr;             // (rows × stride) ReLU of the result, then dropped
  Dropping dropping;
};
void LaunchActivate(const Activation& a, cudaStream_t stream);

// Rows of a batch are worked off in this many chunks at most; each leaves its sums over rows.
constexpr int kMostChunks = 128, kChunkWarps = 32;
inline uint32_t RowsPerChunk(uint32_t batch) {
  const uint32_t rounds = (batch + kMostChunks * kChunkWarps - 1) / (kMostChunks * kChunkWarps);
  return rounds * kChunkWarps;
}
inline uint32_t ChunksOf(uint32_t batch) {
  const uint32_t rows = RowsPerChunk(batch);
  return (batch + rows - 1) / rows;
}

// Sums over the rows of each chunk, (chunks × stride); `at` is where a matrix's sums begin.
struct ChunkSums {
  float* sums = nullptr;  // null: not wanted
  size_t stride = 0, at = 0;

#ifdef __CUDACC__
  __device__ float* Of(uint32_t chunk) const { return sums + chunk * stride + at; }
#endif
};

struct LossArguments {
  const StepNow* now = nullptr;
  uint32_t batch = 0, classes = 0, stride = 0;
  bool multilabel = false;
  const uint32_t* drawn = nullptr;
  const int32_t* classes_of = nullptr;  // unless multilabel
  const uint8_t* label_rows = nullptr;  // (samples × label_bytes) if multilabel
  uint32_t label_bytes = 0;
  RegressionTargets regression;
  const float* weights = nullptr;  // (classes) or null
  const float* bias = nullptr;     // (stride) or null
  float* z = nullptr;              // (batch × stride) logits without the bias; becomes their gradient
  void* narrow = nullptr;          // (batch × stride) the gradient in bf16, or null
  ChunkSums sums;                  // of the gradient: the bias's
  double* losses = nullptr;        // (chunks) summed
};
void LaunchLoss(const LossArguments& a, cudaStream_t stream);

// The way back through an Activation.
struct ActivationBack {
  uint32_t batch = 0, width = 0, stride = 0;
  HiddenNorm norm = HiddenNorm::kNone;
  const float* scale = nullptr;  // (stride) of a norm
  const float* y = nullptr;      // normalised, with a norm
  const float* inverse = nullptr;
  RowKind kind = RowKind::kF32;  // of h and dy
  const void* h = nullptr;
  float kept = 1;                    // what values that were not dropped were multiplied by
  float* d = nullptr;                // gradient of h; becomes that of what ReLU was given
  void* dy = nullptr;                // gradient of the product; null where it is d
  ChunkSums scale_sums, shift_sums;  // the gradients of scale and shift
};
// With batch norm dy is left to LaunchBatchNormBack().
void LaunchActivationBack(const ActivationBack& a, cudaStream_t stream);

// The statistics of a batch's columns, by which batch norm normalises, and the running ones, which follow them.
struct BatchMoments {
  const StepNow* now = nullptr;  // rows beyond its size do not count
  uint32_t batch = 0, stride = 0;
  const float* y = nullptr;                   // (batch × stride) products
  float* chunks = nullptr;                    // (chunks × 2 × stride) means and squares around them
  float *mean = nullptr, *inverse = nullptr;  // (stride) each
  float *running_mean = nullptr, *running_var = nullptr;  // (stride) each
};
void LaunchBatchMoments(const BatchMoments& a, cudaStream_t stream);

// dy = scale · inverse ∘ (d − mean d − y ∘ mean(d ∘ y)), means over the batch, from the chunk sums of an ActivationBack.
struct BatchNormBack {
  const StepNow* now = nullptr;
  uint32_t batch = 0, stride = 0;
  const float *scale = nullptr, *inverse = nullptr;  // (stride) each
  const float *y = nullptr, *d = nullptr;            // (batch × stride) each
  ChunkSums scale_sums, shift_sums;
  float* slopes = nullptr;  // (2 × stride) the means
  RowKind kind = RowKind::kF32;
  void* dy = nullptr;  // rows beyond the batch become 0
};
void LaunchBatchNormBack(const BatchNormBack& a, cudaStream_t stream);

// The scale and shift (stride each) that batch norm by running statistics comes to.
struct RunningFold {
  uint32_t stride = 0;
  const float *weight = nullptr, *bias = nullptr, *mean = nullptr, *var = nullptr;
  float *scale = nullptr, *shift = nullptr;
};
void LaunchRunningFold(const RunningFold& a, cudaStream_t stream);

// Adam over all parameters, which lie one after another in one array each of values, moments and gradients:
// W, then the other matrices, then what does not decay, whose gradients are the sums of chunks. Sums up the loss, and
// advances the cursor.
struct AdamUpdate {
  StepCursor* cursor = nullptr;
  const StepNow* now = nullptr;
  uint32_t steps_per_epoch = 1, chunks = 0;
  size_t w_end = 0, decay_end = 0, end = 0;            // multiples of 4
  float *value = nullptr, *m = nullptr, *v = nullptr;  // (end)
  const float* gradient = nullptr;                     // (decay_end)
  const float* sums = nullptr;                         // (chunks × (end − decay_end))
  void* narrow = nullptr;                              // (decay_end) values in bf16, or null
  float weight_decay = 0, decoupled_decay = 0;         // one of them
  float beta1 = 0, beta2 = 0, epsilon = 0;
  const double* chunk_losses = nullptr;  // (chunks)
  double* losses = nullptr;              // (slots)
};
void LaunchUpdate(const AdamUpdate& a, cudaStream_t stream);

// f32 to bf16, for the first values of AdamUpdate::narrow; count is a multiple of 4.
void LaunchNarrow(const float* from, void* to, size_t count, cudaStream_t stream);

// Row i of `to` = row rows[i] of `from`: dense rows of one kind and stride, or sparse rows whose to.indptr is set.
void LaunchPickRows(const DeviceRows& from, const uint32_t* rows, size_t count, const DeviceRows& to,
                    uint32_t* to_columns, float* to_values, cudaStream_t stream);

}  // namespace l2gcn::cuda
