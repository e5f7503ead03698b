// OGB node-property folders: raw/*.csv.gz or raw/data.npz; splits are split/NAME/{train,valid,test}.csv.gz, the same as
// .pt, or all three in split_dict.pt.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error_format.h"
#include "data/edge_load.h"
#include "data/folders.h"
#include "data/labels.h"
#include "data/npz.h"
#include "data/reader.h"
#include "data/table.h"
#include "data/torch_file.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// The file or its .gz twin; empty if neither is there.
fs::path Either(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  const fs::path packed = path.string() + ".gz";
  return fs::is_regular_file(packed, error) ? packed : fs::path();
}

// All numbers of a table without header or ids, row-major.
Matrix NumbersOf(const Context& context, const fs::path& path) {
  TableFormat format = SniffTable(path, false);
  format.header = false;
  const Table table = ReadTable(context, path, format, {});
  Matrix matrix = Matrix::Allocate(table.rows, table.columns.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (!table.columns[c].numeric)
      ThrowInput("{}: column {} holds words, expected numbers", path.string(), c);
    for (size_t row = 0; row < table.rows; ++row) matrix.mutable_row(row)[c] = table.columns[c].numbers[row];
  }
  return matrix;
}

Labels LabelsOf(const Matrix& numbers, const std::string& where, Dataset& dataset) {
  if (numbers.cols == 1) {
    std::vector<int64_t> classes(numbers.rows, -1);
    for (size_t i = 0; i < numbers.rows; ++i) {
      const float number = numbers.row(i)[0];
      if (std::isnan(number)) continue;
      if (std::abs(number) > 1e9f || number != std::trunc(number))
        ThrowInput("{}: the label of node {} is {}, expected a class number", where, i, number);
      classes[i] = static_cast<int64_t>(number);
    }
    return LabelsFromNumbers(classes, dataset.class_names);
  }
  Labels labels;
  labels.multilabel = true;
  labels.classes = static_cast<uint32_t>(numbers.cols);
  labels.matrix = Array<uint8_t>::Zeros(numbers.rows * numbers.cols);
  for (size_t i = 0; i < numbers.values.size(); ++i)
    labels.matrix.mutable_data()[i] = numbers.values[i] > 0 ? 1 : 0;
  return labels;
}

// A part of a split: what its files are called and what its nodes are for.
constexpr std::pair<const char*, Role> kOgbParts[] = {
    {"train", Role::kTrain}, {"valid", Role::kVal}, {"test", Role::kTest}};

void TakeTablePart(const Context& context, const fs::path& path, Role role, Split& split) {
  TableFormat format = SniffTable(path, false);
  format.header = false;
  const Table table = ReadTable(context, path, format, {0});
  const auto nodes = static_cast<int64_t>(split.roles.size());
  for (size_t row = 0; row < table.rows; ++row) {
    int64_t node = 0;
    if (!ParseId(table.columns[0].text[row], node) || node < 0 || node >= nodes) {
      ThrowInput("{}:{}: '{}' is no node of 0 to {}", path.string(), row + 1, table.columns[0].text[row],
                 nodes - 1);
    }
    GiveRole(split, static_cast<uint64_t>(node), role, path.string());
  }
}

// Node numbers that torch.save wrote, as a tensor or an array.
void TakeTorchPart(const Context& context, const Pickle& pickle, uint32_t value, Role role, Split& split) {
  const NpyArray array = pickle.ToArray(value);
  if (array.type().kind != 'i' && array.type().kind != 'u')
    ThrowInput("{}: expected whole numbers of nodes, found elements of type {}", pickle.where(),
               array.type().text);
  array.ExpectDimensions(1);
  const Array<int64_t> numbers = array.As<int64_t>(context);
  const auto nodes = static_cast<int64_t>(split.roles.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= nodes) {
      ThrowInput("{}: element {} is {}, which is no node of 0 to {}", pickle.where(), i, numbers[i],
                 nodes - 1);
    }
    GiveRole(split, static_cast<uint64_t>(numbers[i]), role, pickle.where());
  }
}

