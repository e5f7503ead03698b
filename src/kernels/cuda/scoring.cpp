#include "kernels/cuda/scoring.h"

#include <algorithm>

#include "kernels/checked_cast.h"
#include "kernels/cuda/row_product.h"
#include "kernels/cuda/scoring_kernels.h"
#include "kernels/row_loss.h"

namespace l2gcn::cuda {
namespace {

constexpr size_t kBlockBytes = size_t{32} << 20;  // of the rows that are worked off together
constexpr size_t kScoredRows = 4096;              // at most
constexpr const char* kScoring = "scoring rows";

}  // namespace

ScorePass::ScorePass(const std::shared_ptr<Device>& device, const CudaRowsToScore& rows, size_t row_bytes)
    : device_(device), targets_(*rows.targets), wants_margins_(rows.margins) {
  losses_ = Buffer::OnDevice(device, targets_.count * sizeof(float), kScoring);
  misses_ = Buffer::OnDevice(device, targets_.count * sizeof(float), kScoring);
  if (wants_margins_) {
    const size_t elements = static_cast<size_t>(targets_.count) * targets_.targets.classes;
    margins_ = Buffer::OnDevice(device, elements * sizeof(float), kScoring);
  }
  counts_ = Buffer::OnDevice(device, 3 * sizeof(unsigned long long), kScoring);
  counts_.Clear();
  const size_t fitting = std::min<size_t>(kBlockBytes, device->FreeBytes() / 4) / row_bytes;
  block_ = std::clamp<size_t>(fitting, 1, kScoredRows);
}

void ScorePass::Reduce(size_t first, size_t count, const float* z, size_t stride, const float* bias) {
  ScoreArguments a;
  a.rows = count;
  a.classes = targets_.targets.classes;
  a.stride = stride;
  a.z = z;
  a.bias = bias;
  if (targets_.targets.regression()) {
    a.regression = targets_.regression();
    a.regression.values += first * a.classes;
  } else if (targets_.targets.multilabel) {
    a.label_rows = targets_.labels.as<uint8_t>() + first * targets_.label_bytes;
    a.label_bytes = targets_.label_bytes;
  } else {
    a.classes_of = targets_.labels.as<int32_t>() + first;
  }
  a.losses = losses_.as<float>() + first;
  a.misses = misses_.as<float>() + first;
  if (wants_margins_) a.margins = margins_.as<float>() + first * a.classes;
  a.counts = counts_.as<unsigned long long>();
  LaunchScore(a, device_->stream());
}

RowScores ScorePass::Finish() {
  RowScores scores;
  scores.losses.resize(targets_.count);
  losses_.CopyTo(scores.losses.data(), scores.losses.size() * sizeof(float));
  scores.misses.resize(targets_.count);
  misses_.CopyTo(scores.misses.data(), scores.misses.size() * sizeof(float));
  if (wants_margins_) {
    scores.margins = Matrix::Allocate(targets_.count, targets_.targets.classes);
    margins_.CopyTo(scores.margins.values.mutable_data(), scores.margins.bytes());
  }
  scores.loss = MeanOfRows<float>(scores.losses);
  unsigned long long counts[3];
  counts_.CopyTo(counts, sizeof counts);
  scores.true_positive = counts[0];
  scores.false_positive = counts[1];
  scores.false_negative = counts[2];
  return scores;
}

RowScores ScoreOutput(const Context& context, const std::shared_ptr<Device>& device, const Matrix& theta,
                      const CudaRowsToScore& rows, Precision precision) {
  const size_t stride = PaddedStride(theta.cols);
  ScorePass pass(device, rows, stride * sizeof(float));
  const ProductWeights weights = UploadWeights(device, theta);
  const Buffer z = Buffer::OnDevice(device, pass.block() * stride * sizeof(float), kScoring);
  for (size_t first = 0; first < rows.targets->count; first += pass.block()) {
    context.CheckCancelled();
    const size_t some = std::min<size_t>(pass.block(), rows.targets->count - first);
    MultiplyRows(device, CheckedCast<CudaTensor>(*rows.x.blocks.front()).view, rows.picked(), first, some,
                 weights, {RowKind::kF32, z.as<void>(), stride}, false, precision);
    pass.Reduce(first, some, z.as<float>(), stride, nullptr);
  }
  return pass.Finish();
}

}  // namespace l2gcn::cuda
