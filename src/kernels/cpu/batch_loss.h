// The loss of a batch in training, panel by panel of its samples. Panels' losses are added up in order, so the sum does
// not depend on the threads.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sample_groups.h"

namespace l2gcn {

class BatchLoss {
 public:
  // Batches have up to `batch` samples.
  BatchLoss(const CpuKernels& kernels, const Targets& targets, size_t batch);

  // Begins a step with the samples `drawn`; `wanted`: whether its loss will be asked for.
  void Begin(std::span<const uint32_t> drawn, bool wanted);
  // Turns the logits of samples panel … panel + count − 1 of the batch, z (count × stride), into their gradient.
  void Gradient(size_t panel, size_t count, size_t stride, float* z);
  double Mean() const;
  // Fetches the targets of samples that are drawn for a later step.
  void Prefetch(std::span<const uint32_t> drawn) const;

 private:
  // What the summed loss of the batch is divided by: its samples, its entries, or their weights.
  double Terms() const;
  double TermsOfRegression() const;

  const CpuKernels& kernels_;
  const Targets targets_;
  Array<float> weights_;  // (PadWidth(classes)) of targets_, or empty
  std::span<const uint32_t> drawn_;
  bool wanted_ = false;
  double terms_ = 1;
  std::vector<double> panel_loss_;
};

}  // namespace l2gcn
