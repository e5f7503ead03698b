#include "config/setting_uses.h"

#include <algorithm>

namespace l2gcn {
namespace {

struct SettingUse {
  const char* setting;
  bool (*has_effect)(const TrainConfig&);
  const char* needed;
};

bool StopsBy(const TrainConfig& config, const char* policy) {
  return config.stop.empty() || config.stop == policy;
}
bool StopsEarly(const TrainConfig& config) { return StopsBy(config, "early"); }
bool StopsLearned(const TrainConfig& config) { return StopsBy(config, "learned"); }

constexpr SettingUse kUses[] = {
    {"patience", StopsEarly, "--stop early"},
    {"watch", StopsEarly, "--stop early"},
    {"controller", StopsLearned, "--stop learned"},
    {"hold-out", StopsLearned, "--stop learned"},
    {"controller-kind",
     [](const TrainConfig& config) { return StopsLearned(config) && config.controller.empty(); },
     "--stop learned without --controller"},
    {"on-nan", [](const TrainConfig& config) { return config.on_nan == "stop" || !config.FindsRate(); },
     "a number for --lr"},
};

const SettingUse* FindUse(const std::string& setting) {
  const std::string name = FindField(setting).name;
  const auto* found = std::find_if(std::begin(kUses), std::end(kUses),
                                   [&](const SettingUse& use) { return name == use.setting; });
  return found == std::end(kUses) ? nullptr : found;
}

}  // namespace

bool IsConditional(const std::string& setting) { return FindUse(setting) != nullptr; }

std::string NeededFor(const std::string& setting, const TrainConfig& config) {
  const SettingUse* use = FindUse(setting);
  return use == nullptr || use->has_effect(config) ? "" : use->needed;
}

}  // namespace l2gcn
