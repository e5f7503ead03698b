// l2gcn evaluate: how good a run is, overall and class by class, beside what guessing would score.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "program.h"
#include "run_data.h"

namespace l2gcn::cli {
namespace {

using Json = nlohmann::ordered_json;
using Scores = std::vector<std::pair<std::string, Score>>;  // part of the split, how it scored

struct EvaluateOptions {
  RunDataOptions source;
  std::string split;
};

// The user's split, else the run's where this data set can be split that way, else the data set's own.
Split SplitToScore(const RunData& opened, const std::string& wanted) {
  const TrainConfig& config = opened.run.model.config;
  if (!wanted.empty()) return ResolveSplit(opened.dataset, wanted, config.seed);
  const std::vector<Split>& own = opened.dataset.splits;
  const bool brought =
      std::any_of(own.begin(), own.end(), [&](const Split& one) { return one.name == config.split; });
  const bool drawn = config.split.rfind("random:", 0) == 0;
  return ResolveSplit(opened.dataset, brought || drawn ? config.split : "", config.seed);
}

Scores ScoreParts(const Dataset& dataset, const Matrix& logits, const Split& split) {
  constexpr std::pair<const char*, Role> kParts[] = {
      {"train", Role::kTrain}, {"val", Role::kVal}, {"test", Role::kTest}};
  Scores scores;
  for (const auto& [name, role] : kParts) {
    const auto wanted = static_cast<uint8_t>(role);
    if (std::find(split.roles.begin(), split.roles.end(), wanted) == split.roles.end()) continue;
    scores.emplace_back(name, ScoreLogits(dataset, logits, split, role));
  }
  scores.emplace_back("all", ScoreLogits(dataset, logits, split, Role::kNone));
  return scores;
}

Json ScoreToJson(const Score& score) {
  Json classes = Json::array();
  for (const ClassScore& one : score.classes) {
    classes.push_back({{"class", one.name},
                       {"precision", one.precision},
                       {"recall", one.recall},
                       {"f1", one.f1},
                       {"count", one.count}});
  }
  return {{"nodes", score.nodes},
          {"micro_f1", score.micro_f1},
          {"macro_f1", score.macro_f1},
          {"baseline_f1", score.baseline_f1},
          {"classes", classes}};
}

std::string ToJson(const RunData& opened, const Split& split, const Scores& scores) {
  Json object = {{"run", opened.run.directory},
                 {"dataset", Json::parse(DescribeDatasetJson(opened.dataset))},
                 {"split", split.name},
                 {"f1", Json::object()},
                 {"scores", Json::object()}};
  for (const auto& [part, score] : scores) {
    object["f1"][part] = score.micro_f1;
    object["scores"][part] = ScoreToJson(score);
  }
  return object.dump();
}

std::string ToText(const RunData& opened, const Split& split, const Scores& scores) {
  const char* baseline = opened.run.model.multilabel ? "all labels on" : "majority class";
  std::string text =
      fmt::format("{} on {}, split {}\n", opened.run.directory, opened.dataset.name, split.name);
  text += fmt::format("  {:<6} {:>10} {:>9} {:>9}   {}\n", "part", "nodes", "micro F1", "macro F1", baseline);
  for (const auto& [part, score] : scores) {
    text += fmt::format("  {:<6} {:>10} {:>9} {:>9}   {}\n", part, Grouped(score.nodes),
                        Percent(score.micro_f1), Percent(score.macro_f1), Percent(score.baseline_f1));
  }
  // Class by class for the test nodes where there are any, else for all.
  const bool has_test = scores.size() > 1 && scores[scores.size() - 2].first == "test";
  const auto& [part, last] = has_test ? scores[scores.size() - 2] : scores.back();
  text += fmt::format("\n  {} by class\n  {:<28} {:>9} {:>9} {:>9} {:>9}\n", part, "class", "precision",
                      "recall", "F1", "count");
  for (const ClassScore& one : last.classes) {
    text += fmt::format("  {:<28} {:>9} {:>9} {:>9} {:>9}\n", one.name, Percent(one.precision),
                        Percent(one.recall), Percent(one.f1), Grouped(one.count));
  }
  text.pop_back();
  return text;
}

void RunEvaluate(Program& program, const EvaluateOptions& options, const CLI::App& command) {
  const Context context = program.MakeCommandContext();
  const RunData opened = OpenRunData(context, options.source, command);
  const Split split = SplitToScore(opened, options.split);
  const Matrix logits = PredictLogits(context, opened.run.model, opened.dataset);
  const Scores scores = ScoreParts(opened.dataset, logits, split);
  program.terminal().Print(program.json() ? ToJson(opened, split, scores) : ToText(opened, split, scores));
}

}  // namespace

void AddEvaluate(Program& program) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App& command =
      program.AddCommand("evaluate", "F1, per-class precision and recall, and the trivial baseline");
  program.OnRun(command, [&program, options, &command] { RunEvaluate(program, *options, command); });
  options->source.AddTo(command);
  command.add_option("--split", options->split, "Score this split's parts [the run's]")->type_name("SPLIT");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli
