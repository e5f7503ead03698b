// The paper's search. Each round draws train nodes, takes their induced subgraph, trains the layers on it
// full-batch with the real trainer, and asks for a decision every few epochs; the decisions count over all
// layers together.
//
//   warm-up rounds follow pre-drawn stops (4 in 5 random, 1 in 5 evenly spread), whose last decision always
//   stops; they do not depend on the controller, so they run in parallel, and their updates are applied in
//   order later rounds sample each action from the controller cost = final loss + weight · total epochs;
//   REINFORCE with a running baseline; Adam
//
// Unlike the released program, the log-probability scored is that of the action executed, not of one sampled
// and overruled.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "controller/search.h"
#include "core/clock.h"
#include "core/threads.h"
#include "data/filter.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

// What one training showed and did at each decision.
struct Episode {
  std::vector<std::vector<double>> inputs;
  std::vector<int> actions;
  double final_loss = 0, seconds = 0;
  uint32_t epochs = 0;
};

// Asks `choose` every `interval` epochs of the whole run; the last decision allowed ends the last layer, and
// each earlier layer must leave one decision to every layer after it.
class RecordingPolicy final : public StopPolicy {
 public:
  using Choose = std::function<bool(uint32_t decision, const std::vector<double>& inputs)>;
  RecordingPolicy(const SearchConfig& config, Episode& episode, Choose choose)
      : config_(config), episode_(episode), choose_(std::move(choose)) {}

  void BeginLayer(const LayerView& view) override { view_ = view; }
  uint32_t EpochsUntilDecision(uint32_t) const override { return config_.interval; }
  Decision Decide(const Observation& observation) override {
    const auto inputs =
        PaperInputs(observation.losses.back(), observation.losses.front(), view_.layer, view_.layers);
    const auto decision = static_cast<uint32_t>(episode_.actions.size());
    const uint32_t later_layers = view_.layers - view_.layer - 1;
    const bool must_stop = decision + 1 + later_layers >= config_.decisions;
    const bool stop = choose_(decision, inputs) || must_stop;
    episode_.inputs.push_back(inputs);
    episode_.actions.push_back(stop ? 1 : 0);
    return {stop};
  }
  std::string Name() const override { return "controller"; }

 private:
  const SearchConfig& config_;
  Episode& episode_;
  Choose choose_;
  LayerView view_;
};

class PaperSearch {
 public:
  PaperSearch(const Context& context, const Dataset& dataset, const SearchConfig& config,
              const Overrides& training)
      : context_(context),
        dataset_(dataset),
        config_(config),
        rollout_config_(RolloutConfig(dataset, config, training)) {
    // No layer's own budget ends it: the decisions do.
    rollout_config_.epochs = {config_.interval * config_.decisions};
    const Split split = ResolveSplit(dataset, rollout_config_.split, config.seed);
    CheckTrainSplit(context, dataset, split);
    train_ = NodesWithRole(split, Role::kTrain);
  }

  SearchState Start() const {
    SearchState state;
    state.net = PolicyNet(PaperShape(rollout_config_.layers, config_.decisions, config_.hidden),
                          RandomStream(config_.seed, RandomUse::kController));
    state.adam.lr = config_.lr;
    state.baseline = config_.baseline;
    return state;
  }

  void Round(SearchState& state) {
    const Episode episode =
        state.round < config_.warmup ? WarmUp(state.round) : Sampled(state.round, state.net);
    Learn(episode, state);
  }

  double trained_epochs() const { return trained_epochs_; }
  const TrainConfig& rollout_config() const { return rollout_config_; }

 private:
  // Pre-drawn rollouts, made for as many rounds ahead as there are threads.
  Episode WarmUp(uint32_t round) {
    if (ahead_.empty() || round < ahead_first_ || round >= ahead_first_ + ahead_.size()) {
      const uint32_t count =
          std::min(std::max(1u, context_.threads) * 4, std::min(config_.warmup, config_.rounds) - round);
      ahead_.assign(count, {});
      ahead_first_ = round;
      ParallelTasks(context_, count, [&](size_t task, uint32_t) {
        const uint32_t at = round + static_cast<uint32_t>(task);
        const std::vector<uint32_t> stops = DrawStops(at);
        ahead_[task] =
            Rollout(SingleThreaded(context_), at, [&](uint32_t decision, const std::vector<double>&) {
              return std::find(stops.begin(), stops.end(), decision) != stops.end();
            });
      });
    }
    return ahead_[round - ahead_first_];
  }

  // Decisions at which the layers stop; the last one is always the last decision.
  std::vector<uint32_t> DrawStops(uint32_t round) const {
    const uint32_t layers = rollout_config_.layers, last = config_.decisions - 1;
    std::vector<uint32_t> stops;
    if (round % 5 == 4) {
      for (uint32_t l = 1; l <= layers; ++l) stops.push_back(config_.decisions * l / layers - 1);
      return stops;
    }
    const Permutation order(last, RandomStream(config_.seed, RandomUse::kController, 1, round));
    for (uint32_t l = 0; l + 1 < layers; ++l) stops.push_back(order(l));
    std::sort(stops.begin(), stops.end());
    stops.push_back(last);
    return stops;
  }

