#include "data/edge_features.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/append_features.h"
#include "data/edge_columns.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// Sums of a column of numbers, of one node and direction; later count, mean, least, largest.
enum Figure : size_t { kCount, kSum, kSmallest, kLargest, kFigureCount };
constexpr const char* kFigureNames[] = {"count", "mean", "min", "max"};

// One cell of each attribute and record of a block, and the ids of its edges.
struct BlockCells {
  std::vector<std::string_view> ids;  // (records × 2)
  std::vector<float> values;          // (records × attributes) number, or place of the level; NaN: none
  std::vector<uint64_t> missing;      // (attributes) cells without a value
  size_t records() const { return ids.size() / 2; }
};

class EdgeFeatures {
 public:
  EdgeFeatures(const EdgeFile& file, bool directed, std::vector<EdgeColumn> columns)
      : file_(file), columns_(std::move(columns)) {
    for (const EdgeColumn& column : columns_) {
      first_.push_back(width_);
      width_ += column.kind.category ? column.kind.levels.size() : kFigureCount;
    }
    if (directed) {
      sides_ = {"out", "in"};
    } else {
      sides_ = {"edges"};
    }
  }

  uint64_t bytes(uint32_t nodes) const {
    return uint64_t{nodes} * sides_.size() * width_ * (sizeof(double) + sizeof(float));
  }

  void Sum(const EdgeNodes& nodes_of, uint32_t nodes) {
    nodes_ = nodes;
    totals_.assign(nodes_ * sides_.size() * width_, 0.0);
    missing_.assign(columns_.size(), 0);
    std::vector<BlockCells> parsed(file_.context.threads);
    std::vector<uint32_t> ends;
    uint64_t first = 0;
    ForEachEdgeBlock(
        file_, [&](size_t k, CsvRecords& records) { ParseBlock(records, parsed[k]); },
        [&](size_t k) {
          ends.resize(parsed[k].ids.size());
          nodes_of(first, parsed[k].ids, ends);
          Add(parsed[k], ends);
          first += parsed[k].records();
        });
    LogMissing(first);
  }

