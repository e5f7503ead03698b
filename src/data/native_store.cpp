#include "data/native_store.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"
#include "core/files.h"
#include "data/native_manifest.h"
#include "data/node_types.h"
#include "data/npy.h"
#include "data/table_schema.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

struct GraphFiles {
  std::string indptr, indices, weights;
};

template <class T>
Array<T> OpenColumn(const Context& context, const fs::path& path, uint64_t size) {
  const NpyArray array = NpyArray::Open(path);
  array.ExpectDimensions(1);
  if (array.size() != size) {
    ThrowInput("{}: expected {} elements, found {}", path.string(), size, array.size());
  }
  return array.As<T>(context);
}

// Offsets of `rows` rows into a file of entries; only their ends are looked at.
Array<uint64_t> OpenOffsets(const Context& context, const fs::path& path, uint64_t rows, uint64_t entries) {
  Array<uint64_t> offsets = OpenColumn<uint64_t>(context, path, rows + 1);
  if (offsets[0] != 0 || offsets[rows] != entries) {
    ThrowInput("{}: offsets run from {} to {}, expected 0 to {}", path.string(), offsets[0], offsets[rows],
               entries);
  }
  return offsets;
}

// The files of the graph, or of relation `k`.
GraphFiles FilesOfGraph() { return {kGraphIndptrFile, kGraphIndicesFile, kGraphWeightsFile}; }
GraphFiles FilesOfRelation(size_t k) {
  return {fmt::format("relation_{}_indptr.npy", k), fmt::format("relation_{}_indices.npy", k),
          fmt::format("relation_{}_weights.npy", k)};
}

Graph OpenRows(const Context& context, const fs::path& directory, const GraphFiles& files, uint32_t nodes) {
  Graph graph;
  graph.nodes = nodes;
  const NpyArray indices = NpyArray::Open(directory / files.indices);
  indices.ExpectDimensions(1);
  graph.indices = indices.As<uint32_t>(context);
  graph.indptr = OpenOffsets(context, directory / files.indptr, nodes, graph.entries());
  return graph;
}

void OpenWeights(const Context& context, const fs::path& directory, const Manifest& manifest,
                 const std::string& file, Graph& graph) {
  if (manifest.HasFile(file.c_str()))
    graph.weights = OpenColumn<float>(context, directory / file, graph.entries());
}

Graph OpenGraph(const Context& context, const fs::path& directory, const Manifest& manifest, uint32_t nodes) {
  Graph graph = OpenRows(context, directory, FilesOfGraph(), nodes);
  graph.directed = manifest.Get<bool>("directed");
  OpenWeights(context, directory, manifest, kGraphWeightsFile, graph);
  return graph;
}

void OpenRelations(const Context& context, const fs::path& directory, const Manifest& manifest,
                   Dataset& dataset) {
  const std::vector<StoredRelation> stored = manifest.Relations();
  for (size_t k = 0; k < stored.size(); ++k) {
    const GraphFiles files = FilesOfRelation(k);
    Graph graph;
    if (stored[k].rows_of == kOwnRows) {
      graph = OpenRows(context, directory, files, dataset.graph.nodes);
    } else {
      graph = stored[k].rows_of == 0 ? dataset.graph : dataset.relations[stored[k].rows_of - 1].graph;
      graph.weights = {};
    }
    graph.directed = stored[k].directed;
    OpenWeights(context, directory, manifest, files.weights, graph);
    dataset.relations.push_back({stored[k].name, std::move(graph)});
  }
}

Features OpenFeatures(const Context& context, const fs::path& directory, const Manifest& manifest,
                      uint32_t nodes) {
  const uint64_t cols = manifest.Count("features");
  if (manifest.HasFile(kFeaturesFile)) {
    Features features = NpyArray::Open(directory / kFeaturesFile).AsFeatures(context);
    if (features.rows() != nodes || features.cols() != cols) {
      ThrowInput("{}: expected {} × {} features, found {} × {}", (directory / kFeaturesFile).string(), nodes,
                 cols, features.rows(), features.cols());
    }
    return features;
  }
  if (!manifest.HasFile(kFeatureIndptrFile)) {
    if (cols != 0) ThrowInput("{}: has {} features, but no file of them", manifest.path(), cols);
    return Features::None(nodes);
  }
  CsrMatrix sparse;
  sparse.rows = nodes;
  sparse.cols = cols;
  const NpyArray indices = NpyArray::Open(directory / kFeatureIndicesFile);
  indices.ExpectDimensions(1);
  sparse.indices = indices.As<uint32_t>(context);
  sparse.indptr = OpenOffsets(context, directory / kFeatureIndptrFile, nodes, sparse.nnz());
  sparse.values = OpenColumn<float>(context, directory / kFeatureValuesFile, sparse.nnz());
  return Features::Sparse(std::move(sparse));
}

