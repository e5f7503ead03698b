#include "data/feature_files.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/files.h"
#include "data/edge_text.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMostFileColumns = uint64_t{1} << 31;

// Events of {"node": [column, …], …}; everything else is refused where it stands.
class FeatureEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  FeatureEvents(const std::string& where, const std::function<uint32_t(std::string_view)>& key_of,
                KeyedRows& rows)
      : where_(where), key_of_(key_of), rows_(rows) {}

  bool start_object(size_t) override {
    if (depth_++ != 0) Refuse();
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    rows_.keys.push_back(key_of_(name));
    node_ = name;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_++ != 1) Refuse();
    return true;
  }
  bool end_array() override {
    --depth_;
    rows_.starts.push_back(rows_.columns.size());
    return true;
  }
  bool number_unsigned(uint64_t column) override {
    if (depth_ != 2) Refuse();
    if (column >= kMostFileColumns)
      ThrowInput("{}: node {} has feature {}, past what is supported", where_, node_, column);
    rows_.columns.push_back(static_cast<uint32_t>(column));
    rows_.values.push_back(1);
    rows_.width = std::max(rows_.width, static_cast<uint32_t>(column) + 1);
    return true;
  }
  bool number_integer(int64_t column) override {
    ThrowInput("{}: node {} has feature {}; features count from 0", where_, node_, column);
  }
  bool number_float(double value, const std::string&) override {
    if (value != std::trunc(value) || value < 0) Refuse();
    return number_unsigned(static_cast<uint64_t>(std::min(value, 1e18)));
  }
  bool null() override { Refuse(); }
  bool boolean(bool) override { Refuse(); }
  bool string(std::string&) override { Refuse(); }
  bool binary(nlohmann::json::binary_t&) override { Refuse(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    ThrowInput("{}: no valid JSON at byte {}", where_, position);
  }

 private:
  [[noreturn]] void Refuse() const {
    ThrowInput("{}: near node '{}': expected {{\"node\": [feature, …], …}}", where_, node_);
  }
  const std::string& where_;
  const std::function<uint32_t(std::string_view)>& key_of_;
  KeyedRows& rows_;
  int depth_ = 0;
  std::string node_;
};

bool NextToken(std::string_view& line, std::string_view& token) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  size_t end = 0;
  while (end < line.size() && line[end] != ' ' && line[end] != '\t' && line[end] != '#') ++end;
  token = line.substr(0, end);
  line = end < line.size() && line[end] == '#' ? std::string_view() : line.substr(end);
  return !token.empty();
}

}  // namespace

KeyedRows ReadJsonFeatures(const fs::path& path, const std::function<uint32_t(std::string_view)>& key_of) {
  const auto file = MappedFile::Open(path);
  const std::string where = path.string();
  KeyedRows rows;
  FeatureEvents events(where, key_of, rows);
  const std::string_view text = file->text();
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  if (rows.starts.size() != rows.keys.size() + 1)
    ThrowInput("{}: expected {{\"node\": [feature, …], …}}", where);
  return rows;
}

KeyedRows ReadSvmlight(const fs::path& path, std::vector<std::string>& labels) {
  TextSource source(path);
  TextBlock block;
  KeyedRows rows;
  uint32_t smallest = UINT32_MAX;
  uint64_t line_number = 0;
  while (source.Next(block)) {
    for (size_t at = 0; at < block.text.size();) {
      const size_t end = std::min(block.text.find('\n', at), block.text.size());
      std::string_view line(block.text.data() + at, end - at);
      at = end + 1;
      ++line_number;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      std::string_view token;
      if (!NextToken(line, token)) continue;
      labels.emplace_back(token);
      rows.keys.push_back(static_cast<uint32_t>(rows.keys.size()));
      int64_t largest = -1;  // column of the line
      while (NextToken(line, token)) {
        const size_t colon = token.find(':');
        int64_t column = 0;
        float value = 0;
        if (token.starts_with("qid:")) continue;
        if (colon == std::string_view::npos || !ParseId(token.substr(0, colon), column) || column < 0 ||
            static_cast<uint64_t>(column) >= kMostFileColumns ||
            !ParseNumber(token.substr(colon + 1), value) || !std::isfinite(value)) {
          ThrowInput("{}:{}: '{}' is no column:value", path.string(), line_number, token);
        }
        const auto row = rows.columns.begin() + static_cast<ptrdiff_t>(rows.starts.back());
        if (column <= largest &&
            std::find(row, rows.columns.end(), static_cast<uint32_t>(column)) != rows.columns.end()) {
          ThrowInput("{}:{}: column {} has two values", path.string(), line_number, column);
        }
        largest = std::max(largest, column);
        rows.columns.push_back(static_cast<uint32_t>(column));
        rows.values.push_back(value);
        smallest = std::min(smallest, static_cast<uint32_t>(column));
        rows.width = std::max(rows.width, static_cast<uint32_t>(column) + 1);
      }
      rows.starts.push_back(rows.columns.size());
    }
  }
  if (smallest > 0 && smallest != UINT32_MAX) {
    for (uint32_t& column : rows.columns) --column;
    --rows.width;
  }
  return rows;
}

CsrMatrix ArrangeRows(const KeyedRows& keyed, uint32_t nodes,
                      const std::function<uint32_t(uint32_t)>& node_of, const std::string& where) {
  constexpr uint32_t kNoRow = UINT32_MAX;
  std::vector<uint32_t> row_of(nodes, kNoRow);
  for (size_t row = 0; row < keyed.keys.size(); ++row) {
    const uint32_t node = node_of(keyed.keys[row]);
    if (row_of[node] != kNoRow) ThrowInput("{}: row {} is of a node that had one already", where, row + 1);
    row_of[node] = static_cast<uint32_t>(row);
  }
  CsrMatrix matrix;
  matrix.rows = nodes;
  matrix.cols = keyed.width;
  matrix.indptr = Array<uint64_t>::Zeros(size_t{nodes} + 1);
  matrix.indices = Array<uint32_t>::Allocate(keyed.columns.size());
  matrix.values = Array<float>::Allocate(keyed.columns.size());
  uint64_t at = 0;
  std::vector<std::pair<uint32_t, float>> entries;
  for (uint32_t node = 0; node < nodes; ++node) {
    if (row_of[node] != kNoRow) {
      entries.clear();
      for (uint64_t e = keyed.starts[row_of[node]]; e < keyed.starts[row_of[node] + 1]; ++e) {
        entries.emplace_back(keyed.columns[e], keyed.values[e]);
      }
      std::sort(entries.begin(), entries.end());
      for (size_t i = 0; i < entries.size(); ++i) {
        if (i > 0 && entries[i].first == entries[i - 1].first) continue;  // named twice: active once
        matrix.indices.mutable_data()[at] = entries[i].first;
        matrix.values.mutable_data()[at++] = entries[i].second;
      }
    }
    matrix.indptr.mutable_data()[node + 1] = at;
  }
  if (at != keyed.columns.size()) {
    matrix.indices = Array<uint32_t>::CopyOf(matrix.indices.span().first(at));
    matrix.values = Array<float>::CopyOf(matrix.values.span().first(at));
  }
  return matrix;
}

}  // namespace l2gcn
