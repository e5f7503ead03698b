// The data-set layouts that people keep in .npz files; see docs/reference/formats.md for each.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/json_text.h"
#include "data/labels.h"
#include "data/npz.h"
#include "data/reader.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

void TakeNames(const NpzFile& npz, Dataset& dataset) {
  if (npz.Has("node_names") && !npz.Get("node_names").is_object()) {
    const std::vector<std::string> names = npz.Get("node_names").AsStrings();
    if (names.size() == dataset.nodes()) dataset.node_names = NameTable::FromStrings(names);
  }
  if (npz.Has("class_names") && !npz.Get("class_names").is_object()) {
    const std::vector<std::string> names = npz.Get("class_names").AsStrings();
    if (names.size() == dataset.labels.classes) dataset.class_names = names;
  }
}

// adj_*, attr_*, labels; `dot` is "_" or "." in the PPNP variant, whose prefixes are adj_matrix. and
// attr_matrix.
Dataset ReadBenchmark(const Context& context, const NpzFile& npz, const OpenOptions& options,
                      const std::string& adjacency, const std::string& attributes) {
  Dataset dataset;
  dataset.format = "npz-benchmark";
  AttachGraph(dataset, GraphFromSparse(context, SparseFromNpz(context, npz, adjacency), options));
  if (npz.Has(attributes + "indptr")) {
    dataset.features = Features::Sparse(ToCsr(context, SparseFromNpz(context, npz, attributes)));
  } else if (npz.Has("attr_matrix") && !npz.Get("attr_matrix").is_object()) {
    dataset.features = npz.Get("attr_matrix").AsFeatures(context);
  } else {
    dataset.features = Features::None(dataset.nodes());
  }
  if (npz.Has("labels_indptr")) {
    dataset.labels =
        MultilabelFromSparse(ToCsr(context, SparseFromNpz(context, npz, "labels_")), npz.where());
  } else {
    dataset.labels = npz.Has("labels") ? LabelsFromArray(context, npz.Get("labels"), dataset.class_names)
                                       : NoLabels(dataset.nodes());
  }
  TakeNames(npz, dataset);
  return dataset;
}

// The single element of an object array.
uint32_t OnlyObject(const Pickle& pickle) {
  const std::vector<uint32_t>& objects = pickle.Objects(pickle.root());
  if (objects.size() != 1)
    ThrowInput("{}: expected one pickled object, found {}", pickle.where(), objects.size());
  return objects[0];
}

// metadata is an object array holding a dict; only its class names are of use, and only if they can be read
// safely.
void TakeObjectClassNames(const NpzFile& npz, Dataset& dataset) {
  if (!npz.Has("metadata") || !npz.Get("metadata").is_object()) return;
  try {
    const Pickle pickle = npz.GetPickle("metadata");
    const uint32_t found = pickle.Find(OnlyObject(pickle), "class_names");
    if (found == Pickle::kAbsent || pickle[found].kind != PickleKind::kArray) return;
    const std::vector<std::string> names = pickle.ToArray(found).AsStrings();
    if (names.size() == dataset.labels.classes) dataset.class_names = names;
  } catch (const Error&) {
    // Notes beside the data: unreadable ones are not worth refusing the data for.
  }
}

Dataset ReadObjects(const Context& context, const NpzFile& npz, const OpenOptions& options) {
  Dataset dataset;
  dataset.format = "npz-objects";
  const Pickle adjacency = npz.GetPickle("adj_matrix");
  AttachGraph(dataset,
              GraphFromSparse(context, SparseFromPickle(context, adjacency, OnlyObject(adjacency)), options));
  const char* attributes = npz.Has("node_attr") ? "node_attr" : "attr_matrix";
  if (!npz.Has(attributes)) {
    dataset.features = Features::None(dataset.nodes());
  } else if (npz.Get(attributes).is_object()) {
    const Pickle pickle = npz.GetPickle(attributes);
    const uint32_t object = OnlyObject(pickle);
    dataset.features = pickle[object].kind == PickleKind::kSparse
                           ? Features::Sparse(ToCsr(context, SparseFromPickle(context, pickle, object)))
                           : pickle.ToArray(object).AsFeatures(context);
  } else {
    dataset.features = npz.Get(attributes).AsFeatures(context);
  }
  const char* labels = npz.Has("node_label") ? "node_label" : "labels";
  dataset.labels = npz.Has(labels) ? LabelsFromArray(context, npz.Get(labels), dataset.class_names)
                                   : NoLabels(dataset.nodes());
  TakeNames(npz, dataset);
  TakeObjectClassNames(npz, dataset);
  return dataset;
}

