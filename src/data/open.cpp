// Opens data sets: finds the folder of a name, picks the reader of a path, and logs what cleaning changed.
#include <fmt/format.h>

#include "core/error_format.h"
#include "core/usable.h"
#include "data/catalog.h"
#include "data/filter.h"
#include "data/folders.h"
#include "data/graphbolt.h"
#include "data/native_store.h"
#include "data/npz.h"
#include "data/planetoid.h"
#include "data/reader.h"
#include "data/relations.h"
#include "data/schema_file.h"
#include "data/table_set.h"
#include "data/typed_tables.h"
#include "data/validate.h"
#include "data/watch.h"
#include "l2gcn/config.h"
#include "l2gcn/generate.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSynthetic = "synthetic:";

bool DetectNative(const fs::path& path) { return fs::is_directory(path) && IsNative(path); }

Dataset ReadNative(const Context& context, const fs::path& path, const OpenOptions& options) {
  return OpenNative(context, path, !options.map_only);
}

// A Planetoid set is named by its folder (if it holds one set), by ind.NAME, or by any of its files.
struct PlanetoidSpec {
  fs::path directory;
  std::vector<std::string> names;
};
PlanetoidSpec FindPlanetoid(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {path, PlanetoidNames(path)};
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string file = path.filename().string();
  for (const std::string& name : PlanetoidNames(directory)) {
    if (file == "ind." + name || file.starts_with("ind." + name + ".")) return {directory, {name}};
  }
  return {};
}

bool DetectPlanetoid(const fs::path& path) { return !FindPlanetoid(path).names.empty(); }

Dataset ReadPlanetoidPath(const Context& context, const fs::path& path, const OpenOptions& options) {
  const PlanetoidSpec spec = FindPlanetoid(path);
  if (spec.names.size() != 1) {
    ThrowInput("{}: expected one Planetoid set (ind.NAME.x, …), found {}{}; name one, e.g. {}", path.string(),
               spec.names.empty() ? "none" : "several: ", fmt::join(spec.names, ", "),
               (path / (spec.names.empty() ? "ind.cora" : "ind." + spec.names[0])).string());
  }
  return ReadPlanetoid(context, spec.directory, spec.names[0], options);
}

constexpr FormatReader kReaders[] = {
    {"native", DetectNative, ReadNative},
    {"planetoid", DetectPlanetoid, ReadPlanetoidPath},
    {"graphsaint", DetectGraphSaint, ReadGraphSaint},
    {"graphsage", DetectGraphSage, ReadGraphSage},
    {"dgl-ppi", DetectDglPpi, ReadDglPpi},
    {"ogb", DetectOgb, ReadOgb},
    {"graphbolt", DetectGraphBolt, ReadGraphBolt},
    {"reddit-npz", DetectRedditPair, ReadRedditPair},
    {"npz", DetectNpz, ReadNpz},
    {"schema", DetectSchemaFile, ReadSchemaFile},
    {"graphland", DetectGraphLand, ReadGraphLand},
    {"table", DetectTableSet, ReadTableSet},
};

std::string ReaderNames() {
  std::string names;
  for (const FormatReader& reader : kReaders) names += (names.empty() ? "" : ", ") + std::string(reader.name);
  return names;
}

// Kinds of data sets, by the options that matter to them.
enum Source : unsigned { kTables = 1, kOtherFormats = 2, kNative = 4, kGenerated = 8 };

