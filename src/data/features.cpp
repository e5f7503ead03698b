#include "l2gcn/features.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/error_format.h"
#include "core/row_preparation.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kRowsAtATime = 256;

// Exponent and mantissa moved into an f32 whose exponent is 112 too small; one multiplication repairs normal
// and subnormal numbers alike. Infinities and NaNs keep their exponent of ones.
float WidenF16(uint16_t bits) {
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  return std::bit_cast<float>(sign | ((bits & 0x7C00u) == 0x7C00u ? magnitude | 0x7F800000u : finite));
}
float WidenBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

void WidenAll(const uint16_t* from, size_t count, FeatureType type, float* to) {
  if (type == FeatureType::kF16) {
    for (size_t i = 0; i < count; ++i) to[i] = WidenF16(from[i]);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = WidenBf16(from[i]);
  }
}

template <class T>
Array<T> PickedRows(const Array<T>& from, size_t width, std::span<const uint32_t> rows) {
  Array<T> picked = Array<T>::Allocate(rows.size() * width);
  T* to = picked.mutable_data();
  for (const uint32_t row : rows) to = std::copy_n(from.data() + size_t{row} * width, width, to);
  return picked;
}

CsrMatrix PickedRows(const CsrMatrix& from, std::span<const uint32_t> rows) {
  CsrMatrix picked;
  picked.rows = rows.size();
  picked.cols = from.cols;
  picked.indptr = Array<uint64_t>::Zeros(rows.size() + 1);
  uint64_t* indptr = picked.indptr.mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    indptr[i + 1] = indptr[i] + from.indptr[rows[i] + 1] - from.indptr[rows[i]];
  }
  picked.indices = Array<uint32_t>::Allocate(indptr[rows.size()]);
  picked.values = Array<float>::Allocate(indptr[rows.size()]);
  uint32_t* indices = picked.indices.mutable_data();
  float* values = picked.values.mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t begin = from.indptr[rows[i]], count = indptr[i + 1] - indptr[i];
    std::copy_n(from.indices.data() + begin, count, indices + indptr[i]);
    std::copy_n(from.values.data() + begin, count, values + indptr[i]);
  }
  return picked;
}

void CheckElements(size_t elements, size_t rows, size_t cols) {
  if (elements != rows * cols) ThrowInput("{} feature values for {} × {}", elements, rows, cols);
}

}  // namespace

float WidenHalf(uint16_t bits, FeatureType type) {
  return type == FeatureType::kF16 ? WidenF16(bits) : WidenBf16(bits);
}

