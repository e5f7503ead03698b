// Losses and their gradients, a vector of classes at a time. Without class weights the arithmetic is that of
// weights of 1, bit for bit.
#pragma once

#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

double SoftmaxLoss(size_t m, size_t classes, size_t ld, float* logits, const int32_t* target,
                   const float* weights, float scale, bool want_loss) {
  const Vec lowest = Splat(-INFINITY);
  const size_t width = PadWidth(classes);
  double loss = 0;
  for (size_t i = 0; i < m; ++i) {
    float* row = logits + i * ld;
    Vec top_lanes = lowest;
    for (size_t c = 0; c < width; c += kLanes) {
      const size_t left = c < classes ? classes - c : 0;
      top_lanes = Max(top_lanes, left >= kLanes ? Load(row + c) : FirstLanes(Load(row + c), left, lowest));
    }
    const float top = Largest(top_lanes), at_target = row[target[i]] - top;
    Vec sum_lanes = Vec{};
    for (size_t c = 0; c < width; c += kLanes) {
      const size_t left = c < classes ? classes - c : 0;
      Vec e = Exp(Load(row + c) - top);
      if (left < kLanes) e = FirstLanes(e, left, Vec{});
      Store(row + c, e);
      sum_lanes += e;
    }
    const float sum = Sum(sum_lanes);
    const float weight = weights != nullptr ? weights[target[i]] : 1.0f, share = scale * weight;
    if (want_loss) loss += static_cast<double>(weight) * static_cast<double>(logf(sum) - at_target);
    const Vec inverse = Splat(share / sum);
    for (size_t c = 0; c < width; c += kLanes) Store(row + c, Load(row + c) * inverse);
    row[target[i]] -= share;
  }
  return loss;
}

typedef uint8_t ByteVec __attribute__((vector_size(kLanes), aligned(1), may_alias));

// One vector of classes: replaces z by scale · (σ(z) − y), y read from `on`; returns log(1 + e^−|z|) +
// max(z, 0) − z·y; both times weights[c] where y is 1. Only the first `left` lanes count; the others become
// 0.
template <bool kWeighted>
inline Vec SigmoidLanes(float* z_at, const uint8_t* on, const float* weights, size_t left, float scale,
                        bool want_loss) {
  uint8_t padded[kLanes] = {};
  if (left < kLanes) {
    for (size_t i = 0; i < left; ++i) padded[i] = on[i];
    on = padded;
  }
  const Vec y =
      __builtin_convertvector(__builtin_convertvector(*reinterpret_cast<const ByteVec*>(on), IntVec), Vec);
  const Vec z = Load(z_at), e = Exp(-Absolute(z));
  const Vec sigmoid = (z >= 0.0f ? Splat(1) : e) / (1.0f + e);
  Vec gradient = scale * (sigmoid - y);
  Vec loss = want_loss ? Log1p(e) + PositivePart(z) - z * y : Vec{};
  if constexpr (kWeighted) {
    const Vec weight = 1.0f + (Load(weights) - 1.0f) * y;
    gradient *= weight;
    loss *= weight;
  }
  if (left >= kLanes) {
    Store(z_at, gradient);
    return loss;
  }
  Store(z_at, FirstLanes(gradient, left, Vec{}));
  return FirstLanes(loss, left, Vec{});
}

template <bool kWeighted>
double SigmoidRows(size_t m, size_t classes, size_t ld, float* logits, const uint8_t* const* target,
                   const float* weights, float scale, bool want_loss) {
  double loss = 0;
  for (size_t i = 0; i < m; ++i) {
    float* row = logits + i * ld;
    Vec sum = Vec{};
    size_t c = 0;
    for (; c < classes; c += kLanes) {
      sum += SigmoidLanes<kWeighted>(row + c, target[i] + c, kWeighted ? weights + c : nullptr, classes - c,
                                     scale, want_loss);
    }
    for (; c < PadWidth(classes); c += kLanes) Store(row + c, Vec{});
    if (want_loss) loss += static_cast<double>(Sum(sum));
  }
  return loss;
}

double SigmoidLoss(size_t m, size_t classes, size_t ld, float* logits, const uint8_t* const* target,
                   const float* weights, float scale, bool want_loss) {
  return weights == nullptr ? SigmoidRows<false>(m, classes, ld, logits, target, nullptr, scale, want_loss)
                            : SigmoidRows<true>(m, classes, ld, logits, target, weights, scale, want_loss);
}

struct LossLanes {
  Vec loss, slope;
};

// A regression's loss of the differences d, and its derivative.
template <Loss kLoss>
inline LossLanes LossOf(Vec d) {
  const Vec size = Absolute(d), one = Splat(1);
  if constexpr (kLoss == Loss::kSquared) return {d * d, 2.0f * d};
  const Vec sign = d == 0.0f ? d : (d > 0.0f ? one : -one);
  if constexpr (kLoss == Loss::kAbsolute) return {size, sign};
  return {size <= 1.0f ? 0.5f * d * d : size - 0.5f, size <= 1.0f ? d : sign};
}

template <Loss kLoss>
double RegressionRows(size_t m, size_t targets, size_t ld, float* predicted, const float* const* truth,
                      const float* weights, float scale, bool want_loss) {
  double loss = 0;
  for (size_t i = 0; i < m; ++i) {
    float* row = predicted + i * ld;
    const float weight = weights != nullptr ? weights[i] : 1.0f;
    Vec sum = Vec{};
    for (size_t c = 0; c < PadWidth(targets); c += kLanes) {
      float padded[kLanes];
      for (size_t k = 0; k < kLanes; ++k) padded[k] = c + k < targets ? truth[i][c + k] : NAN;
      const Vec y = Load(padded);
      const LossLanes lanes = LossOf<kLoss>(Load(row + c) - y);
      Store(row + c, y == y ? lanes.slope * (scale * weight) : Vec{});
      sum += y == y ? lanes.loss : Vec{};
    }
    if (want_loss) loss += static_cast<double>(weight) * static_cast<double>(Sum(sum));
  }
  return loss;
}

double RegressionLoss(size_t m, size_t targets, size_t ld, float* predicted, const float* const* truth,
                      const float* weights, Loss loss, float scale, bool want_loss) {
  const auto rows = loss == Loss::kSquared    ? RegressionRows<Loss::kSquared>
                    : loss == Loss::kAbsolute ? RegressionRows<Loss::kAbsolute>
                                              : RegressionRows<Loss::kHuber>;
  return rows(m, targets, ld, predicted, truth, weights, scale, want_loss);
}

}  // namespace
}  // namespace l2gcn
