// Which way a conversion goes: streamed, or opened and written in one of the formats.
#include "l2gcn/convert.h"

#include <fmt/format.h>

#include "core/error_format.h"
#include "core/files.h"
#include "data/edge_stream.h"
#include "data/native_store.h"
#include "data/table_set.h"
#include "data/writers.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

std::string TargetOf(const std::string& destination, const std::string& to) {
  if (to.empty()) {
    const std::string extension = fs::path(destination).extension().string();
    return extension == ".npz" ? "npz" : extension == ".csv" ? "csv" : "native";
  }
  const std::vector<std::string> known = {"native", "npz", "graphbolt", "csv"};
  if (std::find(known.begin(), known.end(), to) == known.end()) {
    ThrowUsage("--to {}: did you mean {}? Valid: {}", to, NearestName(to, known), fmt::join(known, ", "));
  }
  return to;
}

}  // namespace

void RefuseExisting(const fs::path& path, bool force) {
  std::error_code error;
  if (fs::is_directory(path, error)) ThrowUsage("{}: is a directory; name a file", path.string());
  if (fs::exists(path, error) && !force) {
    ThrowUsage("{}: exists already; choose another output or pass --force to replace it", path.string());
  }
}

void WriteEdgeCsv(const Context& context, const Dataset& dataset, const fs::path& path, bool force) {
  RefuseExisting(path, force);
  // A name with the separator, a quote or a line break in it would not read back as one field.
  const auto quoted = [](const std::string& name) {
    if (name.find_first_of(",\"\n\r") == std::string::npos) return name;
    if (name.find_first_of("\"\n\r") != std::string::npos)
      ThrowInput("the node name '{}' cannot stand in a .csv file", name);
    return "\"" + name + "\"";
  };
  ReplaceFile(path, [&](const fs::path& aside) {
    FileWriter writer(aside);
    const Graph& graph = dataset.graph;
    writer.Write(graph.weighted() ? "source,target,weight\n" : "source,target\n");
    for (uint32_t u = 0; u < graph.nodes; ++u) {
      if ((u & 0xFFFF) == 0) context.CheckCancelled();
      const std::string source = quoted(dataset.NodeName(u));
      for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
        const uint32_t v = graph.indices[e];
        if (!graph.directed && v < u) continue;
        writer.Write(graph.weighted()
                         ? fmt::format("{},{},{}\n", source, quoted(dataset.NodeName(v)), graph.weights[e])
                         : fmt::format("{},{}\n", source, quoted(dataset.NodeName(v))));
      }
    }
    writer.Close();
  });
}

uint64_t ConvertDataset(const Context& context, const std::string& spec, const OpenOptions& open,
                        const std::string& destination, const ConvertOptions& options) {
  const std::string target = TargetOf(destination, options.to);
  const bool filters = open.largest_component || open.min_degree > 0;
  if (target == "native" && !filters && (open.format.empty() || open.format == "table") &&
      IsLoneEdgeList(spec, open)) {
    return ConvertEdgeList(context, spec, open, destination, options.memory, options.force);
  }
  const Dataset dataset = OpenDataset(context, spec, open);
  if (target == "native") SaveDataset(context, dataset, destination, options.force);
  if (target == "npz") WriteNpz(context, dataset, destination, options.force);
  if (target == "graphbolt") WriteGraphBolt(context, dataset, destination, options.force);
  if (target == "csv") WriteEdgeCsv(context, dataset, destination, options.force);
  return dataset.nodes();
}

uint64_t VerifyDataset(const Context& context, const std::string& directory) {
  if (!IsNative(directory))
    ThrowUsage("--verify: {} is no native data set, so it has no checksums", directory);
  return VerifyNative(context, directory);
}

}  // namespace l2gcn