// The magnitude is scaled so that a float addition rounds it to f16's last bit, subnormal numbers included.
uint16_t NarrowToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x38800000u) {  // below 2⁻¹⁴: whole multiples of 2⁻²⁴
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

Features Features::None(size_t rows) {
  Features features;
  features.rows_ = features.dense_.rows = rows;
  return features;
}

Features Features::Dense(Matrix matrix) {
  CheckElements(matrix.values.size(), matrix.rows, matrix.cols);
  Features features;
  features.rows_ = matrix.rows;
  features.cols_ = matrix.cols;
  features.dense_ = std::move(matrix);
  return features;
}

Features Features::Stored(FeatureType type, Array<uint16_t> elements, size_t rows, size_t cols) {
  CheckElements(elements.size(), rows, cols);
  if (type == FeatureType::kF32) ThrowInput("features of 16-bit elements are f16 or bf16, not f32");
  Features features;
  features.kind_ = Kind::kHalves;
  features.type_ = type;
  features.rows_ = rows;
  features.cols_ = cols;
  features.halves_ = std::move(elements);
  return features;
}

Features Features::Sparse(CsrMatrix matrix) {
  if (matrix.indptr.size() != matrix.rows + 1 || matrix.values.size() != matrix.nnz()) {
    ThrowInput("sparse features of {} rows have {} offsets, {} columns and {} values", matrix.rows,
               matrix.indptr.size(), matrix.nnz(), matrix.values.size());
  }
  Features features;
  features.kind_ = Kind::kSparse;
  features.rows_ = matrix.rows;
  features.cols_ = matrix.cols;
  features.sparse_ = std::move(matrix);
  return features;
}

Features Features::WithPreparation(RowPreparation preparation) const {
  Features features = *this;
  features.preparation_ = std::make_shared<const RowPreparation>(std::move(preparation));
  return features;
}

bool Features::IsProjected() const { return preparation_ != nullptr && preparation_->projection.rows != 0; }

size_t Features::cols() const { return IsProjected() ? preparation_->projection.cols : cols_; }

bool Features::is_sparse() const {
  if (kind_ != Kind::kSparse) return false;
  if (preparation_ == nullptr) return true;
  const Array<float>& shift = preparation_->shift;
  return !IsProjected() && std::all_of(shift.begin(), shift.end(), [](float value) { return value == 0; });
}

size_t Features::bytes() const {
  if (kind_ == Kind::kSparse) return sparse_.bytes();
  return kind_ == Kind::kDense ? dense_.bytes() : halves_.bytes();
}

const Matrix& Features::matrix() const {
  if (kind_ != Kind::kDense) ThrowUsage("matrix() asks for dense f32 features; these are stored otherwise");
  return dense_;
}

const Array<uint16_t>& Features::halves() const {
  if (kind_ != Kind::kHalves)
    ThrowUsage("halves() asks for f16 or bf16 features; these are stored otherwise");
  return halves_;
}

const CsrMatrix& Features::csr() const {
  if (kind_ != Kind::kSparse) ThrowUsage("csr() asks for sparse features; these are dense");
  return sparse_;
}

const void* Features::elements() const {
  if (kind_ == Kind::kSparse) ThrowUsage("elements() asks for dense features; these are sparse");
  return kind_ == Kind::kDense ? static_cast<const void*>(dense_.values.data()) : halves_.data();
}

const float* Features::ReadColumns(size_t row, size_t begin, size_t end, float* scratch) const {
  L2GCN_ASSERT(kind_ != Kind::kSparse);
  const size_t at = row * cols_ + begin, count = end - begin;
  const RowPreparation* p = preparation_.get();
  if (kind_ == Kind::kDense && p == nullptr) return dense_.values.data() + at;
  if (kind_ == Kind::kHalves) WidenAll(halves_.data() + at, count, type_, scratch);
  const float* from = kind_ == Kind::kDense ? dense_.values.data() + at : scratch;
  if (p == nullptr) return from;
  if (!p->row_factor.empty()) {
    const float factor = p->row_factor[row];
    for (size_t i = 0; i < count; ++i) scratch[i] = from[i] * factor;
    from = scratch;
  }
  if (!p->factor.empty()) {
    const float* shift = p->shift.data() + begin;
    const float* factor = p->factor.data() + begin;
    for (size_t i = 0; i < count; ++i) scratch[i] = (from[i] - shift[i]) * factor[i];
    from = scratch;
  }
  return from;
}

// out (cols) ← the row, without projection.
void Features::ReadStoredRow(size_t row, float* out) const {
  if (kind_ != Kind::kSparse) {
    const float* from = ReadColumns(row, 0, cols_, out);
    if (from != out && cols_ > 0) std::memcpy(out, from, cols_ * sizeof(float));
    return;
  }
  std::fill(out, out + cols_, 0.0f);
  const RowPreparation* p = preparation_.get();
  const float of_row = p != nullptr && !p->row_factor.empty() ? p->row_factor[row] : 1.0f;
  for (uint64_t e = sparse_.indptr[row]; e < sparse_.indptr[row + 1]; ++e) {
    out[sparse_.indices[e]] = sparse_.values[e] * of_row;
  }
  if (p == nullptr || p->factor.empty()) return;
  for (size_t c = 0; c < cols_; ++c) out[c] = (out[c] - p->shift[c]) * p->factor[c];
}

// out (components) ← row · projection − offset. Zeros are skipped, so dense and sparse storage give the same
// bits.
void Features::ProjectRow(size_t row, float* scratch, float* out) const {
  const RowPreparation& p = *preparation_;
  const size_t width = p.projection.cols;
  std::fill(out, out + width, 0.0f);
  const auto add = [&](float value, size_t column) {
    const float* axis = p.projection.row(column);
    for (size_t k = 0; k < width; ++k) out[k] += value * axis[k];
  };
  if (kind_ == Kind::kSparse) {
    const float of_row = p.row_factor.empty() ? 1.0f : p.row_factor[row];
    for (uint64_t e = sparse_.indptr[row]; e < sparse_.indptr[row + 1]; ++e) {
      add(sparse_.values[e] * of_row, sparse_.indices[e]);
    }
  } else {
    const float* values = ReadColumns(row, 0, cols_, scratch);
    for (size_t c = 0; c < cols_; ++c) {
      if (values[c] != 0) add(values[c], c);
    }
  }
  for (size_t k = 0; k < width; ++k) out[k] -= p.offset[k];
}

void Features::ReadRow(size_t row, float* scratch, float* out) const {
  if (scratch != nullptr) return ProjectRow(row, scratch, out);
  ReadStoredRow(row, out);
}

void Features::ReadRows(size_t first, size_t count, float* out) const {
  if (kind_ == Kind::kDense && preparation_ == nullptr) {
    if (count * cols_ > 0) std::memcpy(out, dense_.row(first), count * cols_ * sizeof(float));
    return;
  }
  const size_t width = cols();
  std::vector<float> scratch(IsProjected() ? std::max<size_t>(cols_, 1) : 0);
  for (size_t i = 0; i < count; ++i) {
    ReadRow(first + i, scratch.empty() ? nullptr : scratch.data(), out + i * width);
  }
}

void Features::GatherRows(std::span<const uint32_t> rows, float* out) const {
  const size_t width = cols();
  std::vector<float> scratch(IsProjected() ? std::max<size_t>(cols_, 1) : 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    ReadRow(rows[i], scratch.empty() ? nullptr : scratch.data(), out + i * width);
  }
}

Features Features::PickRows(std::span<const uint32_t> rows) const {
  Features picked = kind_ == Kind::kSparse ? Sparse(PickedRows(sparse_, rows))
                    : kind_ == Kind::kHalves
                        ? Stored(type_, PickedRows(halves_, cols_, rows), rows.size(), cols_)
                        : Dense({PickedRows(dense_.values, cols_, rows), rows.size(), cols_});
  if (preparation_ == nullptr) return picked;
  RowPreparation preparation = *preparation_;
  if (!preparation.row_factor.empty()) preparation.row_factor = PickedRows(preparation.row_factor, 1, rows);
  return picked.WithPreparation(std::move(preparation));
}

Matrix Features::ToMatrix(const Context& context) const {
  if (kind_ == Kind::kDense && preparation_ == nullptr) return dense_;
  Matrix out = Matrix::Allocate(rows_, cols());
  float* values = out.values.mutable_data();
  ParallelFor(context, rows_, kRowsAtATime,
              [&](size_t begin, size_t end) { ReadRows(begin, end - begin, values + begin * out.cols); });
  return out;
}

CsrMatrix Features::ToCsr(const Context& context) const {
  if (!is_sparse()) ThrowUsage("ToCsr() asks for features whose rows are sparse; these are dense");
  if (preparation_ == nullptr) return sparse_;
  CsrMatrix out = sparse_;
  out.values = Array<float>::Allocate(sparse_.nnz());
  float* values = out.values.mutable_data();
  const RowPreparation& p = *preparation_;
  ParallelFor(context, rows_, kRowsAtATime, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const float of_row = p.row_factor.empty() ? 1.0f : p.row_factor[row];
      for (uint64_t e = sparse_.indptr[row]; e < sparse_.indptr[row + 1]; ++e) {
        const float scaled = sparse_.values[e] * of_row;
        values[e] = p.factor.empty() ? scaled : scaled * p.factor[sparse_.indices[e]];
      }
    }
  });
  return out;
}

}  // namespace l2gcn