struct OptionUse {
  const char* name;
  bool (*given)(const OpenOptions&);
  unsigned sources;  // that look at it
};
constexpr OptionUse kOptionUses[] = {
    {"--label", [](const OpenOptions& o) { return !o.label_column.empty() && !o.label_optional; }, kTables},
    {"--task", [](const OpenOptions& o) { return !o.task.empty() && !o.label_optional; }, kTables},
    {"--sample-weight", [](const OpenOptions& o) { return !o.sample_weight_column.empty(); }, kTables},
    {"--id", [](const OpenOptions& o) { return !o.id_column.empty() && !o.id_optional; }, kTables},
    {"--source", [](const OpenOptions& o) { return !o.source_column.empty(); }, kTables},
    {"--target", [](const OpenOptions& o) { return !o.target_column.empty(); }, kTables},
    {"--weight", [](const OpenOptions& o) { return !o.weight_column.empty(); }, kTables},
    {"--edge-type", [](const OpenOptions& o) { return !o.edge_type_column.empty(); }, kTables},
    {"--edge-features", [](const OpenOptions& o) { return !o.edge_features.empty(); }, kTables},
    {"--no-ids", [](const OpenOptions& o) { return o.no_ids; }, kTables},
    {"--allow-unmatched", [](const OpenOptions& o) { return o.allow_unmatched; }, kTables},
    {"--directed", [](const OpenOptions& o) { return o.directed; }, kTables | kOtherFormats},
    {"--keep-self-loops", [](const OpenOptions& o) { return o.keep_self_loops; }, kTables | kOtherFormats},
    {"--format", [](const OpenOptions& o) { return !o.format.empty(); }, kTables | kOtherFormats | kNative},
    {"--synthetic-seed", [](const OpenOptions& o) { return o.synthetic_seed != 0; }, kGenerated},
};

// An option that the source does not look at is refused: who gives it expects something of it.
void RefuseUnused(const OpenOptions& options, Source source, const std::string& what) {
  for (const OptionUse& use : kOptionUses) {
    if ((use.sources & source) != 0 || !use.given(options)) continue;
    ThrowUsage("{} has no effect on {}; leave it out", use.name, what);
  }
}

// What every reader leaves to be done: a name, the paper's row, checks, and telling what was changed.
Dataset Complete(const Context& context, Dataset dataset, const fs::path& path, const OpenOptions& options) {
  if (dataset.name.empty()) {
    const fs::path named = path.has_filename() ? path : path.parent_path();
    dataset.name = fs::is_directory(path) ? named.filename().string() : named.stem().string();
  }
  if (dataset.preset_row.empty()) dataset.preset_row = PresetRowOf(dataset.name);
  Context watched = context;
  watched.disk = WatchWithin(context, dataset);
  ValidateDataset(watched, dataset);
  LogChanges(context, dataset.name, dataset.changes);
  if (options.directed && !options.one_way) SplitDirections(context, dataset);
  dataset = ApplyFilters(context, std::move(dataset), options);
  dataset.checked = true;
  return dataset;
}

Dataset OpenPath(const Context& context, const fs::path& path, const OpenOptions& options) {
  const FormatReader* reader = FindReader(path, options.format);
  if (reader == nullptr) {
    ThrowInput("{}: its format was not recognised; known are {}: force one with --format", path.string(),
               ReaderNames());
  }
  const std::string_view format = reader->name;
  RefuseUnused(options,
               format == "table" || format == "schema" ? kTables
               : format == "native"                    ? kNative
                                                       : kOtherFormats,
               fmt::format("{}, a data set in the format {}", path.string(), format));
  Dataset dataset = reader->read(context, path, options);
  if (format != "native") return Complete(context, std::move(dataset), path, options);
  const bool filters = options.largest_component || options.min_degree > 0;
  const bool check = filters || !options.map_only;
  if (check) {
    Context watched = context;
    watched.disk = WatchWithin(context, dataset);
    ValidateDataset(watched, dataset);
    CheckStoredCounts(watched, dataset);
  }
  dataset = ApplyFilters(context, std::move(dataset), options);
  dataset.checked = check;
  return dataset;
}

Dataset OpenSynthetic(const Context& context, const std::string& shape, const OpenOptions& options) {
  RefuseUnused(options, kGenerated, "a generated graph");
  GenerateOptions generate;
  generate.shape = shape;
  generate.seed = options.synthetic_seed;
  return ApplyFilters(context, GenerateDataset(context, generate), options);
}

