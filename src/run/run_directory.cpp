#include "run/run_directory.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/npy.h"
#include "l2gcn/settings.h"
#include "model/model_shapes.h"
#include "run/checkpoint.h"
#include "run/result_json.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string FileSafe(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '-';
  }
  return name;
}

std::shared_ptr<RunLock> LockFor(const Dataset& dataset, const TrainConfig& config,
                                 const RunOptions& options) {
  if (options.lock != nullptr) return options.lock;
  std::shared_ptr<RunLock> lock = options.output.empty()
                                      ? RunLock::TakeNext(FileSafe(dataset.name) + "-" + config.method)
                                      : RunLock::Take(options.output, options.force);
  WriteBegun(lock->checkpoint(), options);
  return lock;
}

// One event a line: each layer, each epoch, the end.
std::string LogOf(const SeedResult& result) {
  std::string text;
  const auto add = [&](const Json& event) { text += JsonText(event) + "\n"; };
  for (size_t layer = 0; layer < result.layers.size(); ++layer) {
    const SeedResult::Layer& record = result.layers[layer];
    add({{"event", "aggregate"},
         {"layer", layer + 1},
         {"seconds", record.aggregate_seconds},
         {"sparse", record.sparse_input}});
    size_t decision = 0, scored = 0;
    const auto& curve = result.validation;
    while (scored < curve.size() && curve[scored].layer != layer + 1) ++scored;
    for (uint32_t epoch = 1; epoch <= record.epochs; ++epoch) {
      Json event = {
          {"event", "epoch"}, {"layer", layer + 1}, {"epoch", epoch}, {"loss", record.losses[epoch - 1]}};
      if (decision < record.probabilities.size() && record.probabilities[decision].first == epoch) {
        event["stop_probability"] = record.probabilities[decision++].second;
      }
      for (; scored < curve.size() && curve[scored].layer == layer + 1 && curve[scored].epoch == epoch;
           ++scored)
        event["val_f1"] = curve[scored].f1;
      add(event);
    }
    add({{"event", "layer"},
         {"layer", layer + 1},
         {"epochs", record.epochs},
         {"kept_epoch", record.kept_epoch},
         {"stopped_by", record.stopped_by},
         {"train_seconds", record.train_seconds},
         {"transform_seconds", record.transform_seconds}});
  }
  Json end = {{"event", "end"}};
  end.update(ScoresJson(result));
  end["seconds"] = SecondsJson(result.seconds);
  add(std::move(end));
  return text;
}

Array<uint8_t> ReadRoles(const fs::path& path) {
  const NpyArray stored = NpyArray::Open(path);
  stored.ExpectDimensions(1);
  const Array<uint8_t> roles = stored.As<uint8_t>(MakeContext(1));
  for (size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] > static_cast<uint8_t>(Role::kTest))
      ThrowInput("{}: node {} has part {}; expected 0 (none), 1 (train), 2 (val) or 3 (test)", path.string(),
                 i, roles[i]);
  }
  return roles;
}

// A result with the checksums of the files it stands for.
void WriteResult(const fs::path& directory, const TrainResult& result, const FileSums& files) {
  Json json = ParseJson(ResultToJson(result), "result");
  json["files"] = files;
  WriteSealedJson((directory / "result.json").string(), json);
}

Json ReadResult(const fs::path& directory) {
  return ReadSealedJson((directory / "result.json").string(), Seal::kIfThere);
}

// What a result says of its files; nothing in runs that were written before there were checksums.
FileSums FilesOf(const Json& result, const fs::path& directory) {
  try {
    return result.value("files", FileSums());
  } catch (const Json::exception&) {
    ThrowInput("{}: damaged: 'files' is no list of checksums", (directory / "result.json").string());
  }
}

void RefuseDamage(const std::string& damage) {
  if (!damage.empty()) ThrowInput("{}; restore it or train again", damage);
}

// What a seed consists of beside its result.
constexpr const char* kSeedFiles[] = {"config.json", "model.safetensors", "split.npy", "log.jsonl"};
constexpr const char* kFilesRead[] = {"config.json", "model.safetensors", "split.npy"};

