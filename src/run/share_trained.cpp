#include "run/share_trained.h"

#include <cstring>

#include "core/json_text.h"
#include "l2gcn/ranks.h"
#include "model/model_shapes.h"
#include "ranks/collectives.h"
#include "train/snapshot.h"

namespace l2gcn {
namespace {

void AppendPart(std::string_view part, std::string& bytes) {
  const uint64_t length = part.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(part);
}

std::string TakePart(const std::string& bytes, size_t& offset) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data() + offset, sizeof(length));
  const size_t begin = offset + sizeof(length);
  offset = begin + length;
  return bytes.substr(begin, length);
}

}  // namespace

std::string PackTrained(const Trained& trained) {
  const Array<uint8_t>& roles = trained.split.roles;
  std::string bytes;
  AppendPart(JsonText(SeedResultToJson(trained.result)), bytes);
  AppendPart(trained.split.name, bytes);
  AppendPart({reinterpret_cast<const char*>(roles.data()), roles.size()}, bytes);
  AppendPart(PackModel(trained.model), bytes);
  return bytes;
}

Trained UnpackTrained(const std::string& bytes) {
  size_t offset = 0;
  Trained trained;
  trained.result = SeedResultFromJson(ParseJson(TakePart(bytes, offset), "a seed's result"));
  trained.split.name = TakePart(bytes, offset);
  const std::string roles = TakePart(bytes, offset);
  trained.split.roles =
      Array<uint8_t>::CopyOf({reinterpret_cast<const uint8_t*>(roles.data()), roles.size()});
  trained.model = UnpackModel(TakePart(bytes, offset), "a model from another rank");
  return trained;
}

void ShareTrained(const Context& context, TrainResult& result, std::vector<Trained>& trained) {
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
    result.seeds.push_back(trained.back().result);
  }
}

}  // namespace l2gcn
