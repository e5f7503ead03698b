// Rows of dense features for passes over them, in memory or from disk.
#pragma once

#include <memory>
#include <utility>

#include "core/disk_memory.h"
#include "core/row_preparation.h"
#include "l2gcn/features.h"

namespace l2gcn {

template <class T>
Array<T> ViewedPart(const std::shared_ptr<DiskMemory>& disk, const Array<T>& array, size_t first,
                    size_t count, DiskBuffer& buffer) {
  return Array<T>::Borrow(nullptr, ViewOf(disk, array, first, count, buffer), count);
}

// Rows first … first + count − 1 of dense features, with their preparation, for a pass over them: read past the page
// cache into `buffer` where `disk` watches them, else where they lie. Valid until the next use of `buffer`. A pass that
// reads its rows so never makes mapped pages resident, however late the watch over them comes.
inline Features ViewRows(const std::shared_ptr<DiskMemory>& disk, const Features& features, size_t first,
                         size_t count, DiskBuffer& buffer) {
  const size_t cols = features.stored_cols(), at = first * cols, size = count * cols;
  const Features part =
      features.type() == FeatureType::kF32
          ? Features::Dense({ViewedPart(disk, features.matrix().values, at, size, buffer), count, cols})
          : Features::Stored(features.type(), ViewedPart(disk, features.halves(), at, size, buffer), count,
                             cols);
  if (features.preparation() == nullptr) return part;
  RowPreparation preparation = *features.preparation();
  if (!preparation.row_factor.empty())
    preparation.row_factor = Array<float>::Borrow(nullptr, preparation.row_factor.data() + first, count);
  return part.WithPreparation(std::move(preparation));
}

}  // namespace l2gcn
