#include "l2gcn/unfinished.h"

#include <cerrno>

#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "run/checkpoint.h"
#include "run/run_lock.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

uint64_t FinishedSeeds(const fs::path& folder) {
  uint64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    count += at->path().filename().string().starts_with("seed-") ? 1 : 0;
  return count;
}

// How far the newer of the two snapshots is; null where neither can be read.
Json SnapshotPlace(const fs::path& folder) {
  Json place;
  uint64_t newest = 0;
  for (const char* name : {"state-0.safetensors", "state-1.safetensors"}) {
    std::error_code error;
    if (!fs::exists(folder / name, error)) continue;
    try {
      const StoredSnapshot stored = ReadSnapshot(folder / name);
      if (!place.is_null() && stored.generation < newest) continue;
      newest = stored.generation;
      const Json& state = stored.snapshot.state;
      const Json& layers = state.at("result").at("layers");
      place = {{"seed", stored.seed}, {"layer", layers.size()}};
      place["epoch"] = layers.empty() ? 0 : layers.back().at("epochs").get<uint64_t>();
    } catch (const Error&) {  // resuming says so
    } catch (const Json::exception&) {
    }
  }
  return place;
}

// The file or name that the data set is known by.
std::string SourceOf(const RunOptions& begun) {
  const OpenOptions& open = begun.open_options;
  if (!open.edges.empty()) return open.edges;
  if (!open.schema.empty()) return open.schema;
  return open.edge_tables.empty() ? begun.dataset_spec : open.edge_tables.front().path;
}

}  // namespace

std::string DescribeUnfinishedJson(const std::string& directory) {
  const fs::path target = RunTarget(directory), work = UnfinishedPath(target);
  std::error_code error;
  if (directory.empty() || HoldsRun(directory) || !fs::is_directory(work, error)) return "";
  const fs::path folder = work / "checkpoint";
  const bool training = !TryLock(work) && errno == EWOULDBLOCK;
  Json json = {{"run", target.string()}, {"training", training}};
  if (fs::exists(folder / "begun.json", error)) {
    const RunOptions begun = ReadBegun(folder);
    json["dataset"] = SourceOf(begun);
    json["runs"] = begun.runs;
    json["seeds_finished"] = FinishedSeeds(folder);
    json["settings"] = Json::object();
    for (const auto& [name, value] : begun.overrides) json["settings"][name] = value;
    json["checkpoint"] = SnapshotPlace(folder);
  }
  json["resume"] = fmt::format("l2gcn train --resume {}", target.string());
  return JsonText(json);
}

}  // namespace l2gcn
