#include "config/setting_uses.h"

#include <algorithm>
#include <initializer_list>

namespace l2gcn {
namespace {

struct SettingUse {
  const char* setting;
  bool (*has_effect)(const TrainConfig&);
  const char* needed;
};

bool StopsBy(const TrainConfig& config, std::initializer_list<StopRule> rules) {
  return !config.stop || std::find(rules.begin(), rules.end(), *config.stop) != rules.end();
}
bool StopsEarly(const TrainConfig& config) { return StopsBy(config, {StopRule::kEarly}); }

constexpr SettingUse kUses[] = {
    {"patience", StopsEarly, "--stop early"},
    {"watch", StopsEarly, "--stop early"},
    {"controller", [](const TrainConfig& config) { return StopsBy(config, {StopRule::kController}); },
     "--stop controller"},
    {"hold-out",
     [](const TrainConfig& config) {
       return StopsBy(config, {StopRule::kController, StopRule::kPlateau});
     },
     "--stop controller or plateau"},
    {"on-nan", [](const TrainConfig& config) { return !config.restart_on_nan || !config.FindsRate(); },
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
