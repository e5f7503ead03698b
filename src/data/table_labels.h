// Labels that stand in the columns of a table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/node_rows.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// A column that holds one label a row.
struct LabelColumn {
  const NodeRows& rows;
  size_t column;
  bool named;  // the user named it

  // File and column, for messages.
  std::string Place() const;
};

// A label takes few values; a measurement or a name takes another in every row. Warns of a column that may be one of
// these, and throws Error(kInput) for one that must be. `texts` (nodes) are its cells.
void AskWhetherLabel(const Context& context, const LabelColumn& label,
                     std::span<const std::string_view> texts);

// Two or more columns beside the id, all of 0 and 1.
bool HoldsLabelSets(const NodeRows& rows);
// The labels in such columns. Without ids, one 1 in every row is a class and no set of labels.
Labels MultilabelOf(const NodeRows& rows, size_t nodes, std::vector<std::string>& class_names);

}  // namespace l2gcn
