// Every constant of a search, declared once.
#include <limits>
#include <set>
#include <string>

#include "config/field_builders.h"
#include "controller/search_choices.h"
#include "l2gcn/controller.h"

namespace l2gcn {
namespace {

constexpr uint32_t kMany = 1000000;
constexpr double kInfinity = std::numeric_limits<double>::max();

// A number, or one of two words.
SearchField BatchField() {
  using Kind = SearchConfig::Batch::Kind;
  SearchField field;
  field.name = "rollout-batch";
  field.placeholder = "full|preset|N";
  field.help = "Batch of the sampled trainings: the whole sample, the data set's own, or N nodes.";
  field.set = [](SearchConfig& config, const std::string& value) {
    if (const Kind* word = FindChoice<Kind>(kRolloutBatchNames, value)) {
      config.batch = {*word, 0};
    } else {
      config.batch = {Kind::kNodes, ParseCount("rollout-batch", value, 1, kMany * 1000)};
    }
  };
  field.get = [](const SearchConfig& config) {
    return config.batch.kind == Kind::kNodes ? fmt::format("{}", config.batch.nodes)
                                             : NameOf<Kind>(kRolloutBatchNames, config.batch.kind);
  };
  return field;
}

std::vector<SearchField> MakeSearchFields() {
  using C = SearchConfig;
  const RealRange positive{0, kInfinity, true, false, "above 0"},
      not_negative{0, kInfinity, false, false, "of 0 or more"};
  const RealRange share{0, 1, false, false, "from 0 to 1"};
  return {
      ChoiceField("kind", &C::kind, kControllerKindNames,
                  "general: any data set, depth and run length; paper: the paper's controller."),
      WholeField("rounds", &C::rounds, 0, kMany, "Updates of the controller; 0: 400, paper 50 (Reddit 200)."),
      WholeField("warmup", &C::warmup, 0, kMany, "Kind paper: first rounds, which follow pre-drawn stops."),
      WholeField("nodes", &C::nodes, 0, kMany * 1000, "Train nodes of each sampled subgraph; 0: all."),
      BatchField(),
      WholeField("problems", &C::problems, 1, kMany, "Kind general: subgraphs drawn from each data set."),
      RealField(
          "lr-spread", &C::lr_spread, {1, 1000, false, false, "from 1 to 1000"},
          "Kind general: each subgraph's learning rate is multiplied or divided by up to this, so that the "
          "controller meets fast and slow trainings."),
      WholeField("interval", &C::interval, 0, kMany,
                 "Kind paper: epochs between decisions; 0: 10, PPI 50. Kind general: 1/16 of the budget."),
      WholeField("decisions", &C::decisions, 0, 10000,
                 "Kind paper: decisions of a training over all layers; 0: 20, Reddit 40."),
      WholeField("state", &C::hidden, 2, 1024, "Width of the recurrent state."),
      RealField("search-lr", &C::lr, positive, "Adam's learning rate for the controller."),
      ChoiceField("sees", &C::sees, kControllerSeesNames,
                  "Kind general: whether the controller sees validation scores, too, or training losses "
                  "alone."),
      ChoiceField("reward", &C::reward, kSearchRewardNames,
                  "What a training is worth: its final loss or its validation F1."),
      ChoiceField(
          "evaluation-split", &C::evaluation_split, kEvaluationSplitNames,
          "Kind general, reward f1: the nodes scored. val: validation nodes, of which half are shown to a "
          "controller that sees them; test: test nodes, for generated graphs."),
      RealField(
          "layer-weight", &C::layer_weight, not_negative,
          "Kind general, reward f1: weight of what each layer but the last loses as a classifier of its "
          "own."),
      RealField(
          "regret-cap", &C::regret_cap, positive,
          "Kind general: a training costs at most this more than the best stops in hindsight, so that no "
          "data set outweighs the others."),
      ChoiceField("cost", &C::cost, kSearchCostNames,
                  "What a training costs; measured seconds are not repeatable."),
      RealField("cost-weight", &C::cost_weight, not_negative,
                "Price of the cost: per epoch for kind paper, of the whole budget for general; 0: 0.0001, "
                "0.05 or 2 points."),
      RealField("baseline", &C::baseline, not_negative, "Kind paper: where the running baseline starts."),
      RealField("baseline-decay", &C::baseline_decay, share,
                "Kind paper: how much of the baseline stays each round."),
      RealField("entropy", &C::entropy, not_negative,
                "Kind general: bonus for exploring, fading over the search."),
      WholeField("rollouts", &C::rollouts, 2, 10000, "Kind general: episodes of each problem and round."),
      RealField("threshold", &C::threshold, share, "Probability at which a layer stops; 0: learned."),
      WholeField("min-epochs", &C::min_epochs, 0, kMany,
                 "Kind paper: a layer runs longer than this; 0: 35, PPI 175."),
      WholeField("max-epochs", &C::max_epochs, 0, kMany, "Kind paper: and not past this; 0: 95, PPI 475."),
      SeedField(&C::seed),
  };
}

// Most constants suit every data set and are for config files alone.
FieldText::Level LevelOf(const std::string& name) {
  static const std::set<std::string> basic = {"kind", "rounds", "nodes", "seed"};
  static const std::set<std::string> advanced = {"rollout-batch", "problems",    "sees",    "reward",
                                                 "cost",          "cost-weight", "rollouts"};
  return basic.contains(name)      ? FieldText::Level::kBasic
         : advanced.contains(name) ? FieldText::Level::kAdvanced
                                   : FieldText::Level::kPreset;
}

}  // namespace

const std::vector<SearchField>& SearchFields() {
  static const std::vector<SearchField> fields = [] {
    std::vector<SearchField> all = MakeSearchFields();
    for (SearchField& field : all) {
      field.group = "Controller";
      field.level = LevelOf(field.name);
    }
    return all;
  }();
  return fields;
}

}  // namespace l2gcn
