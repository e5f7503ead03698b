#include "data/planetoid.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/error_format.h"
#include "core/files.h"
#include "data/pickle.h"
#include "data/sparse_matrix.h"
#include "graph/build.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kParts[] = {"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"};
constexpr uint32_t kValidation = 500;  // rows after x

fs::path PartPath(const fs::path& directory, const std::string& name, const char* part) {
  return directory / fmt::format("ind.{}.{}", name, part);
}

Pickle OpenPickle(const fs::path& path) {
  const auto file = MappedFile::Open(path);
  return Pickle::Parse(file, file->bytes(), path.string());
}

CsrMatrix ReadFeatures(const Context& context, const fs::path& path) {
  const Pickle pickle = OpenPickle(path);
  return ToCsr(context, SparseFromPickle(context, pickle, pickle.root()));
}

// One-hot rows (rows × classes) of int.
struct OneHot {
  size_t rows = 0, classes = 0;
  Array<int32_t> values;
  // −1 for a row without a one.
  int32_t ClassOf(size_t row) const {
    for (size_t c = 0; c < classes; ++c) {
      if (values[row * classes + c] != 0) return static_cast<int32_t>(c);
    }
    return -1;
  }
};

OneHot ReadOneHot(const Context& context, const fs::path& path) {
  const Pickle pickle = OpenPickle(path);
  const NpyArray array = pickle.ToArray(pickle.root());
  array.ExpectDimensions(2);
  return {array.shape()[0], array.shape()[1], array.As<int32_t>(context)};
}

std::vector<uint32_t> ReadTestIndex(const fs::path& path) {
  const auto file = MappedFile::Open(path);
  const std::string_view text = file->text();
  std::vector<uint32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  for (size_t line = 1; at < end; ++line) {
    uint32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool ended = next == end || *next == '\n' || *next == '\r';
    if (error != std::errc() || !ended)
      ThrowInput("{}:{}: expected one node number on the line", path.string(), line);
    ids.push_back(id);
    at = next;
    while (at < end && (*at == '\n' || *at == '\r')) ++at;
  }
  return ids;
}

// Where each node's features and label come from: row r of allx is r, row i of tx is allx_rows + i, −1 a
// hole.
struct Layout {
  uint32_t nodes = 0;
  uint32_t x_rows = 0, all_rows = 0;
  std::vector<int64_t> source;  // (nodes)
  std::vector<uint32_t> test;   // ids of test.index
};

Layout Arrange(const fs::path& directory, const std::string& name, size_t x_rows, size_t all_rows,
               size_t tx_rows) {
  Layout layout;
  const fs::path path = PartPath(directory, name, "test.index");
  layout.test = ReadTestIndex(path);
  layout.x_rows = CheckedNodeCount(x_rows, path.string());
  layout.all_rows = CheckedNodeCount(all_rows, path.string());
  if (layout.test.size() != tx_rows) {
    ThrowInput("{}: {} test nodes, but tx has {} rows", path.string(), layout.test.size(), tx_rows);
  }
  uint64_t nodes = all_rows;
  for (const uint32_t id : layout.test) nodes = std::max<uint64_t>(nodes, uint64_t{id} + 1);
  // Holes are few; ids far beyond what the rows can fill are a damaged file, not a data set.
  if (nodes > 2 * (all_rows + tx_rows) + 1024) {
    ThrowInput("{}: node {} lies far beyond the {} rows of the set", path.string(), nodes - 1,
               all_rows + tx_rows);
  }
  layout.nodes = CheckedNodeCount(nodes, path.string());
  layout.source.assign(layout.nodes, -1);
  for (size_t row = 0; row < all_rows; ++row) layout.source[row] = static_cast<int64_t>(row);
  for (size_t i = 0; i < layout.test.size(); ++i) {
    const uint32_t id = layout.test[i];
    if (id < all_rows || layout.source[id] >= 0) {
      ThrowInput("{}:{}: node {} has features already (in allx, or it stands twice)", path.string(), i + 1,
                 id);
    }
    layout.source[id] = static_cast<int64_t>(all_rows + i);
  }
  return layout;
}

CsrMatrix StackFeatures(const Layout& layout, const CsrMatrix& all, const CsrMatrix& test,
                        const std::string& where) {
  if (all.cols != test.cols) ThrowInput("{}: allx has {} features, tx {}", where, all.cols, test.cols);
  CsrMatrix stacked;
  stacked.rows = layout.nodes;
  stacked.cols = all.cols;
  stacked.indptr = Array<uint64_t>::Zeros(size_t{layout.nodes} + 1);
  stacked.indices = Array<uint32_t>::Allocate(all.nnz() + test.nnz());
  stacked.values = Array<float>::Allocate(all.nnz() + test.nnz());
  uint64_t at = 0;
  for (uint32_t node = 0; node < layout.nodes; ++node) {
    const int64_t source = layout.source[node];
    if (source >= 0) {
      const bool from_test = source >= layout.all_rows;
      const CsrMatrix& matrix = from_test ? test : all;
      const auto row = static_cast<size_t>(from_test ? source - layout.all_rows : source);
      for (uint64_t e = matrix.indptr[row]; e < matrix.indptr[row + 1]; ++e, ++at) {
        stacked.indices.mutable_data()[at] = matrix.indices[e];
        stacked.values.mutable_data()[at] = matrix.values[e];
      }
    }
    stacked.indptr.mutable_data()[node + 1] = at;
  }
  return stacked;
}

