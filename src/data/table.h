// Tables in text: rows of cells, one of which may be the row's id; numbers and words in columns.
//
// Separator and header are found from the beginning of the file; cells are those of csv.h. A column is
// numeric if every cell of it is a number or missing (NaN), else text. Blocks of records are parsed in
// parallel and put together in file order. Rows with too many or too few cells, numbers past what a float
// holds and text that is not UTF-8 are refused with file, line and column.
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
  std::vector<uint8_t> words;      // (columns) 1 where the first rows hold words
  bool numbers_alone = false;      // no header, and numbers in every cell of the first rows
  size_t columns() const { return names.size(); }
};

struct ColumnValues {
  bool numeric = true;
  std::vector<float> numbers;  // (rows) if numeric; NaN where missing
  NameTable text;              // (rows) unless numeric
  uint64_t missing = 0;        // cells missing, of a numeric column
  uint64_t grouped = 0;        // numbers written as 1,234 or 0,5
  std::string unit;            // that the numbers carry, such as % or $; empty: none
  uint64_t odd = 0;            // filled cells of a numeric column that are no numbers: missing, too
  std::vector<std::string> odd_examples;
};

struct Table {
  std::filesystem::path path;
  TableFormat format;
  size_t rows = 0;
  std::vector<ColumnValues> columns;
};

// `id_first`: the first column may be an id, whose header may be blank. A first row that holds one of `named`
// (column names the user gave) is a header.
TableFormat SniffTable(const std::filesystem::path& path, bool id_first,
                       const std::vector<std::string>& named = {});
// Words that the user takes for "no value", whatever their case; they are read as empty cells.
struct MissingWords {
  std::vector<std::string> words;
  size_t except = ~size_t{0};  // a column in which they are values: the ids
};
// Those listed with commas between.
MissingWords ListedWords(const std::string& listed, size_t except);

// Columns listed in `as_text` are kept as text whatever they hold.
Table ReadTable(const Context& context, const std::filesystem::path& path, const TableFormat& format,
                const std::vector<size_t>& as_text, const MissingWords& missing = {});

// The column called `name`; throws Error(kUsage) naming the option and the known ones.
size_t ColumnNamed(const TableFormat& format, const std::filesystem::path& path, const std::string& option,
                   const std::string& name);
constexpr size_t kNoTableColumn = ~size_t{0};
size_t FindColumn(const TableFormat& format, const std::string& name);  // kNoTableColumn if it is not there

}  // namespace l2gcn
