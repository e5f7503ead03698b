// How the samples of a batch are cut for the first phase of a step: into panels, which go through the layer together, and
// these into groups, whose gradients are added up first. Groups are the same for any number of threads, so that
// a gradient, which is the sum of its groups in order, is.
//
// A large group is a unit of tasks (core/phases.h): its panels are the heads, and pieces of its gradients follow, about
// a million operations each. Cores of unequal speed then end together, where whole groups, of which there are
// as many as threads, would wait for the slowest.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/phases.h"
#include "kernels/cpu/row_cuts.h"

namespace l2gcn {

inline constexpr size_t kPanelRows = 32;

class SampleGroups {
 public:
  SampleGroups() = default;
  // `gradient`: the rows of W and Θ whose gradients are added up by groups, each as dear as it has values.
  SampleGroups(size_t batch, const RowCosts& gradient) : rows_(GroupRows(batch)), gradient_(gradient) {
    const size_t pieces = (2 * rows_ * gradient.cost() + kPieceFlops / 2) / kPieceFlops;
    if (panels() >= 2 && panels() + kFewestPieces <= kMostInUnit && pieces >= kFewestPieces)
      pieces_ = std::min(pieces, kMostInUnit - panels());
  }

  // Samples of a group, of batches of `batch`: whole panels, enough groups to keep many threads busy, few enough to hold
  // them all.
  static size_t GroupRows(size_t batch) {
    constexpr size_t kTwo = 2 * kPanelRows, kMany = kMostUnits * kTwo;
    if (batch <= 16 * kPanelRows) return kPanelRows;
    return (batch + kMany - 1) / kMany * kTwo;
  }

  size_t rows() const { return rows_; }                 // samples of a group
  size_t panels() const { return rows_ / kPanelRows; }  // of a group
  size_t pieces() const { return pieces_; }             // of a group's gradients; 0: a group is one task
  size_t tasks() const { return pieces_ == 0 ? 1 : panels() + pieces_; }  // of a group
  size_t Count(size_t size) const { return (size + rows_ - 1) / rows_; }  // groups of a batch of `size`

  // Rows of the gradient that a piece consists of.
  Range Piece(size_t piece) const { return {Cut(piece), Cut(piece + 1)}; }
  Range AllRows() const { return {0, gradient_.rows()}; }

 private:
  static constexpr size_t kPieceFlops = 1 << 20;
  static constexpr size_t kFewestPieces = 4;  // smaller groups are done in less than a tenth of a millisecond
  static constexpr size_t kRowsTogether = 16;  // that the products take

  size_t Cut(size_t at) const {
    return at >= pieces_ ? gradient_.rows() : gradient_.Row(at, pieces_) / kRowsTogether * kRowsTogether;
  }

  size_t rows_ = kPanelRows, pieces_ = 0;
  RowCosts gradient_{};
};

}  // namespace l2gcn
