// What an edge list looks like, from its beginning: separator, header, which columns are its ends and its
// weight.
//
// A first record is a header if the user's columns stand in it; if its first cell is blank above cells that
// are not (a row number as pandas writes it); if words stand above numbers; if its words are no node ids
// while those below are; if every id below has digits and the words have none; or if it holds a usual name
// such as source. It is none if it holds a number, or if one of its words comes again as an id.
#include <algorithm>
#include <set>

#include "core/error_format.h"
#include "data/edge_text.h"
#include "data/spellings.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kSniffedRecords = 2000;
constexpr size_t kNoColumn = ~size_t{0};

using EdgeRow = std::vector<std::string>;

bool IsOneOf(const std::string& word, std::initializer_list<const char*> words) {
  const std::string lower = LowerCase(word);
  return std::any_of(words.begin(), words.end(), [&](const char* known) { return lower == known; });
}

bool IsSourceName(const std::string& name) {
  return IsOneOf(name, {"source",      "src",     "from",   "id_1",      "id1",    "node1",   "node_1",
                        "u",           "head",    "start",  "source_id", "src_id", "from_id", "from_node",
                        "source_node", "caller",  "sender", "follower",  "citing", "parent",  "origin",
                        "node_a",      "person1", "user1",  "x1"});
}
bool IsTargetName(const std::string& name) {
  return IsOneOf(name,
                 {"target",   "dst",     "dest",        "destination", "to",       "id_2",      "id2",
                  "node2",    "node_2",  "v",           "tail",        "end",      "target_id", "dst_id",
                  "to_id",    "to_node", "target_node", "callee",      "receiver", "recipient", "followee",
                  "followed", "cited",   "child",       "node_b",      "person2",  "user2",     "x2"});
}
bool IsWeightName(const std::string& name) {
  return IsOneOf(name, {"weight", "weights", "w", "edge_weight"});
}
bool IsNoWeightName(const std::string& name) {
  return IsOneOf(name, {"time", "timestamp", "date", "datetime", "year", "ts", "id", "edge_id", "type",
                        "label", "class", "kind"});
}
bool IsRowNumberName(const std::string& name) { return name.empty() || name.starts_with("Unnamed: 0"); }

