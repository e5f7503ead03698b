#include "data/typed_ids.h"

#include "data/edge_text.h"

namespace l2gcn {

TypedIds::TypedIds(const NodeRows& rows) : rows_(rows) {
  if (rows.by_position()) return;
  int64_t number = 0;
  for (size_t row = 0; row < rows.table.rows; ++row) {
    if (rows.Id(row).empty()) RefuseRowWithoutId(rows, row);
    numbers_alone_ = numbers_alone_ && ParseId(rows.Id(row), number);
  }
  numbers_alone_ ? EnterNumbers() : EnterNames();
}

void TypedIds::EnterNumbers() {
  numbers_.reserve(rows_.table.rows);
  for (size_t row = 0; row < rows_.table.rows; ++row) {
    if (!numbers_.emplace(Number(row), static_cast<uint32_t>(row)).second) RefuseRepeatedId(rows_, row);
  }
}

void TypedIds::EnterNames() {
  names_.reserve(rows_.table.rows);
  for (size_t row = 0; row < rows_.table.rows; ++row) {
    if (!names_.emplace(rows_.Id(row), static_cast<uint32_t>(row)).second) RefuseRepeatedId(rows_, row);
  }
}

int64_t TypedIds::Number(size_t row) const {
  auto number = static_cast<int64_t>(row);
  if (!rows_.by_position()) ParseId(rows_.Id(row), number);
  return number;
}

std::optional<uint32_t> TypedIds::Find(std::string_view id) const {
  if (!numbers_alone_) {
    const auto found = names_.find(id);
    return found == names_.end() ? std::nullopt : std::optional(found->second);
  }
  int64_t number = 0;
  if (!ParseId(id, number)) return std::nullopt;
  if (rows_.by_position()) {
    const bool is_row = number >= 0 && static_cast<uint64_t>(number) < rows_.table.rows;
    return is_row ? std::optional(static_cast<uint32_t>(number)) : std::nullopt;
  }
  const auto found = numbers_.find(number);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace l2gcn
