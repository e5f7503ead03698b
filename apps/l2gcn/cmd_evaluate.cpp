// l2gcn evaluate: scores a run, overall and by class, beside the trivial baseline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "l2gcn/error.h"
#include "l2gcn/export.h"
#include "program.h"
#include "result_text.h"
#include "run_data.h"

namespace l2gcn::cli {
namespace {

using Json = nlohmann::ordered_json;
using Scores = std::vector<std::pair<std::string, Score>>;  // part of the split, how it scored

struct EvaluateOptions {
  RunDataOptions source;
  std::string split, confusion;
  bool exact_names = false;
};

// The user's split, else the run's own parts; of a data set that has none of them, its own or a drawn split.
Split SplitToScore(const RunData& opened, const std::string& wanted) {
  const TrainConfig& config = opened.run.model.config;
  if (!wanted.empty()) return ResolveSplit(opened.dataset, wanted, config.seed);
  const Split parts = PartsOfRun(opened);
  if (!parts.roles.empty()) return parts;
  const bool drawn = config.split.starts_with("random:") || config.split.starts_with("uniform:");
  return ResolveSplit(opened.dataset, drawn ? config.split : "", config.seed);
}

Scores ScoreParts(const Context& context, const RunData& opened, const Matrix& logits, const Split& split) {
  constexpr std::pair<const char*, Role> kParts[] = {
      {"train", Role::kTrain}, {"val", Role::kVal}, {"test", Role::kTest}};
  Scores scores;
  const std::vector<double>& thresholds = opened.run.model.thresholds;
  for (const auto& [name, role] : kParts) {
    const auto wanted = static_cast<uint8_t>(role);
    if (std::find(split.roles.begin(), split.roles.end(), wanted) == split.roles.end()) continue;
    scores.emplace_back(name, ScoreLogits(context, opened.dataset, logits, split, role, thresholds));
  }
  scores.emplace_back("all", ScoreLogits(context, opened.dataset, logits, split, Role::kNone, thresholds));
  return scores;
}

// The part people ask for: test where there is one, else all.
const std::pair<std::string, Score>& MainPart(const Scores& scores) {
  const bool has_test = scores.size() > 1 && scores[scores.size() - 2].first == "test";
  return has_test ? scores[scores.size() - 2] : scores.back();
}

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Figures of a score by name, as JSON and as text have them.
struct Figure {
  const char* key;
  const char* title;
  double Score::*value;
};
constexpr Figure kFigures[] = {{"macro_f1", "macro F1", &Score::macro_f1},
                               {"accuracy", "accuracy", &Score::accuracy},
                               {"balanced_accuracy", "balanced", &Score::balanced_accuracy},
                               {"roc_auc", "ROC AUC", &Score::roc_auc},
                               {"average_precision", "av. prec.", &Score::average_precision},
                               {"log_loss", "log loss", &Score::log_loss},
                               {"calibration_error", "calib. err.", &Score::calibration_error}};

// Those of a regression.
struct NumberFigure {
  const char* key;
  const char* title;
  double Score::Numbers::*value;
};
constexpr NumberFigure kNumberFigures[] = {{"r2", "R²", &Score::Numbers::r2},
                                           {"mae", "MAE", &Score::Numbers::mae},
                                           {"rmse", "RMSE", &Score::Numbers::rmse},
                                           {"spearman", "Spearman", &Score::Numbers::spearman}};

Json FiguresJson(const Score::Numbers& figures) {
  Json json;
  for (const NumberFigure& figure : kNumberFigures) json[figure.key] = NumberOrNull(figures.*figure.value);
  return json;
}

Json RegressionToJson(const Score& score) {
  Json json = {{"nodes", score.nodes}};
  json.update(FiguresJson(score.regression));
  json["baseline"] = {{"name", score.baseline}};
  json["baseline"].update(FiguresJson(score.regression_baseline));
  json["targets"] = Json::array();
  for (const Score::Target& target : score.targets) {
    Json one = {{"target", target.name}, {"count", target.count}};
    one.update(FiguresJson(target.model));
    one["baseline"] = FiguresJson(target.baseline);
    json["targets"].push_back(std::move(one));
  }
  return json;
}

Json ScoreToJson(const Score& score) {
  Json classes = Json::array(), bins = Json::array();
  for (const Score::Class& one : score.classes) {
    classes.push_back({{"class", one.name},
                       {"precision", one.precision},
                       {"recall", one.recall},
                       {"f1", one.f1},
                       {"roc_auc", NumberOrNull(one.roc_auc)},
                       {"average_precision", NumberOrNull(one.average_precision)},
                       {"count", one.count},
                       {"predicted", one.predicted}});
  }
  for (const Score::Bin& bin : score.calibration) {
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"count", bin.count},
                    {"probability", bin.probability},
                    {"frequency", bin.frequency}});
  }
  Json json = {{"nodes", score.nodes}, {"micro_f1", NumberOrNull(score.micro_f1)}};
  for (const Figure& figure : kFigures) json[figure.key] = NumberOrNull(score.*figure.value);
  json["baseline"] = score.baseline;
  json["baseline_f1"] = NumberOrNull(score.baseline_f1);
  json["baseline_macro_f1"] = NumberOrNull(score.baseline_macro_f1);
  json["classes"] = classes;
  json["calibration"] = bins;
  return json;
}

