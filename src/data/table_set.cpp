#include "data/table_set.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "core/error_format.h"
#include "data/edge_load.h"
#include "data/feature_files.h"
#include "data/labels.h"
#include "data/npz.h"
#include "data/reader.h"
#include "data/table.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostCategories = 1000;
constexpr double kSparseBelow = 0.1;  // share of non-zeros under which table features are kept sparse

struct TableFiles {
  fs::path edges, nodes, features, labels;  // empty: none
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool HasExtension(const fs::path& path, std::initializer_list<const char*> extensions) {
  const std::string extension = Lower(WithoutCompression(path).extension().string());
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const char* known) { return extension == known; });
}

bool IsTextName(const fs::path& path) {
  return HasExtension(path, {".csv", ".tsv", ".txt", ".edges", ".edgelist", ".el", ".dat"});
}

// The files of a folder by what their names say; edges is empty unless there is exactly one of each kind at
// most.
TableFiles FilesOfFolder(const fs::path& folder) {
  TableFiles files;
  bool clear = true;
  std::error_code error;
  const auto take = [&](fs::path& place, const fs::path& path) {
    clear = clear && place.empty();
    place = path;
  };
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::string name = Lower(entry.path().filename().string());
    const bool table = IsTextName(entry.path());
    if (name.find("edge") != std::string::npos && table) {
      take(files.edges, entry.path());
    } else if (name.find("feat") != std::string::npos &&
               (table ||
                HasExtension(entry.path(), {".json", ".npy", ".npz", ".svm", ".svmlight", ".libsvm"}))) {
      take(files.features, entry.path());
    } else if ((name.find("label") != std::string::npos || name.find("target") != std::string::npos) &&
               (table || HasExtension(entry.path(), {".npy"}))) {
      take(files.labels, entry.path());
    }
  }
  if (!clear) files.edges.clear();
  return files;
}

TableFiles FilesOf(const fs::path& path, const OpenOptions& options) {
  if (!options.edges.empty()) return {options.edges, options.nodes, options.features, options.labels};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const TableFiles files = FilesOfFolder(path);
    if (files.edges.empty()) {
      ThrowInput(
          "{}: expected one *edge* file, at most one *feat* and at most one *label* or *target* file; name "
          "them "
          "with --edges, --features and --labels",
          path.string());
    }
    return files;
  }
  return {path, options.nodes, options.features, options.labels};
}

// Where a node's features come from.
struct FeatureColumn {
  const Table* table;
  size_t column;
};

class TableSetReader {
 public:
  TableSetReader(const Context& context, TableFiles files, const OpenOptions& options)
      : context_(context), files_(std::move(files)), options_(options), format_(SniffEdgeText(files_.edges)) {
    LoadTables();
  }

  Dataset Read() {
    IdKind kind = format_.ids;
    for (;;) {
      try {
        return ReadWith(kind);
      } catch (const NeedsWiderIds& wider) {
        kind = wider.kind;
      }
    }
  }

 private:
  // Tables do not depend on the kind of ids: they are read once.
  void LoadTables() {
    const fs::path labels = !files_.nodes.empty() ? files_.nodes : files_.labels;
    if (!labels.empty() && IsTextName(labels)) {
      TableFormat format = SniffTable(labels, true);
      if (format.columns() < 2)
        ThrowInput("{}: expected an id and at least one more column", labels.string());
      label_column_ = options_.label_column.empty() ? format.columns() - 1
                                                    : ColumnNamed(format, labels, options_.label_column);
      if (label_column_ == 0) ThrowUsage("--label {}: that column holds the ids", options_.label_column);
      labels_ = ReadTable(context_, labels, format, {0, label_column_});
    } else if (!labels.empty() && !HasExtension(labels, {".npy"})) {
      ThrowInput("{}: labels are read from .csv, .tsv, .txt (also .gz, .zst) and .npy", labels.string());
    }
    if (!files_.features.empty() && IsTextName(files_.features)) {
      features_ = ReadTable(context_, files_.features, SniffTable(files_.features, true), {0});
    }
  }

