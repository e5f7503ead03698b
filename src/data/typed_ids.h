// Ids of the nodes of one type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "data/node_rows.h"

namespace l2gcn {

// Finds the row of an id. Numbers are compared as such, 17.0 is 17, where every id is one. The table must outlive this.
class TypedIds {
 public:
  // Throws Error(kInput) for an id that is empty or stands twice.
  explicit TypedIds(const NodeRows& rows);

  std::optional<uint32_t> Find(std::string_view id) const;
  bool are_numbers() const { return numbers_alone_; }
  int64_t Number(size_t row) const;  // where they are numbers

 private:
  void EnterNumbers();
  void EnterNames();

  const NodeRows& rows_;
  bool numbers_alone_ = true;
  std::unordered_map<int64_t, uint32_t> numbers_;
  std::unordered_map<std::string_view, uint32_t> names_;
};

}  // namespace l2gcn
