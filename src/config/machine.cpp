// The table of what a call computes with, and the context that it describes.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "config/field_builders.h"
#include "core/error_format.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

// Bytes of a unit in capital letters: K and KIB are 1024, KB is 1000, and so on to T; B and nothing are 1. 0: no such unit.
double BytesOfUnit(const std::string& unit) {
  if (unit.empty() || unit == "B") return 1;
  const size_t power = std::string_view("KMGT").find(unit[0]);
  const std::string rest = unit.substr(1);
  if (power == std::string_view::npos || (rest != "" && rest != "B" && rest != "IB")) return 0;
  return std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
}

// A size such as 512M, 8GB, "8 GiB" or 1.5g. A number without a unit counts bytes; below 1 MiB the unit was forgotten.
uint64_t ParseBytes(const std::string& name, const std::string& text) {
  constexpr double kLeastBytes = 1 << 20, kMostBytes = 1ull << 62;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  std::string unit(stop, end);
  unit.erase(0, unit.find_first_not_of(' '));
  for (char& letter : unit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const double bytes = number * BytesOfUnit(unit);
  if (error != std::errc() || !(bytes > 0 && bytes < kMostBytes))
    ThrowUsage("--{} {}: expected a size such as 512M, 8G, 8GB or 1.5GiB", name, text);
  if (unit.empty() && bytes < kLeastBytes)
    ThrowUsage("--{0} {1}: that is {1} bytes; add a unit, such as {1}G or {1}M", name, text);
  return static_cast<uint64_t>(bytes);
}

// "" stands for 0, which says that no budget was given.
MachineField BytesField(const char* name, uint64_t MachineConfig::*member, const char* help) {
  const std::string text = name;
  return {
      text,
      FieldText::Kind::kNumber,
      "SIZE",
      help,
      {},
      [=](MachineConfig& machine, const std::string& value) { machine.*member = ParseBytes(text, value); },
      [=](const MachineConfig& machine) {
        return machine.*member == 0 ? "" : fmt::format("{}", machine.*member);
      }};
}

MachineField ThreadsField() {
  constexpr uint32_t kMaxThreads = 4096;
  MachineField field = WholeField("threads", &MachineConfig::threads, 1, kMaxThreads, "");
  field.help = fmt::format("Threads; results do not depend on it [one per core this process may use: {}]",
                           UsableCores());
  field.get = [](const MachineConfig& machine) {
    return machine.threads == 0 ? "" : fmt::format("{}", machine.threads);
  };
  return field;
}

std::vector<MachineField> MakeMachineFields() {
  using C = MachineConfig;
  std::vector<std::string> devices = DeviceNames();
  devices.insert(devices.begin(), "auto");
  std::vector<MachineField> fields = {
      ThreadsField(),
      WordField("device", &C::device, devices,
                "Where to compute. auto: CUDA where it can be used and is faster."),
      BytesField("device-memory", &C::device_memory,
                 "Budget of device memory, such as 512M or 8G; what exceeds it stays in host memory [what is "
                 "free on the GPU]"),
      BytesField("memory", &C::memory,
                 "Budget of memory for the whole process, such as 512M or 8G; what exceeds it goes to disk, "
                 "with the same results [most of what is free]"),
      TextField("scratch", "DIR", &C::scratch,
                "Folder for what does not fit into memory [the system's temporary one]"),
      TextField(
          "local-data", "DIR", &C::local_data,
          "Folder on every machine for a copy of the data set, which rank 0 alone opens [every rank opens "
          "it]"),
      WordField(
          "exchange", &C::exchange, {"auto", "memory", "messages"},
          "How ranks read each other's rows, with the same results; auto: shared memory where all run on "
          "one machine and compute on the CPU, else messages"),
  };
  for (MachineField& field : fields) {
    const bool ranks = field.name == "local-data" || field.name == "exchange";
    field.group = ranks ? kRanksGroup : field.name.starts_with("device") ? kDeviceGroup : kMachineGroup;
    if (field.name == "device") field.level = FieldText::Level::kBasic;
  }
  return fields;
}

}  // namespace

const std::vector<MachineField>& MachineFields() {
  static const std::vector<MachineField> fields = MakeMachineFields();
  return fields;
}

Context MakeContext(const MachineConfig& machine) {
  Context context = MakeContext(machine.threads);
  context.device_is_automatic = machine.device == "auto";
  context.device_memory = machine.device_memory;
  context.host_memory = machine.memory;
  context.scratch_directory = machine.scratch;
  context.local_data = machine.local_data;
  return context;
}

}  // namespace l2gcn
