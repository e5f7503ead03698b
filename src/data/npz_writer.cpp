// .npz files as scipy and NumPy write them: members stored, with zip64 sizes throughout so that no array is
// too large.
#include <libdeflate.h>

#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/labels.h"
#include "data/npy.h"
#include "data/writers.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

void Put(std::string& bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
}

class NpzWriter {
 public:
  explicit NpzWriter(const fs::path& path) : writer_(path) {}

  void Add(const std::string& name, const std::string& descr, const std::vector<uint64_t>& shape,
           const void* data, size_t bytes) {
    const std::string header = NpyHeader(descr, shape);
    Member member{name + ".npy", 0, header.size() + bytes, writer_.written()};
    member.crc = libdeflate_crc32(libdeflate_crc32(0, header.data(), header.size()), data, bytes);
    std::string local;
    Put(local, 0x04034b50, 4);
    Common(local, member);
    Put(local, 0xFFFFFFFF, 4);
    Put(local, 0xFFFFFFFF, 4);
    Put(local, member.name.size(), 2);
    Put(local, 20, 2);
    local += member.name;
    Put(local, 1, 2);
    Put(local, 16, 2);
    Put(local, member.size, 8);
    Put(local, member.size, 8);
    writer_.Write(local);
    writer_.Write(header);
    writer_.Write(data, bytes);
    members_.push_back(std::move(member));
  }
  template <class T>
  void Add(const std::string& name, std::span<const T> values, std::vector<uint64_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    Add(name, NpyDescr<T>(), shape, values.data(), values.size_bytes());
  }
  // Text as bytes of one width (|S), which NumPy and this program read alike.
  template <class Names>
  void AddStrings(const std::string& name, const Names& names, bool scalar = false) {
    size_t width = 1;
    for (size_t i = 0; i < names.size(); ++i) width = std::max(width, names[i].size());
    std::string bytes(width * names.size(), '\0');
    for (size_t i = 0; i < names.size(); ++i)
      std::copy(names[i].begin(), names[i].end(), bytes.begin() + static_cast<ptrdiff_t>(i * width));
    Add(name, fmt::format("|S{}", width),
        scalar ? std::vector<uint64_t>() : std::vector<uint64_t>{names.size()}, bytes.data(), bytes.size());
  }

  void Close() {
    const uint64_t start = writer_.written();
    for (const Member& member : members_) {
      std::string central;
      Put(central, 0x02014b50, 4);
      Put(central, 45, 2);
      Common(central, member);
      Put(central, 0xFFFFFFFF, 4);
      Put(central, 0xFFFFFFFF, 4);
      Put(central, member.name.size(), 2);
      Put(central, 28, 2);
      Put(central, 0, 2 + 2 + 2);
      Put(central, 0, 4);
      Put(central, 0xFFFFFFFF, 4);
      central += member.name;
      Put(central, 1, 2);
      Put(central, 24, 2);
      Put(central, member.size, 8);
      Put(central, member.size, 8);
      Put(central, member.start, 8);
      writer_.Write(central);
    }
    WriteEnd(start, writer_.written() - start);
    writer_.Close();
  }

 private:
  struct Member {
    std::string name;
    uint32_t crc;
    uint64_t size, start;
  };

  // Version, flags, method (stored), a fixed date (1980-01-01: files of equal data are equal), checksum.
  static void Common(std::string& bytes, const Member& member) {
    Put(bytes, 45, 2);
    Put(bytes, 0, 2);
    Put(bytes, 0, 2);
    Put(bytes, 0, 2);
    Put(bytes, 0x21, 2);
    Put(bytes, member.crc, 4);
  }
  void WriteEnd(uint64_t start, uint64_t size) {
    const uint64_t end64 = writer_.written();
    std::string end;
    Put(end, 0x06064b50, 4);
    Put(end, 44, 8);
    Put(end, 45, 2);
    Put(end, 45, 2);
    Put(end, 0, 8);
    Put(end, members_.size(), 8);
    Put(end, members_.size(), 8);
    Put(end, size, 8);
    Put(end, start, 8);
    Put(end, 0x07064b50, 4);
    Put(end, 0, 4);
    Put(end, end64, 8);
    Put(end, 1, 4);
    Put(end, 0x06054b50, 4);
    Put(end, 0, 4);
    Put(end, std::min<uint64_t>(members_.size(), 0xFFFF), 2);
    Put(end, std::min<uint64_t>(members_.size(), 0xFFFF), 2);
    Put(end, 0xFFFFFFFF, 4);
    Put(end, 0xFFFFFFFF, 4);
    Put(end, 0, 2);
    writer_.Write(end);
  }

