#include "report/measured.h"

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "ranks/collectives.h"
#include "run/checkpoint.h"
#include "train/snapshot.h"

namespace l2gcn {
namespace fs = std::filesystem;

MeasuredSeeds::MeasuredSeeds(const Context& context, const std::string& folder, const Dataset& dataset)
    : context_(context), folder_(folder) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) ThrowUsage("{}: cannot create the directory: {}", folder, error.message());
  bound_ = JsonText(MachineBinding(context)) + dataset.name + ChecksumText(DatasetChecksum(context, dataset));
}

fs::path MeasuredSeeds::PathOf(const std::string& purpose, const TrainConfig& config) const {
  const std::string text = bound_ + purpose + ConfigToJson(config);
  return folder_ / fmt::format("seed-{}.json", ChecksumText(Checksum(text.data(), text.size())));
}

namespace {

nlohmann::ordered_json MeasuredToJson(const MeasuredSeed& seed) {
  return {{"result", SeedResultToJson(seed.result)},
          {"training_bytes", seed.training_bytes},
          {"out_of_time", seed.out_of_time}};
}

MeasuredSeed MeasuredFrom(const nlohmann::ordered_json& json) {
  return {SeedResultFromJson(json.at("result")), json.at("training_bytes").get<uint64_t>(),
          json.at("out_of_time").get<bool>()};
}

}  // namespace

std::vector<MeasuredSeed> MeasuredSeeds::Measure(const std::string& purpose,
                                                 const std::vector<TrainConfig>& configs,
                                                 const Make& make) const {
  // Rank 0 says which are there already; "" stands for those that are not.
  std::vector<std::string> texts(configs.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < configs.size(); ++i) {
    texts[i] = AgreedText(context_, [&]() -> std::string {
      const std::optional<MeasuredSeed> found = Find(purpose, configs[i]);
      return found ? JsonText(MeasuredToJson(*found)) : "";
    });
    if (texts[i].empty()) missing.push_back(i);
  }
  ShareOut(
      context_, missing.size(),
      [&](const Context& alone, size_t at) { return JsonText(MeasuredToJson(make(alone, missing[at]))); },
      [&](size_t at, std::string text) {
        texts[missing[at]] = std::move(text);
        Keep(purpose, configs[missing[at]],
             MeasuredFrom(ParseJson(texts[missing[at]], "a measured training")));
      });
  std::vector<MeasuredSeed> measured;
  for (std::string& text : texts) {
    if (context_.ranks != nullptr) BroadcastText(*context_.ranks, text);
    measured.push_back(MeasuredFrom(ParseJson(text, "a measured training")));
  }
  return measured;
}

std::optional<MeasuredSeed> MeasuredSeeds::Find(const std::string& purpose, const TrainConfig& config) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(PathOf(purpose, config), error)) return std::nullopt;
  try {
    return MeasuredFrom(ReadSealedJson(PathOf(purpose, config).string()));
  } catch (const nlohmann::ordered_json::exception& failure) {
    context_.Warn(fmt::format("{}; it is measured again", failure.what()));
  } catch (const Error& failure) {
    context_.Warn(fmt::format("{}; it is measured again", failure.what()));
  }
  return std::nullopt;
}

void MeasuredSeeds::Keep(const std::string& purpose, const TrainConfig& config,
                         const MeasuredSeed& seed) const {
  if (folder_.empty()) return;
  WriteSealedJson(PathOf(purpose, config).string(), MeasuredToJson(seed));
}

}  // namespace l2gcn