// Every file of a run that lacks only its name.
void CheckWholeRun(const fs::path& directory) {
  const FileSums files = FilesOf(ReadResult(directory), directory);
  RefuseDamage(FirstDamage(directory, files));
  for (const auto& entry : files) {
    const fs::path path = directory / entry.first, seed = path.parent_path();
    if (path.filename() == "result.json") RefuseDamage(FirstDamage(seed, FilesOf(ReadResult(seed), seed)));
  }
}

uint64_t BestOnValidation(const Json& result) {
  uint64_t best_seed = 0;
  double best = -std::numeric_limits<double>::infinity();
  for (const Json& run : result.at("runs")) {
    const Json& val = run.at(run.contains("r2") ? "r2" : "f1").at("val");
    const double score = val.is_number() ? val.get<double>() : 0;
    if (score > best) {
      best = score;
      best_seed = run.at("seed").get<uint64_t>();
    }
  }
  return best_seed;
}

}  // namespace

RunWriter::RunWriter(const Dataset& dataset, const TrainConfig& config, const RunOptions& options)
    : options_(options), lock_(LockFor(dataset, config, options)) {}

std::string RunWriter::SeedDirectory(uint64_t seed) const {
  return options_.runs == 1 ? directory() : (lock_->target() / fmt::format("seed-{}", seed)).string();
}

fs::path RunWriter::WorkDirectory(uint64_t seed) const {
  return options_.runs == 1 ? lock_->work() : lock_->work() / fmt::format("seed-{}", seed);
}

FileSums RunWriter::WriteSeed(const Trained& trained, const TrainResult& so_far) {
  const SeedResult& result = trained.result;
  const fs::path directory = WorkDirectory(result.seed);
  SaveModel(trained.model, directory.string());
  ReplaceFile(directory / "split.npy", [&](const fs::path& aside) {
    WriteNpy<uint8_t>(aside, trained.split.roles.span(), {trained.split.roles.size()});
  });
  WriteFileWhole(directory / "log.jsonl", LogOf(result));
  FileSums files = SumsOfFiles(directory, kSeedFiles);
  if (options_.runs > 1) {
    TrainResult single = so_far;
    single.seeds = {result};
    WriteResult(directory, single, files);
    files["result.json"] = SumOfFile(directory / "result.json");
  }
  AddSeed(result.seed, files);
  return files;
}

void RunWriter::Commit(const TrainResult& result) {
  FileSums files;
  for (const auto& [seed, of_seed] : seeds_) {
    if (options_.runs == 1) files = of_seed;
    if (options_.runs > 1) files[fmt::format("seed-{}/result.json", seed)] = of_seed.at("result.json");
  }
  WriteResult(lock_->work(), result, files);
  lock_->Commit();
}

std::shared_ptr<RunLock> LockRun(const RunOptions& options) {
  std::shared_ptr<RunLock> lock = RunLock::Take(options.output, options.force);
  WriteBegun(lock->checkpoint(), options);
  return lock;
}

RunOptions ResumeRun(const std::string& directory, bool force) {
  const fs::path target = RunTarget(directory);
  std::shared_ptr<RunLock> lock = RunLock::TakeUp(target, force);
  std::error_code error;
  if (lock != nullptr && !HoldsRun(lock->work())) {
    if (!fs::exists(lock->checkpoint() / "begun.json", error)) {
      ThrowUsage("{}: was cut off before it wrote down its settings; give the whole command again",
                 target.string());
    }
    RunOptions run = ReadBegun(lock->checkpoint());
    lock->set_replace(force || run.force);
    run.output = directory;
    run.lock = std::move(lock);
    return run;
  }
  if (lock != nullptr) {
    CheckWholeRun(lock->work());
    if (fs::exists(lock->checkpoint() / "begun.json", error))
      lock->set_replace(force || ReadBegun(lock->checkpoint()).force);
    lock->Commit();
  }
  if (!HoldsRun(target)) {
    ThrowUsage("--resume {}: there is no unfinished run of that name (no {})", directory,
               UnfinishedPath(target).string());
  }
  RunOptions finished;
  finished.output = target.string();
  return finished;
}

