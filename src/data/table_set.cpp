#include "data/table_set.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_features.h"
#include "data/edge_load.h"
#include "data/feature_files.h"
#include "data/labels.h"
#include "data/node_rows.h"
#include "data/npz.h"
#include "data/reader.h"
#include "data/split_columns.h"
#include "data/table_features.h"
#include "data/table_files.h"
#include "data/table_labels.h"
#include "data/table_match.h"
#include "data/table_targets.h"
#include "data/triples.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// Features in these files are no text tables.
constexpr std::initializer_list<const char*> kOtherFeatures = {".json", ".npy",      ".npz",
                                                               ".svm",  ".svmlight", ".libsvm"};

class TableSetReader {
 public:
  TableSetReader(const Context& context, TableFiles files, const OpenOptions& options)
      : context_(context), files_(std::move(files)), options_(options) {
    LoadTables();
    EdgeTextHints hints{options.source_column,    options.target_column,   options.weight_column, {},
                        options.edge_type_column, HasEdgeFeatures(options)};
    const auto has_ids = [](const std::optional<NodeRows>& rows) { return rows && !rows->by_position(); };
    if (has_ids(labels_) || has_ids(features_)) {
      hints.is_known = [this](std::string_view id) {
        if (known_.empty()) CollectIds();  // most headers are recognised without
        return known_.contains(SameId(id));
      };
    }
    format_ = SniffEdgeText(files_.edges, hints);
    LogEdgeColumns(context_, files_.edges, WithoutFeatures(format_, options));
  }

  Dataset Read() {
    return ReadInStages(format_, [&](const EdgeTextFormat& format) { return ReadWith(format); });
  }

 private:
  // Tables do not depend on the kind of ids: they are read once.
  void LoadTables() {
    if (!files_.nodes.empty()) {
      LoadLabels(files_.nodes);
    } else if (!files_.labels.empty() && !HasExtension(files_.labels, {".npy"})) {
      LoadLabels(files_.labels);
    }
    if (!files_.features.empty() && !HasExtension(files_.features, kOtherFeatures)) {
      const TableFormat format =
          SniffTable(files_.features, true, {options_.id_column, SplitColumnName(options_.split_by)});
      if (HoldsTriples(format)) {
        triples_ = format;
      } else {
        features_ = ReadNodeRows(context_, files_.features, format, {}, options_, files_.words);
      }
    }
    FindSplitColumn();
  }

  // Where the column is that splits are drawn by, in the node table or else in that of the features.
  void FindSplitColumn() const {
    const auto has_column = [](const std::optional<NodeRows>& rows) {
      return rows && rows->split_column != kNoTableColumn;
    };
    if (options_.split_by.empty() || has_column(labels_) || has_column(features_)) return;
    const std::optional<NodeRows>& rows = labels_ ? labels_ : features_;
    if (!rows) ThrowUsage("--split {}: a column of the node table; give it with --nodes", options_.split_by);
    ColumnNamed(rows->table.format, rows->table.path, "--split", SplitColumnName(options_.split_by));
    ThrowUsage("--split {}: that column holds the ids or the labels", options_.split_by);
  }

  void LoadLabels(const fs::path& path) {
    const TableFormat format = SniffTable(path, true, HintsOf(options_));
    const std::string& label = options_.label_column;
    const bool none = label == kNoLabelColumn && FindColumn(format, label) == kNoTableColumn;
    if (format.columns() > 1 || options_.no_ids || options_.label_optional || none) {
      if (!label.empty()) {
        label_columns_ = NamedLabelColumns(format, path, options_);
      } else if (!options_.label_optional) {
        const bool last_splits =
            !options_.split_by.empty() &&
            FindColumn(format, SplitColumnName(options_.split_by)) == format.columns() - 1;
        label_columns_ = {format.columns() - (last_splits && format.columns() > 2 ? 2 : 1)};
      }
    } else if (files_.nodes.empty()) {
      label_columns_ = {0};
    } else {
      ThrowInput("{}: expected an id and at least one more column", path.string());
    }
    const std::string& weight = options_.sample_weight_column;
    if (!weight.empty()) weight_column_ = ColumnNamed(format, path, "--sample-weight", weight);
    labels_ = ReadNodeRows(context_, path, format, LabelAndWeightColumns(), options_, files_.words);
    for (const size_t column : label_columns_) {
      if (column == labels_->id_column)
        ThrowUsage("--label {}: that column of {} holds the ids", format.names[column], path.string());
      if (column == weight_column_)
        ThrowUsage("--sample-weight {}: that column is a label", format.names[column]);
    }
  }

