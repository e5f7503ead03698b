#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "core/error_format.h"
#include "core/files.h"
#include "core/rng.h"
#include "report/tensorboard/event_file.h"
#include "report/tensorboard/tensorboard_log.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kProjectedNodes = 2000;

std::string LayerTag(uint32_t layer, const char* what) { return fmt::format("layer{}/{}", layer, what); }

// A field of a table separated by tabs.
std::string TabSafe(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string LabelText(const Dataset& dataset, uint32_t node) {
  if (!dataset.labels.IsLabelled(node)) return "";
  if (dataset.labels.task() == Task::kRegression)
    return fmt::format("{:.6g}", fmt::join(dataset.labels.targets.row(node),
                                           dataset.labels.targets.row(node) + dataset.labels.classes, ", "));
  if (!dataset.labels.multilabel)
    return dataset.ClassName(static_cast<uint32_t>(dataset.labels.classes_of[node]));
  std::string text;
  for (uint32_t c = 0; c < dataset.labels.classes && text.size() < 200; ++c) {
    if (dataset.labels.matrix[size_t{node} * dataset.labels.classes + c] != 0)
      text += (text.empty() ? "" : ", ") + dataset.ClassName(c);
  }
  return text;
}

// The projector's files: rows of a sample of nodes and their names.
void WriteProjector(const Context& context, const Dataset& dataset, const Model& model,
                    const fs::path& folder) {
  Matrix all;
  try {
    all = Embed(context, model, dataset);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return;  // a method without embeddings
  }
  const uint32_t count = std::min(dataset.nodes(), kProjectedNodes);
  const Permutation order(dataset.nodes(), RandomStream(0, RandomUse::kSampler));
  std::string rows, names = "node\tlabel\n";
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t node = count == dataset.nodes() ? i : order(i);
    for (size_t c = 0; c < all.cols; ++c)
      fmt::format_to(std::back_inserter(rows), "{}{:.6g}", c == 0 ? "" : "\t", all.row(node)[c]);
    rows += '\n';
    names += TabSafe(dataset.NodeName(node)) + "\t" + TabSafe(LabelText(dataset, node)) + "\n";
  }
  WriteFileWhole(folder / "embeddings.tsv", rows);
  WriteFileWhole(folder / "metadata.tsv", names);
  WriteFileWhole(
      folder / "projector_config.pbtxt",
      "embeddings {\n  tensor_name: \"embeddings\"\n  tensor_path: \"embeddings.tsv\"\n  metadata_path: "
      "\"metadata.tsv\"\n}\n");
}

}  // namespace

struct TensorBoardLog::Impl {
  fs::path directory;
  uint64_t seed = 0;
  uint32_t runs = 1;
  std::optional<EventFile> events;
  // What is written already of the present seed.
  std::set<std::tuple<uint32_t, uint32_t, char>> written;  // (layer, epoch, kind)

  fs::path Folder() const { return runs == 1 ? directory : directory / fmt::format("seed-{}", seed); }

  EventFile& Events() {
    if (!events) {
      std::error_code error;
      fs::create_directories(Folder(), error);
      if (error) ThrowRuntime("{}: cannot be made a folder: {}", Folder().string(), error.message());
      events.emplace(Folder());
    }
    return *events;
  }

  void Once(uint32_t layer, uint32_t epoch, char kind, const char* what, double value) {
    if (std::isfinite(value) && written.emplace(layer, epoch, kind).second)
      Events().AddScalar(LayerTag(layer, what), epoch, value);
  }
  void Losses(uint32_t layer, std::span<const double> losses) {
    for (size_t i = 0; i < losses.size(); ++i)
      Once(layer, static_cast<uint32_t>(i + 1), 'l', "loss", losses[i]);
  }
  void Probabilities(uint32_t layer, std::span<const std::pair<uint32_t, double>> decisions) {
    for (const auto& [epoch, probability] : decisions)
      Once(layer, epoch, 'p', "stop_probability", probability);
  }
};

TensorBoardLog::TensorBoardLog(const std::string& directory, uint64_t first_seed, uint32_t runs)
    : impl_(std::make_unique<Impl>()) {
  impl_->directory = directory;
  impl_->seed = first_seed;
  impl_->runs = runs;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory)) {
    ThrowUsage("--tensorboard {}: cannot be made a folder: {}", directory,
               error ? error.message() : "a file is there");
  }
}

TensorBoardLog::~TensorBoardLog() = default;

void TensorBoardLog::OnProgress(const Progress& progress) {
  if (progress.epoch == 0) return;
  const uint32_t layer = std::max(1u, progress.layer);  // all at once: the record is the first layer's
  impl_->Losses(layer, progress.losses);
  impl_->Probabilities(layer, progress.probabilities);
  if (progress.validation_epoch > 0) {
    impl_->Once(layer, progress.validation_epoch, 'v', "validation_f1", progress.validation_f1);
  }
  impl_->Events().Flush();
}

void TensorBoardLog::OnSeed(const Context& context, const Dataset& dataset, const Trained& trained) {
  const SeedResult& result = trained.result;
  EventFile& events = impl_->Events();
  for (uint32_t l = 0; l < result.layers.size(); ++l) {
    impl_->Losses(l + 1, result.layers[l].losses);
    impl_->Probabilities(l + 1, result.layers[l].probabilities);
    events.AddScalar("epochs", l + 1, result.layers[l].epochs);
  }
  for (const SeedResult::ValidationPoint& point : result.validation)
    impl_->Once(point.layer, point.epoch, 'v', std::isnan(point.f1) ? "validation_loss" : "validation_f1",
                std::isnan(point.f1) ? point.loss : point.f1);
  if (result.regression) {
    const std::pair<const char*, double> figures[] = {{"r2/train", result.regression->train.r2},
                                                      {"r2/val", result.regression->val.r2},
                                                      {"r2/test", result.regression->test.r2}};
    for (const auto& [tag, r2] : figures) {
      if (std::isfinite(r2)) events.AddScalar(tag, 0, r2);
    }
  }
  const std::pair<const char*, double> scores[] = {
      {"f1/train", result.f1_train}, {"f1/val", result.f1_val}, {"f1/test", result.f1_test}};
  for (const auto& [tag, f1] : scores) {
    if (std::isfinite(f1)) events.AddScalar(tag, 0, f1);
  }
  for (uint32_t l = 0; l < trained.model.layers.size(); ++l) {
    events.AddHistogram(LayerTag(l + 1, "weights"), 0, trained.model.layers[l].weight.values.span());
  }
  if (trained.model.theta.rows > 0) events.AddHistogram("classifier", 0, trained.model.theta.values.span());
  for (uint32_t l = 0; l < trained.model.heads.size(); ++l)
    events.AddHistogram(LayerTag(l + 1, "classifier"), 0, trained.model.heads[l].theta.values.span());
  for (const auto& [name, tensor] : trained.model.extra) events.AddHistogram(name, 0, tensor.values.span());
  events.Flush();
  WriteProjector(context, dataset, trained.model, impl_->Folder());
  impl_->events.reset();
  impl_->written.clear();
  ++impl_->seed;
}

void LogToTensorBoard(const std::string& directory, uint64_t first_seed, const Dataset& dataset,
                      Context& context, RunOptions& run) {
  auto log = std::make_shared<TensorBoardLog>(directory, first_seed, run.runs);
  context.on_progress = [show = context.on_progress, log](const Progress& progress) {
    if (show) show(progress);
    log->OnProgress(progress);
  };
  run.on_seed = [log, &context, &dataset](const Trained& trained) { log->OnSeed(context, dataset, trained); };
}

}  // namespace l2gcn
