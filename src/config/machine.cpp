// The table of what a call computes with, and the context that it describes.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>

#include "config/field_builders.h"
#include "core/error_format.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

// A number of bytes, with K, M, G or T (powers of 1024) or without.
uint64_t ParseBytes(const std::string& name, const std::string& text) {
  constexpr const char* kUnits = "KMGT";
  std::string number = text;
  int shift = 0;
  if (!text.empty()) {
    const char* unit = std::strchr(kUnits, std::toupper(static_cast<unsigned char>(text.back())));
    if (unit != nullptr && *unit != '\0') {
      shift = 10 * static_cast<int>(unit - kUnits + 1);
      number.pop_back();
    }
  }
  uint64_t value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  const uint64_t most = std::numeric_limits<uint64_t>::max() >> shift;
  if (error != std::errc() || stop != end || value == 0 || value > most) {
    ThrowUsage(
        "--{} {}: expected a whole number of bytes from 1 on, with K, M, G or T or without, such as 512M or "
        "8G",
        name, text);
  }
  return value << shift;
}

// "" stands for 0, which says that no budget was given.
MachineField BytesField(const char* name, uint64_t MachineConfig::*member, const char* help) {
  const std::string text = name;
  return {
      text,
      FieldKind::kNumber,
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
  return {
      ThreadsField(),
      WordField(
          "device", &C::device, devices,
          "Where to compute; auto: CUDA where it can be used and is the faster (not for search, nor for "
          "methods without a CUDA part, nor under mpirun where a rank has no card)"),
      BytesField(
          "device-memory", &C::device_memory,
          "Budget of device memory, e.g. 512M or 8G; what exceeds it stays in host memory [what the card has "
          "free]"),
      BytesField(
          "memory", &C::memory,
          "Budget of memory for the whole process, e.g. 512M or 8G; what exceeds it goes to disk, with the "
          "same results [most of what is free]"),
      TextField("scratch", "DIR", &C::scratch,
                "Folder for what does not fit into memory [the system's temporary one]"),
      TextField("local-data", "DIR", &C::local_data,
                "Under mpirun: a folder on every machine for a copy of the data set, which rank 0 alone "
                "opens [every "
                "rank opens it]"),
      WordField("exchange", &C::exchange, {"auto", "memory", "messages"},
                "How ranks of mpirun get at each other's rows, with the same results; auto: in shared memory "
                "where all run on one machine and compute on the CPU, else by messages"),
      WordField(
          "rank-steps", &C::rank_steps, {"auto", "alone", "shared"},
          "Who makes training steps where ranks exchange by messages, with the same results; alone: rank 0; "
          "shared: all ranks together, in plain layers of dense rows on the CPU; auto: whichever is the "
          "faster, "
          "as measured at the start"),
  };
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
  context.steps = machine.rank_steps == "shared"  ? StepSharing::kShared
                  : machine.rank_steps == "alone" ? StepSharing::kAlone
                                                  : StepSharing::kAuto;
  return context;
}

}  // namespace l2gcn