  std::vector<size_t> LabelAndWeightColumns() const {
    std::vector<size_t> columns = label_columns_;
    columns.push_back(weight_column_);
    return columns;
  }

  // 17.0 is 17.
  static std::string SameId(std::string_view id) {
    int64_t number = 0;
    return ParseId(id, number) ? std::to_string(number) : std::string(id);
  }
  void CollectIds() {
    for (const std::optional<NodeRows>* rows : {&labels_, &features_}) {
      if (!*rows || (*rows)->by_position()) continue;
      for (size_t row = 0; row < (*rows)->table.rows; ++row) known_.insert(SameId((*rows)->Id(row)));
    }
  }

  Dataset ReadWith(const EdgeTextFormat& format) {
    IdTable ids(format.ids, 0);
    Dataset dataset;
    dataset.format = "table";
    dataset.path = files_.edges.string();
    const std::vector<uint32_t> label_keys = KeysOf(labels_, ids), feature_keys = KeysOf(features_, ids);
    KeyedRows keyed;
    std::vector<std::string> svm_labels;
    const bool json = HasExtension(files_.features, {".json"});
    const bool by_id = json || triples_;
    const bool svm = HasExtension(files_.features, {".svm", ".svmlight", ".libsvm"});
    const auto key_of = [&](std::string_view id) { return ids.ResolveOne(id); };
    if (json) keyed = ReadJsonFeatures(files_.features, key_of);
    if (triples_) keyed = ReadTriples(context_, files_.features, *triples_, key_of);
    if (svm) keyed = ReadSvmlight(files_.features, svm_labels);
    LoadedEdges edges = LoadEdges(context_, files_.edges, format, ids);
    LogNegativeWeights(context_, files_.edges, edges);
    const uint64_t positions = Positions(svm ? keyed.keys.size() : 0);
    if (positions > 0) ClaimPositions(positions, edges, ids);
    ids.Finish();
    if (positions > 0 && ids.nodes() != positions) RefusePositions(positions, ids.nodes());
    PlaceRows(labels_, label_keys, ids);
    PlaceRows(features_, feature_keys, ids);
    CheckMatches(ids, edges, by_id ? keyed.keys : std::vector<uint32_t>());
    const LoadedEdges kept = HasEdgeFeatures(options_) ? edges : LoadedEdges{};
    AttachLoaded(context_, std::move(edges), format_, ids,
                 {{options_.directed, options_.keep_self_loops, files_.edges.string()},
                  options_.edge_types,
                  options_.allow_unmatched},
                 dataset);
    dataset.node_ids = ids.NodeIds();
    dataset.node_names = ids.Names();
    TakeSplitColumns(dataset);
    TakeLabels(dataset, svm_labels);
    if (by_id || svm) {
      const auto node_of = [&](uint32_t key) { return svm ? key : ids.NodeOf(key); };
      dataset.features = Features::Sparse(ArrangeRows(keyed, ids.nodes(), node_of, files_.features.string()));
    } else {
      TakeFeatures(dataset);
    }
    if (HasEdgeFeatures(options_)) {
      const auto nodes_of = [&](uint64_t first, std::span<const std::string_view>,
                                std::span<uint32_t> nodes) { NodesOfEdges(kept, ids, first, nodes); };
      AddEdgeFeatures(context_, files_.edges, format, options_, nodes_of, 0, dataset);
    }
    LogIds(context_, files_.edges.filename().string(), ids);
    return dataset;
  }