void TakeSplit(const Context& context, const fs::path& folder, Split& split) {
  std::error_code error;
  std::optional<Pickle> all;
  if (const fs::path path = folder / "split_dict.pt"; fs::is_regular_file(path, error))
    all = ReadTorchFile(path);
  for (const auto& [name, role] : kOgbParts) {
    const fs::path table = Either(folder / fmt::format("{}.csv", name));
    const fs::path tensor = folder / fmt::format("{}.pt", name);
    if (!table.empty()) {
      TakeTablePart(context, table, role, split);
    } else if (fs::is_regular_file(tensor, error)) {
      const Pickle pickle = ReadTorchFile(tensor);
      TakeTorchPart(context, pickle, pickle.root(), role, split);
    } else if (all && all->Find(all->root(), name) != Pickle::kAbsent) {
      TakeTorchPart(context, *all, all->Find(all->root(), name), role, split);
    } else {
      ThrowInput("{}: has neither {}.csv.gz nor {}.pt, nor is '{}' in split_dict.pt", folder.string(), name,
                 name, name);
    }
  }
}

void TakeSplits(const Context& context, const fs::path& folder, Dataset& dataset) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "split", error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& split_folder : folders) {
    Split split{fmt::format("file:{}", dataset.splits.size()), Array<uint8_t>::Zeros(dataset.nodes())};
    TakeSplit(context, split_folder, split);
    dataset.splits.push_back(std::move(split));
  }
}

void ReadTables(const Context& context, const fs::path& raw, const OpenOptions& options, Dataset& dataset) {
  const fs::path edge_path = Either(raw / "edge.csv"), label_path = Either(raw / "node-label.csv");
  const Matrix labels = NumbersOf(context, label_path);
  const uint32_t nodes = CheckedNodeCount(labels.rows, label_path.string());
  dataset.labels = LabelsOf(labels, label_path.string(), dataset);
  const fs::path feature_path = Either(raw / "node-feat.csv");
  dataset.features =
      feature_path.empty() ? Features::None(nodes) : Features::Dense(NumbersOf(context, feature_path));
  const LoadedEdges edges = LoadNumberedEdges(context, edge_path, nodes);
  AttachGraph(dataset, BuildGraph(context, nodes, edges.source, edges.target, edges.weights,
                                  BuildFor(options, edge_path.string())));
}

void ReadBinary(const Context& context, const fs::path& raw, const OpenOptions& options, Dataset& dataset) {
  const NpzFile data = NpzFile::Open(context, raw / "data.npz"),
                labels = NpzFile::Open(context, raw / "node-label.npz");
  dataset.labels = LabelsFromArray(context, labels.Get("node_label"), dataset.class_names);
  const NpyArray label_array = labels.Get("node_label");
  const uint32_t nodes =
      CheckedNodeCount(label_array.shape().empty() ? 0 : label_array.shape()[0], labels.where());
  dataset.features =
      data.Has("node_feat") ? data.Get("node_feat").AsFeatures(context) : Features::None(nodes);
  AttachGraph(dataset,
              GraphFromPairs(context, data.Get("edge_index"), nodes, BuildFor(options, data.where())));
}

}  // namespace

bool DetectOgb(const fs::path& path) {
  const fs::path raw = path / "raw";
  std::error_code error;
  return (!Either(raw / "edge.csv").empty() && !Either(raw / "node-label.csv").empty()) ||
         (fs::is_regular_file(raw / "data.npz", error) && fs::is_regular_file(raw / "node-label.npz", error));
}

Dataset ReadOgb(const Context& context, const fs::path& path, const OpenOptions& options) {
  Dataset dataset;
  dataset.format = "ogb";
  dataset.path = path.string();
  const fs::path raw = path / "raw";
  if (fs::exists(raw / "data.npz")) {
    ReadBinary(context, raw, options, dataset);
  } else if (DetectOgb(path)) {
    ReadTables(context, raw, options, dataset);
  } else {
    ThrowInput("{}: expected raw/edge.csv.gz and raw/node-label.csv.gz, or raw/data.npz", path.string());
  }
  TakeSplits(context, path, dataset);
  return dataset;
}

}  // namespace l2gcn
