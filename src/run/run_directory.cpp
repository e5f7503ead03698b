#include "run/run_directory.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "data/npy.h"
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

fs::path ChooseDirectory(const Dataset& dataset, const TrainConfig& config, const RunOptions& options) {
  if (!options.output.empty()) return options.output;
  const std::string stem = FileSafe(dataset.name) + "-" + config.method;
  for (int number = 1;; ++number) {
    fs::path path = fs::path("runs") / fmt::format("{}-{:03d}", stem, number);
    if (!fs::exists(path)) return path;
  }
}

bool HoldsRun(const fs::path& directory) { return fs::exists(directory / "result.json"); }

// --force replaces a run (or an empty directory), nothing else.
fs::path CheckedTarget(fs::path target, bool force) {
  if (!fs::exists(target)) return target;
  if (fs::is_directory(target) && fs::is_empty(target)) return target;
  if (!fs::is_directory(target) || !HoldsRun(target)) {
    ThrowUsage("{}: exists and is not a run; it will not be replaced. Choose another output with -o",
               target.string());
  }
  if (!force)
    ThrowUsage("{}: already holds a run; choose another output or pass --force to replace it",
               target.string());
  return target;
}

// One event a line: each layer, each epoch, the end.
std::string LogOf(const SeedResult& result) {
  std::string text;
  const auto add = [&](const Json& event) { text += event.dump() + "\n"; };
  for (size_t layer = 0; layer < result.layers.size(); ++layer) {
    const LayerRecord& record = result.layers[layer];
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
  add({{"event", "end"}, {"f1", F1Json(result)}, {"seconds", SecondsJson(result.seconds)}});
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

uint64_t BestOnValidation(const Json& result) {
  uint64_t best_seed = 0;
  double best = -1;
  for (const Json& run : result.at("runs")) {
    const Json& val = run.at("f1").at("val");
    const double f1 = val.is_number() ? val.get<double>() : 0;
    if (f1 > best) {
      best = f1;
      best_seed = run.at("seed").get<uint64_t>();
    }
  }
  return best_seed;
}

}  // namespace

RunWriter::RunWriter(const Dataset& dataset, const TrainConfig& config, const RunOptions& options)
    : options_(options),
      target_(CheckedTarget(ChooseDirectory(dataset, config, options), options.force)),
      staged_(target_, true) {}

std::string RunWriter::SeedDirectory(uint64_t seed) const {
  return options_.runs == 1 ? target_.string() : (target_ / fmt::format("seed-{}", seed)).string();
}

void RunWriter::WriteSeed(const Trained& trained, const TrainResult& so_far) {
  fs::path directory = staged_.path();
  if (options_.runs > 1) {
    directory /= fmt::format("seed-{}", trained.result.seed);
    fs::create_directory(directory);
    TrainResult single = so_far;
    single.seeds = {trained.result};
    WriteFileWhole(directory / "result.json", ResultToJson(single) + "\n");
  }
  SaveModel(trained.model, directory.string());
  WriteNpy<uint8_t>(directory / "split.npy", trained.split.roles.span(), {trained.split.roles.size()});
  WriteFileWhole(directory / "log.jsonl", LogOf(trained.result));
}

void RunWriter::Commit(const TrainResult& result) {
  WriteFileWhole(staged_.path() / "result.json", ResultToJson(result) + "\n");
  staged_.Commit();
}

OpenedRun OpenRun(const std::string& directory, int64_t seed) {
  fs::path path = directory;
  if (!fs::is_directory(path))
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
  try {
    const Json result = Json::parse(ReadTextFile(path / "result.json"));
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
    }
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged result.json: {}", path.string(), error.what());
  }
  opened.model = LoadModel(path.string());
  if (fs::exists(path / "split.npy")) opened.split.roles = ReadRoles(path / "split.npy");
  opened.directory = path.string();
  return opened;
}

StoredSettings ReadSettings(const std::string& config_path) {
  const fs::path path = config_path, beside = path.parent_path() / "result.json";
  if (!fs::is_regular_file(path))
    ThrowUsage("--config {}: no such file; expected a run's config.json", config_path);
  StoredSettings settings;
  std::string where = config_path;
  try {
    const Json json = Json::parse(ReadTextFile(path));
    const bool of_run = json.is_object() && json.contains("config");
    settings.config = ConfigFromJson((of_run ? json.at("config") : json).dump(), where);
    if (!fs::is_regular_file(beside)) return settings;
    where = beside.string();
    OpenedRun source;
    SourceFromJson(Json::parse(ReadTextFile(beside)).at("source"), where, source);
    settings.has_source = true;
    settings.dataset_spec = source.dataset_spec;
    settings.open_options = source.open_options;
  } catch (const Json::exception& error) {
    ThrowInput("{}: damaged: {}", where, error.what());
  }
  return settings;
}

}  // namespace l2gcn
