// The schema of a table that a model stores, and matching another table to it.
//
// FitSchema takes the median of each column of numbers over the train nodes, missing cells left aside; it
// will stand in for missing cells.
//
// ApplySchema lays out the features of a data set as a schema has them. Columns are found by name wherever
// they stand, and columns that the schema does not know are left out with a note. Missing numbers are filled. So
// are words in a column of numbers, unless it holds nothing else. Categories that differ only in case or blanks
// from one of the schema are that one. Others are all zero ("other") and are counted; a column of which no
// category is known is a warning. A column that is missing, and nothing but words where numbers were, is
// Error(kInput).
//
// A data set without a schema is taken as it stands, column by column. Where nothing is missing and the
// layouts agree, the features are shared and not copied. The bits do not depend on the number of threads.
#pragma once

#include <span>
#include <string>

#include "l2gcn/dataset.h"

namespace l2gcn {

// `fit_rows` (nodes) is 1 where a row counts; where it is empty all do.
TableSchema FitSchema(const Context& context, const Dataset& dataset, std::span<const uint8_t> fit_rows);

Features ApplySchema(const Context& context, const TableSchema& schema, const Dataset& dataset);

// Returns (width) 1 where a feature is a number and 0 where it is a level or marks missing cells; nothing
// for an empty schema.
std::vector<uint8_t> NumberFeatures(const TableSchema& schema);

// How messages call a feature: "column 'age'" where it comes from a table, else "feature 3".
std::string FeatureName(const TableSchema& schema, size_t feature);

// A schema as one JSON object, and back.
std::string SchemaToJson(const TableSchema& schema);
TableSchema SchemaFromJson(const std::string& text, const std::string& where);

}  // namespace l2gcn