  Episode Sampled(uint32_t round, const PolicyNet& net) {
    const RandomStream stream(config_.seed, RandomUse::kController, 2, round);
    std::optional<PolicyNet::Step> before;
    return Rollout(context_, round, [&](uint32_t decision, const std::vector<double>& inputs) {
      PolicyNet::Step step =
          net.Decide(before ? &*before : nullptr, inputs,
                     2 * decision + static_cast<uint32_t>(before ? before->action : 0), decision);
      step.action = static_cast<double>(stream.Uniform(decision)) < step.probability[1] ? 1 : 0;
      const bool stop = step.action == 1;
      before = std::move(step);
      return stop;
    });
  }

  // One training on the subgraph of freshly drawn train nodes. In the transductive setting the sample also
  // holds the same share of the other nodes.
  Episode Rollout(Context context, uint32_t round, RecordingPolicy::Choose choose) const {
    context.on_progress = nullptr;
    context.on_note = nullptr;
    context.on_warning = nullptr;
    const auto total = static_cast<uint32_t>(train_.size());
    const uint32_t count = config_.nodes == 0 ? total : std::min(config_.nodes, total);
    const Permutation order(total, RandomStream(config_.seed, RandomUse::kController, 3, round));
    std::vector<uint32_t> nodes(count);
    for (uint32_t i = 0; i < count; ++i) nodes[i] = train_[order(i)];
    if (rollout_config_.transductive) {
      const RandomStream others(config_.seed, RandomUse::kController, 7, round);
      const double share = static_cast<double>(count) / total;
      for (uint32_t node : DrawOthers(dataset_.nodes(), train_, share, others)) nodes.push_back(node);
    }
    const Dataset sample = KeepNodes(context, dataset_, nodes);
    Split split{"sample", Array<uint8_t>::Filled(nodes.size(), static_cast<uint8_t>(Role::kNone))};
    std::fill_n(split.roles.mutable_data(), count, static_cast<uint8_t>(Role::kTrain));
    TrainConfig config = rollout_config_;
    config.seed = config_.seed + round;
    Episode episode;
    RecordingPolicy policy(config_, episode, std::move(choose));
    const Trained trained = FitLayerwise(context, sample, split, config, policy).trained;
    for (const SeedResult::Layer& layer : trained.result.layers) episode.epochs += layer.epochs;
    episode.final_loss = trained.result.layers.back().losses.back();
    episode.seconds = trained.result.seconds.train;
    return episode;
  }

  // REINFORCE on the actions executed.
  void Learn(const Episode& episode, SearchState& state) {
    std::vector<PolicyNet::Step> steps;
    int last_action = 0;
    for (size_t t = 0; t < episode.actions.size(); ++t) {
      const auto decision = static_cast<uint32_t>(t);
      steps.push_back(state.net.Decide(steps.empty() ? nullptr : &steps.back(), episode.inputs[t],
                                       2 * decision + static_cast<uint32_t>(last_action), decision));
      steps.back().action = last_action = episode.actions[t];
      state.probability_sum += steps.back().probability[1];
      state.probability_count += 1;
    }
    const double spent = config_.cost == SearchConfig::Cost::kSeconds ? episode.seconds : episode.epochs;
    const double cost = episode.final_loss + config_.cost_weight * spent;
    state.baseline = config_.baseline_decay * state.baseline + (1 - config_.baseline_decay) * cost;
    std::vector<double> gradient(state.net.shape().size(), 0.0);
    state.net.AccumulateGradient(steps, cost - state.baseline, 0, gradient);
    state.adam.Update(state.net.mutable_weights(), gradient);
    state.curve.push_back({state.round, cost, static_cast<double>(episode.epochs), std::nan("")});
    trained_epochs_ += episode.epochs;
  }

  const Context& context_;
  const Dataset& dataset_;
  const SearchConfig& config_;
  TrainConfig rollout_config_;
  std::vector<uint32_t> train_;
  std::vector<Episode> ahead_;
  uint32_t ahead_first_ = 0;
  double trained_epochs_ = 0;
};

}  // namespace

Controller SearchPaper(const Context& context, const Dataset& dataset, const SearchConfig& config,
                       const Overrides& training, SearchResult& result) {
  PaperSearch search(context, dataset, config, training);
  SearchState state = search.Start();
  RunRounds(context, config, state, [&](SearchState& s) { search.Round(s); });
  auto impl = std::make_shared<ControllerImpl>();
  impl->kind = SearchConfig::Kind::kPaper;
  impl->net = state.net;
  impl->layers = search.rollout_config().layers;
  impl->interval = config.interval;
  impl->threshold = config.threshold > 0 ? config.threshold
                                         : state.probability_sum / std::max(1.0, state.probability_count);
  impl->min_epochs = config.min_epochs;
  impl->max_epochs = config.max_epochs;
  impl->learned_on = dataset.name;
  impl->rounds = config.rounds;
  result.curve = state.curve;
  result.trained_epochs = search.trained_epochs();
  return Controller(impl);
}

}  // namespace l2gcn
