// Node features as a source of rows: dense in f32, f16 or bf16, or sparse; in memory or mapped from a file.
//
// Preparation is lazy. A Features object may carry scaling, row normalisation or a projection, and applies it
// to each row as the row is read, so the prepared matrix never exists as a whole. The arithmetic of an
// element is the same wherever and however often it is read:
//
//   1. x ← x · row_factor[row]
//   2. x ← (x − shift[column]) · factor[column]; or, with a projection, row ← row · projection − offset
//
// Rows that leave as sparse ones (is_sparse) are stored sparse and are at most multiplied by factors.
// Copies share memory. All members but the constructors may be called by several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "l2gcn/array.h"
#include "l2gcn/choices.h"
#include "l2gcn/context.h"

namespace l2gcn {

struct RowPreparation;

class Features {
 public:
  Features() = default;
  // The factories throw Error(kInput) for a shape that the number of elements contradicts.
  static Features None(size_t rows);  // rows without a column
  static Features Dense(Matrix matrix);
  // Elements (rows × cols) of a 16-bit type: kF16 or kBf16.
  static Features Stored(FeatureType type, Array<uint16_t> elements, size_t rows, size_t cols);
  static Features Sparse(CsrMatrix matrix);
  // These features with a preparation, which replaces the one they have.
  Features WithPreparation(RowPreparation preparation) const;

  size_t rows() const { return rows_; }
  size_t cols() const;     // of a row as it is read
  bool is_sparse() const;  // rows are read as sparse ones, through ToCsr()
  size_t bytes() const;    // of what is stored
  // The preparation to apply to stored rows, or null.
  const RowPreparation* preparation() const { return preparation_.get(); }

  // What is stored, before preparation. The accessors of the other kinds throw Error(kUsage).
  bool stores_sparse() const { return kind_ == Kind::kSparse; }
  FeatureType type() const { return type_; }  // of the elements of dense features
  size_t stored_cols() const { return cols_; }
  const Matrix& matrix() const;           // dense f32
  const Array<uint16_t>& halves() const;  // dense f16 or bf16
  const CsrMatrix& csr() const;           // sparse
  const void* elements() const;           // dense, of any type: (rows × stored_cols)

  // Rows first … first + count − 1, prepared and widened, to out (count × cols()).
  void ReadRows(size_t first, size_t count, float* out) const;
  // The named rows to out (rows.size() × cols()).
  void GatherRows(std::span<const uint32_t> rows, float* out) const;
  // Columns begin … end − 1 of one row of dense features without projection: a pointer to them where they lie
  // as they should be, else to `scratch` (end − begin), where they were put.
  const float* ReadColumns(size_t row, size_t begin, size_t end, float* scratch) const;

  // The named rows as features of the same storage and preparation.
  Features PickRows(std::span<const uint32_t> rows) const;
  // All rows as one matrix or one sparse matrix. Shares the memory if nothing has to be done to it; else the
  // result is as large as it looks, so this is for small features and for consumers that need it whole.
  Matrix ToMatrix(const Context& context) const;
  CsrMatrix ToCsr(const Context& context) const;  // if is_sparse

 private:
  enum class Kind : uint8_t { kDense, kHalves, kSparse };

  bool IsProjected() const;
  void ReadRow(size_t row, float* scratch, float* out) const;
  void ReadStoredRow(size_t row, float* out) const;
  void ProjectRow(size_t row, float* scratch, float* out) const;

  Kind kind_ = Kind::kDense;
  FeatureType type_ = FeatureType::kF32;
  size_t rows_ = 0, cols_ = 0;
  Matrix dense_;            // (rows × cols) if kDense
  Array<uint16_t> halves_;  // (rows × cols) if kHalves
  CsrMatrix sparse_;        // (rows × cols) if kSparse
  std::shared_ptr<const RowPreparation> preparation_;
};

// One 16-bit element as a float.
float WidenHalf(uint16_t bits, FeatureType type);
// The f16 nearest to a float, the even one of two; what is too large becomes infinite.
uint16_t NarrowToF16(float value);

}  // namespace l2gcn