// A row a true class; multi-label: for each label [[true negative, false positive], [false negative, true
// positive]]. null where there are too many classes.
Json ConfusionJson(const Score& score, bool multilabel) {
  if (score.confusion.empty()) return nullptr;
  Json rows = Json::array();
  const size_t classes = score.classes.size(), columns = multilabel ? 4 : classes;
  for (size_t row = 0; row < classes; ++row) {
    const uint64_t* at = score.confusion.data() + row * columns;
    if (multilabel)
      rows.push_back({{at[0], at[1]}, {at[2], at[3]}});
    else
      rows.push_back(std::vector<uint64_t>(at, at + columns));
  }
  return rows;
}

std::string RegressionToJson(const RunData& opened, const Split& split, const Scores& scores) {
  Json object = {{"run", opened.run.directory},
                 {"dataset", ParseJson(DescribeDatasetJson(opened.dataset), "dataset")},
                 {"split", split.name}};
  for (const NumberFigure& figure : kNumberFigures) {
    for (const auto& [part, score] : scores)
      object[figure.key][part] = NumberOrNull(score.regression.*figure.value);
  }
  for (const auto& [part, score] : scores) object["scores"][part] = RegressionToJson(score);
  return JsonLine(object);
}

std::string ToJson(const RunData& opened, const Split& split, const Scores& scores) {
  if (opened.run.model.task() == Task::kRegression) return RegressionToJson(opened, split, scores);
  Json object = {{"run", opened.run.directory},
                 {"dataset", ParseJson(DescribeDatasetJson(opened.dataset), "dataset")},
                 {"split", split.name},
                 {"thresholds", opened.run.model.thresholds},
                 {"f1", Json::object()}};
  for (const auto& [part, score] : scores) object["f1"][part] = NumberOrNull(score.micro_f1);
  for (const Figure& figure : kFigures) {
    for (const auto& [part, score] : scores) object[figure.key][part] = NumberOrNull(score.*figure.value);
  }
  for (const auto& [part, score] : scores) {
    object["confusion"][part] = ConfusionJson(score, opened.run.model.multilabel);
    object["scores"][part] = ScoreToJson(score);
  }
  return JsonLine(object);
}

std::string FigureText(const Figure& figure, const Score& score) {
  const double value = score.*figure.value;
  if (figure.value != &Score::log_loss) return Percent(value);
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "–";
}

std::string PartsTable(const Scores& scores) {
  std::string text = fmt::format("  {:<6} {:>10} {:>9}", "part", "nodes", "micro F1");
  for (const Figure& figure : kFigures) text += fmt::format(" {:>11}", figure.title);
  text += "   baseline: micro, macro F1\n";
  for (const auto& [part, score] : scores) {
    text += fmt::format("  {:<6} {:>10} {:>9}", part, Grouped(score.nodes), Percent(score.micro_f1));
    for (const Figure& figure : kFigures) text += fmt::format(" {:>11}", FigureText(figure, score));
    text += fmt::format("   {}, {}\n", Percent(score.baseline_f1), Percent(score.baseline_macro_f1));
  }
  return text + fmt::format("  baseline: {}; in per cent but for the log loss\n",
                            OneLine(scores.back().second.baseline));
}

std::string ClassesTable(const std::string& part, const Score& score) {
  std::string text = fmt::format("\n  {} by class\n  {:<28} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", part,
                                 "class", "precision", "recall", "F1", "ROC AUC", "count", "predicted");
  for (const Score::Class& one : score.classes) {
    text += fmt::format("  {:<28} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", OneLine(one.name),
                        Percent(one.precision), Percent(one.recall), Percent(one.f1), Percent(one.roc_auc),
                        Grouped(one.count), Grouped(one.predicted));
  }
  return text;
}