Labels OpenLabels(const Context& context, const fs::path& directory, const Manifest& manifest,
                  uint32_t nodes) {
  Labels labels;
  labels.multilabel = manifest.Get<bool>("multilabel");
  const uint64_t classes = manifest.Count("classes");
  if (classes > UINT32_MAX) ThrowInput("{}: {} classes are absurd", manifest.path(), classes);
  labels.classes = static_cast<uint32_t>(classes);
  const NpyArray array = NpyArray::Open(directory / kLabelsFile);
  if (manifest.IsRegression()) {
    labels.targets = array.AsMatrix(context);
    if (labels.targets.rows != nodes || labels.targets.cols != classes || classes == 0) {
      ThrowInput("{}: expected {} × {} targets, found {} × {}", array.where(), nodes, classes,
                 labels.targets.rows, labels.targets.cols);
    }
    if (manifest.HasFile(kNodeWeightsFile))
      labels.node_weights = OpenColumn<float>(context, directory / kNodeWeightsFile, nodes);
    return labels;
  }
  if (!labels.multilabel) {
    labels.classes_of = OpenColumn<int32_t>(context, directory / kLabelsFile, nodes);
    return labels;
  }
  array.ExpectDimensions(2);
  if (array.shape()[0] != nodes || array.shape()[1] != classes) {
    ThrowInput("{}: expected {} × {} labels, found {} × {}", array.where(), nodes, classes, array.shape()[0],
               array.shape()[1]);
  }
  labels.matrix = array.As<uint8_t>(context);
  if (manifest.HasFile(kLabelledFile)) {
    labels.labelled = OpenColumn<uint8_t>(context, directory / kLabelledFile, nodes);
  }
  return labels;
}

void OpenNames(const Context& context, const fs::path& directory, const Manifest& manifest,
               Dataset& dataset) {
  const uint32_t nodes = dataset.graph.nodes;
  if (manifest.HasFile(kNodeIdsFile)) {
    dataset.node_ids = OpenColumn<int64_t>(context, directory / kNodeIdsFile, nodes);
  }
  if (manifest.HasFile(kNameOffsetsFile)) {
    const NpyArray text = NpyArray::Open(directory / kNameTextFile);
    dataset.node_names.text = text.As<uint8_t>(context);
    dataset.node_names.offsets = OpenOffsets(context, directory / kNameOffsetsFile, nodes, text.size());
  }
  dataset.class_names = manifest.Get<std::vector<std::string>>("class_names");
  if (!dataset.class_names.empty() && dataset.class_names.size() != dataset.labels.classes) {
    ThrowInput("{}: {} class names for {} classes", manifest.path(), dataset.class_names.size(),
               dataset.labels.classes);
  }
  const auto names = manifest.Get<std::vector<std::string>>("splits");
  for (size_t k = 0; k < names.size(); ++k) {
    dataset.splits.push_back({names[k], OpenColumn<uint8_t>(context, directory / SplitFile(k), nodes)});
  }
  if (!manifest.json().contains("split_columns")) return;
  const auto columns = manifest.Get<std::vector<std::string>>("split_columns");
  for (size_t k = 0; k < columns.size(); ++k) {
    dataset.split_columns.push_back(
        {columns[k], OpenColumn<uint32_t>(context, directory / SplitColumnFile(k), nodes)});
  }
}

void OpenNodeTypes(const Manifest& manifest, Dataset& dataset) {
  if (!manifest.json().contains("node_types")) return;
  uint64_t first = 0;
  try {
    for (const auto& type : manifest.json().at("node_types")) {
      const auto count = type.at("count").get<uint32_t>();
      dataset.node_types.push_back({type.at("name").get<std::string>(), static_cast<uint32_t>(first), count,
                                    type.at("labelled").get<bool>()});
      first += count;
    }
  } catch (const nlohmann::json::exception& error) {
    ThrowInput("{}: its node types cannot be read: {}", manifest.path(), error.what());
  }
  CheckNodeTypes(dataset);
}

uint16_t CheckedF16(float value, size_t row, size_t column) {
  constexpr float kLargestF16 = 65504.0f;
  if (std::abs(value) > kLargestF16) {
    ThrowInput(
        "row {} column {} holds {}, which --features-as f16 cannot (its largest value is 65504); use f32",
        row, column, value);
  }
  return NarrowToF16(value);
}

