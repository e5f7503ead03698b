#include "data/table_match.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error_format.h"
#include "data/spellings.h"
#include "data/table_features.h"

namespace l2gcn {
namespace {

constexpr size_t kExamples = 3;
constexpr double kWellMatched = 0.9;
constexpr size_t kLeastEnds = 6;
constexpr size_t kMostSwappedIds = 10'000'000;
constexpr size_t kTriedRows = 2000;  // So many rows of another column are tried.

std::vector<uint8_t> NodesOfEdges(const IdMatch& match) {
  std::vector<uint8_t> in_edges(match.ids.nodes(), 0);
  for (const std::vector<uint32_t>* side : {&match.edges.source, &match.edges.target}) {
    for (const uint32_t key : *side) in_edges[match.ids.NodeOf(key)] = 1;
  }
  return in_edges;
}

// How nodes are spelled. Made only where something is to be shown.
class NodeSpellings {
 public:
  explicit NodeSpellings(const IdTable& ids) : numbers_(ids.NodeIds()), names_(ids.Names()) {}
  std::string operator()(uint32_t node) const {
    if (!names_.empty()) return std::string(names_[node]);
    return std::to_string(numbers_.empty() ? int64_t{node} : numbers_[node]);
  }

 private:
  Array<int64_t> numbers_;
  NameTable names_;
};

std::string Normal(std::string_view id) {
  int64_t number = 0;
  return ParseId(id, number) ? std::to_string(number) : std::string(id);
}

struct Unmatched {
  uint64_t count = 0, of = 0;
  std::vector<std::string> examples;
  bool All() const { return count > 0 && count == of; }
  bool Most() const { return count * 2 > of; }
  // More than a tenth; with --allow-unmatched, everything.
  bool TooMany(bool allowed) const { return allowed ? All() : count * 10 > of; }
  const char* HowToGoOn() const {
    return All() ? "Nothing matches, so --allow-unmatched does not help."
                 : "Go on all the same with --allow-unmatched.";
  }
  std::string Shown() const {
    return fmt::format("{}{}", fmt::join(examples, ", "), count > examples.size() ? ", …" : "");
  }
};

template <class Counts, class Misses>
Unmatched CountNodes(const IdMatch& match, const Counts& counts, const Misses& misses) {
  Unmatched found;
  std::vector<uint32_t> first;
  for (uint32_t node = 0; node < match.ids.nodes(); ++node) {
    if (!counts(node)) continue;
    ++found.of;
    if (!misses(node)) continue;
    ++found.count;
    if (first.size() < kExamples) first.push_back(node);
  }
  if (first.empty()) return found;
  const NodeSpellings spelled(match.ids);
  for (const uint32_t node : first) found.examples.push_back(spelled(node));
  return found;
}

std::unordered_set<std::string> Spelled(const IdMatch& match, const std::vector<uint8_t>& wanted) {
  const NodeSpellings spelled(match.ids);
  std::unordered_set<std::string> names;
  for (uint32_t node = 0; node < match.ids.nodes(); ++node) {
    if (wanted[node] != 0) names.insert(Normal(spelled(node)));
  }
  return names;
}

// Another column of the table whose values are ids of the edges, as a sentence; empty if there is none.
std::string BetterTableColumn(const IdMatch& match, const Table& table, size_t id_column,
                              const std::vector<uint8_t>& in_edges) {
  std::vector<size_t> all(table.format.columns());
  for (size_t c = 0; c < all.size(); ++c) all[c] = c;
  const Table text = ReadTable(match.context, table.path, table.format, all);
  const std::unordered_set<std::string> wanted = Spelled(match, in_edges);
  for (size_t c = 0; c < all.size(); ++c) {
    if (c == id_column) continue;
    std::unordered_set<std::string> seen;
    size_t matched = 0;
    for (size_t row = 0; row < text.rows; ++row) {
      const std::string value = Normal(text.columns[c].text[row]);
      if (seen.insert(value).second && wanted.contains(value)) ++matched;
    }
    const auto needed = kWellMatched * static_cast<double>(wanted.size());
    if (static_cast<double>(matched) >= needed)
      return fmt::format(" Column '{}' of the table matches: give --id {}.", table.format.names[c],
                         table.format.names[c]);
  }
  return "";
}

// Two other columns of the edge list whose values are ids of the table, as a sentence; empty if there are
// none.
std::string BetterEdgeColumns(const IdMatch& match, const std::vector<uint8_t>& has_row) {
  const std::unordered_set<std::string> known = Spelled(match, has_row);
  std::vector<std::vector<std::string>> records = FirstEdgeRecords(match.edge_path, match.format);
  if (records.size() > kTriedRows) records.resize(kTriedRows);
  std::vector<std::string> fitting;
  for (size_t c = 0; c < match.format.columns; ++c) {
    size_t matched = 0;
    for (const std::vector<std::string>& record : records)
      matched += c < record.size() && known.contains(Normal(record[c])) ? 1 : 0;
    if (static_cast<double>(matched) >= kWellMatched * static_cast<double>(records.size()))
      fitting.push_back(match.format.names[c]);
  }
  const std::vector<std::string> taken = {match.format.names[match.format.source],
                                          match.format.names[match.format.target]};
  if (fitting.size() < 2 || std::equal(fitting.begin(), fitting.begin() + 2, taken.begin())) return "";
  const auto from = fitting.end() - 2;
  return fmt::format(" Columns {} and {} of the edges match: give --source {} --target {}.", from[0], from[1],
                     from[0], from[1]);
}

std::string WithoutZeros(std::string_view id) {
  return std::string(id.substr(std::min(id.find_first_not_of('0'), id.size() - (id.empty() ? 0 : 1))));
}

// Ways in which the ids of two files differ, from slight to strong.
struct IdSpelling {
  const char* what;  // is ignored
  std::string (*fold)(std::string_view id);
  const char* fix;  // in pandas, behind a column of text
};
constexpr IdSpelling kIdSpellings[] = {
    {"case", LowerCase, ".str.lower()"},
    {"leading zeros", WithoutZeros, ".str.lstrip('0')"},
    {"case and blanks", FoldSpelling, ".str.lower().str.replace(' ', '')"},
    {"case and leading zeros", [](std::string_view id) { return WithoutZeros(LowerCase(id)); },
     ".str.lower().str.lstrip('0')"},
};

// What to ignore for the ids of edges without a row to match rows without an edge, as a sentence; empty if nothing
// helps.
std::string BetterSpelling(const IdMatch& match, const Table& table, const std::vector<uint8_t>& in_edges,
                           const std::vector<uint8_t>& has_row) {
  const NodeSpellings spelled(match.ids);
  for (const IdSpelling& spelling : kIdSpellings) {
    std::unordered_map<std::string, uint32_t> rows;  // folded id to node
    for (uint32_t node = 0; node < match.ids.nodes(); ++node) {
      if (has_row[node] != 0 && in_edges[node] == 0) rows.emplace(spelling.fold(spelled(node)), node);
    }
    uint64_t matched = 0, unmatched = 0;
    std::string example;
    for (uint32_t node = 0; node < match.ids.nodes(); ++node) {
      if (has_row[node] != 0 || in_edges[node] == 0) continue;
      ++unmatched;
      const auto row = rows.find(spelling.fold(spelled(node)));
      if (row == rows.end()) continue;
      ++matched;
      if (example.empty())
        example = fmt::format("'{}' in {}, '{}' in {}", spelled(node), match.edge_path.filename().string(),
                              spelled(row->second), table.path.filename().string());
    }
    if (matched == 0 || static_cast<double>(matched) < kWellMatched * static_cast<double>(unmatched))
      continue;
    return fmt::format(
        " {} of them match if {} {} ignored ({}): write the ids alike in both files (in pandas: read_csv(…, "
        "dtype=str), then column{}).",
        matched, spelling.what, std::string_view(spelling.what) == "case" ? "is" : "are", example,
        spelling.fix);
  }
  return "";
}

// How to predict nodes that have edges to those the model was trained on, as a sentence; empty where no model predicts.
std::string HowToJoin(const IdMatch& match, const Table& table) {
  const std::string &edges = match.options.model_edges, &nodes = match.options.model_nodes;
  if (edges.empty() || nodes.empty() || nodes == table.path.string()) return "";
  const auto joined = [](const std::string& old, const std::string& added, const char* to) {
    return fmt::format("p.concat([p.read_csv(f, dtype=str) for f in ('{}', '{}')]).to_csv('{}', index=False)",
                       IsPlainName(old) ? old : "OLD", IsPlainName(added) ? added : "NEW", to);
  };
  return fmt::format(
      " If they are nodes the model was trained on, join the new tables to the old ones: python3 -c \"import "
      "pandas as "
      "p; {}; {}\" and predict with --nodes all-nodes.csv --edges all-edges.csv.",
      joined(nodes, table.path.string(), "all-nodes.csv"),
      joined(edges, match.edge_path.string(), "all-edges.csv"));
}

std::vector<uint8_t> RowsOfNodes(std::span<const uint32_t> row_of) {
  std::vector<uint8_t> has_row(row_of.size());
  std::transform(row_of.begin(), row_of.end(), has_row.begin(),
                 [](uint32_t row) { return row == kNoTableRow ? uint8_t{0} : uint8_t{1}; });
  return has_row;
}

}  // namespace

void CheckCoversEdges(const IdMatch& match, const Table& table, size_t id_column,
                      std::span<const uint32_t> row_of) {
  const std::vector<uint8_t> in_edges = NodesOfEdges(match), has_row = RowsOfNodes(row_of);
  const auto is_end = [&](uint32_t node) { return in_edges[node] != 0; };
  const auto lacks_row = [&](uint32_t node) { return has_row[node] == 0; };
  const Unmatched ids = CountNodes(match, is_end, lacks_row);
  const Unmatched rows = CountNodes(
      match, [&](uint32_t node) { return has_row[node] != 0; },
      [&](uint32_t node) { return in_edges[node] == 0; });
  const std::string edges = match.edge_path.filename().string(), name = table.path.filename().string();
  if (ids.TooMany(match.options.allow_unmatched)) {
    std::string better = BetterTableColumn(match, table, id_column, in_edges);
    if (better.empty()) better = BetterSpelling(match, table, in_edges, has_row);
    if (better.empty()) better = BetterEdgeColumns(match, has_row);
    if (better.empty()) better = HowToJoin(match, table);
    ThrowInput("{}: {} of its {} ids ({}) have no row in {}, whose ids are in column '{}' ({}).{} {}",
               match.edge_path.string(), ids.count, ids.of, ids.Shown(), table.path.string(),
               table.format.names[id_column], rows.examples.empty() ? "all have edges" : rows.Shown(), better,
               ids.HowToGoOn());
  }
  if (ids.count > 0) {
    const std::string text =
        fmt::format("{}: {} of {} ids have no row in {} ({}): their values count as missing", edges,
                    ids.count, ids.of, name, ids.Shown());
    if (ids.Most()) {
      match.context.Warn(text + "; a model trained on them knows little more than the graph");
    } else {
      match.context.Note(text);
    }
  }
  if (rows.count > 0)
    match.context.Note(
        fmt::format("{}: {} of {} rows have no edge ({})", name, rows.count, rows.of, rows.Shown()));
}

void CheckCovered(const IdMatch& match, const std::filesystem::path& file, std::span<const uint8_t> has_row) {
  const std::vector<uint8_t> in_edges = NodesOfEdges(match);
  const Unmatched ids = CountNodes(
      match, [&](uint32_t node) { return in_edges[node] != 0; },
      [&](uint32_t node) { return has_row[node] == 0; });
  if (ids.count == 0) return;
  if (ids.TooMany(match.options.allow_unmatched)) {
    ThrowInput("{}: {} of its {} ids ({}) have no features in {}. {}", match.edge_path.string(), ids.count,
               ids.of, ids.Shown(), file.string(), ids.HowToGoOn());
  }
  match.context.Note(fmt::format("{}: {} of {} ids have no features in {} ({}): all of theirs are 0",
                                 match.edge_path.filename().string(), ids.count, ids.of,
                                 file.filename().string(), ids.Shown()));
}

void CheckStandsElsewhere(const IdMatch& match, const Table& table, size_t id_column,
                          std::span<const uint32_t> row_of, std::span<const uint8_t> has_features) {
  const std::vector<uint8_t> in_edges = NodesOfEdges(match);
  const Unmatched rows = CountNodes(
      match, [&](uint32_t node) { return row_of[node] != kNoTableRow; },
      [&](uint32_t node) {
        return in_edges[node] == 0 && (has_features.empty() || has_features[node] == 0);
      });
  if (rows.count == 0) return;
  if (rows.TooMany(match.options.allow_unmatched) && (!has_features.empty() || rows.Most())) {
    std::string better = BetterTableColumn(match, table, id_column, in_edges);
    if (better.empty()) better = BetterSpelling(match, table, in_edges, RowsOfNodes(row_of));
    ThrowInput("{}: {} of its {} ids in column '{}' ({}) stand in no other file.{} {}", table.path.string(),
               rows.count, rows.of, table.format.names[id_column], rows.Shown(), better, rows.HowToGoOn());
  }
  match.context.Note(fmt::format("{}: {} of {} rows have no edge ({})", table.path.filename().string(),
                                 rows.count, rows.of, rows.Shown()));
}

namespace {

// Adds the cells of the first column; false where one comes twice, as ends of edges do, or where there are too many.
bool TakeUniqueIds(const std::filesystem::path& path, std::unordered_set<std::string>& ids) {
  const TableFormat format = SniffTable(path, true);
  TextSource source = TextSource::OfRecords(path, format.separator, /*comments=*/false);
  for (TextBlock block; source.Next(block);) {
    CsvRecords records(path, block, format.separator, /*comments=*/false);
    bool header = format.header && block.number == 0;
    while (records.Next()) {
      if (!std::exchange(header, false) &&
          (ids.size() == kMostSwappedIds || !ids.insert(Normal(records.fields()[0])).second))
        return false;
    }
  }
  return true;
}

// Whether nearly all ends of the first edges are ids of the table. A few may be so by accident.
bool FitTogether(const std::filesystem::path& edges, const std::filesystem::path& nodes) {
  std::unordered_set<std::string> ids;
  if (!TakeUniqueIds(nodes, ids)) return false;
  const EdgeTextFormat format = SniffEdgeText(edges);
  size_t ends = 0, known = 0;
  for (const std::vector<std::string>& row : FirstEdgeRecords(edges, format)) {
    for (const size_t column : {format.source, format.target}) {
      ++ends;
      known += column < row.size() && ids.contains(Normal(row[column])) ? 1 : 0;
    }
  }
  return ends >= kLeastEnds && static_cast<double>(known) >= kWellMatched * static_cast<double>(ends);
}

}  // namespace

bool LookSwapped(const std::filesystem::path& edges, const std::filesystem::path& nodes) {
  try {
    return FitTogether(nodes, edges) && !FitTogether(edges, nodes);
  } catch (const Error&) {  // The files say nothing; the first error stands.
    return false;
  }
}

}  // namespace l2gcn
