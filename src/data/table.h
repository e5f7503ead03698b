// Tables in text: rows of fields, the first of which is the row's id; numbers and words in columns.
//
// Separator and header are found from the beginning of the file; quoted fields may hold separators and
// doubled quotes, but no line breaks. A column is numeric if every field of it is a number or empty (NaN),
// else text. Blocks of lines are parsed in parallel and put together in file order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

struct TableFormat {
  char separator = ',';  // ' ' stands for any run of blanks and tabs; '\0': one column
  bool header = false;
  std::vector<std::string> names;  // (columns) from the header, or "0", "1", …
  size_t columns() const { return names.size(); }
};

struct TableColumn {
  bool numeric = true;
  std::vector<float> numbers;  // (rows) if numeric; NaN where empty
  NameTable text;              // (rows) unless numeric
};

struct Table {
  std::filesystem::path path;
  TableFormat format;
  size_t rows = 0;
  std::vector<TableColumn> columns;
};

// `id_first`: the first column is an id, whose header may be blank.
TableFormat SniffTable(const std::filesystem::path& path, bool id_first);
// Columns listed in `as_text` are kept as text whatever they hold. Throws Error(kInput) naming file and line
// where a row has another number of fields.
Table ReadTable(const Context& context, const std::filesystem::path& path, const TableFormat& format,
                const std::vector<size_t>& as_text);

// The column called `name`; throws Error(kUsage) naming the known ones.
size_t ColumnNamed(const TableFormat& format, const std::filesystem::path& path, const std::string& name);

}  // namespace l2gcn
