#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/csv.h"
#include "data/spellings.h"
#include "data/text_source.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostTableColumns = size_t{1} << 22;
constexpr size_t kSniffedTableRows = 200;
constexpr size_t kSniffedCells = size_t{1} << 18;

using TableRow = std::vector<std::string>;

bool IsNumberCell(std::string_view cell, char separator) {
  float number = 0;
  return ParseNumber(cell, number) || ParseGroupedNumber(cell, separator, number);
}

bool IsUsualName(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  static const std::set<std::string> kKnown = {"id",    "node",  "node_id", "nodeid", "index", "name",
                                               "label", "class", "target",  "y",      "type",  "split"};
  return kKnown.contains(name);
}

// A word above values that repeat and never equal it.
bool StandsAboveCategories(const std::vector<TableRow>& rows) {
  for (size_t c = 0; c < rows[0].size(); ++c) {
    std::set<std::string> values;
    for (size_t r = 1; r < rows.size(); ++r) {
      if (c < rows[r].size()) values.insert(rows[r][c]);
    }
    if (rows.size() > 4 && values.size() * 2 < rows.size() && !values.contains(rows[0][c])) return true;
  }
  return false;
}

// Whether the first row names columns, seen beside the others.
bool LooksLikeHeader(const std::vector<TableRow>& rows, char separator, bool id_first,
                     const std::vector<std::string>& named) {
  const TableRow& first = rows[0];
  for (const std::string& name : named) {
    if (!name.empty() && !LooksNumeric(name) && std::find(first.begin(), first.end(), name) != first.end())
      return true;
  }
  if (id_first && first[0].empty()) return true;
  bool word_above_number = false, holds_number = false;
  for (size_t c = 0; c < first.size(); ++c) {
    const bool number = IsNumberCell(first[c], separator) || LooksNumeric(first[c]);
    holds_number = holds_number || number;
    if (number || IsMissing(first[c]) || rows.size() < 2 || c >= rows[1].size()) continue;
    word_above_number = word_above_number || IsNumberCell(rows[1][c], separator);
  }
  if (word_above_number) return true;
  if (holds_number) return false;
  // One row of words alone is a header without rows.
  return rows.size() == 1 || IsUsualName(first[0]) || IsUsualName(first.back()) ||
         StandsAboveCategories(rows);
}

// Columns turned out to hold text after all.
struct ColumnsAreText {};

struct BlockColumn {
  std::vector<float> numbers;
  std::vector<uint64_t> ends;  // where each text ends
  std::string text;
  uint64_t missing = 0, grouped = 0;
  bool is_text = false;  // taken for numbers, and holds a word
};
struct ParsedBlock {
  size_t rows = 0;
  std::vector<BlockColumn> columns;
  std::vector<size_t> found_text;  // columns taken for numbers that hold a word here
};

class TableParser {
 public:
  TableParser(const Context& context, const fs::path& path, const TableFormat& format,
              const MissingWords& missing, std::vector<uint8_t> is_text)
      : context_(context),
        path_(path),
        format_(format),
        missing_(missing),
        is_text_(std::move(is_text)),
        found_text_(is_text_) {}

  // Which columns hold text: those known before, and those that the parsing found.
  const std::vector<uint8_t>& found_text() const { return found_text_; }

  // Throws ColumnsAreText where a column that was taken for numbers holds a word: at the end of the first block with
  // one if `at_once`, else at the end of the file, when all such columns are found.
  Table Parse(bool at_once) {
    TextSource source = TextSource::OfRecords(path_, format_.separator, /*comments=*/false);
    std::map<uint64_t, ParsedBlock> parsed;  // by block number
    std::mutex mutex;
    bool found_any = false;
    context_.pool->Run(context_.threads, [&](uint32_t) {
      TextBlock block;
      while (source.Next(block)) {
        context_.CheckCancelled();
        ParsedBlock result = ParseBlock(block);
        const std::lock_guard<std::mutex> lock(mutex);
        for (const size_t column : result.found_text) found_text_[column] = 1;
        found_any = found_any || !result.found_text.empty();
        if (found_any && at_once) throw ColumnsAreText{};
        if (!found_any) parsed.emplace(block.number, std::move(result));
      }
    });
    if (found_any) throw ColumnsAreText{};
    return Join(parsed);
  }