  // Key of each row; a second row with the same id is refused.
  static std::vector<uint32_t> KeysOf(const std::optional<NodeRows>& rows, IdTable& ids) {
    std::vector<uint32_t> keys;
    if (!rows || rows->by_position()) return keys;
    std::unordered_set<uint32_t> seen;
    keys.reserve(rows->table.rows);
    for (size_t row = 0; row < rows->table.rows; ++row) {
      const std::string_view id = rows->Id(row);
      if (id.empty()) RefuseRowWithoutId(*rows, row);
      keys.push_back(ids.ResolveOne(id));
      if (!seen.insert(keys.back()).second) RefuseRepeatedId(*rows, row);
    }
    return keys;
  }

  // Rows of the files whose row k is node k; 0: there is none.
  uint64_t Positions(size_t svm_rows) const {
    uint64_t rows = svm_rows;
    const auto take = [&](uint64_t count, const fs::path& path) {
      if (rows != 0 && rows != count)
        ThrowInput("{}: has {} rows, another file of one row a node has {}", path.string(), count, rows);
      rows = count;
    };
    for (const std::optional<NodeRows>* table : {&labels_, &features_}) {
      if (*table && (*table)->by_position()) take((*table)->table.rows, (*table)->table.path);
    }
    for (const fs::path& path : {files_.features, files_.labels}) {
      if (HasExtension(path, {".npy"})) {
        const NpyArray array = NpyArray::Open(path);
        take(array.shape().empty() ? 0 : array.shape()[0], path);
      }
      if (HasExtension(path, {".npz"}))
        take(SparseFromNpz(context_, NpzFile::Open(context_, path), "").rows, path);
    }
    return rows;
  }

  // Makes `rows` ids the nodes, also those without an edge: 0 … rows−1, or 1 … rows where the edges count
  // from 1. Other integers must be `rows` many.
  void ClaimPositions(uint64_t rows, const LoadedEdges& edges, IdTable& ids) const {
    if (ids.kind() == IdKind::kText || rows > (uint64_t{1} << 31)) {
      ThrowInput("{}: its ids must be numbers, 0 to {}, since features or labels are given row by row",
                 files_.edges.string(), rows - 1);
    }
    if (ids.kind() != IdKind::kSmall) return;
    uint32_t smallest = UINT32_MAX, largest = 0;
    for (const std::vector<uint32_t>* side : {&edges.source, &edges.target}) {
      for (const uint32_t id : *side) smallest = std::min(smallest, id), largest = std::max(largest, id);
    }
    const bool from_one = largest == rows && smallest >= 1;
    if (largest >= rows && !from_one) return;
    if (from_one) {
      context_.Note(fmt::format("{}: ids count from 1: row 1 of features and labels is node 1",
                                files_.edges.filename().string()));
    }
    const uint32_t first = from_one ? 1 : 0;
    ids.Reserve(static_cast<uint32_t>(rows - 1 + first));
    for (uint64_t k = 0; k < rows; ++k) {
      const auto key = static_cast<uint32_t>(k + first);
      ids.MarkSmall({&key, 1});
    }
  }
  [[noreturn]] void RefusePositions(uint64_t rows, uint32_t nodes) const {
    ThrowInput(
        "{}: names nodes beyond {}, {} in all, but features or labels have {} rows; expected one a node",
        files_.edges.string(), rows - 1, nodes, rows);
  }

  static void PlaceRows(std::optional<NodeRows>& rows, const std::vector<uint32_t>& keys,
                        const IdTable& ids) {
    if (!rows) return;
    rows->row_of.assign(ids.nodes(), kNoTableRow);
    for (size_t row = 0; row < rows->table.rows; ++row) {
      rows->row_of[rows->by_position() ? row : ids.NodeOf(keys[row])] = static_cast<uint32_t>(row);
    }
  }