[[noreturn]] void ThrowNotFound(const std::string& spec, const OpenOptions& options) {
  std::vector<std::string> names;
  for (const KnownDataset& known : ListDatasets(options)) names.push_back(known.name);
  std::vector<std::string> folders;
  for (const fs::path& folder : SearchFolders(options)) folders.push_back(folder.string());
  const std::string nearest = NearestName(spec, names);
  const bool near = nearest != spec && !Suggestion(spec, names).empty();
  ThrowInput(
      "{}: no such path, and no data set of that name in {}{}; give a path, put the set there (--data-dir, "
      "$L2GCN_DATA), or use synthetic:SHAPE",
      spec, folders.empty() ? "the search folders (none exist)" : fmt::format("{}", fmt::join(folders, ", ")),
      near ? fmt::format(" (did you mean {}?)", nearest) : "");
}

}  // namespace

const FormatReader* FindReader(const fs::path& path, const std::string& format) {
  for (const FormatReader& reader : kReaders) {
    if (format.empty() ? reader.detect(path) : format == reader.name) return &reader;
  }
  if (!format.empty()) ThrowUsage("--format {}: unknown; known are {}", format, ReaderNames());
  return nullptr;
}

void GiveRole(Split& split, uint64_t node, Role role, const std::string& where) {
  constexpr const char* kNames[] = {"none", "train", "validation", "test"};
  uint8_t& own = split.roles.mutable_data()[node];
  if (own != 0 && own != static_cast<uint8_t>(role)) {
    ThrowInput("{}: node {} is for {} and for {}; a node belongs to one part of a split", where, node,
               kNames[own], kNames[static_cast<uint8_t>(role)]);
  }
  own = static_cast<uint8_t>(role);
}

void LogChanges(const Context& context, const std::string& name, const Graph::Changes& changes) {
  std::vector<std::string> counts;
  const auto tell = [&](uint64_t count, const char* what) {
    if (count > 0) counts.push_back(fmt::format("{} {}", count, what));
  };
  tell(changes.reverses_added, "reverse entries added");
  tell(changes.duplicates_dropped, "duplicates dropped");
  tell(changes.self_loops_dropped, "self loops dropped");
  if (counts.empty()) return;
  context.Note(fmt::format("{}: {} entries read, {}", name, changes.entries_read, fmt::join(counts, ", ")));
}

Dataset OpenDataset(const Context& context, const std::string& spec, const OpenOptions& options) {
  CheckContext(context);
  if (NamesTypedTables(options)) {
    if (!spec.empty()) ThrowUsage("give either a data set ({}) or its tables, not both", spec);
    Dataset dataset = options.schema.empty() ? ReadTypedTables(context, options)
                                             : ReadSchemaFile(context, options.schema, options);
    const fs::path path = dataset.path;
    return Complete(context, std::move(dataset), path, options);
  }
  if (!options.edges.empty()) {
    if (!spec.empty()) ThrowUsage("give either a data set ({}) or --edges, not both", spec);
    return Complete(context, ReadTableSet(context, options.edges, options), options.edges, options);
  }
  if (!options.nodes.empty() || !options.features.empty() || !options.labels.empty()) {
    ThrowUsage("--nodes, --features and --labels describe an edge list; give it with --edges");
  }
  if (spec.empty()) return OpenSynthetic(context, "pubmed", options);
  if (spec.starts_with(kSynthetic)) return OpenSynthetic(context, spec.substr(kSynthetic.size()), options);
  std::error_code error;
  if (fs::exists(spec, error) || DetectPlanetoid(spec)) return OpenPath(context, spec, options);
  const std::vector<fs::path> found = FindByName(spec, options);
  if (found.empty()) ThrowNotFound(spec, options);
  context.Note(found.size() == 1
                   ? fmt::format("{} found at {}", spec, found[0].string())
                   : fmt::format("{} found at {} (taken) and {} other place{}", spec, found[0].string(),
                                 found.size() - 1, found.size() == 2 ? "" : "s"));
  return OpenPath(context, found[0], options);
}

}  // namespace l2gcn