 private:
  ParsedBlock ParseBlock(TextBlock& block) const {
    if (const size_t wrong = FirstNotUtf8(block.text); wrong != std::string_view::npos) {
      ThrowInput(
          "{}:{}: byte {:#04x} is not UTF-8; save the file as UTF-8 (if it is Latin-1: iconv -f LATIN1 -t "
          "UTF-8)",
          path_.string(), LineOfOffset(path_, block.offset + wrong),
          static_cast<unsigned char>(block.text[wrong]));
    }
    ParsedBlock parsed;
    parsed.columns.resize(format_.columns());
    CsvRecords records(path_, block, format_.separator, /*comments=*/false);
    if (format_.header && block.number == 0) records.Next();
    while (records.Next()) {
      const std::span<const std::string_view> cells = records.fields();
      if (cells.size() != format_.columns()) RefuseRagged(records);
      for (size_t c = 0; c < cells.size(); ++c) {
        if (!TakeCell(records, c, parsed.columns[c]) && !std::exchange(parsed.columns[c].is_text, true))
          parsed.found_text.push_back(c);
      }
      ++parsed.rows;
    }
    return parsed;
  }

  [[noreturn]] void RefuseRagged(const CsvRecords& records) const {
    const size_t cells = records.fields().size();
    const std::string at = cells < format_.columns()
                               ? fmt::format("column {} is missing", format_.names[cells])
                               : "quote cells that hold the separator";
    ThrowInput("{}:{}: {} cell{} on the line, expected {}; {}", path_.string(), records.Line(), cells,
               cells == 1 ? "" : "s", format_.columns(), at);
  }

  bool IsGivenMissing(std::string_view cell) const {
    return std::any_of(missing_.words.begin(), missing_.words.end(),
                       [&](const std::string& word) { return EqualsIgnoringCase(TrimBlanks(cell), word); });
  }

  // False where a word stands in a column of numbers.
  bool TakeCell(const CsvRecords& records, size_t c, BlockColumn& column) const {
    std::string_view cell = records.fields()[c];
    if (!missing_.words.empty() && c != missing_.except && IsGivenMissing(cell)) cell = {};
    if (is_text_[c] != 0) {
      column.text.append(cell);
      column.ends.push_back(column.text.size());
      return true;
    }
    float number = std::numeric_limits<float>::quiet_NaN();
    if (!ParseNumber(cell, number)) {
      if (IsMissing(cell)) {
        number = std::numeric_limits<float>::quiet_NaN();
      } else if (ParseGroupedNumber(cell, format_.separator, number)) {
        ++column.grouped;
      } else {
        return false;
      }
    }
    if (std::isinf(number)) {
      ThrowInput("{}:{}: column {}: {} is past what a number can hold; expected a finite one", path_.string(),
                 records.Line(), format_.names[c], cell);
    }
    column.missing += std::isnan(number) ? 1 : 0;
    column.numbers.push_back(number);
    return true;
  }

  Table Join(std::map<uint64_t, ParsedBlock>& parsed) const {
    Table table;
    table.path = path_;
    table.format = format_;
    table.columns.resize(format_.columns());
    for (const auto& [number, block] : parsed) table.rows += block.rows;
    ParallelTasks(context_, table.columns.size(), [&](size_t c, uint32_t) {
      ColumnValues& column = table.columns[c];
      column.numeric = is_text_[c] == 0;
      if (column.numeric) {
        column.numbers.reserve(table.rows);
        for (auto& [number, block] : parsed) {
          column.numbers.insert(column.numbers.end(), block.columns[c].numbers.begin(),
                                block.columns[c].numbers.end());
          std::vector<float>().swap(block.columns[c].numbers);
          column.missing += block.columns[c].missing;
          column.grouped += block.columns[c].grouped;
        }
      } else {
        column.text = JoinText(parsed, c, table.rows);
      }
    });
    return table;
  }

  static NameTable JoinText(const std::map<uint64_t, ParsedBlock>& parsed, size_t c, size_t rows) {
    uint64_t bytes = 0;
    for (const auto& [number, block] : parsed) bytes += block.columns[c].text.size();
    NameTable joined;
    joined.offsets = Array<uint64_t>::Allocate(rows + 1);
    joined.text = Array<uint8_t>::Allocate(bytes);
    uint64_t base = 0;
    size_t row = 0;
    joined.offsets.mutable_data()[0] = 0;
    for (const auto& [number, block] : parsed) {
      const BlockColumn& column = block.columns[c];
      for (const uint64_t end : column.ends) joined.offsets.mutable_data()[++row] = base + end;
      std::copy(column.text.begin(), column.text.end(), joined.text.mutable_data() + base);
      base += column.text.size();
    }
    return joined;
  }

