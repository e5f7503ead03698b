// The learned stop against its baselines, on the same sets, seeds, splits and shuffles:
//
//   fixed        every layer runs its budget (80 epochs): the point of comparison
//   controller   the shipped controller, or --controller FILE
//   early-loss   patience 10 on the training loss
//   early-val    patience 10 on validation F1, going back to the best weights
//   random       each layer stops at a random epoch, with the controller's own mean length on that set
//   oracle       the best pair of stops in hindsight, judged on the test nodes: no policy can do better
//
// J = points of test F1 lost against fixed + 2 × share of its epochs. The mean is over sets; its standard
// error, and that of the difference to the controller, over seeds.
//
// usage: stopping_table [--runs N] [--data-dir DIR] [--controller FILE] [--json FILE] [DATASET…]
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/learned_stop.h"
#include "controller/rollout_tree.h"
#include "core/rng.h"
#include "l2gcn/controller.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

const std::vector<std::string> kPolicies = {"fixed",     "controller", "early-loss",
                                            "early-val", "random",     "oracle"};

struct Options {
  uint32_t runs = 10;
  std::string data_dir, controller, json;
  std::vector<std::string> datasets;
};

struct Outcome {
  double f1 = 0;               // test, in points
  double share = 0;            // epochs used, as a share of the budget's
  std::vector<double> epochs;  // per layer
};

// Stops each layer at an epoch drawn uniformly from 1 … 2·mean − 1.
class RandomStop final : public StopPolicy {
 public:
  RandomStop(std::vector<double> mean, uint64_t seed) : mean_(std::move(mean)), seed_(seed) {}
  void BeginLayer(const LayerView& view) override {
    const double mean = mean_[view.layer];
    // Near the budget a symmetric draw would be cut off and fall short of the mean.
    const double reach = std::min(mean - 1, view.budget - mean);
    const RandomStream stream(seed_, RandomUse::kController, 99, view.layer);
    stop_ =
        static_cast<uint32_t>(std::lround(mean + reach * (2.0 * static_cast<double>(stream.Uniform(0)) - 1)));
  }
  uint32_t EpochsUntilDecision(uint32_t epoch) const override { return stop_ > epoch ? stop_ - epoch : 1; }
  Decision Decide(const Observation&) override { return {true}; }
  std::string Name() const override { return "random"; }

 private:
  std::vector<double> mean_;
  uint64_t seed_;
  uint32_t stop_ = 1;
};

Outcome Measure(const Context& context, const Dataset& dataset, const TrainConfig& config,
                StopPolicy& policy) {
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  Trained trained = FitLayerwise(context, dataset, split, config, policy);
  EvaluateTrained(context, dataset, trained);
  Outcome outcome;
  outcome.f1 = 100 * trained.result.f1_test;
  double budget = 0, spent = 0;
  for (uint32_t layer = 0; layer < config.layers; ++layer) {
    outcome.epochs.push_back(trained.result.layers[layer].epochs);
    spent += trained.result.layers[layer].epochs;
    budget += config.EpochsOf(layer);
  }
  outcome.share = spent / budget;
  return outcome;
}

// All pairs of stops of two layers; the one of lowest J.
Outcome Oracle(const Context& context, const Dataset& dataset, const TrainConfig& config, double fixed_f1) {
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  RolloutTree tree(context, dataset, config, NodesWithRole(split, Role::kTrain),
                   NodesWithRole(split, Role::kTest));
  const std::vector<uint32_t> first = tree.Trace({}).decisions;
  Outcome best;
  double best_j = 1e300;
  for (uint32_t a = 0; a < first.size(); ++a) {
    const LayerTrace& second = tree.Trace({a});
    for (size_t b = 0; b < second.decisions.size(); ++b) {
      const double share = static_cast<double>(first[a] + second.decisions[b]) / tree.TotalBudget();
      const double j = fixed_f1 - 100 * second.f1[b] + 2 * share;
      if (j < best_j) {
        best_j = j;
        best = {100 * second.f1[b],
                share,
                {static_cast<double>(first[a]), static_cast<double>(second.decisions[b])}};
      }
    }
  }
  return best;
}

// outcomes[policy][seed] of one set.
using SetOutcomes = std::map<std::string, std::vector<Outcome>>;

SetOutcomes MeasureSet(const Context& context, const Dataset& dataset, const Controller& controller,
                       uint32_t runs) {
  TrainConfig config = ResolveConfig(
      {{"preset", "paper"}, {"method", "lgcn"}, {"epochs", "80"}, {"layers", "2"}, {"drop-last", "false"}},
      dataset);
  SetOutcomes outcomes;
  std::vector<double> mean(config.layers, 0.0);
  for (uint32_t seed = 0; seed < runs; ++seed) {
    config.seed = seed;
    FixedEpochs fixed;
    outcomes["fixed"].push_back(Measure(context, dataset, config, fixed));
    const auto learned = MakeLearnedStop(controller, PriorLoss(dataset.labels));
    outcomes["controller"].push_back(Measure(context, dataset, config, *learned));
    for (uint32_t l = 0; l < config.layers; ++l) mean[l] += outcomes["controller"].back().epochs[l] / runs;
    EarlyStopping early_loss(10, Watch::kLoss), early_val(10, Watch::kValidationF1);
    outcomes["early-loss"].push_back(Measure(context, dataset, config, early_loss));
    outcomes["early-val"].push_back(Measure(context, dataset, config, early_val));
    outcomes["oracle"].push_back(Oracle(context, dataset, config, outcomes["fixed"].back().f1));
  }
  for (uint32_t seed = 0; seed < runs; ++seed) {
    config.seed = seed;
    RandomStop random(mean, seed);
    outcomes["random"].push_back(Measure(context, dataset, config, random));
  }
  return outcomes;
}

