#include "data/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/edge_text.h"
#include "data/text_source.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostTableColumns = size_t{1} << 22;

// Splits a line at separators outside quotes. Fields are views into the line, or into `unquoted` where quotes
// were doubled inside.
class FieldSplitter {
 public:
  explicit FieldSplitter(char separator) : separator_(separator) {}

  const std::vector<std::string_view>& Split(std::string_view line) {
    fields_.clear();
    unquoted_.clear();
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (separator_ == ' ') {
      SplitBlanks(line);
      return fields_;
    }
    for (size_t at = 0; at <= line.size();) at = TakeField(line, at) + 1;
    return fields_;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t'; }

  void SplitBlanks(std::string_view line) {
    for (size_t at = 0; at < line.size();) {
      while (at < line.size() && IsBlank(line[at])) ++at;
      const size_t begin = at;
      while (at < line.size() && !IsBlank(line[at])) ++at;
      if (at > begin) fields_.push_back(line.substr(begin, at - begin));
    }
  }
  // Returns where the field's separator stands, or the end of the line.
  size_t TakeField(std::string_view line, size_t at) {
    while (at < line.size() && line[at] == ' ') ++at;
    if (at < line.size() && line[at] == '"') return TakeQuoted(line, at + 1);
    const void* found =
        separator_ == '\0' ? nullptr : std::memchr(line.data() + at, separator_, line.size() - at);
    const size_t end =
        found == nullptr ? line.size() : static_cast<size_t>(static_cast<const char*>(found) - line.data());
    size_t last = end;
    while (last > at && IsBlank(line[last - 1])) --last;
    fields_.push_back(line.substr(at, last - at));
    return end;
  }
  size_t TakeQuoted(std::string_view line, size_t at) {
    const size_t close = line.find('"', at);
    const bool simple =
        close != std::string_view::npos && (close + 1 == line.size() || line[close + 1] != '"');
    if (simple) {
      fields_.push_back(line.substr(at, close - at));
      return std::min(line.find(separator_, close + 1), line.size());
    }
    std::string text;
    size_t end = at;
    while (end < line.size()) {
      if (line[end] == '"') {
        if (end + 1 >= line.size() || line[end + 1] != '"') break;
        ++end;
      }
      text += line[end++];
    }
    unquoted_.push_back(std::move(text));
    fields_.push_back(unquoted_.back());
    return end >= line.size() ? line.size() : std::min(line.find(separator_, end + 1), line.size());
  }

  char separator_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;
};

bool IsNumber(std::string_view field) {
  float number = 0;
  return ParseNumber(field, number);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Whether the first line names columns, seen beside the second.
bool LooksLikeHeader(const std::vector<std::string>& first, const std::vector<std::string>& second,
                     bool id_first) {
  if (id_first && first[0].empty()) return true;
  static const std::set<std::string> kKnown = {"id",    "node",  "node_id", "nodeid", "index", "name",
                                               "label", "class", "target",  "y",      "type",  "split"};
  bool known = kKnown.contains(Lower(first[0])) || kKnown.contains(Lower(first.back()));
  for (size_t c = 0; c < first.size() && c < second.size(); ++c) {
    if (!IsNumber(first[c]) && !first[c].empty() && IsNumber(second[c])) return true;
    if (IsNumber(first[c])) known = false;
  }
  return known && !second.empty();
}

// A column turned out to hold text after all.
struct ColumnIsText {
  size_t column;
};

struct BlockColumn {
  std::vector<float> numbers;
  std::vector<uint64_t> ends;  // where each text ends
  std::string text;
};
struct ParsedBlock {
  size_t rows = 0;
  std::vector<BlockColumn> columns;
};

class TableParser {
 public:
  TableParser(const Context& context, const fs::path& path, const TableFormat& format,
              std::vector<uint8_t> is_text)
      : context_(context), path_(path), format_(format), is_text_(std::move(is_text)) {}

  Table Parse() {
    TextSource source(path_);
    std::map<uint64_t, ParsedBlock> parsed;  // by block number
    std::mutex mutex;
    context_.pool->Run(context_.threads, [&](uint32_t) {
      TextBlock block;
      while (source.Next(block)) {
        context_.CheckCancelled();
        ParsedBlock result = ParseBlock(block);
        const std::lock_guard<std::mutex> lock(mutex);
        parsed.emplace(block.number, std::move(result));
      }
    });
    return Join(parsed);
  }

 private:
  ParsedBlock ParseBlock(const TextBlock& block) const {
    ParsedBlock parsed;
    parsed.columns.resize(format_.columns());
    FieldSplitter splitter(format_.separator);
    bool skip_header = format_.header && block.number == 0;
    ForEachLine(block.text, [&](std::string_view line, size_t at) {
      if (skip_header) {
        skip_header = false;
        return;
      }
      const std::vector<std::string_view>& fields = splitter.Split(line);
      if (fields.size() != format_.columns()) {
        ThrowInput("{}:{}: {} fields on the line, expected {}", path_.string(),
                   LineOfOffset(path_, block.offset + at), fields.size(), format_.columns());
      }
      for (size_t c = 0; c < fields.size(); ++c) TakeField(fields[c], c, parsed.columns[c]);
      ++parsed.rows;
    });
    return parsed;
  }

  void TakeField(std::string_view field, size_t c, BlockColumn& column) const {
    if (is_text_[c] != 0) {
      column.text.append(field);
      column.ends.push_back(column.text.size());
      return;
    }
    float number = std::numeric_limits<float>::quiet_NaN();
    if (!field.empty() && !ParseNumber(field, number)) throw ColumnIsText{c};
    column.numbers.push_back(number);
  }

  Table Join(std::map<uint64_t, ParsedBlock>& parsed) const {
    Table table;
    table.path = path_;
    table.format = format_;
    table.columns.resize(format_.columns());
    for (const auto& [number, block] : parsed) table.rows += block.rows;
    ParallelTasks(context_, table.columns.size(), [&](size_t c, uint32_t) {
      TableColumn& column = table.columns[c];
      column.numeric = is_text_[c] == 0;
      if (column.numeric) {
        column.numbers.reserve(table.rows);
        for (auto& [number, block] : parsed) {
          column.numbers.insert(column.numbers.end(), block.columns[c].numbers.begin(),
                                block.columns[c].numbers.end());
          std::vector<float>().swap(block.columns[c].numbers);
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
  const std::vector<uint8_t> is_text_;  // (columns) 0/1
};

}  // namespace

TableFormat SniffTable(const fs::path& path, bool id_first) {
  TextSource source(path, TextSource::kSniffBytes);
  TextBlock block;
  std::vector<std::vector<std::string>> lines;
  TableFormat format;
  if (source.Next(block)) {
    ForEachLine(block.text, [&](std::string_view line, size_t) {
      if (lines.size() == 2) return;
      if (lines.empty()) format.separator = SeparatorOf(line);
      FieldSplitter splitter(format.separator);
      const std::vector<std::string_view>& fields = splitter.Split(line);
      lines.emplace_back(fields.begin(), fields.end());
    });
  }
  if (lines.empty()) ThrowInput("{}: the table is empty", path.string());
  if (lines[0].size() > kMostTableColumns)
    ThrowInput("{}: {} columns are refused", path.string(), lines[0].size());
  const std::vector<std::string> second = lines.size() > 1 ? lines[1] : std::vector<std::string>();
  format.header = LooksLikeHeader(lines[0], second, id_first);
  format.names = lines[0];
  if (!format.header) {
    for (size_t c = 0; c < format.names.size(); ++c) format.names[c] = std::to_string(c);
  }
  return format;
}

Table ReadTable(const Context& context, const fs::path& path, const TableFormat& format,
                const std::vector<size_t>& as_text) {
  std::vector<uint8_t> is_text(format.columns(), 0);
  for (const size_t column : as_text) is_text[column] = 1;
  for (;;) {
    try {
      return TableParser(context, path, format, is_text).Parse();
    } catch (const ColumnIsText& found) {
      is_text[found.column] = 1;
    }
  }
}

size_t ColumnNamed(const TableFormat& format, const fs::path& path, const std::string& name) {
  for (size_t c = 0; c < format.columns(); ++c) {
    if (format.names[c] == name) return c;
  }
  const std::string nearest = NearestName(name, format.names);
  ThrowUsage("{}: has no column '{}'{}; it has {}", path.string(), name,
             nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest),
             fmt::join(format.names, ", "));
}

}  // namespace l2gcn