  const Context& context_;
  const fs::path& path_;
  const TableFormat& format_;
  const MissingWords& missing_;
  const std::vector<uint8_t> is_text_;  // (columns) 0/1
  std::vector<uint8_t> found_text_;     // the same with what Parse() finds
};

}  // namespace

TableFormat SniffTable(const fs::path& path, bool id_first, const std::vector<std::string>& named) {
  TextSource source(path, TextSource::kSniffBytes);
  TextBlock block;
  std::vector<TableRow> rows;
  TableFormat format;
  if (source.Next(block)) {
    const std::string text = block.text;  // reading undoes quotes in the block
    format.separator = FindSeparator(path, block, /*comments=*/false);
    CsvRecords records(path, block, format.separator, /*comments=*/false, CsvReading::kSniffing);
    size_t cells = 0;
    while (rows.size() < kSniffedTableRows && (rows.size() < 2 || cells < kSniffedCells) && records.Next()) {
      rows.emplace_back(records.fields().begin(), records.fields().end());
      cells += rows.back().size();
    }
    if (records.refused() || (rows.size() < 2 && text.size() < TextSource::kSniffBytes / 2)) {
      block.text = text;
      CsvRecords strict(path, block, format.separator, /*comments=*/false);
      while (strict.Next()) {  // says what is wrong, and where
      }
    }
  }
  if (rows.empty()) ThrowInput("{}: the table is empty", path.string());
  if (rows[0].size() > kMostTableColumns)
    ThrowInput("{}: {} columns are refused", path.string(), rows[0].size());
  format.header = LooksLikeHeader(rows, format.separator, id_first, named);
  format.names = rows[0];
  format.words.assign(rows[0].size(), 0);
  for (size_t c = 0; !format.header && c < format.names.size(); ++c) format.names[c] = std::to_string(c);
  for (size_t r = format.header ? 1 : 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < std::min(rows[r].size(), format.columns()); ++c) {
      if (!IsMissing(rows[r][c]) && !IsNumberCell(rows[r][c], format.separator)) format.words[c] = 1;
    }
  }
  format.numbers_alone = !format.header && std::all_of(format.words.begin(), format.words.end(),
                                                       [](uint8_t w) { return w == 0; });
  return format;
}

MissingWords ListedWords(const std::string& listed, size_t except) {
  MissingWords missing{{}, except};
  std::stringstream words(listed);
  for (std::string word; std::getline(words, word, ',');) missing.words.emplace_back(TrimBlanks(word));
  std::erase(missing.words, "");
  return missing;
}

Table ReadTable(const Context& context, const fs::path& path, const TableFormat& format,
                const std::vector<size_t>& as_text, const MissingWords& missing) {
  std::vector<uint8_t> is_text = format.words;
  for (const size_t column : as_text) is_text[column] = 1;
  // A wrong guess about a column mostly shows in the first block, and costs little. If there is another, the whole file
  // is looked at for all of them, so that no file is read more than three times.
  for (bool at_once = true;; at_once = false) {
    TableParser parser(context, path, format, missing, std::move(is_text));
    try {
      return parser.Parse(at_once);
    } catch (const ColumnsAreText&) {
      is_text = parser.found_text();
    }
  }
}

size_t FindColumn(const TableFormat& format, const std::string& name) {
  const auto found = std::find(format.names.begin(), format.names.end(), name);
  return found == format.names.end() ? kNoTableColumn : static_cast<size_t>(found - format.names.begin());
}

size_t ColumnNamed(const TableFormat& format, const fs::path& path, const std::string& option,
                   const std::string& name) {
  if (const size_t column = FindColumn(format, name); column != kNoTableColumn) return column;
  const std::string nearest = NearestName(name, format.names);
  ThrowUsage("{} {}: {} has no such column{}; it has {}", option, name, path.string(),
             nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest),
             fmt::join(format.names, ", "));
}

}  // namespace l2gcn
