// Features appended to those a data set has.
#pragma once

#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

struct FeatureColumns {
  std::vector<TableSchema::Column> columns;
  Matrix values;  // (nodes × width of the columns)
};

// Features stay sparse where they are. Columns without a schema get one, with their positions for names.
void AppendFeatures(const Context& context, FeatureColumns added, Dataset& dataset);

}  // namespace l2gcn
