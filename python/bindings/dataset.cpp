// Data sets: opened as the program opens them, made from arrays, and handed out as arrays.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "buffers.h"
#include "l2gcn/convert.h"
#include "l2gcn/error.h"
#include "l2gcn/make_dataset.h"
#include "objects.h"

namespace l2gcn::python {
namespace {

using Handle = std::shared_ptr<DatasetHandle>;

// `model`, if any, is the one that will read the data set: its tables have the model's columns.
Handle Open(Call& call, const std::string& spec, const std::string& options_json, const ModelHandle* model) {
  auto handle = std::make_shared<DatasetHandle>();
  handle->spec = spec;
  handle->options = OpenOptionsFromJson(options_json, "load_dataset");
  OpenOptions options = handle->options;
  if (model != nullptr) ReuseColumns(model->model.schema, options);
  call.RunToOpen([&](const Context& context) {
    const auto start = std::chrono::steady_clock::now();
    handle->data = OpenForRanks(context, spec, options);
    handle->load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
  return handle;
}

// Tables that exist only while they are read: the data set does not remember their paths, and counts as one from memory.
Handle OpenTables(Call& call, const std::string& options_json, const ModelHandle* model) {
  Handle handle = Open(call, "", options_json, model);
  handle->options = {};
  handle->data.path.clear();
  if (!handle->data.node_types.empty()) handle->data.name = "tables";
  handle->data.format = "memory";  // as MakeDataset says of arrays
  return handle;
}

// The named array of a dict; an absent one reads as None.
SharedBuffer BufferOf(const nb::dict& arrays, const char* name) {
  return arrays.contains(name) ? ReadBuffer(arrays[name], name) : SharedBuffer{};
}

template <class T>
T ValueOf(const nb::dict& arrays, const char* name, T otherwise) {
  return arrays.contains(name) && !nb::handle(arrays[name]).is_none() ? nb::cast<T>(arrays[name]) : otherwise;
}

void ExpectDimensions(const SharedBuffer& buffer, size_t dimensions, const char* what) {
  if (buffer.owner == nullptr || buffer.shape.size() == dimensions) return;
  throw Error(ErrorKind::kInput, std::string(what) + ": an array of " + std::to_string(buffer.shape.size()) +
                                     " dimensions; expected " + std::to_string(dimensions));
}

// "features": rows × columns of float32 or float16; or the three arrays of a sparse matrix and its columns.
Features FeaturesOf(const nb::dict& arrays, size_t nodes) {
  const SharedBuffer dense = BufferOf(arrays, "features");
  const SharedBuffer values = BufferOf(arrays, "feature_values");
  if (dense.owner != nullptr) {
    ExpectDimensions(dense, 2, "features");
    const size_t rows = dense.shape[0], cols = dense.shape[1];
    if (dense.format == "e") {
      const auto elements = dense.As<uint16_t>("e", "features");
      return Features::Stored(FeatureType::kF16,
                              Array<uint16_t>::Borrow(dense.owner, elements.data(), elements.size()), rows,
                              cols);
    }
    const auto elements = dense.As<float>("f", "features");
    return Features::Dense({Array<float>::Borrow(dense.owner, elements.data(), elements.size()), rows, cols});
  }
  if (values.owner == nullptr) return Features::None(nodes);
  const SharedBuffer indptr = BufferOf(arrays, "feature_indptr"),
                     indices = BufferOf(arrays, "feature_indices");
  const auto offsets = indptr.As<int64_t>("lq", "feature_indptr");
  const auto columns = indices.As<int32_t>("il", "feature_indices");
  const auto numbers = values.As<float>("f", "feature_values");
  CsrMatrix matrix;
  matrix.rows = offsets.empty() ? 0 : offsets.size() - 1;
  matrix.cols = ValueOf<size_t>(arrays, "feature_columns", 0);
  matrix.indptr = Array<uint64_t>::Borrow(indptr.owner, reinterpret_cast<const uint64_t*>(offsets.data()),
                                          offsets.size());
  matrix.indices = Array<uint32_t>::Borrow(indices.owner, reinterpret_cast<const uint32_t*>(columns.data()),
                                           columns.size());
  matrix.values = Array<float>::Borrow(values.owner, numbers.data(), numbers.size());
  return Features::Sparse(std::move(matrix));
}

// Keeps several exports alive as one.
std::shared_ptr<const void> Together(const SharedBuffer& a, const SharedBuffer& b) {
  return std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(a.owner,
                                                                                               b.owner);
}

// "node_types": {"name", "count", "labelled", "columns"} and features each. "relations": {"name", "source", "target",
// "weights"} each. `held` keeps the edges alive.
void TakeTypes(const nb::dict& arrays, DatasetArrays& given, std::vector<SharedBuffer>& held) {
  if (!arrays.contains("node_types")) return;
  for (const nb::handle item : nb::cast<nb::list>(arrays["node_types"])) {
    const auto dict = nb::cast<nb::dict>(item);
    const auto count = nb::cast<uint64_t>(dict["count"]);
    given.node_types.push_back({nb::cast<std::string>(dict["name"]), count, FeaturesOf(dict, count),
                                ValueOf<std::vector<std::string>>(dict, "columns", {}),
                                ValueOf(dict, "labelled", false)});
  }
  for (const nb::handle item : nb::cast<nb::list>(arrays["relations"])) {
    const auto dict = nb::cast<nb::dict>(item);
    DatasetArrays::TypedEdges edges;
    edges.name = nb::cast<std::string>(dict["name"]);
    for (const char* name : {"source", "target", "weights"}) held.push_back(BufferOf(dict, name));
    const auto end = held.end();
    edges.source = AsIndices(*(end - 3), "source");
    edges.target = AsIndices(*(end - 2), "target");
    edges.weights = (end - 1)->As<float>("f", "weights");
    given.relations.push_back(std::move(edges));
  }
}

Handle Make(Call& call, const nb::dict& arrays) {
  DatasetArrays given;
  given.name = ValueOf<std::string>(arrays, "name", given.name);
  given.preset_row = ValueOf<std::string>(arrays, "preset_row", "");
  given.nodes = ValueOf<uint64_t>(arrays, "nodes", 0);
  given.directed = ValueOf(arrays, "directed", false);
  given.one_way = ValueOf(arrays, "one_way", false);
  given.keep_self_loops = ValueOf(arrays, "keep_self_loops", false);
  given.classes = ValueOf<uint32_t>(arrays, "classes", 0);
  given.class_names = ValueOf<std::vector<std::string>>(arrays, "class_names", {});
  given.node_names = ValueOf<std::vector<std::string>>(arrays, "node_names", {});
  const SharedBuffer source = BufferOf(arrays, "source"), target = BufferOf(arrays, "target"),
                     indptr = BufferOf(arrays, "indptr"), indices = BufferOf(arrays, "indices"),
                     weights = BufferOf(arrays, "weights"), classes_of = BufferOf(arrays, "classes_of"),
                     label_matrix = BufferOf(arrays, "label_matrix"), labelled = BufferOf(arrays, "labelled"),
                     roles = BufferOf(arrays, "roles"), node_ids = BufferOf(arrays, "node_ids"),
                     targets = BufferOf(arrays, "targets"), node_weights = BufferOf(arrays, "node_weights");
  const SharedBuffer edge_type = BufferOf(arrays, "edge_type");
  given.edge_type = AsIndices(edge_type, "edge_type");
  given.edge_type_names = ValueOf<std::vector<std::string>>(arrays, "edge_type_names", {});
  given.source = AsIndices(source, "source");
  given.target = AsIndices(target, "target");
  given.indptr = AsIndices(indptr, "indptr");
  given.indices = AsIndices(indices, "indices");
  given.weights = weights.As<float>("f", "weights");
  if (indices.owner != nullptr) given.rows_owner = Together(indices, weights);
  given.classes_of = AsIndices(classes_of, "classes_of");
  given.label_matrix = label_matrix.As<uint8_t>("B?", "label_matrix");
  if (label_matrix.shape.size() == 2) given.classes = static_cast<uint32_t>(label_matrix.shape[1]);
  given.labelled = labelled.As<uint8_t>("B?", "labelled");
  if (targets.owner != nullptr) {
    ExpectDimensions(targets, 2, "targets");
    const auto numbers = targets.As<float>("f", "targets");
    given.targets = {Array<float>::Borrow(targets.owner, numbers.data(), numbers.size()), targets.shape[0],
                     targets.shape[1]};
  }
  given.node_weights = node_weights.As<float>("f", "node_weights");
  given.roles = roles.As<uint8_t>("B", "roles");
  given.node_ids = node_ids.As<int64_t>("lq", "node_ids");
  given.features = FeaturesOf(arrays, given.nodes);
  std::vector<SharedBuffer> held;
  TakeTypes(arrays, given, held);
  auto handle = std::make_shared<DatasetHandle>();
  call.Run([&](const Context& context) { handle->data = MakeDataset(context, std::move(given)); });
  return handle;
}

// The same data set with other labels, split or features: arrays that are not named stay as they are, and shared.
Handle WithSplits(Call& call, const DatasetHandle& handle,
                  const std::vector<std::pair<std::string, nb::object>>& splits) {
  auto changed = std::make_shared<DatasetHandle>(handle);
  changed->data.splits.clear();
  for (const auto& [name, roles] : splits) {
    const SharedBuffer buffer = ReadBuffer(roles, "roles");
    changed->data.splits.push_back({name, Array<uint8_t>::CopyOf(buffer.As<uint8_t>("B", "roles"))});
  }
  call.Run([&](const Context& context) { ValidateDataset(context, changed->data); });
  return changed;
}

// Relations as (name, whether directed, indptr, indices, weights or None), and back.
nb::list GiveRelations(const DatasetHandle& handle) {
  nb::list relations;
  for (const auto& [name, graph] : handle.data.relations) {
    const nb::object weights =
        graph.weighted() ? Give(graph.weights, {graph.weights.size()}, false) : nb::none();
    relations.append(nb::make_tuple(name, graph.directed, Give(graph.indptr, {graph.indptr.size()}, false),
                                    Give(graph.indices, {graph.indices.size()}, false), weights));
  }
  return relations;
}

Handle WithRelations(Call& call, const DatasetHandle& handle, const nb::list& relations) {
  auto changed = std::make_shared<DatasetHandle>(handle);
  for (const nb::handle item : relations) {
    const auto tuple = nb::cast<nb::tuple>(item);
    Graph graph;
    graph.nodes = handle.data.nodes();
    graph.directed = nb::cast<bool>(tuple[1]);
    graph.indptr = Array<uint64_t>::CopyOf(ReadBuffer(tuple[2], "indptr").As<uint64_t>("LQ", "indptr"));
    graph.indices = Array<uint32_t>::CopyOf(ReadBuffer(tuple[3], "indices").As<uint32_t>("I", "indices"));
    if (!tuple[4].is_none())
      graph.weights = Array<float>::CopyOf(ReadBuffer(tuple[4], "weights").As<float>("f", "weights"));
    changed->data.relations.push_back({nb::cast<std::string>(tuple[0]), std::move(graph)});
  }
  call.Run([&](const Context& context) { ValidateDataset(context, changed->data); });
  return changed;
}

// The columns of a table, by which a model recognises those of another.
TableSchema SchemaOf(const nb::list& columns, const std::string& label) {
  TableSchema schema;
  schema.label = label;
  for (const nb::handle item : columns) {
    const auto dict = nb::cast<nb::dict>(item);
    TableSchema::Column column;
    column.name = nb::cast<std::string>(dict["name"]);
    column.category = nb::cast<bool>(dict["category"]);
    column.levels = nb::cast<std::vector<std::string>>(dict["levels"]);
    column.marks_missing = nb::cast<bool>(dict["marks_missing"]);
    column.missing = nb::cast<uint64_t>(dict["missing"]);
    column.fill = nb::cast<float>(dict["fill"]);
    if (dict.contains("unit")) column.unit = nb::cast<std::string>(dict["unit"]);
    if (dict.contains("node_type")) column.node_type = nb::cast<std::string>(dict["node_type"]);
    schema.columns.push_back(std::move(column));
  }
  return schema;
}

Handle WithSchema(const DatasetHandle& handle, const nb::list& columns, const std::string& label) {
  auto changed = std::make_shared<DatasetHandle>(handle);
  changed->data.schema = SchemaOf(columns, label);
  if (changed->data.schema.width() != changed->data.features.cols()) {
    throw Error(ErrorKind::kInput,
                handle.data.name + ": names for " + std::to_string(changed->data.schema.width()) +
                    " features, but it has " + std::to_string(changed->data.features.cols()));
  }
  return changed;
}

// (name, nodes, whether they have labels) of each type, as WithNodeTypes takes them.
using GivenType = std::tuple<std::string, uint32_t, bool>;
std::vector<GivenType> GiveNodeTypes(const DatasetHandle& handle) {
  std::vector<GivenType> types;
  for (const NodeType& type : handle.data.node_types)
    types.emplace_back(type.name, type.count, type.labelled);
  return types;
}

Handle WithNodeTypes(Call& call, const DatasetHandle& handle, const std::vector<GivenType>& types) {
  auto changed = std::make_shared<DatasetHandle>(handle);
  changed->data.node_types.clear();
  uint32_t first = 0;
  for (const auto& [name, count, labelled] : types) {
    changed->data.node_types.push_back({name, first, count, labelled});
    first += count;
  }
  call.Run([&](const Context& context) { ValidateDataset(context, changed->data); });
  return changed;
}

nb::object GiveFeatures(const DatasetHandle& handle) {
  const Features& features = handle.data.features;
  if (features.stores_sparse()) return nb::none();
  if (features.type() == FeatureType::kF32)
    return Give(features.matrix().values, {features.rows(), features.stored_cols()}, false);
  return Give(features.halves(), {features.rows(), features.stored_cols()}, false);
}

nb::object GiveSparse(const DatasetHandle& handle) {
  const Features& features = handle.data.features;
  if (!features.stores_sparse()) return nb::none();
  const CsrMatrix& csr = features.csr();
  return nb::make_tuple(Give(csr.indptr, {csr.indptr.size()}, false), Give(csr.indices, {csr.nnz()}, false),
                        Give(csr.values, {csr.nnz()}, false));
}

nb::object GiveLabels(const DatasetHandle& handle) {
  const Labels& labels = handle.data.labels;
  if (labels.task() == Task::kRegression)
    return Give(labels.targets.values, {labels.targets.rows, labels.targets.cols}, false);
  if (labels.multilabel) return Give(labels.matrix, {handle.data.nodes(), labels.classes}, false);
  return Give(labels.classes_of, {labels.classes_of.size()}, false);
}

nb::object GiveNodeWeights(const DatasetHandle& handle) {
  const Array<float>& weights = handle.data.labels.node_weights;
  return weights.empty() ? nb::none() : Give(weights, {weights.size()}, false);
}

nb::list GiveSplits(const DatasetHandle& handle) {
  nb::list splits;
  for (const Split& split : handle.data.splits) splits.append(nb::make_tuple(split.name, GiveRoles(split)));
  return splits;
}

std::vector<std::string> NodeNames(const DatasetHandle& handle) {
  std::vector<std::string> names;
  names.reserve(handle.data.node_names.size());
  for (size_t i = 0; i < handle.data.node_names.size(); ++i) names.emplace_back(handle.data.node_names[i]);
  return names;
}

nb::list Known(const std::string& options_json) {
  nb::list all;
  for (const KnownDataset& known : ListDatasets(OpenOptionsFromJson(options_json, "datasets"))) {
    nb::dict dict;
    dict["name"] = known.name;
    dict["description"] = known.description;
    dict["found_at"] = known.found_at;
    dict["format"] = known.format;
    all.append(dict);
  }
  return all;
}

nb::dict Changes(const DatasetHandle& handle) {
  const Graph::Changes& changes = handle.data.changes;
  nb::dict dict;
  dict["entries_read"] = changes.entries_read;
  dict["reverses_added"] = changes.reverses_added;
  dict["duplicates_dropped"] = changes.duplicates_dropped;
  dict["self_loops_found"] = changes.self_loops_found;
  dict["self_loops_dropped"] = changes.self_loops_dropped;
  return dict;
}

}  // namespace

nb::list GiveSchema(const TableSchema& schema) {
  nb::list columns;
  for (const TableSchema::Column& column : schema.columns) {
    nb::dict dict;
    dict["name"] = column.name;
    dict["category"] = column.category;
    dict["levels"] = nb::cast(column.levels);
    dict["marks_missing"] = column.marks_missing;
    dict["missing"] = column.missing;
    dict["fill"] = column.fill;
    dict["unit"] = column.unit;
    dict["node_type"] = column.node_type;
    columns.append(dict);
  }
  return columns;
}

nb::object GiveRoles(const Split& split) {
  return split.roles.empty() ? nb::none() : Give(split.roles, {split.roles.size()}, false);
}

void BindDataset(nb::module_& module) {
  nb::class_<DatasetHandle>(module, "Dataset", "A data set as the library holds it.")
      .def_prop_ro("name", [](const DatasetHandle& h) { return h.data.name; })
      .def_prop_ro("preset_row", [](const DatasetHandle& h) { return h.data.preset_row; })
      .def_prop_ro("format", [](const DatasetHandle& h) { return h.data.format; })
      .def_prop_ro("path", [](const DatasetHandle& h) { return h.data.path; })
      .def_prop_ro("spec", [](const DatasetHandle& h) { return h.spec; })
      .def_prop_ro("options_json", [](const DatasetHandle& h) { return OpenOptionsToJson(h.options); })
      .def_prop_ro("nodes", [](const DatasetHandle& h) { return h.data.nodes(); })
      .def_prop_ro("edges", [](const DatasetHandle& h) { return h.data.edges; })
      .def_prop_ro("self_loops", [](const DatasetHandle& h) { return h.data.self_loops; })
      .def_prop_ro("relations", GiveRelations)
      .def_prop_ro("directed", [](const DatasetHandle& h) { return h.data.graph.directed; })
      .def_prop_ro("classes", [](const DatasetHandle& h) { return h.data.labels.classes; })
      .def_prop_ro("multilabel", [](const DatasetHandle& h) { return h.data.labels.multilabel; })
      .def_prop_ro("regression",
                   [](const DatasetHandle& h) { return h.data.labels.task() == Task::kRegression; })
      .def_prop_ro("node_weights", GiveNodeWeights)
      .def_prop_ro("columns", [](const DatasetHandle& h) { return h.data.features.cols(); })
      .def_prop_ro("feature_type",
                   [](const DatasetHandle& h) {
                     constexpr const char* kNames[] = {"f32", "f16", "bf16"};
                     return kNames[static_cast<int>(h.data.features.type())];
                   })
      .def_prop_ro("indptr",
                   [](const DatasetHandle& h) {
                     return Give(h.data.graph.indptr, {h.data.graph.indptr.size()}, false);
                   })
      .def_prop_ro("indices",
                   [](const DatasetHandle& h) {
                     return Give(h.data.graph.indices, {h.data.graph.indices.size()}, false);
                   })
      .def_prop_ro("weights",
                   [](const DatasetHandle& h) -> nb::object {
                     if (!h.data.graph.weighted()) return nb::none();
                     return Give(h.data.graph.weights, {h.data.graph.weights.size()}, false);
                   })
      .def_prop_ro("node_types", GiveNodeTypes)
      .def_prop_ro("features", GiveFeatures)
      .def_prop_ro("sparse_features", GiveSparse)
      .def_prop_ro("labels", GiveLabels)
      .def_prop_ro("labelled",
                   [](const DatasetHandle& h) -> nb::object {
                     const Array<uint8_t>& labelled = h.data.labels.labelled;
                     return labelled.empty() ? nb::none() : Give(labelled, {labelled.size()}, false);
                   })
      .def_prop_ro("class_names", [](const DatasetHandle& h) { return h.data.class_names; })
      .def_prop_ro("node_names", NodeNames)
      .def_prop_ro("node_ids",
                   [](const DatasetHandle& h) -> nb::object {
                     const Array<int64_t>& ids = h.data.node_ids;
                     return ids.empty() ? nb::none() : Give(ids, {ids.size()}, false);
                   })
      .def_prop_ro("splits", GiveSplits)
      .def_prop_ro("schema", [](const DatasetHandle& h) { return GiveSchema(h.data.schema); })
      .def_prop_ro("label_column", [](const DatasetHandle& h) { return h.data.schema.label; })
      .def_prop_ro("changes", Changes)
      .def_prop_ro("description_json", [](const DatasetHandle& h) { return DescribeDatasetJson(h.data); })
      .def("node_name", [](const DatasetHandle& h, uint32_t node) { return h.data.NodeName(node); });
  module.def("open_dataset", Open, nb::arg("call"), nb::arg("spec"), nb::arg("options_json"),
             nb::arg("model").none());
  module.def("with_relations", WithRelations, nb::arg("call"), nb::arg("data"), nb::arg("relations"));
  module.def("open_tables", OpenTables, nb::arg("call"), nb::arg("options_json"), nb::arg("model").none());
  module.def("make_dataset", Make, nb::arg("call"), nb::arg("arrays"));
  module.def("with_splits", WithSplits, nb::arg("call"), nb::arg("data"), nb::arg("splits"));
  module.def("with_node_types", WithNodeTypes, nb::arg("call"), nb::arg("data"), nb::arg("types"));
  module.def("with_schema", WithSchema, nb::arg("data"), nb::arg("columns"), nb::arg("label"));
  module.def(
      "resolve_split",
      [](Call& call, const DatasetHandle& h, const std::string& split, uint64_t seed) {
        const Split resolved = call.Run([&](const Context&) { return ResolveSplit(h.data, split, seed); });
        return nb::make_tuple(resolved.name, GiveRoles(resolved));
      },
      nb::arg("call"), nb::arg("data"), nb::arg("split"), nb::arg("seed"));
  module.def(
      "save_dataset",
      [](Call& call, const DatasetHandle& h, const std::string& directory, bool force) {
        call.Run([&](const Context& context) { SaveDataset(context, h.data, directory, force); });
      },
      nb::arg("call"), nb::arg("data"), nb::arg("directory"), nb::arg("force"));
  module.def("known_datasets", Known, nb::arg("options_json"));
}

}  // namespace l2gcn::python