  void CheckMatches(const IdTable& ids, const LoadedEdges& edges,
                    const std::vector<uint32_t>& feature_keys) const {
    const IdMatch match{context_, files_.edges, format_, ids, edges, options_};
    const bool own_features = !files_.features.empty();
    std::vector<uint8_t> has_features(own_features && !feature_keys.empty() ? ids.nodes() : 0, 0);
    for (const uint32_t key : feature_keys) has_features[ids.NodeOf(key)] = 1;
    if (!feature_keys.empty()) CheckCovered(match, files_.features, has_features);
    if (features_ && !features_->by_position()) {
      CheckCoversEdges(match, features_->table, features_->id_column, features_->row_of);
      has_features.assign(ids.nodes(), 0);
      for (uint32_t node = 0; node < ids.nodes(); ++node)
        has_features[node] = features_->row_of[node] != kNoTableRow ? 1 : 0;
    }
    if (!labels_ || labels_->by_position()) return;
    if (!has_features.empty() || files_.nodes.empty()) {
      CheckStandsElsewhere(match, labels_->table, labels_->id_column, labels_->row_of, has_features);
    } else {
      CheckCoversEdges(match, labels_->table, labels_->id_column, labels_->row_of);
    }
  }

  void TakeLabels(Dataset& dataset, const std::vector<std::string>& svm_labels) {
    const uint32_t nodes = dataset.nodes();
    if (HasExtension(files_.labels, {".npy"})) {
      dataset.labels =
          LabelsFromArray(context_, NpyArray::Open(files_.labels), dataset.class_names, options_.task);
    } else if (!labels_ && !svm_labels.empty()) {
      const std::vector<std::string_view> texts(svm_labels.begin(), svm_labels.end());
      dataset.labels =
          LabelsFromTexts(context_, files_.features.filename().string(), texts, dataset.class_names);
    } else if (!labels_ || (label_columns_.empty() && !IsMultilabelTable())) {
      dataset.labels = NoLabels(nodes);
    } else if (IsMultilabelTable()) {
      dataset.labels = MultilabelOf(*labels_, dataset.nodes(), dataset.class_names);
      LogGuess("all columns but the ids hold 0 and 1: each is a label");
    } else {
      TakeColumnLabels(dataset);
    }
    TakeWeights(dataset);
  }

  void TakeSplitColumns(Dataset& dataset) const {
    for (const std::optional<NodeRows>* rows : {&labels_, &features_}) {
      if (!*rows || (*rows)->split_column == kNoTableColumn || !dataset.split_columns.empty()) continue;
      dataset.split_columns.push_back(
          TakeSplitColumn(options_.split_by, (*rows)->table, (*rows)->split_column, (*rows)->row_of));
    }
  }

  // Reports where the labels are taken from if the user does not say it.
  void LogGuess(const std::string& found) const {
    context_.Note(fmt::format("{}: {} (--label names another column, or none)",
                              labels_->table.path.filename().string(), found));
  }