// train_masks, val_masks, test_masks: (splits × nodes) or (nodes); each row of them is split file:K.
std::vector<Split> MaskSplits(const Context& context, const NpzFile& npz, uint32_t nodes) {
  struct Part {
    const char* names[2];
    Role role;
  };
  constexpr Part kMaskParts[] = {{{"train_masks", "train_mask"}, Role::kTrain},
                                 {{"val_masks", "val_mask"}, Role::kVal},
                                 {{"test_masks", "test_mask"}, Role::kTest}};
  std::vector<Split> splits;
  for (const Part& part : kMaskParts) {
    const char* name = npz.Has(part.names[0]) ? part.names[0] : part.names[1];
    if (!npz.Has(name)) continue;
    const NpyArray array = npz.Get(name);
    const bool many = array.shape().size() == 2;
    if (!many) array.ExpectDimensions(1);
    const size_t count = many ? array.shape()[0] : 1;
    if ((many ? array.shape()[1] : array.size()) != nodes) {
      ThrowInput("{}: its masks cover {} nodes, expected {}", array.where(),
                 many ? array.shape()[1] : array.size(), nodes);
    }
    const Array<uint8_t> mask = array.As<uint8_t>(context);
    while (splits.size() < count) {
      splits.push_back({fmt::format("file:{}", splits.size()), Array<uint8_t>::Zeros(nodes)});
    }
    for (size_t k = 0; k < count; ++k) {
      for (uint32_t node = 0; node < nodes; ++node) {
        if (mask[k * nodes + node] != 0) GiveRole(splits[k], node, part.role, array.where());
      }
    }
  }
  return splits;
}

Dataset ReadPlainArrays(const Context& context, const NpzFile& npz, const OpenOptions& options) {
  const auto pick = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      if (npz.Has(name)) return name;
    }
    return "";
  };
  Dataset dataset;
  dataset.format = "npz-arrays";
  const std::string features = pick({"node_features", "node_attr", "features", "feats", "x"});
  const std::string labels = pick({"node_labels", "node_label", "labels", "label", "y"});
  if (features.empty() && labels.empty()) {
    ThrowInput("{}: edges without node_features or node_labels; it has {}", npz.where(),
               fmt::join(npz.Names(), ", "));
  }
  const uint64_t rows = npz.Get(features.empty() ? labels : features).shape().empty()
                            ? 0
                            : npz.Get(features.empty() ? labels : features).shape()[0];
  const uint32_t nodes = CheckedNodeCount(rows, npz.where());
  AttachGraph(dataset, GraphFromPairs(context, npz.Get(pick({"edges", "edge_index"})), nodes,
                                      BuildFor(options, npz.where())));
  if (npz.Has("edge_attr")) {
    context.Note(fmt::format(
        "{}: edge_attr is not used; --edge-features reads columns of an edge list in text", npz.where()));
  }
  dataset.features = features.empty() ? Features::None(nodes) : npz.Get(features).AsFeatures(context);
  dataset.labels =
      labels.empty() ? NoLabels(nodes) : LabelsFromArray(context, npz.Get(labels), dataset.class_names);
  dataset.splits = MaskSplits(context, npz, nodes);
  TakeNames(npz, dataset);
  return dataset;
}

template <class T>
T NoteOr(const nlohmann::json& notes, const char* key, T otherwise) {
  try {
    return notes.value(key, otherwise);
  } catch (const nlohmann::json::exception&) {
    return otherwise;
  }
}

