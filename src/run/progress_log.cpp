#include "run/progress_log.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

namespace l2gcn {
namespace {

using ProgressJson = nlohmann::ordered_json;

ProgressJson LossOrNull(double value) {
  return std::isfinite(value) ? ProgressJson(value) : ProgressJson(nullptr);
}

}  // namespace

ProgressLog::ProgressLog(const std::filesystem::path& run, const std::string& dataset,
                         const std::string& method, uint32_t runs)
    : path_(std::filesystem::path(run.string() + ".unfinished") / "progress.jsonl") {
  std::error_code ignored;
  std::filesystem::create_directories(run.parent_path(), ignored);
  made_folder_ = std::filesystem::create_directory(path_.parent_path(), ignored);
  file_ = std::fopen(path_.c_str(), "wbe");
  const ProgressJson begin = {{"event", "begin"},
                              {"dataset", dataset},
                              {"method", method},
                              {"runs", runs},
                              {"started", static_cast<int64_t>(std::time(nullptr))}};
  Line(begin.dump(-1, ' ', false, ProgressJson::error_handler_t::replace));
}

ProgressLog::~ProgressLog() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  if (made_folder_) std::filesystem::remove(path_.parent_path(), ignored);
}

void ProgressLog::BeginSeed(uint64_t seed) {
  layer_ = 0;
  Line(ProgressJson{{"event", "seed"}, {"seed", seed}}.dump());
}

void ProgressLog::Log(const Progress& progress) {
  if (file_ == nullptr) return;
  if (progress.layer != layer_ || progress.losses.size() < losses_) {
    layer_ = progress.layer;
    losses_ = decisions_ = validated_ = 0;
  }
  ProgressJson line = {{"event", "progress"},
                       {"phase", progress.phase},
                       {"layer", progress.layer},
                       {"layers", progress.layers},
                       {"epoch", progress.epoch},
                       {"epochs", progress.epochs},
                       {"loss", LossOrNull(progress.loss)}};
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
  line["elapsed"] = elapsed.count();
  if (progress.seconds_left > 0) line["left"] = progress.seconds_left;
  if (progress.validation_epoch > 0 && progress.validation_epoch != validated_) {
    validated_ = progress.validation_epoch;
    line["validation"] = {validated_, LossOrNull(progress.validation_f1)};
  }
  if (progress.stop_probability >= 0) line["stop_probability"] = progress.stop_probability;
  for (; losses_ < progress.losses.size(); ++losses_)
    line["losses"].push_back({losses_ + 1, LossOrNull(progress.losses[losses_])});
  for (; decisions_ < progress.probabilities.size(); ++decisions_) {
    line["probabilities"].push_back(
        {progress.probabilities[decisions_].first, progress.probabilities[decisions_].second});
  }
  Line(line.dump());
}

void ProgressLog::Line(const std::string& text) {
  if (file_ == nullptr) return;
  std::fputs(text.c_str(), file_);
  std::fputc('\n', file_);
  std::fflush(file_);
}

}  // namespace l2gcn