// Only where it fits a screen; --confusion writes any.
std::string ConfusionTable(const Score& score) {
  constexpr size_t kMostShown = 12;
  const size_t classes = score.classes.size();
  if (classes > kMostShown || score.confusion.size() != classes * classes) return "";
  std::string text = fmt::format("\n  confusion: true class by row, predicted by column\n  {:<28}", "");
  for (const Score::Class& one : score.classes) text += fmt::format(" {:>8.8}", OneLine(one.name));
  for (size_t row = 0; row < classes; ++row) {
    text += fmt::format("\n  {:<28}", OneLine(score.classes[row].name));
    for (size_t col = 0; col < classes; ++col)
      text += fmt::format(" {:>8}", Grouped(score.confusion[row * classes + col]));
  }
  return text + "\n";
}

std::string NumbersRow(const std::string& part, const std::string& target, uint64_t nodes,
                       const Score::Numbers& model, const Score::Numbers& baseline) {
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4g}", value) : std::string("–");
  };
  std::string text = fmt::format("  {:<6} {:<20} {:>10}", part, OneLine(target), Grouped(nodes));
  for (const NumberFigure& figure : kNumberFigures)
    text += fmt::format(" {:>10}", number(model.*figure.value));
  return text + fmt::format("   {}, {}\n", number(baseline.mae), number(baseline.rmse));
}

// A row for each target, and one of their means where there are several.
std::string NumbersTable(const Scores& scores) {
  std::string text = fmt::format("  {:<6} {:<20} {:>10}", "part", "target", "nodes");
  for (const NumberFigure& figure : kNumberFigures) text += fmt::format(" {:>10}", figure.title);
  text += "   baseline: MAE, RMSE\n";
  for (const auto& [part, score] : scores) {
    if (score.targets.size() > 1)
      text += NumbersRow(part, "mean", score.nodes, score.regression, score.regression_baseline);
    for (const Score::Target& target : score.targets)
      text += NumbersRow(part, target.name, target.count, target.model, target.baseline);
  }
  return text + fmt::format("  baseline: {}\n", scores.back().second.baseline);
}

std::string ToText(const RunData& opened, const Split& split, const Scores& scores) {
  std::string text = fmt::format("{} on {}, split {}\n", opened.run.directory, OneLine(opened.dataset.name),
                                 OneLine(split.name));
  if (opened.run.model.task() == Task::kRegression) {
    text += NumbersTable(scores);
    text.pop_back();
    return text;
  }
  const auto& [part, score] = MainPart(scores);
  text += PartsTable(scores) + ClassesTable(part, score);
  if (!opened.run.model.multilabel) text += ConfusionTable(score);
  text.pop_back();
  return text;
}

// Before the work whose result goes there.
void CheckConfusionPath(const std::string& path) {
  if (path.empty() || path.ends_with(".csv") || path.ends_with(".svg")) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("--confusion {}: the name must end in .csv or .svg, which decides the format", path));
}

void RunEvaluate(Program& program, const EvaluateOptions& options, const Command& command) {
  CheckConfusionPath(options.confusion);
  CheckExactNames(options.exact_names, options.confusion);
  const Context context = program.MakeCommandContext();
  RunDataOptions source = options.source;
  KeepSplitColumn(options.split, source.data.open);
  const RunData opened = OpenRunData(context, source, command);
  if (opened.run.model.task() == Task::kRegression && !options.confusion.empty())
    throw Error(ErrorKind::kUsage, "--confusion: a regression confuses no classes; leave it out");
  if (PrintedPlan(program, context, opened)) return;
  const Split split = SplitToScore(opened, options.split);
  const Matrix logits = PredictLogits(context, opened.run.model, opened.dataset, &opened.run.split);
  if (!program.leads()) return;
  const Scores scores = ScoreParts(context, opened, logits, split);
  if (!options.confusion.empty()) {
    const auto& [part, score] = MainPart(scores);
    const std::string title =
        fmt::format("{} on {}, {} nodes", opened.run.directory, opened.dataset.name, part);
    ExportConfusion(score, opened.run.model.multilabel, title, options.confusion, options.exact_names);
  }
  program.terminal().Print(program.json() ? ToJson(opened, split, scores) : ToText(opened, split, scores));
}

}  // namespace

void AddEvaluate(Program& program) {
  auto options = std::make_shared<EvaluateOptions>();
  Command& command =
      program.AddCommand("evaluate", "Score a run: F1, AUC, log loss, classes, confusion matrix");
  program.OnRunByRanks(command, [&program, options, &command] { RunEvaluate(program, *options, command); });
  options->source.AddTo(command);
  command.add_option("--split", options->split, "Score this split's parts [the run's]")->type_name("SPLIT");
  command
      .add_option("--confusion", options->confusion,
                  "Write the test nodes' confusion matrix: .csv, or a picture .svg")
      ->type_name("FILE")
      ->group(kOutputGroup);
  AddExactNames(command, options->exact_names);
  program.AddComputeOptions(command);
  program.AddDryRun(command);
  command.Examples({"l2gcn evaluate my-run"});
}

}  // namespace l2gcn::cli