// scipy's save_npz, alone or with what this program writes beside it (npz_writer.cpp).
Dataset ReadScipy(const Context& context, const NpzFile& npz, OpenOptions options) {
  Dataset dataset;
  dataset.format = "npz-scipy";
  nlohmann::json notes;
  if (npz.Has("l2gcn")) {
    const std::vector<std::string> text = npz.Get("l2gcn").AsStrings();
    notes = ParseJson(text.empty() ? "" : text[0], npz.where() + ":l2gcn");
    if (!notes.is_object()) ThrowInput("{}:l2gcn: no valid JSON object", npz.where());
    // The graph was cleaned when it was written: what it holds is meant.
    options.directed = options.directed || NoteOr(notes, "directed", false);
    options.keep_self_loops = true;
  }
  AttachGraph(dataset, GraphFromSparse(context, SparseFromNpz(context, npz, ""), options));
  const uint32_t nodes = dataset.nodes();
  dataset.features = npz.Has("attr_indptr")
                         ? Features::Sparse(ToCsr(context, SparseFromNpz(context, npz, "attr_")))
                     : npz.Has("attr_matrix") ? npz.Get("attr_matrix").AsFeatures(context)
                                              : Features::None(nodes);
  const std::string task = notes.is_object() ? NoteOr(notes, "task", std::string(kClassificationTask)) : "";
  dataset.labels = npz.Has("labels") ? LabelsFromArray(context, npz.Get("labels"), dataset.class_names, task)
                                     : NoLabels(nodes);
  if (notes.is_object()) {
    dataset.name = NoteOr(notes, "name", std::string());
    dataset.preset_row = NoteOr(notes, "recipe", std::string());
    dataset.self_loops = NoteOr(notes, "self_loops", dataset.self_loops);
    if (dataset.labels.task() == Task::kClass && npz.Has("labels")) {
      dataset.labels.classes = NoteOr(notes, "classes", dataset.labels.classes);
      dataset.labels.classes_of = npz.Get("labels").As<int32_t>(context);
      dataset.class_names.clear();
    }
  }
  if (npz.Has("node_weights")) dataset.labels.node_weights = npz.Get("node_weights").As<float>(context);
  if (npz.Has("labelled")) dataset.labels.labelled = npz.Get("labelled").As<uint8_t>(context);
  if (npz.Has("node_ids")) dataset.node_ids = npz.Get("node_ids").As<int64_t>(context);
  if (npz.Has("splits")) {
    const NpyArray roles = npz.Get("splits");
    const std::vector<std::string> names = npz.Get("split_names").AsStrings();
    roles.ExpectDimensions(2);
    if (roles.shape()[0] != names.size() || roles.shape()[1] != nodes) {
      ThrowInput("{}: expected {} splits of {} nodes", roles.where(), names.size(), nodes);
    }
    const Array<uint8_t> all = roles.As<uint8_t>(context);
    for (size_t k = 0; k < names.size(); ++k) {
      dataset.splits.push_back({names[k], Array<uint8_t>::CopyOf(all.span().subspan(k * nodes, nodes))});
    }
  }
  TakeNames(npz, dataset);
  return dataset;
}

// The two files of a pair, from their folder or either of them.
struct Pair {
  fs::path data, graph;
};
Pair FindPair(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const std::string file = fs::is_directory(path, error) ? "" : path.filename().string();
  constexpr const char* kPairs[][2] = {{"reddit_data.npz", "reddit_graph.npz"},
                                       {"reddit_data.npz", "reddit_self_loop_graph.npz"},
                                       {"reddit.npz", "reddit_adj.npz"}};
  for (const auto& names : kPairs) {
    if (!file.empty() && file != names[0] && file != names[1]) continue;
    if (fs::is_regular_file(folder / names[0], error) && fs::is_regular_file(folder / names[1], error)) {
      return {folder / names[0], folder / names[1]};
    }
  }
  return {};
}