  // The features of all nodes, and the columns they are.
  FeatureColumns Finish() const {
    FeatureColumns made;
    for (size_t side = 0; side < sides_.size(); ++side) {
      for (size_t c = 0; c < columns_.size(); ++c) Describe(side, c, made.columns);
    }
    size_t width = 0;
    for (const TableSchema::Column& column : made.columns) width += column.width();
    made.values = Matrix::Zeros(nodes_, width);
    float* const out = made.values.values.mutable_data();
    ParallelFor(file_.context, nodes_, 512, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) FinishNode(node, made.columns, out + node * width);
    });
    return made;
  }

 private:
  const double* Totals(size_t node, size_t side, size_t c) const {
    return totals_.data() + (node * sides_.size() + side) * width_ + first_[c];
  }

  void ParseBlock(CsvRecords& records, BlockCells& cells) const {
    cells.ids.clear();
    cells.values.clear();
    cells.missing.assign(columns_.size(), 0);
    while (records.Next()) {
      const std::span<const std::string_view> fields = records.fields();
      if (fields.size() != file_.format.columns) file_.RefuseChanged();
      cells.ids.push_back(fields[file_.format.source]);
      cells.ids.push_back(fields[file_.format.target]);
      for (size_t c = 0; c < columns_.size(); ++c) {
        cells.values.push_back(columns_[c].Value(file_, records));
        cells.missing[c] += std::isnan(cells.values.back()) ? 1 : 0;
      }
    }
  }

  void Add(const BlockCells& cells, std::span<const uint32_t> ends) {
    for (size_t record = 0; record < cells.records(); ++record) {
      const uint32_t source = ends[2 * record], target = ends[2 * record + 1];
      if (source >= nodes_ || target >= nodes_) file_.RefuseChanged();
      const float* const values = cells.values.data() + record * columns_.size();
      AddTo(source, 0, values);
      // A self loop of an undirected graph has one end.
      if (sides_.size() == 2 || target != source) AddTo(target, sides_.size() - 1, values);
    }
    for (size_t c = 0; c < columns_.size(); ++c) missing_[c] += cells.missing[c];
  }

  void AddTo(size_t node, size_t side, const float* values) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (std::isnan(values[c])) continue;
      double* const at = totals_.data() + (node * sides_.size() + side) * width_ + first_[c];
      const double value = values[c];
      if (columns_[c].kind.category) {
        at[static_cast<size_t>(value)] += 1;
        continue;
      }
      if (at[kCount] == 0 || value < at[kSmallest]) at[kSmallest] = value;
      if (at[kCount] == 0 || value > at[kLargest]) at[kLargest] = value;
      at[kCount] += 1;
      at[kSum] += value;
    }
  }

  void Describe(size_t side, size_t c, std::vector<TableSchema::Column>& described) const {
    const TableSchema::Column& kind = columns_[c].kind;
    const auto add = [&](const std::string& figure, const std::string& of, uint64_t missing) {
      TableSchema::Column column;
      column.name = fmt::format("{}.{}({})", sides_[side], figure, of);
      column.missing = missing;
      column.marks_missing = missing > 0;
      described.push_back(std::move(column));
    };
    for (const std::string& level : kind.levels) add("share", kind.name + "=" + level, 0);
    if (kind.category) return;
    uint64_t without = 0;  // nodes that have no edge with a value
    for (size_t node = 0; node < nodes_; ++node) without += Totals(node, side, c)[kCount] == 0 ? 1 : 0;
    for (size_t figure = 0; figure < kFigureCount; ++figure)
      add(kFigureNames[figure], kind.name, figure == kCount ? 0 : without);
  }

  // `described` are the columns in the order in which they are written to `out`.
  void FinishNode(size_t node, std::span<const TableSchema::Column> described, float* out) const {
    size_t next = 0;
    for (size_t side = 0; side < sides_.size(); ++side) {
      for (size_t c = 0; c < columns_.size(); ++c) {
        const double* const totals = Totals(node, side, c);
        const bool category = columns_[c].kind.category;
        const size_t figures = category ? columns_[c].kind.levels.size() : size_t{kFigureCount};
        double filled = totals[kCount];
        if (category) filled = std::accumulate(totals, totals + figures, 0.0);
        for (size_t figure = 0; figure < figures; ++figure, ++next) {
          const bool divided = category || figure == kSum;
          const double value = divided && filled > 0 ? totals[figure] / filled : totals[figure];
          *out = static_cast<float>(value);
          if (described[next].marks_missing) out[1] = filled == 0 ? 1.0f : 0.0f;
          out += described[next].width();
        }
      }
    }
  }

  void LogMissing(uint64_t records) const {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (missing_[c] == 0) continue;
      file_.context.Note(fmt::format("{}: column {}: {} of {} edges have no value there and are skipped",
                                     file_.path.filename().string(), columns_[c].kind.name, missing_[c],
                                     records));
    }
  }

  const EdgeFile& file_;
  const std::vector<EdgeColumn> columns_;
  std::vector<const char*> sides_;
  std::vector<size_t> first_;  // (columns) where a column's sums begin among those of a node and side
  size_t width_ = 0;           // sums of a node and side
  size_t nodes_ = 0;
  std::vector<double> totals_;     // (nodes × sides × width)
  std::vector<uint64_t> missing_;  // (columns) cells without a value
};

}  // namespace

bool HasEdgeFeatures(const OpenOptions& options) {
  return !options.edge_features.empty() || !options.edge_columns.empty();
}

EdgeTextFormat WithoutFeatures(EdgeTextFormat format, const OpenOptions& options) {
  for (const std::string& name : EdgeFeatureNames(format, options)) std::erase(format.ignored, name);
  return format;
}

void AddEdgeFeatures(const Context& context, const fs::path& path, const EdgeTextFormat& format,
                     const OpenOptions& options, const EdgeNodes& nodes_of, uint64_t memory,
                     Dataset& dataset) {
  const EdgeFile file{context, path, format};
  std::vector<EdgeColumn> columns = FindEdgeColumns(file, options);
  for (const EdgeColumn& column : columns) dataset.schema.edge_columns.push_back(column.kind);
  EdgeFeatures features(file, options.directed, std::move(columns));
  const uint64_t bytes = features.bytes(dataset.nodes());
  if (memory != 0 && bytes > memory) {
    ThrowInput("{}: --edge-features needs {} MiB for {} nodes, more than --memory leaves; name fewer columns",
               path.string(), bytes >> 20, dataset.nodes());
  }
  features.Sum(nodes_of, dataset.nodes());
  AppendFeatures(context, features.Finish(), dataset);
  if (dataset.schema.path.empty()) dataset.schema.path = path.string();
}

}  // namespace l2gcn