bool HasDigit(const std::string& word) {
  return std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct SniffedEdges {
  char separator = '\0';
  bool quoted = false;
  std::vector<EdgeRow> rows;  // the first rows of the file
};

SniffedEdges ReadBeginning(const fs::path& path) {
  SniffedEdges sniffed;
  TextSource source(path, TextSource::kSniffBytes);
  TextBlock block;
  if (!source.Next(block)) ThrowInput("{}: the edge list is empty", path.string());
  sniffed.quoted = block.text.find('"') != std::string::npos;
  sniffed.separator = FindSeparator(path, block, /*comments=*/true);
  const std::string text = block.text;  // reading undoes quotes in the block
  const auto read = [&] {
    sniffed.rows.clear();
    block.text = text;
    CsvRecords records(path, block, sniffed.separator, /*comments=*/true, CsvReading::kSniffing);
    while (sniffed.rows.size() < kSniffedRecords && records.Next()) {
      sniffed.rows.emplace_back(records.fields().begin(), records.fields().end());
      if (sniffed.rows.back().size() < 2) {
        ThrowInput("{}:{}: expected two node ids on the line", path.string(), records.Line());
      }
    }
    const bool cut_short = sniffed.rows.size() < 2 && text.size() < TextSource::kSniffBytes / 2;
    if (records.refused() || cut_short) {
      block.text = text;
      CsvRecords strict(path, block, sniffed.separator, /*comments=*/true);
      while (strict.Next()) {  // says what is wrong, and where
      }
    }
    if (sniffed.rows.empty()) ThrowInput("{}: the edge list is empty", path.string());
  };
  read();
  // Two tabs between the ends: tabs are blanks among blanks.
  if (sniffed.separator == '\t' && sniffed.rows[0][1].empty() && !sniffed.quoted) {
    sniffed.separator = ' ';
    read();
  }
  return sniffed;
}

// Whether a cell of the first row comes again as an id.
bool ComesAgain(const std::vector<EdgeRow>& rows) {
  const std::set<std::string> words(rows[0].begin(), rows[0].end());
  for (size_t r = 1; r < rows.size(); ++r) {
    for (size_t c = 0; c < std::min(rows[r].size(), size_t{3}); ++c) {
      if (!rows[r][c].empty() && words.contains(rows[r][c])) return true;
    }
  }
  return false;
}

bool WordsAboveNumbers(const std::vector<EdgeRow>& rows) {
  for (size_t c = 0; c < rows[0].size(); ++c) {
    bool numbers = rows.size() > 1 && !rows[0][c].empty() && !LooksNumeric(rows[0][c]);
    for (size_t r = 1; numbers && r < rows.size(); ++r) {
      numbers = c < rows[r].size() && (LooksNumeric(rows[r][c]) || (rows[r][c].empty() && r > 1));
    }
    if (numbers) return true;
  }
  return false;
}

bool IdsTell(const std::vector<EdgeRow>& rows, const EdgeTextHints& hints) {
  if (!hints.is_known) return false;
  for (const std::string& cell : rows[0]) {
    if (hints.is_known(cell)) return false;
  }
  size_t known = 0;
  for (size_t r = 1; r < rows.size(); ++r) {
    known += std::any_of(rows[r].begin(), rows[r].end(), hints.is_known) ? 1 : 0;
  }
  return known * 2 > rows.size() - 1;
}

// The columns that --weight names: one that has this very name, or those between commas.
std::vector<std::string> WeightNames(const std::string& hint, const std::vector<std::string>& columns) {
  if (hint.empty() || hint == "none") return {};
  if (std::find(columns.begin(), columns.end(), hint) != columns.end()) return {hint};
  std::vector<std::string> names(1);
  for (const char c : hint) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

bool FindsHeader(const std::vector<EdgeRow>& rows, const EdgeTextHints& hints) {
  const EdgeRow& first = rows[0];
  std::vector<std::string> named = WeightNames(hints.weight, first);
  named.insert(named.end(), {hints.source, hints.target, hints.type});
  for (const std::string& name : named) {
    if (!name.empty() && !LooksNumeric(name) && std::find(first.begin(), first.end(), name) != first.end())
      return true;
  }
  if (first[0].empty() && rows.size() > 1 && !rows[1][0].empty()) return true;
  if (std::any_of(first.begin(), first.end(), [](const std::string& cell) { return LooksNumeric(cell); }))
    return false;
  if (WordsAboveNumbers(rows) || IdsTell(rows, hints)) return true;
  if (ComesAgain(rows)) return false;
  if (std::any_of(first.begin(), first.end(),
                  [](const std::string& cell) { return IsSourceName(cell) || IsTargetName(cell); })) {
    return true;
  }
  bool digits = rows.size() > 3 && !HasDigit(first[0]) && !HasDigit(first[1]);
  for (size_t r = 1; digits && r < rows.size(); ++r) digits = HasDigit(rows[r][0]) && HasDigit(rows[r][1]);
  return digits;
}

size_t NamedColumn(const EdgeTextFormat& format, const fs::path& path, const char* option,
                   const std::string& name) {
  for (size_t c = 0; c < format.columns; ++c) {
    if (format.names[c] == name) return c;
  }
  const std::string nearest = NearestName(name, format.names);
  ThrowUsage("{} {}: {} has no such column{}; it has {}", option, name, path.string(),
             nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest),
             fmt::join(format.names, ", "));
}

void FindEnds(const fs::path& path, const EdgeTextHints& hints, EdgeTextFormat& format) {
  const size_t first = format.header && format.columns > 2 && IsRowNumberName(format.names[0]) ? 1 : 0;
  size_t source = kNoColumn, target = kNoColumn;
  for (size_t c = first; format.header && c < format.columns; ++c) {
    if (source == kNoColumn && IsSourceName(format.names[c])) source = c;
    if (target == kNoColumn && IsTargetName(format.names[c])) target = c;
  }
  if (!hints.source.empty()) source = NamedColumn(format, path, "--source", hints.source);
  if (!hints.target.empty()) target = NamedColumn(format, path, "--target", hints.target);
  if (source == target && source != kNoColumn)
    ThrowUsage("{}: --source and --target are the same column, {}", path.string(), format.names[source]);
  // What was not found is the first column that is left.
  if (source == kNoColumn) source = target == first ? first + 1 : first;
  if (target == kNoColumn) target = source == first ? first + 1 : first;
  format.source = source;
  format.target = target;
}

void FindWeight(const fs::path& path, const EdgeTextHints& hints, const std::vector<EdgeRow>& rows,
                EdgeTextFormat& format) {
  // The first filled cell tells: a word or an empty cell elsewhere is a mistake to be named by its line.
  const auto is_number = [&](size_t c) {
    const auto is_filled = [c](const EdgeRow& edge) { return c < edge.size() && !IsMissing(edge[c]); };
    const auto edge = std::find_if(rows.begin() + (format.header ? 1 : 0), rows.end(), is_filled);
    float number = 0;
    return edge != rows.end() &&
           (ParseNumber((*edge)[c], number) || ParseGroupedNumber((*edge)[c], format.separator, number));
  };
  const auto is_free = [&](size_t c) {
    const bool row_number = c == 0 && format.header && format.columns > 2 && IsRowNumberName(format.names[0]);
    return c != format.source && c != format.target && c != format.type && !row_number;
  };
  size_t weight = kNoColumn;
  const std::vector<std::string> named = WeightNames(hints.weight, format.names);
  if (!named.empty()) {
    weight = NamedColumn(format, path, "--weight", named.front());
    for (size_t k = 1; k < named.size(); ++k) {
      const size_t column = NamedColumn(format, path, "--weight", named[k]);
      if (std::count(named.begin(), named.end(), named[k]) > 1)
        ThrowUsage("--weight {}: named twice; name each column once", named[k]);
      format.more_weights.push_back(column);
    }
  } else if (hints.weight.empty()) {
    size_t third = kNoColumn;
    for (size_t c = 0; c < format.columns; ++c) {
      if (!is_free(c)) continue;
      if (third == kNoColumn) third = c;
      if (weight == kNoColumn && format.header && IsWeightName(format.names[c])) weight = c;
    }
    const bool fits = third != kNoColumn && !(format.header && IsNoWeightName(format.names[third]));
    if (weight == kNoColumn && fits && !hints.attributes && is_number(third)) weight = third;
  }
  format.weighted = weight != kNoColumn;
  if (format.weighted) format.weight = weight;
  for (size_t c = 0; c < format.columns; ++c) {
    const bool weighs = c == weight || std::find(format.more_weights.begin(), format.more_weights.end(), c) !=
                                           format.more_weights.end();
    if (is_free(c) && !weighs) format.ignored.push_back(format.names[c]);
  }
}

void FindType(const fs::path& path, const EdgeTextHints& hints, EdgeTextFormat& format) {
  if (hints.type.empty()) return;
  format.type = NamedColumn(format, path, "--edge-type", hints.type);
  if (format.type == format.source || format.type == format.target)
    ThrowUsage("--edge-type {}: that column of {} holds ids", hints.type, path.string());
}

void CheckRelationColumns(const EdgeTextHints& hints, const EdgeTextFormat& format) {
  if (!format.type) return;
  if (!format.more_weights.empty())
    ThrowUsage("--edge-type and several --weight exclude each other; give one --weight, or leave one out");
  if (format.weighted && format.weight == *format.type)
    ThrowUsage("--edge-type and --weight name the same column, {}", hints.type);
}

}  // namespace

