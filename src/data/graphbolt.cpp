#include "data/graphbolt.h"

#include <yaml-cpp/yaml.h>

#include "core/error_format.h"
#include "core/files.h"
#include "data/edge_load.h"
#include "data/labels.h"
#include "data/npy.h"
#include "data/reader.h"
#include "data/text_source.h"
#include "data/writers.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMetadata = "metadata.yaml";
constexpr size_t kLargestMetadata = size_t{1} << 20;

class GraphBoltReader {
 public:
  GraphBoltReader(const Context& context, const fs::path& folder, const OpenOptions& options)
      : context_(context), folder_(folder), options_(options), where_((folder / kMetadata).string()) {
    try {
      root_ = YAML::Load(ReadUnpacked(folder / kMetadata, kLargestMetadata));
    } catch (const YAML::Exception& error) {
      ThrowInput("{}:{}: no valid YAML: {}", where_, error.mark.line + 1, error.msg);
    }
  }

  Dataset Read() {
    try {
      return ReadChecked();
    } catch (const YAML::Exception& error) {
      ThrowInput("{}:{}: unexpected content: {}", where_, error.mark.line + 1, error.msg);
    }
  }

 private:
  Dataset ReadChecked() {
    Dataset dataset;
    dataset.format = "graphbolt";
    dataset.path = folder_.string();
    if (root_["dataset_name"]) dataset.name = root_["dataset_name"].as<std::string>();
    const YAML::Node graph = root_["graph"];
    if (!graph || !graph["nodes"] || graph["nodes"].size() != 1 || !graph["edges"] ||
        graph["edges"].size() != 1) {
      ThrowInput("{}: expected a graph with one type of nodes and one of edges", where_);
    }
    const uint32_t nodes = CheckedNodeCount(graph["nodes"][0]["num"].as<uint64_t>(), where_);
    TakeFeatures(dataset);
    // A count with no rows behind it is only a claim.
    if (dataset.features.rows() != nodes) {
      ThrowInput("{}: {} nodes, but the features have {} rows", where_, nodes, dataset.features.rows());
    }
    TakeEdges(dataset, graph["edges"][0], nodes);
    TakeTasks(dataset, nodes);
    return dataset;
  }

  fs::path FileOf(const YAML::Node& entry) const {
    const fs::path path = entry["path"].as<std::string>();
    bool inside = !path.is_absolute();
    for (const fs::path& part : path) inside = inside && part != "..";
    if (!inside) ThrowInput("{}: the path '{}' leaves the folder and is refused", where_, path.string());
    return folder_ / path;
  }

  void TakeFeatures(Dataset& dataset) const {
    for (const YAML::Node& entry : root_["feature_data"]) {
      if (entry["domain"].as<std::string>() != "node" || entry["format"].as<std::string>() != "numpy")
        continue;
      const NpyArray array = NpyArray::Open(FileOf(entry));
      if (array.shape().size() != 2) continue;
      dataset.features = array.AsFeatures(context_);
      return;
    }
    ThrowInput("{}: no node features in .npy", where_);
  }

  void TakeEdges(Dataset& dataset, const YAML::Node& entry, uint32_t nodes) const {
    const fs::path path = FileOf(entry);
    const BuildOptions build{options_.directed, options_.keep_self_loops, path.string()};
    if (entry["format"].as<std::string>() == "numpy") {
      AttachGraph(dataset, GraphFromPairs(context_, NpyArray::Open(path), nodes, build));
      return;
    }
    const LoadedEdges edges = LoadNumberedEdges(context_, path, nodes);
    AttachGraph(dataset, BuildGraph(context_, nodes, edges.source, edges.target, edges.weights, build));
  }

  void TakeTasks(Dataset& dataset, uint32_t nodes) const {
    std::vector<int64_t> numbers(nodes, -1);
    Labels multi;
    constexpr std::pair<const char*, Role> kSets[] = {
        {"train_set", Role::kTrain}, {"validation_set", Role::kVal}, {"test_set", Role::kTest}};
    for (const YAML::Node& task : root_["tasks"]) {
      Split split{fmt::format("file:{}", dataset.splits.size()), Array<uint8_t>::Zeros(nodes)};
      for (const auto& [key, role] : kSets) {
        for (const YAML::Node& set : task[key]) TakeSet(set, nodes, role, split, numbers, multi);
      }
      dataset.splits.push_back(std::move(split));
    }
    dataset.labels = multi.multilabel ? std::move(multi) : LabelsFromNumbers(numbers, dataset.class_names);
  }

