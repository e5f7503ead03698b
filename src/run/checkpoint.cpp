#include "run/checkpoint.h"

#include <limits>

#include "core/array_sum.h"
#include "core/checksum.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/native_store.h"
#include "data/relations.h"
#include "l2gcn/version.h"
#include "model/model_shapes.h"
#include "ranks/collectives.h"
#include "run/build_id.h"
#include "run/result_json.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCheckpointFormat = "l2gcn-checkpoint";
constexpr int kCheckpointVersion = 2;

// Paths hold from any folder. How ranks exchange is a matter of each launch.
Json MachineOf(const RunOptions& options) {
  Json machine = Json::array();
  for (const auto& [name, value] : options.machine) {
    if (name == "exchange") continue;
    const bool is_path = name == "scratch" || name == "local-data";
    machine.push_back({name, is_path ? AbsolutePath(value) : value});
  }
  return machine;
}

Overrides OverridesFrom(const Json& pairs) {
  Overrides overrides;
  for (const Json& pair : pairs)
    overrides.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return overrides;
}

std::string ModelName(uint64_t seed) { return fmt::format("model-{}", seed); }

}  // namespace

uint64_t DatasetChecksum(const Context& context, const Dataset& dataset) {
  ChecksumStream sum;
  // A large file of a native directory has its checksum already, and reading it again would take long.
  const auto add = [&](const void* data, size_t bytes) {
    const auto stored = bytes > MappedFile::kCopiedBytes ? ChecksumOfMapped(data) : std::nullopt;
    if (!stored) return AddArray(context, data, bytes, sum);
    sum.Add(stored->data(), stored->size());
    sum.Add(&bytes, sizeof(bytes));
  };
  const auto add_array = [&](const auto& array) { add(array.data(), array.bytes()); };
  VisitGraphArrays(dataset, add_array);
  if (dataset.features.stores_sparse()) {
    const CsrMatrix& sparse = dataset.features.csr();
    add_array(sparse.indptr);
    add_array(sparse.indices);
    add_array(sparse.values);
  } else {
    add(dataset.features.elements(), dataset.features.bytes());
  }
  add_array(dataset.labels.classes_of);
  add_array(dataset.labels.matrix);
  add_array(dataset.labels.labelled);
  add_array(dataset.labels.targets.values);
  add_array(dataset.labels.node_weights);
  for (const Split& split : dataset.splits) add_array(split.roles);
  for (const Split::Column& column : dataset.split_columns) add_array(column.places);
  return sum.Sum();
}

nlohmann::ordered_json BegunOf(const RunOptions& options) {
  Json overrides = Json::array();
  for (const auto& [name, value] : options.overrides) overrides.push_back({name, value});
  std::string spec = options.dataset_spec;
  OpenOptions open = options.open_options;
  MakePathsAbsolute(spec, open);
  return {{"format", kCheckpointFormat},
          {"version", kCheckpointVersion},
          {"runs", options.runs},
          {"force", options.force},
          {"settings", overrides},
          {"machine", MachineOf(options)},
          {"spec", spec},
          {"open", ParseJson(OpenOptionsToJson(open), "options")},
          {"checkpoint_seconds", options.checkpoint_seconds},
          {"checkpoint_epochs", options.checkpoint_epochs}};
}

void WriteBegun(const fs::path& folder, const RunOptions& options) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) ThrowRuntime("{}: cannot create: {}", folder.string(), error.message());
  WriteSealedJson((folder / "begun.json").string(), BegunOf(options));
}

RunOptions ReadBegun(const fs::path& folder) {
  const std::string path = (folder / "begun.json").string();
  RunOptions run = BegunFrom(ReadSealedJson(path), path);
  if (run.runs == 0) ThrowInput("{}: damaged: 0 runs", path);
  return run;
}

RunOptions BegunFrom(const nlohmann::ordered_json& json, const std::string& where) {
  RunOptions run;
  try {
    if (json.at("format") != kCheckpointFormat || json.at("version") != kCheckpointVersion)
      ThrowInput("{}: not of a version this program can go on with; start the training again", where);
    run.runs = json.at("runs").get<uint32_t>();
    run.force = json.at("force").get<bool>();
    run.overrides = OverridesFrom(json.at("settings"));
    run.machine = OverridesFrom(json.value("machine", Json::array()));
    run.dataset_spec = json.at("spec").get<std::string>();
    run.open_options = OpenOptionsFromJson(JsonText(json.at("open")), where);
    run.checkpoint_seconds = json.at("checkpoint_seconds").get<double>();
    run.checkpoint_epochs = json.at("checkpoint_epochs").get<uint32_t>();
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged: a value is missing or of the wrong type ({})", where, error.what());
  }
  return run;
}

