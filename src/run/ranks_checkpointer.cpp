#include "run/ranks_checkpointer.h"

#include "core/json_text.h"
#include "ranks/collectives.h"

namespace l2gcn {

RanksCheckpointer::RanksCheckpointer(const Context& context, Checkpointer* own)
    : context_(context), own_(own) {
  const Snapshot* start = own != nullptr ? own->Start() : nullptr;
  epochs_between_ = Agreed(context, own != nullptr ? own->EpochsBetween() : 0);
  if (!Agreed(context, start != nullptr)) return;
  const std::string bytes = AgreedText(context, [&] {
    return SafetensorsBytes(start->tensors, {{"state", JsonText(start->state)}});
  });
  const Safetensors file =
      ParseSafetensors({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "rank 0's checkpoint");
  start_.emplace();
  start_->state = ParseJson(file.metadata.at("state"), "rank 0's checkpoint");
  for (const auto& [name, tensor] : file.tensors) start_->tensors.push_back(tensor);
}

bool RanksCheckpointer::Due(uint64_t epochs) {
  return Agreed(context_, own_ != nullptr && own_->Due(epochs));
}

void RanksCheckpointer::Keep(const Snapshot& snapshot) {
  if (own_ != nullptr) own_->Keep(snapshot);
}

}  // namespace l2gcn