EdgeTextFormat SniffEdgeText(const fs::path& path, const EdgeTextHints& hints) {
  const SniffedEdges sniffed = ReadBeginning(path);
  const std::vector<EdgeRow>& rows = sniffed.rows;
  EdgeTextFormat format;
  format.separator = sniffed.separator;
  format.quoted = sniffed.quoted;
  format.header = FindsHeader(rows, hints);
  format.columns = rows[0].size();
  format.names = rows[0];
  if (format.header && rows.size() == 1) ThrowInput("{}: holds a header and no edges", path.string());
  for (size_t c = 0; !format.header && c < format.columns; ++c) format.names[c] = std::to_string(c);
  FindEnds(path, hints, format);
  FindType(path, hints, format);
  FindWeight(path, hints, rows, format);
  CheckRelationColumns(hints, format);
  for (size_t r = format.header ? 1 : 0; r < rows.size(); ++r) {
    for (const size_t c : {format.source, format.target}) {
      if (c < rows[r].size() && !rows[r][c].empty()) format.ids = std::max(format.ids, KindOfId(rows[r][c]));
    }
  }
  return format;
}

void LogEdgeColumns(const Context& context, const fs::path& path, const EdgeTextFormat& format) {
  if (format.columns == 2 && format.source == 0) return;
  std::string text = fmt::format("{}: edges from column {} to column {}, ", path.filename().string(),
                                 format.names[format.source], format.names[format.target]);
  text += format.weighted ? fmt::format("weight {}", format.names[format.weight]) : "no weights";
  for (const size_t column : format.more_weights) text += ", " + format.names[column];
  if (format.type) text += ", type " + format.names[*format.type];
  if (!format.ignored.empty()) text += fmt::format("; not used: {}", fmt::join(format.ignored, ", "));
  context.Note(text + " (--source, --target, --weight, --edge-type choose others)");
}

std::vector<std::vector<std::string>> FirstEdgeRecords(const fs::path& path, const EdgeTextFormat& format) {
  SniffedEdges sniffed = ReadBeginning(path);
  if (format.header) sniffed.rows.erase(sniffed.rows.begin());
  return std::move(sniffed.rows);
}

}  // namespace l2gcn