void WriteLabels(const Labels& labels, uint32_t nodes, const fs::path& directory) {
  if (labels.task() == Task::kRegression) {
    WriteNpy<float>(directory / kLabelsFile, labels.targets.values.span(), {nodes, labels.classes});
    if (!labels.node_weights.empty())
      WriteNpy<float>(directory / kNodeWeightsFile, labels.node_weights.span());
    return;
  }
  if (!labels.multilabel) {
    WriteNpy<int32_t>(directory / kLabelsFile, labels.classes_of.span());
    return;
  }
  WriteNpy<uint8_t>(directory / kLabelsFile, labels.matrix.span(), {nodes, labels.classes});
  if (!labels.labelled.empty()) WriteNpy<uint8_t>(directory / kLabelledFile, labels.labelled.span());
}

void WriteNames(const Dataset& dataset, const fs::path& directory) {
  if (!dataset.node_ids.empty()) WriteNpy<int64_t>(directory / kNodeIdsFile, dataset.node_ids.span());
  if (dataset.node_names.empty()) return;
  WriteNpy<uint64_t>(directory / kNameOffsetsFile, dataset.node_names.offsets.span());
  WriteNpy<uint8_t>(directory / kNameTextFile, dataset.node_names.text.span());
}

}  // namespace

void WriteFeatures(const Context& context, const Features& features, std::optional<FeatureType> as,
                   const fs::path& directory) {
  if (features.cols() == 0) return;
  if (features.stores_sparse()) {
    WriteNpy<uint64_t>(directory / kFeatureIndptrFile, features.csr().indptr.span());
    WriteNpy<uint32_t>(directory / kFeatureIndicesFile, features.csr().indices.span());
    WriteNpy<float>(directory / kFeatureValuesFile, features.csr().values.span());
    return;
  }
  const FeatureType stored = features.type();
  const FeatureType type = as.value_or(stored == FeatureType::kBf16 ? FeatureType::kF32 : stored);
  const bool f16 = type == FeatureType::kF16;
  NpyWriter writer(directory / kFeaturesFile, f16 ? "<f2" : NpyDescr<float>(), {features.cols()});
  constexpr size_t kRowsWritten = 256;
  std::vector<float> block(kRowsWritten * features.cols());
  std::vector<uint16_t> halves(f16 ? block.size() : 0);
  for (size_t first = 0; first < features.rows(); first += kRowsWritten) {
    context.CheckCancelled();
    const size_t count = std::min(kRowsWritten, features.rows() - first), values = count * features.cols();
    if (type == stored) {
      const size_t width = features.bytes() / (features.rows() * features.cols());
      writer.Write(static_cast<const char*>(features.elements()) + first * features.cols() * width,
                   values * width);
      continue;
    }
    features.ReadRows(first, count, block.data());
    if (!f16) {
      writer.Write(block.data(), values * sizeof(float));
      continue;
    }
    for (size_t i = 0; i < values; ++i)
      halves[i] = CheckedF16(block[i], first + i / features.cols(), i % features.cols());
    writer.Write(halves.data(), values * sizeof(uint16_t));
  }
  writer.Close(features.rows());
}

namespace {

void WriteRows(const Graph& graph, const GraphFiles& files, const fs::path& directory) {
  WriteNpy<uint64_t>(directory / files.indptr, graph.indptr.span());
  WriteNpy<uint32_t>(directory / files.indices, graph.indices.span());
}

void WriteWeights(const Graph& graph, const GraphFiles& files, const fs::path& directory) {
  if (graph.weighted()) WriteNpy<float>(directory / files.weights, graph.weights.span());
}

bool ShareRows(const Graph& a, const Graph& b) {
  return a.indptr.data() == b.indptr.data() && a.indices.data() == b.indices.data();
}

// The graph, or an earlier relation, whose rows relation `k` shares.
uint32_t RowsOfRelation(const Dataset& dataset, size_t k) {
  const Graph& graph = dataset.relations[k].graph;
  if (ShareRows(graph, dataset.graph)) return 0;
  for (size_t before = 0; before < k; ++before) {
    if (ShareRows(graph, dataset.relations[before].graph)) return static_cast<uint32_t>(before + 1);
  }
  return kOwnRows;
}

void WriteGraphs(const Context& context, const Dataset& dataset, const fs::path& directory) {
  WriteRows(dataset.graph, FilesOfGraph(), directory);
  WriteWeights(dataset.graph, FilesOfGraph(), directory);
  for (size_t k = 0; k < dataset.relations.size(); ++k) {
    context.CheckCancelled();
    const Graph& graph = dataset.relations[k].graph;
    if (RowsOfRelation(dataset, k) == kOwnRows) WriteRows(graph, FilesOfRelation(k), directory);
    WriteWeights(graph, FilesOfRelation(k), directory);
  }
}

}  // namespace