  void TakeSet(const YAML::Node& set, uint32_t nodes, Role role, Split& split, std::vector<int64_t>& numbers,
               Labels& multi) const {
    NpyArray seeds, labels;
    bool have_seeds = false, have_labels = false;
    for (const YAML::Node& entry : set["data"]) {
      const auto name = entry["name"].as<std::string>("");
      if (entry["format"].as<std::string>() != "numpy") continue;
      if (name == "labels") {
        labels = NpyArray::Open(FileOf(entry));
        have_labels = true;
      } else if (!have_seeds) {
        seeds = NpyArray::Open(FileOf(entry));
        have_seeds = true;
      }
    }
    if (!have_seeds) return;
    const Array<uint64_t> rows = seeds.As<uint64_t>(context_);
    for (const uint64_t node : rows) {
      if (node >= nodes) ThrowInput("{}: node {} in a set of {} nodes", seeds.where(), node, nodes);
      GiveRole(split, node, role, seeds.where());
    }
    if (!have_labels) return;
    if (labels.shape().empty() || labels.shape()[0] != rows.size()) {
      ThrowInput("{}: {} nodes but labels of another length", labels.where(), rows.size());
    }
    if (labels.shape().size() == 2 && labels.shape()[1] > 1) return TakeMatrix(rows, labels, nodes, multi);
    const int64_t unlabelled = -1;
    const Array<int64_t> values = labels.As<int64_t>(context_, labels.is_float() ? &unlabelled : nullptr);
    for (size_t i = 0; i < rows.size(); ++i) numbers[rows[i]] = values[i];
  }

  void TakeMatrix(const Array<uint64_t>& rows, const NpyArray& array, uint32_t nodes, Labels& multi) const {
    const uint64_t classes = array.shape()[1];
    if (!multi.multilabel) {
      multi.multilabel = true;
      multi.classes = static_cast<uint32_t>(classes);
      multi.matrix = Array<uint8_t>::Zeros(size_t{nodes} * classes);
      multi.labelled = Array<uint8_t>::Zeros(nodes);
    }
    if (classes != multi.classes)
      ThrowInput("{}: {} labels, expected {}", array.where(), classes, multi.classes);
    const Array<uint8_t> values = array.As<uint8_t>(context_);
    for (size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values.data() + i * classes, classes, multi.matrix.mutable_data() + rows[i] * classes);
      multi.labelled.mutable_data()[rows[i]] = 1;
    }
  }

  const Context& context_;
  const fs::path folder_;
  const OpenOptions& options_;
  const std::string where_;
  YAML::Node root_;
};

// Writing

void WriteEdges(const Graph& graph, const fs::path& path) {
  NpyWriter writer(path, NpyDescr<int64_t>(), {graph.entries()});
  std::vector<int64_t> buffer;
  const auto put = [&](int64_t value) {
    buffer.push_back(value);
    if (buffer.size() < (size_t{1} << 16)) return;
    writer.Write(buffer.data(), buffer.size() * sizeof(int64_t));
    buffer.clear();
  };
  for (uint32_t u = 0; u < graph.nodes; ++u) {
    for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) put(u);
  }
  for (const uint32_t v : graph.indices) put(v);
  writer.Write(buffer.data(), buffer.size() * sizeof(int64_t));
  writer.Close(2);
}

void WriteFeatureRows(const Context& context, const Features& features, const fs::path& path) {
  if (features.stores_sparse()) {
    context.Note("graphbolt: sparse features are written dense, since the format has no sparse ones");
  }
  NpyWriter writer(path, NpyDescr<float>(), {features.cols()});
  constexpr size_t kRowsWritten = 256;
  std::vector<float> block(kRowsWritten * features.cols());
  for (size_t first = 0; first < features.rows(); first += kRowsWritten) {
    const size_t count = std::min(kRowsWritten, features.rows() - first);
    features.ReadRows(first, count, block.data());
    writer.Write(block.data(), count * features.cols() * sizeof(float));
  }
  writer.Close(features.rows());
}

