// What a model remembers of a table, and matching another table to it.
//
//   Fit      the median of each number column over the train nodes (missing cells left aside): what stands in
//   for
//            missing cells
//   Apply    features of a data set in the layout of a schema: columns found by name wherever they stand,
//   missing
//            numbers filled, categories the schema does not know all zero ("other") and counted. A column
//            that is missing, one too many, or words where numbers were is Error(kInput).
//
// A data set without a schema is taken as it stands, column by column. Where nothing is missing and the
// layouts agree the features are shared, not copied. Guarantees: same bits for any thread count.
#pragma once

#include <span>
#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

// `fit_rows` (nodes) 0/1 says which rows count; empty: all.
TableSchema FitSchema(const Context& context, const Dataset& dataset, std::span<const uint8_t> fit_rows);

Features ApplySchema(const Context& context, const TableSchema& schema, const Dataset& dataset);

// (width) 1 where a feature is a number, 0 where it is a level or marks missing cells. Empty for an empty
// schema.
std::vector<uint8_t> NumberFeatures(const TableSchema& schema);

// As one JSON object, and back.
std::string SchemaToJson(const TableSchema& schema);
TableSchema SchemaFromJson(const std::string& text, const std::string& where);

}  // namespace l2gcn
