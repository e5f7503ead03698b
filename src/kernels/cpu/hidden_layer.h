// A hidden layer in training: its weights and affine with their gradients and Adam's moments, and one batch's values.
#pragma once

#include <cstddef>

#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/padded_weights.h"

namespace l2gcn {

// A weight matrix or an affine in training.
struct Parameter {
  PaddedWeights weights;
  Array<float> grad;  // like weights

  Parameter() = default;
  Parameter(const Matrix& w, const Matrix& m, const Matrix& v) : weights(w, m, v, w.rows) {
    grad = Array<float>::Zeros(weights.rows * weights.stride);
  }
  explicit Parameter(const Trainable& from) : Parameter(from.value, from.m, from.v) {}

  Trainable Read() const {
    return {weights.Unpad(weights.w, weights.rows), weights.Unpad(weights.m, weights.rows),
            weights.Unpad(weights.v, weights.rows)};
  }
  const float* row(size_t i) const { return weights.w.data() + i * weights.stride; }
};

// One batch's values are all (batch × width) with the weights' stride.
struct HiddenLayer {
  size_t width = 0, stride = 0;
  Parameter w, affine;
  Array<float> y;        // products; normalised, with a norm
  Array<float> inverse;  // (batch) of a norm
  Array<float> h;        // what comes out
  Array<float> d;        // gradient of the affine's result
  Array<float> dy;       // gradient of the products; the same as d without a norm
  Array<uint16_t> packed;
  size_t first_packed = 0;

  HiddenLayer() = default;
  HiddenLayer(Parameter weights, const Trainable& of_affine, size_t batch)
      : width(weights.weights.cols), stride(weights.weights.stride), w(std::move(weights)) {
    if (of_affine.value.rows > 0) affine = Parameter(of_affine);
    y = Array<float>::Allocate(batch * stride);
    h = Array<float>::Allocate(batch * stride);
    d = Array<float>::Allocate(batch * stride);
    if (norm()) {
      inverse = Array<float>::Allocate(batch);
      dy = Array<float>::Allocate(batch * stride);
    }
  }

  // Where products read W in another form (CpuKernels::pack), this is it, of the rows from `first` on: those that meet
  // dense columns. Rows that have changed are packed again.
  void PreparePacked(const CpuKernels& kernels, size_t first) {
    const size_t rows = w.weights.rows - first;
    if (kernels.pack == nullptr || rows == 0) return;
    first_packed = first;
    packed = Array<uint16_t>::Zeros(kernels.packed_values(rows, PadWidth(width)));
    PackRows(kernels, first, w.weights.rows);
  }
  void PackRows(const CpuKernels& kernels, size_t begin, size_t end) {
    if (packed.empty()) return;
    kernels.pack(w.row(first_packed), stride, w.weights.rows - first_packed, PadWidth(width),
                 begin - first_packed, end - first_packed, packed.mutable_data());
  }
  const uint16_t* packed_w() const { return packed.empty() ? nullptr : packed.data(); }

  bool norm() const { return affine.weights.rows == 2; }
  const float* product_gradient() const { return norm() ? dy.data() : d.data(); }
};

}  // namespace l2gcn