  FileWriter writer_;
  std::vector<Member> members_;
};

// scipy wants both index arrays signed and of one type.
template <class T>
void AddIndices(NpzWriter& npz, const std::string& prefix, const Array<uint64_t>& indptr,
                const Array<uint32_t>& indices) {
  const std::vector<T> offsets(indptr.begin(), indptr.end()), columns(indices.begin(), indices.end());
  npz.Add<T>(prefix + "indptr", offsets);
  npz.Add<T>(prefix + "indices", columns);
}

void AddSparse(NpzWriter& npz, const std::string& prefix, uint64_t rows, uint64_t cols,
               const Array<uint64_t>& indptr, const Array<uint32_t>& indices, std::span<const float> values) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
  npz.Add<int64_t>(prefix + "shape", shape);
  const bool narrow = std::max<uint64_t>(std::max(rows, cols), indices.size()) < (uint64_t{1} << 31);
  narrow ? AddIndices<int32_t>(npz, prefix, indptr, indices)
         : AddIndices<int64_t>(npz, prefix, indptr, indices);
  npz.Add<float>(prefix + "data", values);
}

void AddRest(const Context& context, NpzWriter& npz, const Dataset& dataset) {
  const uint32_t nodes = dataset.nodes();
  if (dataset.features.stores_sparse()) {
    const CsrMatrix& x = dataset.features.csr();
    AddSparse(npz, "attr_", x.rows, x.cols, x.indptr, x.indices, x.values.span());
  } else if (dataset.features.cols() > 0) {
    const Matrix x = dataset.features.ToMatrix(context);
    npz.Add<float>("attr_matrix", x.values.span(), {nodes, x.cols});
  }
  const Labels& labels = dataset.labels;
  if (labels.task() == Task::kRegression) {
    npz.Add<float>("labels", labels.targets.values.span(), {nodes, labels.classes});
    if (!labels.node_weights.empty()) npz.Add<float>("node_weights", labels.node_weights.span());
  } else if (labels.multilabel) {
    npz.Add<uint8_t>("labels", labels.matrix.span(), {nodes, labels.classes});
    if (!labels.labelled.empty()) npz.Add<uint8_t>("labelled", labels.labelled.span());
  } else if (labels.classes > 0) {
    npz.Add<int32_t>("labels", labels.classes_of.span());
  }
  if (!dataset.class_names.empty()) npz.AddStrings("class_names", dataset.class_names);
  if (!dataset.node_names.empty()) npz.AddStrings("node_names", dataset.node_names);
  if (!dataset.node_ids.empty()) npz.Add<int64_t>("node_ids", dataset.node_ids.span());
  if (!dataset.splits.empty()) {
    std::vector<std::string> names;
    std::vector<uint8_t> roles;
    for (const Split& split : dataset.splits) {
      names.push_back(split.name);
      roles.insert(roles.end(), split.roles.begin(), split.roles.end());
    }
    npz.Add<uint8_t>("splits", roles, {names.size(), nodes});
    npz.AddStrings("split_names", names);
  }
  const nlohmann::json notes = {
      {"name", dataset.name},
      {"recipe", dataset.preset_row},
      {"self_loops", dataset.self_loops},
      {"directed", dataset.graph.directed},
      {"classes", labels.classes},
      {"task", labels.task() == Task::kRegression ? kRegressionTask : kClassificationTask}};
  npz.AddStrings("l2gcn", std::vector<std::string>{JsonText(notes)}, true);
}

}  // namespace

void WriteNpz(const Context& context, const Dataset& dataset, const fs::path& path, bool force) {
  ReplaceFile(
      path,
      [&](const fs::path& aside) {
        NpzWriter npz(aside);
        npz.AddStrings("format", std::vector<std::string>{"csr"}, true);
        const Graph& graph = dataset.graph;
        const std::vector<float> ones(graph.weighted() ? 0 : graph.entries(), 1.0f);
        AddSparse(npz, "", graph.nodes, graph.nodes, graph.indptr, graph.indices,
                  graph.weighted() ? graph.weights.span() : ones);
        context.CheckCancelled();
        AddRest(context, npz, dataset);
        npz.Close();
      },
      force);
}

}  // namespace l2gcn
