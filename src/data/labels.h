// Converts labels of files into Labels: class numbers that need not start at 0, names, one-hot or 0/1 matrices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/npy.h"
#include "data/sparse_matrix.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// What −1 means where labels are whole numbers: no label, whatever the source. Only where −1 and 1 are the only values
// are they two classes. Where there is a lower number, every number is a class.
class MinusOneRule {
 public:
  void See(int64_t label) {
    count_ += label == -1 ? 1 : 0;
    ones_ = ones_ || label == 1;
    others_ = others_ || (label != 1 && label != -1);
  }
  bool AreClasses() const { return count_ > 0 && ones_ && !others_; }
  // Reports what was made of −1, where there are any.
  void Note(const Context& context, const std::string& where) const;

 private:
  uint64_t count_ = 0;  // of −1
  bool ones_ = false, others_ = false;
};

// One number a node; negative: unlabelled. Classes are the distinct numbers in order; where they are not 0 …
// C−1, `class_names` keeps them.
Labels LabelsFromNumbers(std::span<const int64_t> numbers, std::vector<std::string>& class_names);

// One name a node; empty: unlabelled. Classes are the distinct names in order.
Labels LabelsFromNames(std::span<const std::string_view> names, std::vector<std::string>& class_names);

// As a table spells them, without blanks around them: whole numbers from 0 on are classes by number (-1: see
// MinusOneRule), anything else by name; missing values (IsMissing) are unlabelled. Warns of classes that differ only in
// case or blanks and of those that read like "no value". `where` names file and column in messages.
Labels LabelsFromTexts(const Context& context, const std::string& where,
                       std::span<const std::string_view> texts, std::vector<std::string>& class_names);

// The words of OpenOptions::task.
inline constexpr const char* kRegressionTask = "regression";
inline constexpr const char* kClassificationTask = "classification";

// (nodes) or (nodes × 1): classes, NaN unlabelled, −1 as MinusOneRule has it; (nodes × C) of 0/1: multi-label. Floats of
// which one is not whole, or not 0 or 1 where there are several a node, are targets of a regression, unless `task` says
// otherwise.
Labels LabelsFromArray(const Context& context, const NpyArray& array, std::vector<std::string>& class_names,
                       const std::string& task = "");

Labels MultilabelFromSparse(const CsrMatrix& matrix, const std::string& where);

}  // namespace l2gcn
