// The persistent training kernel: arguments and launch. See train_plan.h for how work is split.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/rng.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/train_plan.h"
#include "kernels/lr_schedule.h"
#include "l2gcn/choices.h"

namespace l2gcn::cuda {

struct TrainArguments {
  DeviceRows x;
  const uint32_t* samples = nullptr;    // (count) row of each sample, or null: itself
  bool staged = false;                  // x holds the rows of this launch in the order they are taken
  uint32_t count = 0;                   // samples shuffled together
  const int32_t* classes_of = nullptr;  // (count) unless multilabel
  const uint8_t* label_rows = nullptr;  // (count × plan.label_bytes) if multilabel
  const float* weights = nullptr;       // (classes) of classes or of labels that are on, or null: all 1
  float* shares = nullptr;  // (steps of a launch) 1 / Σ weights over a step's samples; if weights
                            // are given and there is one label a sample

  // Parameters by slices, slice_floats() each; `published` is what the products read, rounded for them.
  float* master = nullptr;     // (slices × slice_floats)
  float* published = nullptr;  // (slices × slice_floats)
  float* first = nullptr;      // Adam's m
  float* second = nullptr;     // Adam's v
  float* partial = nullptr;    // (slices × row_groups × slice_floats) gradients
  float* logits = nullptr;     // (2 × row_groups × slices × rows × classes_padded); unused with one slice
  float* dlogits = nullptr;    // (row_groups × rows × classes_padded); likewise
  uint32_t* flags = nullptr;   // (2 × blocks) zero
  float* losses = nullptr;     // (slots × blocks) sums over samples

  uint32_t hidden = 0, classes = 0;
  bool multilabel = false;
  uint32_t batch = 0;
  uint32_t steps_per_epoch = 0;
  uint32_t first_epoch = 0;
  uint64_t first_step = 0, last_step = 0;  // steps first … last−1, counted from the start of first_epoch
  bool every_loss = false;                 // a slot per step; else a slot per epoch touched
  Permutation order;                       // shuffles `count` samples; the kernel draws each epoch's keys
  uint64_t seed = 0;
  uint32_t layer = 0;
  uint64_t steps_before = 0;  // steps of this layer before first_epoch: names the dropout masks
  LrDecay decay;              // what becomes of lr, by steps of the layer
  float lr = 0, dropout = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  float weight_decay = 0, decoupled_decay = 0;  // one of them
  double w_beta1_power = 1, w_beta2_power = 1;  // β^t before the first step, for W and for Θ
  double theta_beta1_power = 1, theta_beta2_power = 1;
};

using TrainKernelPointer = void (*)(TrainPlan, TrainArguments);
TrainKernelPointer WarpgroupKernelPointer();

// Whether the device can hold all pairs of blocks of a plan for warpgroups at once.
bool PairsFit(const TrainPlan& plan);
void PrepareTrain(const TrainPlan& plan, Precision precision);
// Copies the feature rows of a launch from host memory to `staging` ((last − first)·batch × x.stride floats),
// on few enough multiprocessors that a training kernel can run beside it.
constexpr int kStageBlocks = 4, kStageThreads = 1024;
void LaunchStageRows(const TrainArguments& arguments, float* staging, cudaStream_t stream);

// Fills arguments.shares for steps first … last−1; before LaunchTrain on the same stream.
void LaunchBatchShares(const TrainArguments& arguments, cudaStream_t stream);

void LaunchTrain(const TrainPlan& plan, Precision precision, const TrainArguments& arguments,
                 cudaStream_t stream);

}  // namespace l2gcn::cuda