Dataset ReadDglReddit(const Context& context, const NpzFile& data, const OpenOptions&, Dataset dataset) {
  dataset.features = data.Get("feature").AsFeatures(context);
  dataset.labels = LabelsFromArray(context, data.Get("label"), dataset.class_names);
  const Array<uint8_t> types =
      data.Get("node_types").As<uint8_t>(context);  // 1 train, 2 val, 3 test, as Role
  if (types.size() != dataset.nodes())
    ThrowInput("{}: {} node types for {} nodes", data.where(), types.size(), dataset.nodes());
  dataset.splits.push_back({"file:0", types});
  if (data.Has("node_ids") && !data.Get("node_ids").is_string() && !data.Get("node_ids").is_object()) {
    dataset.node_ids = data.Get("node_ids").As<int64_t>(context);
  }
  dataset.name = "reddit-dgl";
  return dataset;
}

// feats; y_train … and train_index …: labels are given split by split.
Dataset ReadFastGcnReddit(const Context& context, const NpzFile& data, const OpenOptions&, Dataset dataset) {
  dataset.features = data.Get("feats").AsFeatures(context);
  const uint32_t nodes = dataset.nodes();
  std::vector<int64_t> numbers(nodes, -1);
  Split split{"file:0", Array<uint8_t>::Zeros(nodes)};
  constexpr std::pair<const char*, Role> kRoles[] = {
      {"train", Role::kTrain}, {"val", Role::kVal}, {"test", Role::kTest}};
  for (const auto& [name, role] : kRoles) {
    const NpyArray array = data.Get(fmt::format("{}_index", name));
    const Array<uint64_t> index = array.As<uint64_t>(context);
    const Array<int64_t> classes = data.Get(fmt::format("y_{}", name)).As<int64_t>(context);
    if (index.size() != classes.size())
      ThrowInput("{}: {} nodes, {} labels", array.where(), index.size(), classes.size());
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= nodes) ThrowInput("{}: node {} in a set of {} nodes", array.where(), index[i], nodes);
      numbers[index[i]] = classes[i];
      GiveRole(split, index[i], role, array.where());
    }
  }
  dataset.labels = LabelsFromNumbers(numbers, dataset.class_names);
  dataset.splits.push_back(std::move(split));
  dataset.name = "reddit";
  return dataset;
}

}  // namespace

bool DetectNpz(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  return file.gcount() == 4 && std::string_view(magic, 4) == std::string_view("PK\3\4", 4);
}

Dataset ReadNpz(const Context& context, const fs::path& path, const OpenOptions& options) {
  const NpzFile npz = NpzFile::Open(context, path);
  Dataset dataset;
  if (npz.Has("adj_indptr")) {
    dataset = ReadBenchmark(context, npz, options, "adj_", "attr_");
  } else if (npz.Has("adj_matrix.indptr")) {
    dataset = ReadBenchmark(context, npz, options, "adj_matrix.", "attr_matrix.");
  } else if (npz.Has("adj_matrix")) {
    dataset = ReadObjects(context, npz, options);
  } else if (npz.Has("edges") || npz.Has("edge_index")) {
    dataset = ReadPlainArrays(context, npz, options);
  } else if (npz.Has("format") && npz.Has("shape")) {
    dataset = ReadScipy(context, npz, options);
  } else {
    ThrowInput(
        "{}: no known layout; expected adj_indptr, adj_matrix, edges, or a matrix of scipy's save_npz, found "
        "{}",
        path.string(), fmt::join(npz.Names(), ", "));
  }
  dataset.path = path.string();
  return dataset;
}

bool DetectRedditPair(const fs::path& path) { return !FindPair(path).data.empty(); }

Dataset ReadRedditPair(const Context& context, const fs::path& path, const OpenOptions& options) {
  const Pair pair = FindPair(path);
  if (pair.data.empty())
    ThrowInput("{}: expected reddit_data.npz and reddit_graph.npz side by side", path.string());
  const NpzFile data = NpzFile::Open(context, pair.data);
  Dataset dataset;
  dataset.path = path.string();
  AttachGraph(dataset, GraphFromSparse(
                           context, SparseFromNpz(context, NpzFile::Open(context, pair.graph), ""), options));
  dataset = data.Has("feature") ? ReadDglReddit(context, data, options, std::move(dataset))
                                : ReadFastGcnReddit(context, data, options, std::move(dataset));
  dataset.format = "reddit-npz";
  dataset.inductive = true;
  return dataset;
}

}  // namespace l2gcn