  Dataset ReadWith(IdKind kind) {
    IdTable ids(kind, 0);
    Dataset dataset;
    dataset.format = "table";
    dataset.path = files_.edges.string();
    const std::vector<uint32_t> label_keys = KeysOf(labels_, ids), feature_keys = KeysOf(features_, ids);
    KeyedRows keyed;
    std::vector<std::string> svm_labels;
    const bool json = HasExtension(files_.features, {".json"});
    const bool svm = HasExtension(files_.features, {".svm", ".svmlight", ".libsvm"});
    if (json)
      keyed = ReadJsonFeatures(files_.features, [&](std::string_view id) { return ids.ResolveOne(id); });
    if (svm) keyed = ReadSvmlight(files_.features, svm_labels);
    ClaimPositions(ids, svm ? keyed.keys.size() : 0);
    LoadedEdges edges = LoadEdges(context_, files_.edges, format_, ids);
    ids.Finish();
    CheckPositions(ids);
    AttachGraph(dataset, GraphOfEdges(context_, std::move(edges), ids,
                                      {options_.directed, options_.keep_self_loops, files_.edges.string()}));
    dataset.node_ids = ids.NodeIds();
    dataset.node_names = ids.Names();
    TakeLabels(dataset, ids, label_keys, svm_labels);
    if (json || svm) {
      const auto node_of = [&](uint32_t key) { return ids.NodeOf(key); };
      dataset.features = Features::Sparse(ArrangeRows(keyed, ids.nodes(), node_of, files_.features.string()));
    } else {
      TakeFeatures(dataset, ids, label_keys, feature_keys);
    }
    NoteIds(context_, files_.edges.filename().string(), ids);
    return dataset;
  }

  // Key of each row; a second row with the same id is refused.
  static std::vector<uint32_t> KeysOf(const std::optional<Table>& table, IdTable& ids) {
    std::vector<uint32_t> keys;
    if (!table) return keys;
    std::set<std::string_view> seen;
    keys.reserve(table->rows);
    for (size_t row = 0; row < table->rows; ++row) {
      const std::string_view id = table->columns[0].text[row];
      if (id.empty()) ThrowInput("{}: row {} has no id", table->path.string(), row + 1);
      if (!seen.insert(id).second) ThrowInput("{}: the id {} stands twice", table->path.string(), id);
      keys.push_back(ids.ResolveOne(id));
    }
    return keys;
  }

  // Files whose row k is node k make 0 … rows−1 the nodes, also those without an edge.
  void ClaimPositions(IdTable& ids, size_t svm_rows) {
    positions_ = svm_rows;
    for (const fs::path& path : {files_.features, files_.labels}) {
      if (HasExtension(path, {".npy"}))
        positions_ = std::max<uint64_t>(positions_, RowsOf(NpyArray::Open(path)));
      if (HasExtension(path, {".npz"})) {
        positions_ = std::max<uint64_t>(positions_, SparseFromNpz(context_, NpzFile::Open(path), "").rows);
      }
    }
    if (positions_ == 0) return;
    if (ids.kind() != IdKind::kSmall || positions_ > (uint64_t{1} << 31)) {
      ThrowInput("{}: its ids must be 0 to {}, since features or labels are given row by row",
                 files_.edges.string(), positions_ - 1);
    }
    ids.Reserve(static_cast<uint32_t>(positions_ - 1));
    for (uint64_t id = 0; id < positions_; ++id) {
      const auto key = static_cast<uint32_t>(id);
      ids.MarkSmall({&key, 1});
    }
  }
  static uint64_t RowsOf(const NpyArray& array) { return array.shape().empty() ? 0 : array.shape()[0]; }

  void CheckPositions(const IdTable& ids) const {
    if (positions_ != 0 && ids.nodes() != positions_) {
      ThrowInput("{}: names nodes beyond {}, but features or labels have {} rows; expected one a node",
                 files_.edges.string(), positions_ - 1, positions_);
    }
  }

  void TakeLabels(Dataset& dataset, const IdTable& ids, const std::vector<uint32_t>& keys,
                  const std::vector<std::string>& svm_labels) {
    if (HasExtension(files_.labels, {".npy"})) {
      dataset.labels = LabelsFromArray(context_, NpyArray::Open(files_.labels), dataset.class_names);
    } else if (!labels_ && !svm_labels.empty()) {
      const std::vector<std::string_view> texts(svm_labels.begin(), svm_labels.end());
      dataset.labels = LabelsFromTexts(texts, dataset.class_names);
    } else if (!labels_) {
      dataset.labels = NoLabels(ids.nodes());
    } else if (IsMultilabelTable()) {
      dataset.labels = MultilabelOf(ids, keys, dataset.class_names);
    } else {
      std::vector<std::string_view> texts(ids.nodes());
      for (size_t row = 0; row < keys.size(); ++row) {
        texts[ids.NodeOf(keys[row])] = labels_->columns[label_column_].text[row];
      }
      dataset.labels = LabelsFromTexts(texts, dataset.class_names);
    }
  }