Checkpoint::Checkpoint(const Context& context, fs::path folder, const Dataset& dataset,
                       const TrainConfig& config, const RunOptions& options)
    : context_(context),
      folder_(std::move(folder)),
      dataset_(dataset),
      config_(config),
      seconds_between_(options.checkpoint_seconds),
      epochs_between_(options.checkpoint_epochs),
      last_(Clock::now()) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) ThrowRuntime("{}: cannot create: {}", folder_.string(), error.message());
  if (!fs::exists(folder_ / "bound.json", error)) return;
  CompareBound(ReadSealedJson((folder_ / "bound.json").string()));
  bound_ = true;
}

Json MachineBinding(const Context& context) {
  return {{"version", Version()}, {"build", BuildId()}, {"device", DeviceName(context.device)}};
}

Json Checkpoint::Binding() const {
  Json binding = MachineBinding(context_);
  binding["config"] = ParseJson(ConfigToJson(config_), "config");
  binding["data"] = ChecksumText(DatasetChecksum(context_, dataset_));
  return binding;
}

void Checkpoint::CompareBound(const Json& bound) const {
  const Json now = Binding();
  for (const char* key : {"version", "build", "device"}) {
    if (bound.value(key, Json()) == now.at(key)) continue;
    ThrowUsage("{}: was begun with {} {}, this is {}; go on with the same, or start anew with --force",
               folder_.parent_path().string(), key, JsonText(bound.value(key, Json())),
               JsonText(now.at(key)));
  }
  for (const auto& [name, value] : now.at("config").items()) {
    const Json before = bound.contains("config") ? bound.at("config").value(name, Json()) : Json();
    if (before == value) continue;
    ThrowUsage("{}: was begun with --{} {}, not {}; repeat the settings, or start anew with --force",
               folder_.parent_path().string(), name, JsonText(before), JsonText(value));
  }
  if (bound.value("data", Json()) != now.at("data")) {
    ThrowUsage("{}: was begun on other data: {} has changed since; start anew with --force",
               folder_.parent_path().string(), dataset_.path.empty() ? dataset_.name : dataset_.path);
  }
}

void Checkpoint::Bind() {
  if (bound_) return;
  WriteSealedJson((folder_ / "bound.json").string(), Binding());
  bound_ = true;
}

std::optional<KeptSeed> Checkpoint::Read(const char* what, uint64_t seed, const fs::path& directory) const {
  const fs::path path = folder_ / fmt::format("{}-{}.json", what, seed);
  std::error_code error;
  if (!bound_ || !fs::exists(path, error)) return std::nullopt;
  try {
    const Json json = ReadSealedJson(path.string());
    KeptSeed kept = {SeedResultFromJson(json), json.at("files").get<FileSums>()};
    if (kept.result.seed != seed) ThrowInput("{}: is of seed {}", path.string(), kept.result.seed);
    if (const std::string damage = FirstDamage(directory, kept.files); !damage.empty())
      ThrowInput("{}", damage);
    return kept;
  } catch (const Json::exception& failure) {
    context_.Warn(
        fmt::format("{}: damaged ({}); seed {} is trained again", path.string(), failure.what(), seed));
  } catch (const Error& failure) {
    context_.Warn(fmt::format("{}; seed {} is trained again", failure.what(), seed));
  }
  return std::nullopt;
}

void Checkpoint::Write(const char* what, const KeptSeed& kept) {
  Bind();
  Json json = SeedResultToJson(kept.result);
  json["files"] = kept.files;
  WriteSealedJson((folder_ / fmt::format("{}-{}.json", what, kept.result.seed)).string(), json);
}

std::optional<Trained> Checkpoint::TrainedOnly(uint64_t seed) const {
  std::optional<KeptSeed> kept = Read("trained", seed, folder_);
  if (!kept) return std::nullopt;
  Trained trained;
  trained.model = UnpackModel(ReadTextFile(folder_ / ModelName(seed)), (folder_ / ModelName(seed)).string());
  trained.result = std::move(kept->result);
  return trained;
}

void Checkpoint::KeepTrained(const Trained& trained) {
  const std::string name = ModelName(trained.result.seed);
  WriteFileWhole(folder_ / name, PackModel(trained.model));
  Write("trained", {trained.result, {{name, SumOfFile(folder_ / name)}}});
}

void Checkpoint::KeepFinished(const KeptSeed& kept) {
  Write("seed", kept);
  std::error_code ignored;
  fs::remove(folder_ / fmt::format("trained-{}.json", kept.result.seed), ignored);
  fs::remove(folder_ / ModelName(kept.result.seed), ignored);
  for (const uint64_t generation : {0, 1}) fs::remove(StatePath(generation), ignored);
}

