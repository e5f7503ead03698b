// Which way a conversion goes: streamed, or opened and written in one of the formats.
#include "l2gcn/convert.h"

#include <fmt/format.h>

#include "core/csv_field.h"
#include "core/error_format.h"
#include "core/files.h"
#include "data/edge_stream.h"
#include "data/native_store.h"
#include "data/table_set.h"
#include "data/watch.h"
#include "data/writers.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kSortingBytes = uint64_t{1} << 30;  // for an edge list in text, where no budget is named

void WriteNative(const Context& context, const Dataset& dataset, const fs::path& path, bool force) {
  SaveDataset(context, dataset, path.string(), force);
}

uint64_t StreamToNative(const Context& context, const std::string& spec, const OpenOptions& open,
                        const fs::path& path, uint64_t memory, bool force) {
  return ConvertEdgeList(context, spec, open, path.string(), memory, force);
}

// The writer that `to` names; empty: the one of the destination's extension, else the first.
const FormatWriter& WriterOf(const std::string& destination, const std::string& to) {
  const std::string extension = fs::path(destination).extension().string();
  for (const FormatWriter& writer : FormatWriters()) {
    if (to.empty() ? !extension.empty() && extension == writer.extension : to == writer.name) return writer;
  }
  if (to.empty()) return FormatWriters().front();
  ThrowUsage("--to {}: did you mean {}? Valid: {}", to, NearestName(to, WrittenFormats()),
             fmt::join(WrittenFormats(), ", "));
}

}  // namespace

void WriteEdgeCsv(const Context& context, const Dataset& dataset, const fs::path& path, bool force) {
  // Names are exact, because the file is a data set that is read back; what its reader would take for a separator or
  // the start of a comment is quoted.
  const auto quoted = [](const std::string& name) { return CsvQuoted(name, ",;|\"\r\n\t# "); };
  ReplaceFile(
      path,
      [&](const fs::path& aside) {
        FileWriter writer(aside);
        const Graph& graph = dataset.graph;
        writer.Write(graph.weighted() ? "source,target,weight\n" : "source,target\n");
        for (uint32_t u = 0; u < graph.nodes; ++u) {
          if ((u & 0xFFFF) == 0) context.CheckCancelled();
          const std::string source = quoted(dataset.NodeName(u));
          for (uint64_t e = graph.indptr[u]; e < graph.indptr[u + 1]; ++e) {
            const uint32_t v = graph.indices[e];
            if (!graph.directed && v < u) continue;
            writer.Write(graph.weighted() ? fmt::format("{},{},{}\n", source, quoted(dataset.NodeName(v)),
                                                        graph.weights[e])
                                          : fmt::format("{},{}\n", source, quoted(dataset.NodeName(v))));
          }
        }
        writer.Close();
      },
      force);
}

std::span<const FormatWriter> FormatWriters() {
  static constexpr FormatWriter kWriters[] = {
      {"native", "", WriteNative, StreamToNative},
      {"npz", ".npz", WriteNpz, nullptr},
      {"graphbolt", "", WriteGraphBolt, nullptr},
      {"csv", ".csv", WriteEdgeCsv, nullptr},
  };
  return kWriters;
}

std::vector<std::string> WrittenFormats() {
  std::vector<std::string> names;
  for (const FormatWriter& writer : FormatWriters()) names.emplace_back(writer.name);
  return names;
}

uint64_t ConvertDataset(const Context& context, const std::string& spec, const OpenOptions& open,
                        const std::string& destination, const std::string& to, bool force,
                        std::optional<FeatureType> features_as) {
  const FormatWriter& writer = WriterOf(destination, to);
  const bool native = writer.stream_edges != nullptr;
  if (features_as && !native)
    ThrowUsage("--features-as: the format {} has a type of its own; leave it out or write the native format",
               writer.name);
  const bool filters = open.largest_component || open.min_degree > 0;
  const auto refuse_type = [&](const char* features) {
    if (features_as)
      ThrowUsage("--features-as has no effect: {} has {}; leave it out", spec.empty() ? open.edges : spec,
                 features);
  };
  const bool relations = (open.directed && !open.one_way) || !open.edge_type_column.empty() ||
                         open.weight_column.find(',') != std::string::npos;
  if (native && !filters && !relations && (open.format.empty() || open.format == "table") &&
      IsLoneEdgeList(spec, open)) {
    refuse_type("no features");
    const uint64_t memory = context.host_memory != 0 ? context.host_memory : kSortingBytes;
    return writer.stream_edges(context, spec, open, destination, memory, force);
  }
  // Whether it may be written is asked before the work.
  if (writer.extension[0] != '\0') {
    CheckOutputFile(destination, force);
  } else {
    const StagedDirectory tried(destination, force);
  }
  RefuseSmallBudget(context, spec);
  const Dataset dataset = OpenDataset(context, spec, open);
  if (dataset.features.stores_sparse()) refuse_type("sparse features");
  RefuseSmallBudget(context, dataset.name);  // what is not mapped stays in memory
  const std::shared_ptr<DiskMemory> watch = WatchWithin(context, dataset);
  if (native) {
    SaveDatasetAs(context, dataset, destination, force, features_as);
  } else {
    if (!dataset.node_types.empty()) {
      context.Warn(fmt::format(
          "{}: the format {} has one type of nodes; the types are left out, and native keeps them",
          dataset.name, writer.name));
    }
    if (!dataset.relations.empty())
      context.Note(
          fmt::format("{}: the format {} holds all edges together; only native keeps the {} relations",
                      dataset.name, writer.name, dataset.relations.size()));
    writer.write(context, dataset, destination, force);
  }
  return dataset.nodes();
}

uint64_t VerifyDataset(const Context& context, const std::string& directory) {
  if (!IsNative(directory))
    ThrowUsage("--verify: {} is no native data set, so it has no checksums", directory);
  return VerifyNative(context, directory);
}

}  // namespace l2gcn
