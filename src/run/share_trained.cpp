#include "run/share_trained.h"

#include <cstring>

#include "core/json_text.h"
#include "l2gcn/ranks.h"
#include "model/model_shapes.h"
#include "ranks/collectives.h"
#include "train/snapshot.h"

namespace l2gcn {

std::string PackTrained(const Trained& trained) {
  const std::string result = JsonText(SeedResultToJson(trained.result));
  const uint64_t length = result.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + result +
         PackModel(trained.model);
}

Trained UnpackTrained(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  Trained trained;
  trained.result = SeedResultFromJson(ParseJson(bytes.substr(sizeof(length), length), "a seed's result"));
  trained.model = UnpackModel(bytes.substr(sizeof(length) + length));
  return trained;
}

void ShareTrained(const Context& context, const Dataset& dataset, TrainResult& result,
                  std::vector<Trained>& trained) {
  if (context.ranks == nullptr) return;
  for (std::string* text : {&result.run, &result.dataset_json, &result.source_json, &result.device})
    BroadcastText(*context.ranks, *text);
  result.threads = Agreed(context, result.threads);
  const uint64_t seeds = Agreed(context, uint64_t{trained.size()});
  for (uint64_t i = 0; i < seeds; ++i) {
    const std::string bytes = AgreedText(context, [&] { return PackTrained(trained[i]); });
    if (Leads(context)) continue;
    if (i == 0) trained.clear(), result.seeds.clear();
    trained.push_back(UnpackTrained(bytes));
    const TrainConfig& config = trained.back().model.config;
    trained.back().split = ResolveSplit(dataset, config.split, config.seed);
    result.seeds.push_back(trained.back().result);
  }
}

}  // namespace l2gcn
