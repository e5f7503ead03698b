// Settings besides those of a training (config.h), in tables of the same kind: what a call computes with, and what a run
// takes. Each is declared once, for the command line and Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/train.h"

namespace l2gcn {

// The machine: threads, device and budgets of memory. Results depend on none of it but the device.
struct MachineConfig {
  uint32_t threads = 0;  // 0: one per usable core
  std::string device = "auto";
  uint64_t device_memory = 0;     // bytes; 0: what the GPU has free
  uint64_t memory = 0;            // bytes of the whole process; 0: most of what is free
  std::string scratch;            // folder; "": the system's temporary one
  std::string local_data;         // folder; "": data sets are opened where they lie
  std::string exchange = "auto";  // how ranks get at each other's rows (l2gcn/ranks.h)
};
using MachineField = FieldOf<MachineConfig>;
inline constexpr const char *kMachineGroup = "Machine", *kDeviceGroup = "Device", *kRanksGroup = "MPI";
const std::vector<MachineField>& MachineFields();

// A context with threads of its own and these budgets. Its device is the CPU until the caller has chosen one (ChooseDevice,
// StartDevice).
Context MakeContext(const MachineConfig& machine);

// A run: the number of its seeds, and how often its progress is kept.
using RunField = FieldOf<RunOptions>;
const std::vector<RunField>& RunFields();

// ": did you mean 'NAME'?" with the candidate nearest to `word`; "" if none is near enough to be a slip.
std::string Suggestion(const std::string& word, const std::vector<std::string>& candidates);

// The settings that a JSON object names, in its order, each as text and checked. A value is written as in config.json or as
// on the command line. Throws Error(kInput) naming `where` for an unknown setting, and for a value of the wrong type or range.
Overrides OverridesFromJson(const std::string& text, const std::string& where);

// The place of `name` among `names` ('_' and '-' are the same). Throws Error(kUsage) naming the nearest.
size_t FindName(const std::string& name, const std::vector<std::string>& names);

// What to do instead of giving `name` on the command line or in Python: the new name of a setting that was renamed, or the way
// to set one that presets decide. "": neither.
std::string WhereToSet(const std::string& name);

// Sets in `config` what the user said of a table's fields, in order. Throws Error(kUsage) for an unknown name or a value out
// of range.
template <class Config>
void SetFields(const std::vector<FieldOf<Config>>& fields, const Overrides& said, Config& config) {
  std::vector<std::string> names;
  for (const FieldOf<Config>& field : fields) names.push_back(field.name);
  for (const auto& [name, value] : said) fields[FindName(name, names)].set(config, value);
}

}  // namespace l2gcn
