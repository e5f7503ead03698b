// What a run takes besides the settings of a training: how many seeds, and how often progress is kept.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "config/field_builders.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

constexpr double kNoCheckpoint = std::numeric_limits<double>::max();

// "30s", "5m", "2h" or "off" as seconds; "5" as epochs.
void ParseCheckpointEvery(RunOptions& run, const std::string& text) {
  const std::string units = "smh";
  const size_t unit = text.empty() ? std::string::npos : units.find(text.back());
  if (text == "off") {
    run.checkpoint_epochs = 0;
    run.checkpoint_seconds = kNoCheckpoint;
    return;
  }
  if (unit == std::string::npos) {
    run.checkpoint_epochs = ParseCount("checkpoint-every", text, 1, 1000000);
    return;
  }
  constexpr double kSeconds[] = {1, 60, 3600};
  double number = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !(number > 0 && number < 1e6)) {
    ThrowUsage(
        "--checkpoint-every {}: expected a time such as 30s, 5m or 2h, a number of epochs such as 5, or off",
        text);
  }
  run.checkpoint_epochs = 0;
  run.checkpoint_seconds = number * kSeconds[unit];
}

std::string CheckpointEveryText(const RunOptions& run) {
  if (run.checkpoint_epochs != 0) return fmt::format("{}", run.checkpoint_epochs);
  return run.checkpoint_seconds == kNoCheckpoint ? "off" : fmt::format("{}s", run.checkpoint_seconds);
}

constexpr const char* kGroup = "General";

RunField RunsField() {
  RunField field =
      WholeField("runs", &RunOptions::runs, 1, 100000, "Number of seeds to train. They are SEED, SEED+1, …");
  field.group = kGroup;
  field.level = FieldText::Level::kBasic;
  return field;
}

}  // namespace

const std::vector<RunField>& RunFields() {
  static const std::vector<RunField> fields = {
      RunsField(),
      {"checkpoint-every",
       FieldText::Kind::kText,
       "TIME|N",
       "Time (30s, 5m, 2h) or epochs (5) between two checkpoints; off: none",
       {},
       ParseCheckpointEvery,
       CheckpointEveryText,
       {},
       {},
       {},
       kGroup}};
  return fields;
}

}  // namespace l2gcn