std::string ReadRunResult(const std::string& directory) {
  Json result = ReadResult(directory);
  result.erase("files");
  return JsonText(result);
}

OpenedRun OpenRun(const std::string& directory, int64_t seed) {
  fs::path path = directory;
  std::error_code error;
  if (!HoldsRun(path) && fs::is_directory(UnfinishedPath(RunTarget(path)), error)) {
    ThrowInput("{}: is not finished; go on with l2gcn train --resume {}", directory,
               RunTarget(path).string());
  }
  if (!fs::is_directory(path, error))
    ThrowInput("{}: no such run; expected a directory written by l2gcn train", directory);
  OpenedRun opened;
  if (!HoldsRun(path)) {
    if (!fs::exists(path / "model.safetensors")) {
      ThrowInput(
          "{}: holds neither result.json nor model.safetensors; expected a directory written by l2gcn "
          "train or by SaveModel",
          directory);
    }
    opened.model = LoadModel(directory);
    opened.directory = directory;
    opened.knows_data = false;
    if (seed >= 0 && opened.model.config.seed != static_cast<uint64_t>(seed)) {
      ThrowUsage("--seed {}: {} holds seed {} alone", seed, directory, opened.model.config.seed);
    }
    return opened;
  }
  FileSums files;
  try {
    const Json result = ReadResult(path);
    files = FilesOf(result, path);
    SourceFromJson(result.at("source"), (path / "result.json").string(), opened);
    opened.dataset_json = result.at("dataset").dump();
    if (result.contains("split")) opened.split.name = result.at("split").at("name").get<std::string>();
    if (!fs::exists(path / "model.safetensors") || seed >= 0) {
      const uint64_t chosen = seed >= 0 ? static_cast<uint64_t>(seed) : BestOnValidation(result);
      const bool single = fs::exists(path / "model.safetensors");
      if (single && result.at("seed").get<uint64_t>() != chosen) {
        ThrowUsage("--seed {}: {} holds seed {} alone", chosen, directory, result.at("seed").get<uint64_t>());
      }
      if (!single) path /= fmt::format("seed-{}", chosen);
      if (!fs::exists(path)) ThrowUsage("--seed {}: {} holds no such seed", chosen, directory);
      if (!single && !files.empty()) {
        RefuseDamage(DamageOf(directory, fmt::format("seed-{}/result.json", chosen), files));
        files = FilesOf(ReadResult(path), path);
      }
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged result.json: a value is missing or of the wrong type ({})", path.string(),
               error.what());
  }
  if (!files.empty()) {
    for (const char* name : kFilesRead) RefuseDamage(DamageOf(path, name, files));
  }
  opened.model = LoadModel(path.string());
  if (fs::exists(path / "split.npy")) opened.split.roles = ReadRoles(path / "split.npy");
  opened.directory = path.string();
  return opened;
}

bool ReadSettings(const std::string& config_path, RunOptions& options) {
  const fs::path path = config_path, beside = path.parent_path() / "result.json";
  if (!fs::is_regular_file(path))
    ThrowUsage("--config {}: no such file; expected a run's config.json, or a JSON object of settings",
               config_path);
  std::string where = config_path;
  try {
    const Json json = ReadJsonFile(path.string());
    const bool of_run = json.is_object() && json.contains("config");
    if (of_run) CheckModelConfig(json, where);
    options.overrides = OverridesFromJson(JsonText(of_run ? json.at("config") : json), where);
    if (!fs::is_regular_file(beside)) return false;
    where = beside.string();
    OpenedRun source;
    SourceFromJson(ReadResult(beside.parent_path()).at("source"), where, source);
    options.dataset_spec = source.dataset_spec;
    options.open_options = source.open_options;
    return source.knows_data;
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged: {}", where, error.what());
  }
}

}  // namespace l2gcn
