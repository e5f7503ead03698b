// Finds nodes whose logits are not finite, because sums or squares of their features overflow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Rows with a value that is NaN or infinite, ascending.
std::vector<uint32_t> RowsNotFinite(const Context& context, const Matrix& rows);

// Which nodes these are, and the largest features among them: an overflow that reaches a node's neighbours begins there.
std::string DescribeNotFinite(const Dataset& dataset, std::span<const uint32_t> nodes);

// Throws Error(kInput) if `rows` (nodes × any) has a row that is not finite; `what` names them.
void CheckFiniteRows(const Context& context, const Dataset& dataset, const Matrix& rows, const char* what);

}  // namespace l2gcn
