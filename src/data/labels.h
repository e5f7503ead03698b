// Turning what files call a label into Labels: class numbers that need not start at 0, names, one-hot or 0/1
// matrices.
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

// One number a node; negative: unlabelled. Classes are the distinct numbers in order; where they are not 0 …
// C−1, `class_names` keeps them.
Labels LabelsFromNumbers(std::span<const int64_t> numbers, std::vector<std::string>& class_names);

// One name a node; empty: unlabelled. Classes are the distinct names in order.
Labels LabelsFromNames(std::span<const std::string_view> names, std::vector<std::string>& class_names);

// As a table spells them: whole numbers from 0 on are classes by number, anything else (also -1) by name;
// missing values (IsMissing) are unlabelled.
Labels LabelsFromTexts(std::span<const std::string_view> texts, std::vector<std::string>& class_names);

// (nodes) or (nodes × 1): classes, NaN and −1 unlabelled; (nodes × C) of 0/1: multi-label.
Labels LabelsFromArray(const Context& context, const NpyArray& array, std::vector<std::string>& class_names);

Labels MultilabelFromSparse(const CsrMatrix& matrix, const std::string& where);

}  // namespace l2gcn