fs::path Checkpoint::StatePath(uint64_t generation) const {
  return folder_ / fmt::format("state-{}.safetensors", generation % 2);
}

void Checkpoint::BeginSeed(uint64_t seed) {
  seed_ = seed;
  attempt_ = 0;
  kept_epochs_ = 0;
  start_.reset();
  last_ = Clock::now();
  if (!bound_) return;
  for (const uint64_t place : {0, 1}) {
    std::error_code error;
    if (!fs::exists(StatePath(place), error)) continue;
    try {
      StoredSnapshot stored = ReadSnapshot(StatePath(place));
      if (stored.seed != seed || (start_ && stored.generation < generation_)) continue;
      generation_ = stored.generation + 1;
      attempt_ = stored.attempt;
      start_ = std::move(stored.snapshot);
    } catch (const Error& failure) {
      context_.Warn(fmt::format("{}; the other checkpoint is taken, if there is one", failure.what()));
    }
  }
}

void Checkpoint::Restart() {
  ++attempt_;
  start_.reset();
  kept_epochs_ = 0;
}

bool Checkpoint::Due(uint64_t epochs) {
  if (epochs_between_ > 0) return epochs >= kept_epochs_ + epochs_between_ && (kept_epochs_ = epochs, true);
  return std::chrono::duration<double>(Clock::now() - last_).count() >= seconds_between_;
}

void Checkpoint::Keep(const Snapshot& snapshot) {
  Stopwatch watch;
  try {
    Bind();
    WriteSafetensors(StatePath(generation_), snapshot.tensors,
                     {{"format", kCheckpointFormat},
                      {"version", std::to_string(kCheckpointVersion)},
                      {"seed", std::to_string(seed_)},
                      {"generation", std::to_string(generation_)},
                      {"attempt", std::to_string(attempt_)},
                      {"state", JsonText(snapshot.state)}});
    if (count_ == 0) {
      context_.Note(fmt::format("progress is kept: after an interruption go on with l2gcn train --resume {}",
                                folder_.parent_path().string()));
    }
    for (const NamedTensor& tensor : snapshot.tensors) written_bytes_ += tensor.values.bytes();
    ++generation_;
    ++count_;
  } catch (const Error& error) {
    if (!failed_)
      context_.Warn(fmt::format("no checkpoint could be written, the training goes on: {}", error.what()));
    failed_ = true;
  }
  last_ = Clock::now();
  seconds_ += watch.Seconds();
}

StoredSnapshot ReadSnapshot(const fs::path& path) {
  const Safetensors file = ReadSafetensors(path);
  if (!file.metadata.contains("checksum"))
    ThrowInput("{}: damaged checkpoint: it has no checksum", path.string());
  return SnapshotFrom(file);
}

StoredSnapshot SnapshotFrom(const Safetensors& file) {
  const std::string where = file.path.string();
  const auto field = [&](const char* name) {
    const auto found = file.metadata.find(name);
    if (found == file.metadata.end()) ThrowInput("{}: no checkpoint: it has no '{}'", where, name);
    return found->second;
  };
  const auto number = [&](const char* name) {
    try {
      return ParseWholeNumber(name, field(name), 0, std::numeric_limits<uint64_t>::max());
    } catch (const Error&) {
      ThrowInput("{}: damaged checkpoint: '{}' is no number", where, name);
    }
  };
  if (field("format") != kCheckpointFormat || number("version") != kCheckpointVersion)
    ThrowInput("{}: no checkpoint of a version this program reads", where);
  StoredSnapshot stored;
  stored.seed = number("seed");
  stored.generation = number("generation");
  stored.attempt = static_cast<uint32_t>(number("attempt"));
  stored.snapshot.state = ParseJson(field("state"), where);
  if (!stored.snapshot.state.is_object()) ThrowInput("{}: damaged checkpoint state", where);
  for (const auto& [name, tensor] : file.tensors) stored.snapshot.tensors.push_back(tensor);
  return stored;
}

void ShareRunOptions(Ranks* ranks, RunOptions& options) {
  if (ranks == nullptr) return;
  const std::string where = "rank 0's options";
  const std::string text = TextOfRank0(*ranks, ranks->leads() ? JsonText(BegunOf(options)) : "");
  if (ranks->leads()) return;
  const RunOptions begun = BegunFrom(ParseJson(text, where), where);
  options.runs = begun.runs;
  options.overrides = begun.overrides;
  options.machine = begun.machine;
  options.dataset_spec = begun.dataset_spec;
  options.open_options = begun.open_options;
}

}  // namespace l2gcn