std::pair<double, double> MeanAndError(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (double value : values) squares += (value - mean) * (value - mean);
  const double n = static_cast<double>(values.size());
  return {mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}

double JOf(const SetOutcomes& set, const std::string& policy, size_t seed) {
  return set.at("fixed")[seed].f1 - set.at(policy)[seed].f1 + 2 * set.at(policy)[seed].share;
}

void PrintSet(const std::string& name, const SetOutcomes& set, nlohmann::ordered_json& json) {
  for (const std::string& policy : kPolicies) {
    std::vector<double> f1, share, j, first, second;
    for (size_t seed = 0; seed < set.at(policy).size(); ++seed) {
      const Outcome& outcome = set.at(policy)[seed];
      f1.push_back(outcome.f1);
      share.push_back(100 * outcome.share);
      first.push_back(outcome.epochs[0]);
      second.push_back(outcome.epochs[1]);
      j.push_back(JOf(set, policy, seed));
    }
    fmt::print("{:<22} {:<11} {:6.2f} ± {:4.2f}  {:5.1f} + {:5.1f}  {:5.1f} %  {:6.2f} ± {:4.2f}\n",
               policy == "fixed" ? name : "", policy, MeanAndError(f1).first, MeanAndError(f1).second,
               MeanAndError(first).first, MeanAndError(second).first, MeanAndError(share).first,
               MeanAndError(j).first, MeanAndError(j).second);
    json[name][policy] = {{"f1", f1}, {"epochs_1", first}, {"epochs_2", second}, {"j", j}};
  }
}

// Means over sets, and how far the controller is from each baseline in standard errors over seeds.
void PrintSummary(const std::vector<SetOutcomes>& sets, uint32_t runs, nlohmann::ordered_json& json) {
  fmt::print("\n{:<11} {:>15} {:>12} {:>9} {:>26}\n", "mean", "J", "F1 lost", "epochs",
             "J minus controller's J");
  for (const std::string& policy : kPolicies) {
    std::vector<double> j, difference, lost, share;
    for (uint32_t seed = 0; seed < runs; ++seed) {
      double mean_j = 0, mean_difference = 0, mean_lost = 0, mean_share = 0;
      for (const SetOutcomes& set : sets) {
        const double n = static_cast<double>(sets.size());
        mean_j += JOf(set, policy, seed) / n;
        mean_difference += (JOf(set, policy, seed) - JOf(set, "controller", seed)) / n;
        mean_lost += (set.at("fixed")[seed].f1 - set.at(policy)[seed].f1) / n;
        mean_share += 100 * set.at(policy)[seed].share / n;
      }
      j.push_back(mean_j);
      difference.push_back(mean_difference);
      lost.push_back(mean_lost);
      share.push_back(mean_share);
    }
    const auto [dj, error] = MeanAndError(difference);
    fmt::print("{:<11} {:6.3f} ± {:5.3f} {:12.2f} {:7.1f} % {:8.3f} ± {:5.3f}{}\n", policy,
               MeanAndError(j).first, MeanAndError(j).second, MeanAndError(lost).first,
               MeanAndError(share).first, dj, error,
               error > 0 ? fmt::format(" ({:+.1f} se)", dj / error) : "");
    json["mean"][policy] = {{"j", MeanAndError(j).first},
                            {"j_se", MeanAndError(j).second},
                            {"f1_lost", MeanAndError(lost).first},
                            {"epoch_share", MeanAndError(share).first},
                            {"j_minus_controller", dj},
                            {"j_minus_controller_se", error}};
  }
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) throw Error(ErrorKind::kUsage, word + ": expected a value");
      return std::string(argv[++i]);
    };
    if (word == "--runs")
      options.runs = static_cast<uint32_t>(std::stoul(value()));
    else if (word == "--data-dir")
      options.data_dir = value();
    else if (word == "--controller")
      options.controller = value();
    else if (word == "--json")
      options.json = value();
    else
      options.datasets.push_back(word);
  }
  if (options.datasets.empty())
    options.datasets = {"cora", "pubmed", "citeseer", "amazon_photo", "musae-facebook"};
  return options;
}

int Run(const Options& options) {
  const Context context = MakeContext();
  const Controller controller =
      options.controller.empty() ? Controller::Shipped("general") : Controller::Load(options.controller);
  OpenOptions open;
  open.data_dir = options.data_dir;
  nlohmann::ordered_json json;
  std::vector<SetOutcomes> sets;
  fmt::print("{:<22} {:<11} {:>13}  {:>13}  {:>7}  {:>13}\n", "set", "stop", "test F1", "epochs", "share",
             "J");
  for (const std::string& name : options.datasets) {
    const Dataset dataset = OpenDataset(context, name, open);
    sets.push_back(MeasureSet(context, dataset, controller, options.runs));
    PrintSet(name, sets.back(), json);
    std::fflush(stdout);
  }
  PrintSummary(sets, options.runs, json);
  if (!options.json.empty()) std::ofstream(options.json) << json.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace l2gcn

int main(int argc, char** argv) {
  try {
    return l2gcn::Run(l2gcn::Parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "stopping_table: {}\n", error.what());
    return 2;
  }
}