  // Whole numbers are classes by number, anything else by name.
  static Labels LabelsFromTexts(const std::vector<std::string_view>& texts,
                                std::vector<std::string>& class_names) {
    std::vector<int64_t> numbers(texts.size(), -1);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (!texts[i].empty() && !ParseId(texts[i], numbers[i])) return LabelsFromNames(texts, class_names);
    }
    return LabelsFromNumbers(numbers, class_names);
  }

  // Two or more columns beside the id, all of 0 and 1.
  bool IsMultilabelTable() const {
    if (!options_.label_column.empty() || labels_->columns.size() < 3) return false;
    for (size_t c = 1; c < labels_->columns.size(); ++c) {
      const TableColumn& column = labels_->columns[c];
      for (size_t row = 0; row < labels_->rows; ++row) {
        float value = 0;
        if (column.numeric) {
          value = column.numbers[row];
        } else if (!column.text[row].empty() && !ParseNumber(column.text[row], value)) {
          return false;
        }
        if (value != 0 && value != 1 && !std::isnan(value)) return false;
      }
    }
    return true;
  }

  Labels MultilabelOf(const IdTable& ids, const std::vector<uint32_t>& keys,
                      std::vector<std::string>& class_names) const {
    const size_t classes = labels_->columns.size() - 1;
    Labels labels;
    labels.multilabel = true;
    labels.classes = static_cast<uint32_t>(classes);
    labels.matrix = Array<uint8_t>::Zeros(size_t{ids.nodes()} * classes);
    Array<uint8_t> labelled = Array<uint8_t>::Zeros(ids.nodes());
    size_t rows_labelled = 0;
    for (size_t row = 0; row < keys.size(); ++row) {
      const size_t node = ids.NodeOf(keys[row]);
      bool filled = true;
      for (size_t c = 0; c < classes; ++c) {
        const TableColumn& column = labels_->columns[c + 1];
        float value = 0;
        const bool present =
            column.numeric ? !std::isnan(value = column.numbers[row]) : !column.text[row].empty();
        if (!column.numeric && present) ParseNumber(column.text[row], value);
        filled = filled && present;
        labels.matrix.mutable_data()[node * classes + c] = present && value == 1 ? 1 : 0;
      }
      labelled.mutable_data()[node] = filled ? 1 : 0;
      rows_labelled += filled ? 1 : 0;
    }
    if (rows_labelled != ids.nodes()) labels.labelled = std::move(labelled);
    bool named = labels_->format.header;
    for (size_t c = 0; named && c < classes; ++c) named = labels_->format.names[c + 1] != std::to_string(c);
    if (named) class_names.assign(labels_->format.names.begin() + 1, labels_->format.names.end());
    return labels;
  }

  void TakeFeatures(Dataset& dataset, const IdTable& ids, const std::vector<uint32_t>& label_keys,
                    const std::vector<uint32_t>& feature_keys) {
    const uint32_t nodes = ids.nodes();
    if (HasExtension(files_.features, {".npy"})) {
      dataset.features = NpyArray::Open(files_.features).AsFeatures(context_);
    } else if (HasExtension(files_.features, {".npz"})) {
      dataset.features =
          Features::Sparse(ToCsr(context_, SparseFromNpz(context_, NpzFile::Open(files_.features), "")));
    } else if (features_) {
      TakeColumns(dataset, *features_, feature_keys, ids, 0);
    } else if (labels_ && files_.features.empty() && !IsMultilabelTable()) {
      TakeColumns(dataset, *labels_, label_keys, ids, label_column_);
    } else if (files_.features.empty()) {
      dataset.features = Features::None(nodes);
    } else {
      ThrowInput(
          "{}: features are read from .csv, .tsv, .txt (also .gz, .zst), .npy, .npz, .json and svmlight",
          files_.features.string());
    }
  }

  static bool IsSplitColumn(const TableColumn& column, size_t rows) {
    bool some = false;
    for (size_t row = 0; row < rows; ++row) {
      const std::string_view value = column.text[row];
      if (value.empty() || value == "none") continue;
      if (RoleOf(value) == Role::kNone) return false;
      some = true;
    }
    return some;
  }
  static Role RoleOf(std::string_view value) {
    if (value == "train") return Role::kTrain;
    if (value == "val" || value == "valid" || value == "validation") return Role::kVal;
    return value == "test" ? Role::kTest : Role::kNone;
  }

  // Columns of `table` but the id and `skip`: numbers as they are, words one-hot, split columns aside.
  void TakeColumns(Dataset& dataset, const Table& table, const std::vector<uint32_t>& keys,
                   const IdTable& ids, size_t skip) {
    KeyedRows rows;
    rows.keys = keys;
    std::vector<std::pair<size_t, uint32_t>> numeric;  // column, first feature
    std::vector<std::pair<size_t, std::map<std::string_view, uint32_t>>>
        categorical;  // column, feature of each word
    for (size_t c = 1; c < table.columns.size(); ++c) {
      const TableColumn& column = table.columns[c];
      if (c == skip) continue;
      if (column.numeric) {
        numeric.emplace_back(c, rows.width++);
      } else if (IsSplitColumn(column, table.rows)) {
        dataset.splits.push_back(SplitOf(table, c, keys, ids));
      } else {
        TakeCategories(table, c, rows.width, categorical);
      }
    }
    uint64_t filled = 0;
    for (const auto& [c, feature] : numeric) {
      for (const float value : table.columns[c].numbers) filled += value != 0 ? 1 : 0;
    }
    filled += categorical.size() * table.rows;
    if (static_cast<double>(filled) >= kSparseBelow * static_cast<double>(table.rows) * rows.width) {
      Matrix filled_rows = Matrix::Zeros(ids.nodes(), rows.width);
      for (size_t row = 0; row < table.rows; ++row) {
        float* to = filled_rows.mutable_row(ids.NodeOf(keys[row]));
        for (const auto& [c, feature] : numeric) to[feature] = table.columns[c].numbers[row];
        for (const auto& [c, words] : categorical)
          SetWord(table, c, row, words, [&](uint32_t f) { to[f] = 1; });
      }
      dataset.features = Features::Dense(std::move(filled_rows));
      return;
    }
    const auto put = [&](uint32_t feature, float value) {
      rows.columns.push_back(feature);
      rows.values.push_back(value);
    };
    for (size_t row = 0; row < table.rows; ++row) {
      for (const auto& [c, feature] : numeric) {
        if (table.columns[c].numbers[row] != 0) put(feature, table.columns[c].numbers[row]);
      }
      for (const auto& [c, words] : categorical)
        SetWord(table, c, row, words, [&](uint32_t f) { put(f, 1); });
      rows.starts.push_back(rows.columns.size());
    }
    const auto node_of = [&](uint32_t key) { return ids.NodeOf(key); };
    dataset.features = Features::Sparse(ArrangeRows(rows, ids.nodes(), node_of, table.path.string()));
  }

  template <class Set>
  static void SetWord(const Table& table, size_t c, size_t row,
                      const std::map<std::string_view, uint32_t>& words, const Set& set) {
    const auto found = words.find(table.columns[c].text[row]);
    if (found != words.end()) set(found->second);
  }

  void TakeCategories(
      const Table& table, size_t c, uint32_t& width,
      std::vector<std::pair<size_t, std::map<std::string_view, uint32_t>>>& categorical) const {
    std::map<std::string_view, uint32_t> words;
    for (size_t row = 0; row < table.rows && words.size() <= kMostCategories; ++row) {
      if (!table.columns[c].text[row].empty()) words.emplace(table.columns[c].text[row], 0);
    }
    const std::string& name = table.format.names[c];
    if (words.size() > kMostCategories) {
      context_.Note(fmt::format("{}: column {} has more than {} different words and is left out",
                                table.path.filename().string(), name, kMostCategories));
      return;
    }
    for (auto& [word, feature] : words) feature = width++;
    context_.Note(fmt::format("{}: column {} becomes {} one-hot features", table.path.filename().string(),
                              name, words.size()));
    categorical.emplace_back(c, std::move(words));
  }

  Split SplitOf(const Table& table, size_t c, const std::vector<uint32_t>& keys, const IdTable& ids) const {
    Split split{"column:" + table.format.names[c], Array<uint8_t>::Zeros(ids.nodes())};
    for (size_t row = 0; row < table.rows; ++row) {
      split.roles.mutable_data()[ids.NodeOf(keys[row])] =
          static_cast<uint8_t>(RoleOf(table.columns[c].text[row]));
    }
    return split;
  }

  const Context& context_;
  const TableFiles files_;
  const OpenOptions& options_;
  const EdgeTextFormat format_;
  std::optional<Table> labels_, features_;
  size_t label_column_ = 0;
  uint64_t positions_ = 0;  // rows of files whose row k is node k; 0: no such file
};

}  // namespace

bool DetectTableSet(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !FilesOfFolder(path).edges.empty();
  return fs::is_regular_file(path, error) && IsTextName(path);
}

bool IsLoneEdgeList(const fs::path& path, const OpenOptions& options) {
  std::error_code error;
  return options.edges.empty() && options.nodes.empty() && options.features.empty() &&
         options.labels.empty() && fs::is_regular_file(path, error) && IsTextName(path);
}

Dataset ReadTableSet(const Context& context, const fs::path& path, const OpenOptions& options) {
  Dataset dataset = TableSetReader(context, FilesOf(path, options), options).Read();
  std::error_code error;
  if (options.edges.empty() && fs::is_directory(path, error)) dataset.path = path.string();
  if (!fs::is_directory(path, error)) dataset.name = WithoutCompression(dataset.path).stem().string();
  return dataset;
}

}  // namespace l2gcn