std::string SplitFile(size_t k) { return fmt::format("split_{}.npy", k); }
std::string SplitColumnFile(size_t k) { return fmt::format("split_column_{}.npy", k); }

NativeInfo InfoOf(const Dataset& dataset) {
  NativeInfo info;
  info.name = dataset.name;
  info.preset_row = dataset.preset_row;
  info.nodes = dataset.nodes();
  info.edges = dataset.edges;
  info.self_loops = dataset.self_loops;
  info.features = dataset.features.cols();
  info.directed = dataset.graph.directed;
  for (size_t k = 0; k < dataset.relations.size(); ++k) {
    const Relation& relation = dataset.relations[k];
    info.relations.push_back({relation.name, relation.graph.directed, RowsOfRelation(dataset, k)});
  }
  info.inductive = dataset.inductive;
  info.multilabel = dataset.labels.multilabel;
  info.regression = dataset.labels.task() == Task::kRegression;
  info.classes = dataset.labels.classes;
  info.class_names = dataset.class_names;
  for (const Split& split : dataset.splits) info.splits.push_back(split.name);
  for (const Split::Column& column : dataset.split_columns) info.split_columns.push_back(column.name);
  info.changes = dataset.changes;
  info.schema = dataset.schema;
  info.node_types = dataset.node_types;
  return info;
}

void RefuseToReplaceOthers(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error) || IsNative(directory) || fs::is_empty(directory, error)) return;
  ThrowUsage(
      "{}: exists and is not a data set of this program, so it is never replaced; choose another output",
      directory.string());
}

bool IsNative(const fs::path& directory) { return fs::is_regular_file(directory / kManifestFile); }

Dataset OpenNative(const Context& context, const fs::path& directory, bool verify) {
  const Manifest manifest(directory);
  if (verify) CheckBlocks(context, directory, manifest);
  Dataset dataset;
  dataset.name = manifest.Get<std::string>("name");
  dataset.preset_row = manifest.Get<std::string>("recipe");
  dataset.format = "native";
  dataset.path = directory.string();
  const uint64_t nodes = manifest.Count("nodes");
  if (nodes > UINT32_MAX)
    ThrowInput("{}: {} nodes, but at most {} are supported", manifest.path(), nodes, UINT32_MAX);
  dataset.graph = OpenGraph(context, directory, manifest, static_cast<uint32_t>(nodes));
  OpenRelations(context, directory, manifest, dataset);
  dataset.features = OpenFeatures(context, directory, manifest, dataset.graph.nodes);
  dataset.labels = OpenLabels(context, directory, manifest, dataset.graph.nodes);
  OpenNames(context, directory, manifest, dataset);
  OpenNodeTypes(manifest, dataset);
  if (const auto table = manifest.json().find("table"); table != manifest.json().end()) {
    dataset.schema = SchemaFromJson(table->dump(), manifest.path());
    if (dataset.schema.width() != dataset.features.cols())
      ThrowInput("{}: its table describes {} features of {}", manifest.path(), dataset.schema.width(),
                 dataset.features.cols());
  }
  dataset.edges = manifest.Count("edges");
  dataset.self_loops = manifest.Count("self_loops");
  dataset.inductive = manifest.json().contains("inductive") && manifest.Get<bool>("inductive");
  return dataset;
}

void SaveDataset(const Context& context, const Dataset& dataset, const std::string& directory, bool force) {
  SaveDatasetAs(context, dataset, directory, force, std::nullopt);
}

void SaveDatasetAs(const Context& context, const Dataset& dataset, const std::string& directory, bool force,
                   std::optional<FeatureType> features_as) {
  RefuseToReplaceOthers(directory);
  StagedDirectory staged(directory, force);
  context.CheckCancelled();
  WriteGraphs(context, dataset, staged.path());
  context.CheckCancelled();
  WriteFeatures(context, dataset.features, features_as, staged.path());
  WriteLabels(dataset.labels, dataset.nodes(), staged.path());
  WriteNames(dataset, staged.path());
  for (size_t k = 0; k < dataset.splits.size(); ++k) {
    WriteNpy<uint8_t>(staged.path() / SplitFile(k), dataset.splits[k].roles.span());
  }
  for (size_t k = 0; k < dataset.split_columns.size(); ++k) {
    WriteNpy<uint32_t>(staged.path() / SplitColumnFile(k), dataset.split_columns[k].places.span());
  }
  context.CheckCancelled();
  WriteManifest(staged.path(), InfoOf(dataset));
  staged.Commit();
}

}  // namespace l2gcn
