#include "data/split_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "data/csv.h"
#include "data/table_features.h"
#include "data/times.h"

namespace l2gcn {
namespace {

constexpr const char* kPartNames[] = {"train", "validation", "test"};
constexpr size_t kSplitParts = 3;

bool IsTime(const std::string& split_by) { return split_by.starts_with("time:"); }

// The value of the column in each row; throws Error(kInput) naming the first row without one.
std::vector<std::string_view> FilledCells(const std::string& split_by, const Table& table, size_t column) {
  std::vector<std::string_view> cells;
  for (size_t row = 0; row < table.rows; ++row) {
    cells.push_back(TrimBlanks(table.columns[column].text[row]));
    if (IsMissing(cells.back())) {
      ThrowInput("{}: row {} has no value in column {}, and --split {} needs one of every node",
                 table.path.string(), row + 1, table.format.names[column], split_by);
    }
  }
  return cells;
}

// The cells as times; they must all be written in one format.
std::vector<Time> TimesOf(const Table& table, size_t column, std::span<const std::string_view> cells) {
  std::vector<Time> times(cells.size());
  for (size_t row = 0; row < cells.size(); ++row) {
    const std::string place =
        fmt::format("{}: row {}: column {}", table.path.string(), row + 1, table.format.names[column]);
    if (!ParseTime(cells[row], times[row])) {
      ThrowInput("{}: '{}' is no time; expected a number or a date such as 2024-01-31 or 2024-01-31T08:30:00",
                 place, cells[row]);
    }
    if (times[row].format != times[0].format) {
      ThrowInput("{}: '{}' is {}, but '{}' in row 1 is {}; write all of them in one format", place,
                 cells[row], NameOf(times[row].format), cells[0], NameOf(times[0].format));
    }
  }
  return times;
}

// The place of each value among the different ones.
template <class T>
std::vector<uint32_t> PlacesOf(const std::vector<T>& values) {
  std::vector<T> different = values;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<uint32_t> places;
  for (const T& value : values) {
    const auto found = std::lower_bound(different.begin(), different.end(), value);
    places.push_back(static_cast<uint32_t>(found - different.begin()));
  }
  return places;
}

// The labelled nodes of each value that has one, in the order of the values.
struct ValueNodes {
  uint32_t place, first, count;  // within `nodes`
};
struct NodesByValue {
  std::vector<uint32_t> nodes;  // by value, each value's ascending
  std::vector<ValueNodes> values;
};

NodesByValue GroupNodes(const Dataset& dataset, const Split::Column& column,
                        std::span<const uint32_t> labelled) {
  for (const uint32_t node : labelled) {
    if (column.places[node] == Split::Column::kNoRow)
      ThrowInput("{}: node {} has a label, but no row with a value for --split {}", dataset.name,
                 dataset.NodeName(node), column.name);
  }
  NodesByValue grouped{{labelled.begin(), labelled.end()}, {}};
  const auto place = [&](uint32_t node) { return column.places[node]; };
  std::stable_sort(grouped.nodes.begin(), grouped.nodes.end(),
                   [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  for (uint32_t i = 0; i < grouped.nodes.size(); ++i) {
    const uint32_t own = place(grouped.nodes[i]);
    if (grouped.values.empty() || grouped.values.back().place != own) grouped.values.push_back({own, i, 0});
    ++grouped.values.back().count;
  }
  return grouped;
}

// How the parts fill up; behind train, val and test comes what no part wants.
class Parts {
 public:
  Parts(const std::array<double, 3>& shares, size_t nodes) {
    double sum = 0;
    for (size_t part = 0; part < kSplitParts; ++part) {
      wanted_[part] = shares[part] * static_cast<double>(nodes);
      sum += shares[part];
    }
    const double rest = (1 - sum) * static_cast<double>(nodes);
    if (rest >= 0.5) wanted_[kSplitParts] = rest;
  }
  // Nodes that the part still wants; fewer than 0 where it has too many.
  double room(size_t part) const {
    if (wanted_[part] == 0) return -std::numeric_limits<double>::infinity();
    return wanted_[part] - static_cast<double>(taken_[part]);
  }
  void Take(size_t part, uint32_t nodes) { taken_[part] += nodes; }
  // Whether the part shall have nodes and has none.
  bool IsEmpty(size_t part) const { return part < kSplitParts && wanted_[part] > 0 && taken_[part] == 0; }
  size_t empty() const {
    size_t count = 0;
    for (size_t part = 0; part < kSplitParts; ++part) count += IsEmpty(part) ? 1 : 0;
    return count;
  }

 private:
  std::array<double, kSplitParts + 1> wanted_{};
  std::array<uint64_t, kSplitParts + 1> taken_{};
};

constexpr Role kPartRoles[] = {Role::kTrain, Role::kVal, Role::kTest, Role::kNone};

void GiveRoles(const NodesByValue& grouped, const ValueNodes& value, size_t part, Split& split) {
  for (uint32_t i = value.first; i < value.first + value.count; ++i)
    split.roles.mutable_data()[grouped.nodes[i]] = static_cast<uint8_t>(kPartRoles[part]);
}

void CutByTime(const NodesByValue& grouped, const std::array<double, 3>& shares, Split& split) {
  Parts parts(shares, grouped.nodes.size());
  std::array<uint64_t, kSplitParts> ends{};  // of the parts among the nodes by time
  double sum = 0;
  for (size_t part = 0; part < kSplitParts; ++part) {
    sum += shares[part];
    ends[part] = static_cast<uint64_t>(std::llround(sum * static_cast<double>(grouped.nodes.size())));
  }
  for (const ValueNodes& value : grouped.values) {
    size_t part = 0;
    while (part < kSplitParts && value.first >= ends[part]) ++part;
    GiveRoles(grouped, value, part, split);
    parts.Take(part, value.count);
  }
  for (size_t part = 0; part < kSplitParts; ++part) {
    if (!parts.IsEmpty(part)) continue;
    ThrowInput(
        "--split {}: no node is left for {}: {} labelled nodes have {} different times, and nodes of one "
        "time "
        "stay together; give other fractions",
        split.name, kPartNames[part], grouped.nodes.size(), grouped.values.size());
  }
}

// Draws a part for a group of so many nodes, as likely as it has room, among those it fits into; where there is none,
// the part with most room.
size_t DrawPart(const Parts& parts, uint32_t nodes, bool only_empty, float draw) {
  double fitting = 0;
  size_t roomiest = kSplitParts + 1;
  const auto is_open = [&](size_t part) { return !only_empty || parts.IsEmpty(part); };
  const auto weight = [&](size_t part) {
    return is_open(part) && parts.room(part) >= nodes ? parts.room(part) : 0.0;
  };
  for (size_t part = 0; part <= kSplitParts; ++part) {
    fitting += weight(part);
    if (is_open(part) && (roomiest > kSplitParts || parts.room(part) > parts.room(roomiest))) roomiest = part;
  }
  double left = draw * fitting;
  size_t drawn = roomiest;
  for (size_t part = 0; part <= kSplitParts && fitting > 0; ++part) {
    if (weight(part) == 0) continue;
    drawn = part;
    left -= weight(part);
    if (left < 0) break;
  }
  return drawn;
}

// Large groups first, since small ones fill what they leave; in a random order among groups of about one size.
std::vector<uint32_t> OrderOfGroups(const std::vector<ValueNodes>& groups, const RandomStream& random) {
  const auto count = static_cast<uint32_t>(groups.size());
  const Permutation shuffle(count, random);
  std::vector<uint32_t> order(count);
  for (uint32_t i = 0; i < count; ++i) order[i] = shuffle(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::bit_width(groups[a].count) > std::bit_width(groups[b].count);
  });
  return order;
}

void DrawGroups(const NodesByValue& grouped, const std::array<double, 3>& shares, uint64_t seed,
                Split& split) {
  Parts parts(shares, grouped.nodes.size());
  if (grouped.values.size() < parts.empty()) {
    ThrowInput(
        "--split {}: the labelled nodes are of {} group{}, fewer than the {} parts; give other fractions "
        "or name another column",
        split.name, grouped.values.size(), grouped.values.size() == 1 ? "" : "s", parts.empty());
  }
  const std::vector<uint32_t> order = OrderOfGroups(grouped.values, RandomStream(seed, RandomUse::kSplit, 1));
  const RandomStream draws(seed, RandomUse::kSplit, 2);
  for (size_t i = 0; i < order.size(); ++i) {
    const ValueNodes& group = grouped.values[order[i]];
    const bool only_empty = order.size() - i <= parts.empty();
    const size_t part = DrawPart(parts, group.count, only_empty, draws.Uniform(i));
    GiveRoles(grouped, group, part, split);
    parts.Take(part, group.count);
  }
}

}  // namespace

bool IsByColumn(const std::string& split) {
  return split.starts_with("time:") || split.starts_with("group:");
}

std::string SplitColumnName(const std::string& split_by) {
  return split_by.substr(std::min(split_by.find(':'), split_by.size() - 1) + 1);
}

std::string KindAndColumn(const std::string& split) {
  const size_t first = split.find(':'), last = split.rfind(':');
  if (last <= first + 1) {
    ThrowUsage("--split {}: expected {}:COLUMN:TRAIN,VAL,TEST, e.g. {}:{}:0.6,0.2,0.2", split,
               split.substr(0, first), split.substr(0, first), IsTime(split) ? "joined" : "household");
  }
  return split.substr(0, last);
}

Split::Column TakeSplitColumn(const std::string& split_by, const Table& table, size_t column,
                              std::span<const uint32_t> row_of) {
  const std::vector<std::string_view> cells = FilledCells(split_by, table, column);
  const std::vector<uint32_t> places =
      IsTime(split_by) ? PlacesOf(TimesOf(table, column, cells)) : PlacesOf(cells);
  Split::Column kept{split_by, Array<uint32_t>::Filled(row_of.size(), Split::Column::kNoRow)};
  for (size_t node = 0; node < row_of.size(); ++node) {
    if (row_of[node] != kNoTableRow) kept.places.mutable_data()[node] = places[row_of[node]];
  }
  return kept;
}

Split DrawByColumn(const Dataset& dataset, const std::string& spec, const std::array<double, 3>& shares,
                   std::span<const uint32_t> labelled, uint64_t seed) {
  const std::string split_by = KindAndColumn(spec);
  const auto column = std::find_if(dataset.split_columns.begin(), dataset.split_columns.end(),
                                   [&](const Split::Column& one) { return one.name == split_by; });
  if (column == dataset.split_columns.end()) {
    ThrowUsage(
        "--split {}: {} was opened without that column; train with this --split, or in Python "
        "load_dataset(…, split_by='{}')",
        spec, dataset.name, split_by);
  }
  if (column->places.size() != dataset.nodes())
    ThrowInput("{}: its column {} has {} values for {} nodes", dataset.name, split_by, column->places.size(),
               dataset.nodes());
  Split split{spec, Array<uint8_t>::Zeros(dataset.nodes())};
  const NodesByValue grouped = GroupNodes(dataset, *column, labelled);
  if (IsTime(split_by)) {
    CutByTime(grouped, shares, split);
  } else {
    DrawGroups(grouped, shares, seed, split);
  }
  return split;
}

void KeepSplitColumn(const std::string& split, OpenOptions& options) {
  if (IsByColumn(split)) options.split_by = KindAndColumn(split);
}

}  // namespace l2gcn