  // Classes, or the targets of a regression.
  void TakeColumnLabels(Dataset& dataset) const {
    const TableFormat& format = labels_->table.format;
    for (const size_t column : label_columns_)
      dataset.schema.label += (dataset.schema.label.empty() ? "" : ",") + format.names[column];
    const LabelColumn label{*labels_, label_columns_.front(), !options_.label_column.empty()};
    std::vector<std::string_view> texts(dataset.nodes());
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      const uint32_t row = labels_->row_of[node];
      if (row != kNoTableRow) texts[node] = labels_->table.columns[label.column].text[row];
    }
    if (!label.named && labels_->table.columns.size() > (labels_->by_position() ? 1 : 2))
      LogGuess(fmt::format("labels are in column {}, the last", dataset.schema.label));
    dataset.schema.regression = AreTargets(context_, label, label_columns_.size(), texts, options_);
    if (dataset.schema.regression) {
      dataset.labels = TargetsOf(*labels_, label_columns_, dataset.nodes(), dataset.class_names);
      return;
    }
    if (!options_.label_optional && options_.task.empty()) AskWhetherLabel(context_, label, texts);
    dataset.labels = LabelsFromTexts(context_, label.Place(), texts, dataset.class_names);
  }

  void TakeWeights(Dataset& dataset) const {
    const std::string& name = options_.sample_weight_column;
    if (name.empty()) return;
    if (weight_column_ == kNoTableColumn)
      ThrowUsage("--sample-weight {}: no table has rows of nodes; give one by --nodes", name);
    if (dataset.labels.task() != Task::kRegression)
      ThrowUsage("--sample-weight {}: for a regression; classes have --class-weights", name);
    dataset.schema.ignored.push_back(labels_->table.format.names[weight_column_]);
    dataset.labels.node_weights = NodeWeightsOf(*labels_, weight_column_, dataset.labels, dataset.nodes());
  }

  bool IsMultilabelTable() const {
    return options_.label_column.empty() && options_.task != kRegressionTask && HoldsLabelSets(*labels_);
  }

  void TakeFeatures(Dataset& dataset) {
    if (HasExtension(files_.features, {".npy"})) {
      dataset.features = NpyArray::Open(files_.features).AsFeatures(context_);
    } else if (HasExtension(files_.features, {".npz"})) {
      dataset.features = Features::Sparse(
          ToCsr(context_, SparseFromNpz(context_, NpzFile::Open(context_, files_.features), "")));
    } else if (features_) {
      TakeColumns(dataset, *features_, {});
    } else if (labels_ && files_.features.empty() && !IsMultilabelTable()) {
      TakeColumns(dataset, *labels_, LabelAndWeightColumns());
    } else {
      dataset.features = Features::None(dataset.nodes());
    }
  }

  // `labels`: the columns of labels and weights.
  void TakeColumns(Dataset& dataset, const NodeRows& rows, std::span<const size_t> labels) const {
    const std::vector<size_t> skip = ColumnsWithoutFeatures(rows, labels);
    const TableFormat& format = rows.table.format;
    if (rows.split_column != kNoTableColumn)
      dataset.schema.ignored.push_back(format.names[rows.split_column]);
    if (!rows.by_position()) dataset.schema.id = format.names[rows.id_column];
    dataset.schema.path = rows.table.path.string();
    TakeTableFeatures(context_, rows.table, rows.row_of, {skip, options_.feature_columns}, dataset);
  }

  const Context& context_;
  const TableFiles files_;
  const OpenOptions& options_;
  EdgeTextFormat format_;
  std::optional<NodeRows> labels_, features_;
  std::optional<TableFormat> triples_;  // of the features, where they are a table of triples
  std::vector<size_t> label_columns_;   // several: targets of a regression
  size_t weight_column_ = kNoTableColumn;
  std::unordered_set<std::string> known_;  // ids of the tables
};

}  // namespace

Dataset ReadTables(const Context& context, const TableFiles& files, const OpenOptions& options) {
  return TableSetReader(context, files, options).Read();
}

Dataset ReadTableSet(const Context& context, const fs::path& path, const OpenOptions& options) {
  const TableFiles files = TableFilesOf(path, options);
  Dataset dataset;
  try {
    dataset = ReadTables(context, files, options);
  } catch (const Error& error) {
    const bool of_files = error.kind() == ErrorKind::kInput || error.kind() == ErrorKind::kUsage;
    if (!of_files || files.nodes.empty() || !LookSwapped(files.edges, files.nodes)) throw;
    ThrowUsage(
        "{0} and {1} look swapped: rows of {1} name two ids of {0} each, as edges do; give {1} with "
        "--edges and {0} with --nodes",
        files.edges.string(), files.nodes.string());
  }
  std::error_code error;
  if (options.edges.empty() && fs::is_directory(path, error)) dataset.path = path.string();
  if (!fs::is_directory(path, error)) dataset.name = WithoutCompression(dataset.path).stem().string();
  return dataset;
}

}  // namespace l2gcn
