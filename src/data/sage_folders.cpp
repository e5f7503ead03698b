// GraphSAINT and GraphSAGE folders, and DGL's PPI: JSON maps beside .npy and .npz files.
#include <unordered_map>

#include "core/error_format.h"
#include "data/edge_text.h"
#include "data/folders.h"
#include "data/json_maps.h"
#include "data/labels.h"
#include "data/npz.h"
#include "data/reader.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

bool HasFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

Features DenseOf(const Context& context, const fs::path& path, uint32_t nodes) {
  if (!HasFile(path)) return Features::None(nodes);
  Features features = NpyArray::Open(path).AsFeatures(context);
  if (features.rows() != nodes) {
    ThrowInput("{}: {} rows of features for {} nodes", path.string(), features.rows(), nodes);
  }
  return features;
}

// PREFIX of the one PREFIX-G.json in a folder, or of the file itself.
fs::path SagePrefix(const fs::path& path) {
  constexpr std::string_view kSuffix = "-G.json";
  const auto strip = [&](const fs::path& file) {
    const std::string text = file.string();
    return fs::path(text.substr(0, text.size() - kSuffix.size()));
  };
  if (path.string().ends_with(kSuffix) && HasFile(path)) return strip(path);
  fs::path found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (!entry.path().filename().string().ends_with(kSuffix)) continue;
    if (!found.empty()) return {};
    found = strip(entry.path());
  }
  return found;
}

fs::path With(const fs::path& prefix, const char* suffix) { return prefix.string() + suffix; }

BuiltGraph GraphOfLinks(const Context& context, const NodeLinkGraph& graph, const OpenOptions& options,
                        const std::string& where) {
  const uint32_t nodes = CheckedNodeCount(graph.ids.size(), where);
  const std::vector<uint32_t> source(graph.source.begin(), graph.source.end());
  const std::vector<uint32_t> target(graph.target.begin(), graph.target.end());
  return BuildGraph(context, nodes, source, target, {}, BuildFor(options, where));
}

// Rows of feats.npy in the order of the nodes.
Features ReorderRows(const Context& context, const fs::path& prefix, const NodeLinkGraph& graph,
                     const std::unordered_map<std::string_view, uint64_t>& node_of) {
  const fs::path path = With(prefix, "-feats.npy");
  if (!HasFile(path)) return Features::None(graph.ids.size());
  const Matrix stored = NpyArray::Open(path).AsMatrix(context);
  std::vector<uint64_t> row_of(graph.ids.size(), UINT64_MAX);
  for (const auto& [id, row] : ReadIdMap(With(prefix, "-id_map.json"))) {
    const auto node = node_of.find(id);
    if (node == node_of.end()) continue;
    if (row >= stored.rows)
      ThrowInput("{}: node {} has row {} of {}", With(prefix, "-id_map.json").string(), id, row, stored.rows);
    row_of[node->second] = row;
  }
  Matrix ordered = Matrix::Zeros(graph.ids.size(), stored.cols);
  for (size_t node = 0; node < row_of.size(); ++node) {
    if (row_of[node] != UINT64_MAX)
      std::copy_n(stored.row(row_of[node]), stored.cols, ordered.mutable_row(node));
  }
  return Features::Dense(std::move(ordered));
}

// Ids that are numbers but not 0 … n−1 are kept as numbers, others as names.
void KeepIds(const NodeLinkGraph& graph, Dataset& dataset) {
  std::vector<int64_t> numbers(graph.ids.size());
  bool integers = true, positions = true;
  for (size_t i = 0; i < graph.ids.size(); ++i) {
    integers = integers && ParseId(graph.ids[i], numbers[i]);
    positions = positions && integers && numbers[i] == static_cast<int64_t>(i);
  }
  if (positions) return;
  if (integers) {
    dataset.node_ids = Array<int64_t>::CopyOf(numbers);
  } else {
    dataset.node_names = NameTable::FromStrings(graph.ids);
  }
}

struct PpiPart {
  const char* name;
  Role role;
};
constexpr PpiPart kPpiParts[] = {{"train", Role::kTrain}, {"valid", Role::kVal}, {"test", Role::kTest}};

}  // namespace

bool DetectGraphSaint(const fs::path& path) {
  return HasFile(path / "adj_full.npz") && HasFile(path / "role.json") && HasFile(path / "class_map.json");
}

Dataset ReadGraphSaint(const Context& context, const fs::path& path, const OpenOptions& options) {
  Dataset dataset;
  dataset.format = "graphsaint";
  dataset.inductive = true;
  dataset.path = path.string();
  StoredSparse adjacency = SparseFromNpz(context, NpzFile::Open(context, path / "adj_full.npz"), "");
  adjacency.values =
      Array<float>::Filled(adjacency.values.size(), 1.0f);  // stored as ones, or as meaningless booleans
  AttachGraph(dataset, GraphFromSparse(context, adjacency, options));
  const uint32_t nodes = dataset.nodes();
  dataset.features = DenseOf(context, path / "feats.npy", nodes);
  const std::string map_path = (path / "class_map.json").string();
  dataset.labels = LabelsFromClassMap(
      ReadClassMap(map_path), nodes,
      [&](const std::string& id) {
        int64_t node = 0;
        if (!ParseId(id, node) || node < 0 || node >= nodes) {
          ThrowInput("{}: node '{}' in a set of {} nodes", map_path, id, nodes);
        }
        return node;
      },
      dataset.class_names, map_path);
  Split split{"file:0", Array<uint8_t>::Zeros(nodes)};
  for (const auto& [key, list] : ReadIndexLists(path / "role.json")) {
    const Role role = key == "tr"   ? Role::kTrain
                      : key == "va" ? Role::kVal
                      : key == "te" ? Role::kTest
                                    : Role::kNone;
    for (const uint64_t node : list) {
      if (node >= nodes)
        ThrowInput("{}: node {} in a set of {} nodes", (path / "role.json").string(), node, nodes);
      if (role != Role::kNone) GiveRole(split, node, role, (path / "role.json").string());
    }
  }
  dataset.splits.push_back(std::move(split));
  return dataset;
}

