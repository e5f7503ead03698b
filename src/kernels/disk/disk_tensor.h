// Matrices that are read from disk in blocks of rows, or in a few columns of a block.
//
// A FileTensor lies in scratch in the order that both ways of reading like. Its rows are cut into blocks; a block is
// cut into panels of columns, each 64 bytes wide, one after another. So a few panels of a block are one stretch of the
// file, and so is the whole block. Aggregation reads and writes panels, everything else reads whole blocks.
//
//   offset of (row r, column c) = ((r / R) · panels + c / C) · R · 64 + (r mod R) · 64 + (c mod C) · b
//
// with R rows a block (a power of two, at least 64), b bytes an element and C = 64 / b columns a panel.
//
// A FeatureTensor is the features of a data set where they lie: rows in a mapped file, prepared as they are read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/disk_memory.h"
#include "kernels/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/disk/disk_layout.h"

namespace l2gcn {

// What one thread reads with.
struct DiskReading {
  DiskBuffer raw;
  std::vector<float> floats;
};

class DiskTensor : public Tensor {
 public:
  FeatureType type = FeatureType::kF32;  // of the elements as they are read
  size_t block_rows = 0;                 // a power of two

  size_t blocks() const { return (rows + block_rows - 1) / block_rows; }
  size_t RowsOfBlock(size_t block) const { return std::min(block_rows, rows - block * block_rows); }
  // Columns first … first + count − 1 of rows begin … end − 1, all of one block, to out (end − begin × count).
  virtual void Read(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading,
                    char* out) const = 0;

  // Whether a few columns take as long to read as all of them.
  virtual bool ReadsWholeRows() const = 0;

  // Rows begin … end − 1 of any blocks, whole, to out (end − begin × cols).
  void ReadRows(size_t begin, size_t end, DiskReading& reading, char* out) const;
  // The named rows, to out (picked.size() × cols): read in ascending order, block by block, by all threads.
  void PickRows(const Context& context, std::span<const uint32_t> picked, char* out) const;
};

class FileTensor final : public DiskTensor {
 public:
  // All rows are to be written before any is read.
  FileTensor(const DiskMemory& disk, size_t row_count, size_t col_count, FeatureType element,
             size_t rows_a_block);
  // Columns from `first` on of rows from `begin` on: `from` has elements of this tensor's type, and what it has beyond
  // the last column is left out. `begin` is the first row of a block, `first` the first column of a panel; several
  // threads may write different blocks.
  void Write(size_t begin, size_t first, const Features& from, DiskBuffer& buffer);
  void Read(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading,
            char* out) const override;

  bool ReadsWholeRows() const override { return false; }

  size_t PanelColumns() const { return kPanelBytes / BytesOf(type); }

 private:
  size_t Panels() const { return (cols + PanelColumns() - 1) / PanelColumns(); }
  uint64_t OffsetOf(size_t block, size_t panel) const {
    return (uint64_t{block} * Panels() + panel) * block_rows * kPanelBytes;
  }

  ScratchPages pages_;
};

class FeatureTensor final : public DiskTensor {
 public:
  // `narrower` makes a matrix of another type; it is used where `element` is neither f32 nor the type stored.
  FeatureTensor(std::shared_ptr<DiskMemory> disk, Features features, FeatureType element, size_t rows_a_block,
                std::shared_ptr<Backend> narrower);
  void Read(size_t begin, size_t end, size_t first, size_t count, DiskReading& reading,
            char* out) const override;
  bool ReadsWholeRows() const override { return true; }
  const Features& features() const { return features_; }

 private:
  void ReadPrepared(size_t begin, size_t end, DiskReading& reading) const;

  std::shared_ptr<DiskMemory> disk_;
  Features features_;
  bool as_stored_;  // elements leave as they lie
  std::shared_ptr<Backend> narrower_;
};

static_assert(kLeastBlockRows * kPanelBytes == ScratchPages::kPage);

// Elements (count) of `type` as features of one matrix; `owner` keeps them.
Features RowsAsFeatures(FeatureType type, std::shared_ptr<const void> owner, const char* elements,
                        size_t rows, size_t cols);
// The elements of dense features that carry no preparation.
const char* ElementsOf(const Features& features);

}  // namespace l2gcn
