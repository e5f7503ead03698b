#include "data/edge_columns.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "data/table_features.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

constexpr size_t kFewValues = 10;  // A column of no more different values may hold codes.

// What the cells of a column are, in one block or in all.
struct Seen {
  uint64_t filled = 0, numbers = 0;
  std::string odd;                            // the first cell that is no number
  std::set<std::string, std::less<>> values;  // different cells, at most one more than may become levels

  void See(std::string_view cell, bool number) {
    ++filled;
    numbers += number ? 1 : 0;
    if (!number && odd.empty()) odd = cell;
    if (values.size() <= kMostLevels && !values.contains(cell)) values.emplace(cell);
  }
  void Join(const Seen& other) {
    filled += other.filled;
    numbers += other.numbers;
    if (odd.empty()) odd = other.odd;
    for (const std::string& value : other.values) {
      if (values.size() <= kMostLevels) values.insert(value);
    }
  }
  // Nearly all cells are numbers, and too many of them differ for codes; or all are.
  bool IsNumeric() const {
    return numbers == filled || (numbers * 10 >= filled * 9 && values.size() > kFewValues);
  }
};

bool NumberIn(std::string_view cell, char separator, float& number) {
  return ParseNumber(cell, number) || ParseGroupedNumber(cell, separator, number);
}

std::vector<size_t> ColumnsToRead(const EdgeFile& file, const std::vector<std::string>& names) {
  const EdgeTextFormat& format = file.format;
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    const auto found = std::find(format.names.begin(), format.names.end(), name);
    if (found == format.names.end()) {
      const std::string nearest = NearestName(name, format.names);
      ThrowUsage("--edge-features {}: {} has no such column{}; it has {}", name, file.path.string(),
                 nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest),
                 fmt::join(format.names, ", "));
    }
    const auto column = static_cast<size_t>(found - format.names.begin());
    if (column == format.source || column == format.target)
      ThrowUsage("--edge-features {}: that column of {} holds the ids of nodes", name, file.path.string());
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  }
  return columns;
}

std::vector<Seen> LookAtColumns(const EdgeFile& file, const std::vector<size_t>& columns) {
  std::vector<Seen> all(columns.size());
  std::vector<std::vector<Seen>> parsed(file.context.threads);
  ForEachEdgeBlock(
      file,
      [&](size_t k, CsvRecords& records) {
        parsed[k].assign(columns.size(), {});
        while (records.Next()) {
          if (records.fields().size() != file.format.columns) file.RefuseChanged();
          for (size_t c = 0; c < columns.size(); ++c) {
            const std::string_view cell = TrimBlanks(records.fields()[columns[c]]);
            float number = 0;
            if (!IsMissing(cell)) parsed[k][c].See(cell, NumberIn(cell, file.format.separator, number));
          }
        }
      },
      [&](size_t k) {
        for (size_t c = 0; c < columns.size(); ++c) all[c].Join(parsed[k][c]);
      });
  return all;
}

// False where the column makes no features, which a note says.
bool TakeKind(const EdgeFile& file, const Seen& seen, TableSchema::Column& kind) {
  const auto note = [&](const std::string& text) {
    file.context.Note(fmt::format("{}: column {} {}", file.path.filename().string(), kind.name, text));
  };
  if (seen.IsNumeric() && seen.filled > 0) {
    if (seen.numbers < seen.filled)
      note(fmt::format("holds {} cells that are no numbers, such as '{}': they count as missing",
                       seen.filled - seen.numbers, seen.odd));
    return true;
  }
  const std::vector<std::string_view> words(seen.values.begin(), seen.values.end());
  const std::string why = WhyNoLevels(words, seen.filled);
  if (!why.empty()) return note(why + " and is left out"), false;
  kind.category = true;
  kind.levels.assign(seen.values.begin(), seen.values.end());
  return true;
}

std::vector<EdgeColumn> ColumnsOfModel(const EdgeFile& file, const std::vector<TableSchema::Column>& known) {
  std::vector<EdgeColumn> columns;
  for (const TableSchema::Column& kind : known) {
    const std::vector<std::string>& names = file.format.names;
    const auto found = std::find(names.begin(), names.end(), kind.name);
    if (found == names.end()) {
      ThrowInput("{}: column '{}' is missing; the model was trained on features of it, the file has {}",
                 file.path.string(), kind.name, fmt::join(names, ", "));
    }
    columns.push_back({static_cast<size_t>(found - names.begin()), kind});
  }
  return columns;
}

}  // namespace

float EdgeColumn::Value(const EdgeFile& file, const CsvRecords& records) const {
  const std::string_view cell = TrimBlanks(records.fields()[column]);
  constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
  if (IsMissing(cell)) return kNothing;
  if (kind.category) {
    const auto level = std::lower_bound(kind.levels.begin(), kind.levels.end(), cell);
    if (level == kind.levels.end() || *level != cell) return kNothing;
    return static_cast<float>(level - kind.levels.begin());
  }
  float number = 0;
  if (!NumberIn(cell, file.format.separator, number)) return kNothing;
  if (std::isinf(number)) {
    ThrowInput("{}:{}: column {}: {} is past what a number can hold; expected a finite one",
               file.path.string(), records.Line(), kind.name, cell);
  }
  return number;
}

std::vector<std::string> EdgeFeatureNames(const EdgeTextFormat& format, const OpenOptions& options) {
  std::vector<std::string> names;
  for (const TableSchema::Column& column : options.edge_columns) names.push_back(column.name);
  if (!names.empty()) return names;
  if (options.edge_features == "all") return format.ignored;
  std::stringstream words(options.edge_features);
  for (std::string word; std::getline(words, word, ',');) names.emplace_back(TrimBlanks(word));
  return names;
}

std::vector<EdgeColumn> FindEdgeColumns(const EdgeFile& file, const OpenOptions& options) {
  if (!options.edge_columns.empty()) return ColumnsOfModel(file, options.edge_columns);
  const std::vector<size_t> named = ColumnsToRead(file, EdgeFeatureNames(file.format, options));
  const std::vector<Seen> seen = LookAtColumns(file, named);
  std::vector<EdgeColumn> columns;
  for (size_t c = 0; c < named.size(); ++c) {
    EdgeColumn column{named[c], {}};
    column.kind.name = file.format.names[named[c]];
    if (TakeKind(file, seen[c], column.kind)) columns.push_back(std::move(column));
  }
  if (columns.empty()) {
    ThrowInput("{}: --edge-features {}: no column of the edge list can become features; leave it out",
               file.path.string(), options.edge_features);
  }
  return columns;
}

}  // namespace l2gcn
