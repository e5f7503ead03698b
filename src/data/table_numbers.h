// Numbers as people write them in tables, and columns in which nearly every cell is one.
//
// A number may carry a unit: a currency sign before it or any short word behind it (12%, $12.00, 1e3 kg). The
// unit is dropped. A column read as text becomes one of numbers where at least 90 % of its filled cells are
// numbers of one unit and more than 10 of them differ; the other cells count as missing.
#pragma once

#include <string_view>

#include "data/table.h"

namespace l2gcn {

struct TableNumber {
  float number = 0;       // finite
  std::string_view unit;  // within the cell; empty: none
  bool grouped = false;   // written as 1,234 or 0,5
};

// False where the cell is no number, with or without a unit.
bool ParseTableNumber(std::string_view cell, char separator, TableNumber& parsed);

// Makes such columns of `table` numeric, except those listed in `as_text`.
void TakeForNumbers(const Context& context, const std::vector<size_t>& as_text, Table& table);

}  // namespace l2gcn
