// One tile of columns of X̂ = Â X: rows gathered by the graph, summed in registers, in ascending order of
// neighbours. The rows of neighbours to come are prefetched; their numbers lie ahead in the same array.
//
// x may be prepared as it is read (cpu/kernels.h, AggregateArgs): the shifts and factors of a tile's columns
// stay in the inner cache, and the rows are waited for anyway.
#pragma once

#include "kernels/cpu/vec-inl.h"

namespace l2gcn {
namespace {

constexpr int kAggregateVectors = 8;       // vectors of a row's sum that registers hold
constexpr uint64_t kAggregateAhead = 128;  // neighbours between a prefetch and its use

inline size_t SourceRow(const AggregateArgs& args, size_t node) {
  return args.row_of_node != nullptr ? args.row_of_node[node] : node;
}

inline size_t OwnNode(const AggregateArgs& args, size_t row) {
  return args.own == nullptr ? args.first_row + row : args.own[row];
}

// The vector of x from `column` of the tile on, prepared if kPrepared; `of_row` is the row's factor.
template <class S, bool kPrepared>
inline Vec ReadPrepared(const AggregateArgs& args, const typename S::Element* x, size_t column, Vec of_row) {
  const Vec value = S::Read(x);
  return kPrepared ? (value * of_row - Load(args.shift + column)) * Load(args.factor + column) : value;
}
template <bool kPrepared>
inline float RowFactor(const AggregateArgs& args, size_t row) {
  return kPrepared ? args.row_factor[row] : 1.0f;
}

inline float EdgeScale(const AggregateArgs& args, uint64_t e, uint32_t node) {
  const float weight = args.weights != nullptr ? args.weights[e] : 1.0f;
  return args.col_scale != nullptr ? weight * args.col_scale[node] : weight;
}

// Rows [row_begin, row_end) over `width` columns from column c, (NV−1)·kLanes < width ≤ NV·kLanes and width ≥
// kLanes: the last vector overlaps the one before where width is no multiple of kLanes, and both compute the
// same values there. S is the storage of x, O that of out. With kScaled false, all edges weigh 1.
template <int NV, class S, class O, bool kScaled, bool kPrepared>
void AggregateRows(const AggregateArgs& args, size_t c, size_t width, size_t row_begin, size_t row_end) {
  typedef typename S::Element Element;
  constexpr size_t kLine = 64 / sizeof(Element);
  const Element* x0 = static_cast<const Element*>(args.x) + c;
  const size_t last = width - kLanes;
  const uint64_t entries = args.indptr[args.nodes];
  for (size_t row = row_begin; row < row_end; ++row) {
    Vec sum[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sum[v] = Vec{};
    const uint64_t end = args.indptr[row + 1];
    for (uint64_t e = args.indptr[row]; e < end; ++e) {
      if (e + kAggregateAhead < entries) {
        const Element* next = x0 + SourceRow(args, args.indices[e + kAggregateAhead]) * args.x_stride;
#pragma GCC unroll 8
        for (size_t at = 0; at < NV * kLanes; at += kLine) __builtin_prefetch(next + at, 0, 2);
        __builtin_prefetch(next + width - 1, 0, 2);
      }
      const uint32_t node = args.indices[e];
      const size_t source = SourceRow(args, node);
      const Element* x = x0 + source * args.x_stride;
      const Vec scale = Splat(kScaled ? EdgeScale(args, e, node) : 1.0f);
      const Vec of_row = Splat(RowFactor<kPrepared>(args, source));
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        const size_t at = v + 1 == NV ? last : v * kLanes;
        const Vec value = ReadPrepared<S, kPrepared>(args, x + at, c + at, of_row);
        sum[v] += kScaled ? scale * value : value;
      }
    }
    const size_t source = SourceRow(args, OwnNode(args, row));
    const Element* x = x0 + source * args.x_stride;
    const Vec of_row = Splat(RowFactor<kPrepared>(args, source));
    auto* out = static_cast<typename O::Element*>(args.out) + (row - args.out_first) * args.out_stride + c;
    const Vec self = Splat(args.self_scale[row]), scale = Splat(args.row_scale[row]);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const size_t at = v + 1 == NV ? last : v * kLanes;
      O::Write(out + at, scale * sum[v] + self * ReadPrepared<S, kPrepared>(args, x + at, c + at, of_row));
    }
  }
}

template <int NV, class S, class O, bool kScaled, bool kPrepared>
inline void AggregateWidth(const AggregateArgs& args, size_t c, size_t width, size_t begin, size_t end) {
  if (width > (NV - 1) * kLanes) {
    return AggregateRows<NV, S, O, kScaled, kPrepared>(args, c, width, begin, end);
  }
  if constexpr (NV > 1) AggregateWidth<NV - 1, S, O, kScaled, kPrepared>(args, c, width, begin, end);
}

// Rows narrower than a vector.
template <class S, class O>
void AggregateNarrow(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  typedef typename S::Element Element;
  for (size_t row = row_begin; row < row_end; ++row) {
    for (size_t c = 0; c < args.cols; ++c) {
      const Element* x = static_cast<const Element*>(args.x) + c;
      float sum = 0;
      for (uint64_t e = args.indptr[row]; e < args.indptr[row + 1]; ++e) {
        const uint32_t node = args.indices[e];
        sum += EdgeScale(args, e, node) * S::ReadOne(x + SourceRow(args, node) * args.x_stride);
      }
      const float self =
          args.self_scale[row] * S::ReadOne(x + SourceRow(args, OwnNode(args, row)) * args.x_stride);
      O::WriteOne(static_cast<typename O::Element*>(args.out) + (row - args.out_first) * args.out_stride + c,
                  args.row_scale[row] * sum + self);
    }
  }
}

template <class S, class O, bool kScaled, bool kPrepared>
void AggregateTile(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  if constexpr (!kPrepared) {
    if (args.cols < kLanes) return AggregateNarrow<S, O>(args, row_begin, row_end);
  }
  constexpr size_t kWidth = kAggregateVectors * kLanes;
  for (size_t c = 0; c < args.cols;) {
    const size_t left = args.cols - c;
    size_t width = left < kWidth ? left : kWidth;
    if (left > kWidth && left < kWidth + kLanes) width = left - kLanes;  // what is left must fill a vector
    AggregateWidth<kAggregateVectors, S, O, kScaled, kPrepared>(args, c, width, row_begin, row_end);
    c += width;
  }
}

// The usual case, x and out of one type, has a variant for edges that weigh 1; the others do without.
template <FeatureType kType>
void AggregateStored(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  typedef Storage<kType> S;
  typedef Storage<FeatureType::kF32> Wide;
  if (args.shift != nullptr) return AggregateTile<S, Wide, true, true>(args, row_begin, row_end);
  if (args.out_type != kType) return AggregateTile<S, Wide, true, false>(args, row_begin, row_end);
  if (args.weights != nullptr || args.col_scale != nullptr) {
    return AggregateTile<S, S, true, false>(args, row_begin, row_end);
  }
  return AggregateTile<S, S, false, false>(args, row_begin, row_end);
}

void Aggregate(const AggregateArgs& args, size_t row_begin, size_t row_end) {
  switch (args.type) {
    case FeatureType::kF32:
      return AggregateStored<FeatureType::kF32>(args, row_begin, row_end);
    case FeatureType::kF16:
      return AggregateStored<FeatureType::kF16>(args, row_begin, row_end);
    case FeatureType::kBf16:
      return AggregateStored<FeatureType::kBf16>(args, row_begin, row_end);
  }
}

}  // namespace
}  // namespace l2gcn