void WriteSet(const Dataset& dataset, const Split& split, Role role, const fs::path& seeds_path,
              const fs::path& labels_path) {
  std::vector<int64_t> seeds, classes;
  std::vector<uint8_t> matrix;
  const Labels& labels = dataset.labels;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (split.roles[node] != static_cast<uint8_t>(role) || !labels.IsLabelled(node)) continue;
    seeds.push_back(node);
    if (labels.multilabel) {
      const uint8_t* row = labels.matrix.data() + size_t{node} * labels.classes;
      matrix.insert(matrix.end(), row, row + labels.classes);
    } else {
      classes.push_back(labels.classes_of[node]);
    }
  }
  WriteNpy<int64_t>(seeds_path, seeds);
  if (labels.multilabel) {
    WriteNpy<uint8_t>(labels_path, matrix, {seeds.size(), labels.classes});
  } else {
    WriteNpy<int64_t>(labels_path, classes);
  }
}

void EmitFile(YAML::Emitter& out, const std::string& name, const std::string& path) {
  out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << name << YAML::Key << "format" << YAML::Value
      << "numpy" << YAML::Key << "path" << YAML::Value << path << YAML::EndMap;
}

}  // namespace

bool DetectGraphBolt(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / kMetadata, error) ||
         (path.filename() == kMetadata && fs::is_regular_file(path, error));
}

Dataset ReadGraphBolt(const Context& context, const fs::path& path, const OpenOptions& options) {
  return GraphBoltReader(context, path.filename() == kMetadata ? path.parent_path() : path, options).Read();
}

void WriteGraphBolt(const Context& context, const Dataset& dataset, const fs::path& directory, bool force) {
  std::error_code error;
  if (fs::exists(directory, error) && !DetectGraphBolt(directory) && !fs::is_empty(directory, error)) {
    ThrowUsage("{}: exists and is no GraphBolt folder, so it is never replaced; choose another output",
               directory.string());
  }
  if (dataset.labels.task() == Task::kRegression)
    ThrowUsage("--to graphbolt: {} has targets of a regression; write them as native or npz", dataset.name);
  StagedDirectory staged(directory, force);
  for (const char* folder : {"edges", "data", "set"}) fs::create_directory(staged.path() / folder);
  WriteEdges(dataset.graph, staged.path() / "edges/edges.npy");
  WriteFeatureRows(context, dataset.features, staged.path() / "data/feat.npy");
  std::vector<Split> splits = dataset.splits;
  if (splits.empty())
    splits.push_back({"all", Array<uint8_t>::Filled(dataset.nodes(), static_cast<uint8_t>(Role::kTrain))});
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "dataset_name" << YAML::Value << dataset.name << YAML::Key << "graph";
  out << YAML::BeginMap << YAML::Key << "nodes" << YAML::BeginSeq << YAML::BeginMap << YAML::Key << "num"
      << YAML::Value << dataset.nodes() << YAML::EndMap << YAML::EndSeq << YAML::Key << "edges"
      << YAML::BeginSeq << YAML::BeginMap << YAML::Key << "format" << YAML::Value << "numpy" << YAML::Key
      << "path" << YAML::Value << "edges/edges.npy" << YAML::EndMap << YAML::EndSeq << YAML::EndMap;
  out << YAML::Key << "feature_data" << YAML::BeginSeq << YAML::BeginMap << YAML::Key << "domain"
      << YAML::Value << "node" << YAML::Key << "name" << YAML::Value << "feat" << YAML::Key << "format"
      << YAML::Value << "numpy" << YAML::Key << "path" << YAML::Value << "data/feat.npy" << YAML::Key
      << "in_memory" << YAML::Value << true << YAML::EndMap << YAML::EndSeq;
  out << YAML::Key << "tasks" << YAML::BeginSeq;
  constexpr std::pair<const char*, Role> kSets[] = {
      {"train", Role::kTrain}, {"validation", Role::kVal}, {"test", Role::kTest}};
  for (size_t k = 0; k < splits.size(); ++k) {
    out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << splits[k].name << YAML::Key
        << "num_classes" << YAML::Value << dataset.labels.classes;
    for (const auto& [name, role] : kSets) {
      const std::string stem = fmt::format("set/{}_{}", name, k);
      WriteSet(dataset, splits[k], role, staged.path() / (stem + "_seeds.npy"),
               staged.path() / (stem + "_labels.npy"));
      out << YAML::Key << fmt::format("{}_set", name) << YAML::BeginSeq << YAML::BeginMap << YAML::Key
          << "data" << YAML::BeginSeq;
      EmitFile(out, "seeds", stem + "_seeds.npy");
      EmitFile(out, "labels", stem + "_labels.npy");
      out << YAML::EndSeq << YAML::EndMap << YAML::EndSeq;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  WriteFileWhole(staged.path() / kMetadata, std::string(out.c_str()) + "\n");
  staged.Commit();
}

}  // namespace l2gcn