Labels StackLabels(const Layout& layout, const OneHot& all, const OneHot& test, const std::string& where) {
  if (all.rows != layout.all_rows || test.rows != layout.test.size() || all.classes != test.classes) {
    ThrowInput("{}: ally is {} × {} and ty {} × {}; expected {} and {} rows of one width", where, all.rows,
               all.classes, test.rows, test.classes, layout.all_rows, layout.test.size());
  }
  Labels labels;
  labels.classes = static_cast<uint32_t>(all.classes);
  labels.classes_of = Array<int32_t>::Allocate(layout.nodes);
  for (uint32_t node = 0; node < layout.nodes; ++node) {
    const int64_t source = layout.source[node];
    labels.classes_of.mutable_data()[node] = source < 0 ? -1
                                             : source >= layout.all_rows
                                                 ? test.ClassOf(static_cast<size_t>(source - layout.all_rows))
                                                 : all.ClassOf(static_cast<size_t>(source));
  }
  return labels;
}

BuiltGraph ReadGraph(const Context& context, const fs::path& path, uint32_t nodes,
                     const OpenOptions& options) {
  const Pickle pickle = OpenPickle(path);
  const PickleValue& root = pickle[pickle.root()];
  if (root.kind != PickleKind::kDict) ThrowInput("{}: expected a dict of neighbour lists", path.string());
  const std::vector<uint32_t>& items = root.items();
  std::vector<uint32_t> source, target;
  const auto node_of = [&](uint32_t value) {
    const int64_t node = pickle.Integer(value);
    if (node < 0 || node >= nodes) ThrowInput("{}: node {} in a set of {} nodes", path.string(), node, nodes);
    return static_cast<uint32_t>(node);
  };
  uint64_t entries = 0;
  for (size_t i = 0; i + 1 < items.size(); i += 2) entries += pickle.Objects(items[i + 1]).size();
  // One list may be referred to many times; a real graph never has more entries than bytes.
  if (entries > fs::file_size(path))
    ThrowInput("{}: {} entries in a file this small are refused", path.string(), entries);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const uint32_t node = node_of(items[i]);
    for (const uint32_t neighbour : pickle.Objects(items[i + 1])) {
      source.push_back(node);
      target.push_back(node_of(neighbour));
    }
  }
  return BuildGraph(context, nodes, source, target, {},
                    {options.directed, options.keep_self_loops, path.string()});
}

Split PublicSplit(const Layout& layout) {
  Split split{"public", Array<uint8_t>::Zeros(layout.nodes)};
  uint8_t* roles = split.roles.mutable_data();
  const uint32_t val_end = std::min(layout.x_rows + kValidation, layout.all_rows);
  for (uint32_t node = 0; node < val_end; ++node) {
    roles[node] = static_cast<uint8_t>(node < layout.x_rows ? Role::kTrain : Role::kVal);
  }
  for (const uint32_t node : layout.test) roles[node] = static_cast<uint8_t>(Role::kTest);
  return split;
}

// The public split with every row of allx that it leaves over added to training. The authors' program leaves
// the last 500 of PubMed's out.
Split PaperSplit(const Layout& layout, const std::string& name) {
  Split split = PublicSplit(layout);
  split.name = "paper";
  const uint32_t left_out = name == "pubmed" ? std::min(500u, layout.all_rows) : 0;
  for (uint32_t node = layout.x_rows + kValidation; node < layout.all_rows - left_out; ++node) {
    split.roles.mutable_data()[node] = static_cast<uint8_t>(Role::kTrain);
  }
  return split;
}

}  // namespace

std::vector<std::string> PlanetoidNames(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string file = entry.path().filename().string();
    constexpr std::string_view kSuffix = ".graph";
    if (file.starts_with("ind.") && file.ends_with(kSuffix) && file.size() > 4 + kSuffix.size()) {
      names.insert(file.substr(4, file.size() - 4 - kSuffix.size()));
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    return std::any_of(std::begin(kParts), std::end(kParts), [&](const char* part) {
      return !fs::is_regular_file(PartPath(directory, name, part));
    });
  });
  return {names.begin(), names.end()};
}

Dataset ReadPlanetoid(const Context& context, const fs::path& directory, const std::string& name,
                      const OpenOptions& options) {
  const std::string where = (directory / ("ind." + name)).string();
  const CsrMatrix x = ReadFeatures(context, PartPath(directory, name, "x"));
  const CsrMatrix all = ReadFeatures(context, PartPath(directory, name, "allx"));
  const CsrMatrix test = ReadFeatures(context, PartPath(directory, name, "tx"));
  if (x.rows > all.rows) ThrowInput("{}: x has {} rows, more than allx with {}", where, x.rows, all.rows);
  const Layout layout = Arrange(directory, name, x.rows, all.rows, test.rows);

  Dataset dataset;
  dataset.name = name;
  const bool known = name == "cora" || name == "citeseer" || name == "pubmed";
  dataset.preset_row = known ? name : "";
  dataset.format = "planetoid";
  dataset.path = where;
  dataset.features = Features::Sparse(StackFeatures(layout, all, test, where));
  dataset.labels = StackLabels(layout, ReadOneHot(context, PartPath(directory, name, "ally")),
                               ReadOneHot(context, PartPath(directory, name, "ty")), where);
  BuiltGraph built = ReadGraph(context, PartPath(directory, name, "graph"), layout.nodes, options);
  dataset.graph = std::move(built.graph);
  dataset.changes = built.changes;
  dataset.edges = built.edges;
  dataset.self_loops = built.self_loops;
  if (known) dataset.splits.push_back(PaperSplit(layout, name));
  dataset.splits.push_back(PublicSplit(layout));
  return dataset;
}

}  // namespace l2gcn