bool DetectGraphSage(const fs::path& path) {
  const fs::path prefix = SagePrefix(path);
  return !prefix.empty() && HasFile(With(prefix, "-class_map.json"));
}

Dataset ReadGraphSage(const Context& context, const fs::path& path, const OpenOptions& options) {
  const fs::path prefix = SagePrefix(path);
  if (prefix.empty()) ThrowInput("{}: expected one PREFIX-G.json", path.string());
  const fs::path graph_path = With(prefix, "-G.json");
  const NodeLinkGraph graph = ReadNodeLink(graph_path);
  Dataset dataset;
  dataset.name = prefix.filename().string();
  dataset.format = "graphsage";
  dataset.inductive = true;
  dataset.path = path.string();
  AttachGraph(dataset, GraphOfLinks(context, graph, options, graph_path.string()));
  std::unordered_map<std::string_view, uint64_t> node_of;
  for (size_t i = 0; i < graph.ids.size(); ++i) node_of.emplace(graph.ids[i], i);
  dataset.features = ReorderRows(context, prefix, graph, node_of);
  dataset.labels = LabelsFromClassMap(
      ReadClassMap(With(prefix, "-class_map.json")), dataset.nodes(),
      [&](const std::string& id) {
        const auto found = node_of.find(id);
        return found == node_of.end() ? int64_t{-1} : static_cast<int64_t>(found->second);
      },
      dataset.class_names, With(prefix, "-class_map.json").string());
  dataset.splits.push_back({"file:0", Array<uint8_t>::CopyOf(graph.roles)});
  KeepIds(graph, dataset);
  return dataset;
}

bool DetectDglPpi(const fs::path& path) {
  for (const PpiPart& part : kPpiParts) {
    if (!HasFile(path / fmt::format("{}_graph.json", part.name))) return false;
  }
  return HasFile(path / "train_feats.npy");
}

Dataset ReadDglPpi(const Context& context, const fs::path& path, const OpenOptions& options) {
  std::vector<uint32_t> source, target;
  std::vector<uint8_t> roles, labels;
  std::vector<float> features;
  size_t feature_cols = 0, classes = 0;
  for (const PpiPart& part : kPpiParts) {
    const fs::path graph_path = path / fmt::format("{}_graph.json", part.name);
    const NodeLinkGraph graph = ReadNodeLink(graph_path);
    const auto base = static_cast<uint32_t>(roles.size());
    CheckedNodeCount(roles.size() + graph.ids.size(), graph_path.string());
    for (const uint64_t node : graph.source) source.push_back(base + static_cast<uint32_t>(node));
    for (const uint64_t node : graph.target) target.push_back(base + static_cast<uint32_t>(node));
    roles.insert(roles.end(), graph.ids.size(), static_cast<uint8_t>(part.role));
    const NpyArray x = NpyArray::Open(path / fmt::format("{}_feats.npy", part.name));
    const NpyArray y = NpyArray::Open(path / fmt::format("{}_labels.npy", part.name));
    for (const NpyArray* array : {&x, &y}) {
      array->ExpectDimensions(2);
      if (array->shape()[0] != graph.ids.size()) {
        ThrowInput("{}: {} rows for the {} nodes of its graph", array->where(), array->shape()[0],
                   graph.ids.size());
      }
    }
    if (base != 0 && (x.shape()[1] != feature_cols || y.shape()[1] != classes)) {
      ThrowInput("{}: its parts differ in features or labels", path.string());
    }
    feature_cols = x.shape()[1];
    classes = y.shape()[1];
    const Array<float> x_values = x.As<float>(context);
    const Array<uint8_t> y_values = y.As<uint8_t>(context);
    features.insert(features.end(), x_values.begin(), x_values.end());
    labels.insert(labels.end(), y_values.begin(), y_values.end());
  }
  Dataset dataset;
  dataset.name = "ppi";
  dataset.format = "dgl-ppi";
  dataset.inductive = true;
  dataset.path = path.string();
  const auto nodes = static_cast<uint32_t>(roles.size());
  AttachGraph(dataset, BuildGraph(context, nodes, source, target, {}, BuildFor(options, path.string())));
  dataset.features = Features::Dense({Array<float>::CopyOf(features), nodes, feature_cols});
  dataset.labels.multilabel = true;
  dataset.labels.classes = static_cast<uint32_t>(classes);
  dataset.labels.matrix = Array<uint8_t>::CopyOf(labels);
  dataset.splits.push_back({"file:0", Array<uint8_t>::CopyOf(roles)});
  return dataset;
}

}  // namespace l2gcn
