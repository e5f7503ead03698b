#include "report/measured.h"

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/json_text.h"
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

std::optional<MeasuredSeed> MeasuredSeeds::Find(const std::string& purpose, const TrainConfig& config) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(PathOf(purpose, config), error)) return std::nullopt;
  try {
    const nlohmann::ordered_json json = ReadSealedJson(PathOf(purpose, config).string());
    return MeasuredSeed{SeedResultFromJson(json.at("result")), json.at("training_bytes").get<uint64_t>(),
                        json.at("out_of_time").get<bool>()};
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
  WriteSealedJson(PathOf(purpose, config).string(), {{"result", SeedResultToJson(seed.result)},
                                                     {"training_bytes", seed.training_bytes},
                                                     {"out_of_time", seed.out_of_time}});
}

}  // namespace l2gcn
