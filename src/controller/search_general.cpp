// The search for a general controller. From each data set a few problems are drawn (a subgraph, a seed); a
// RolloutTree answers what stopping at any decision of any layer would have led to. Each round plays several
// sampled episodes on every problem and updates by REINFORCE with the problem's own mean as baseline;
// problems are spread over threads, and their gradients summed in order.
//
//   cost of an episode, reward `loss`: final loss / prior loss + weight · share of the budget spent
//                       reward `f1`:   points of F1 lost against the full budget + layer weight · points each
//                                      layer before it lost as a classifier of its own + weight · share
//
// and what counts is how far it exceeds the cost of the best stops in hindsight, up to a cap. Inner layers
// are scored on their own, too: on generated graphs a later layer makes up for whatever an earlier one missed,
// on real graphs it does not.
//
// Now and then the policy is played as it will be used (stop at the threshold); the weights that did best are
// kept, and the threshold is the best of a small grid.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "controller/rollout_tree.h"
#include "controller/search.h"
#include "core/clock.h"
#include "core/error_format.h"
#include "core/threads.h"
#include "data/filter.h"
#include "l2gcn/ranks.h"
#include "ranks/collectives.h"
#include "train/layerwise_trainer.h"

namespace l2gcn {
namespace {

constexpr uint32_t kGreedyEvery = 10;
constexpr double kFirstReluctance = 2;  // in logits
constexpr double kThresholds[] = {0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7};

struct Outcome {
  double cost = 0, epochs = 0;
  std::vector<PolicyNet::Step> steps;
};

// One training problem: a sample of a data set and all its outcomes.
struct Problem {
  std::unique_ptr<Dataset> sample;
  std::unique_ptr<RolloutTree> tree;
  double full_f1 = 0;  // with every layer at its budget
  double full_seconds = 1;
  double least_cost = 0;  // what the best stops in hindsight cost
  std::vector<double> gradient, entropy_gradient;
  double spread = 0;  // standard deviation of the costs of the round's episodes
  double mean_cost = 0, mean_epochs = 0, greedy_cost = 0;
};

class GeneralSearch {
 public:
  GeneralSearch(const Context& context, const std::vector<Dataset>& datasets, const SearchConfig& config,
                const Overrides& training)
      : context_(context), config_(config), problems_(datasets.size() * config.problems) {
    for (size_t task = 0; task < problems_.size(); ++task) {
      if (context_.ranks == nullptr || task % context_.ranks->size() == context_.ranks->rank())
        own_.push_back(task);
    }
    ParallelTasks(context_, own_.size(), [&](size_t at, uint32_t) {
      const size_t task = own_[at];
      context_.CheckCancelled();
      Draw(datasets[task / config_.problems], static_cast<uint32_t>(task), training, problems_[task]);
      ReportDrawn();
    });
  }

  SearchState Start() const {
    SearchState state;
    state.net = PolicyNet(GeneralShape(config_.hidden, config_.sees == SearchConfig::Sees::kValidation),
                          RandomStream(config_.seed, RandomUse::kController));
    // One decision in eight stops at first: episodes of all lengths are tried before any is preferred.
    state.net.mutable_weights()[state.net.shape().gate_weights() + 2 * (config_.hidden + 1) - 1] -=
        kFirstReluctance;
    state.adam.lr = config_.lr;
    state.best_cost = std::numeric_limits<double>::max();
    return state;
  }

  void Round(SearchState& state) {
    const double left = 1 - static_cast<double>(state.round) / config_.rounds;
    const bool measure = state.round % kGreedyEvery == 0 || state.round + 1 == config_.rounds;
    ParallelTasks(context_, own_.size(), [&](size_t at, uint32_t) {
      const size_t task = own_[at];
      Play(state, static_cast<uint32_t>(task), config_.entropy * left, problems_[task]);
      if (measure) problems_[task].greedy_cost = Greedy(problems_[task], state.net, 0.5).cost;
    });
    ShareProblems(state.net.shape().size());
    std::vector<double> gradient(state.net.shape().size(), 0.0);
    SearchResult::Round record{state.round, 0, 0, std::nan("")};
    // Costs are measured in the round's own spread, the same for all problems: where more is at stake, more
    // is learned.
    double greedy = 0, spread = 1e-6;
    for (const Problem& problem : problems_) spread += problem.spread / Count();
    for (const Problem& problem : problems_) {
      for (size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] += (problem.gradient[i] / spread + problem.entropy_gradient[i]) / Count();
      }
      record.cost += problem.mean_cost / Count();
      record.epochs += problem.mean_epochs / Count();
      greedy += problem.greedy_cost / Count();
    }
    if (measure) {
      record.greedy_cost = greedy;
      if (greedy < state.best_cost) {
        state.best_cost = greedy;
        state.best_weights = state.net.weights();
      }
    }
    state.curve.push_back(record);
    state.adam.Update(state.net.mutable_weights(), gradient);
  }

  // The threshold of lowest mean cost; the middle one among equals, so that it does not sit on an edge.
  double BestThreshold(const PolicyNet& net) {
    std::vector<double> costs;
    for (double threshold : kThresholds) {
      std::vector<double> of_problems(problems_.size());
      for (const size_t task : own_) of_problems[task] = Greedy(problems_[task], net, threshold).cost;
      ShareNumbers(1, of_problems);
      double sum = 0;
      for (const double cost : of_problems) sum += cost;
      costs.push_back(sum / Count());
    }
    const double best = *std::min_element(costs.begin(), costs.end());
    std::vector<double> good;
    for (size_t i = 0; i < costs.size(); ++i) {
      if (costs[i] <= best + 1e-9) good.push_back(kThresholds[i]);
    }
    return good[good.size() / 2];
  }

  double TrainedEpochs() const {
    std::vector<double> of_problems(problems_.size());
    for (const size_t task : own_)
      of_problems[task] = static_cast<double>(problems_[task].tree->trained_epochs());
    ShareNumbers(1, of_problems);
    double total = 0;
    for (const double epochs : of_problems) total += epochs;
    return total;
  }

 private:
  // Everyone's numbers of its own problems (problems × each), to all ranks.
  void ShareNumbers(size_t each, std::vector<double>& numbers) const {
    if (context_.ranks == nullptr) return;
    Ranks& ranks = *context_.ranks;
    std::string mine;
    for (const size_t task : own_)
      mine.append(reinterpret_cast<const char*>(numbers.data() + task * each), each * sizeof(double));
    const std::vector<std::string> all = AllGatherText(ranks, mine);
    for (size_t task = 0; task < problems_.size(); ++task) {
      const std::string& from = all[task % ranks.size()];
      std::memcpy(numbers.data() + task * each, from.data() + task / ranks.size() * each * sizeof(double),
                  each * sizeof(double));
    }
  }

  // What a round learned from each problem, to all ranks.
  void ShareProblems(size_t weights) {
    if (context_.ranks == nullptr) return;
    const size_t each = 2 * weights + 4;
    std::vector<double> numbers(problems_.size() * each);
    for (const size_t task : own_) {
      const Problem& problem = problems_[task];
      double* at = numbers.data() + task * each;
      at = std::copy(problem.gradient.begin(), problem.gradient.end(), at);
      at = std::copy(problem.entropy_gradient.begin(), problem.entropy_gradient.end(), at);
      for (const double value : {problem.spread, problem.mean_cost, problem.mean_epochs, problem.greedy_cost})
        *at++ = value;
    }
    ShareNumbers(each, numbers);
    for (size_t task = 0; task < problems_.size(); ++task) {
      Problem& problem = problems_[task];
      const double* at = numbers.data() + task * each;
      problem.gradient.assign(at, at + weights);
      problem.entropy_gradient.assign(at + weights, at + 2 * weights);
      problem.spread = at[2 * weights];
      problem.mean_cost = at[2 * weights + 1];
      problem.mean_epochs = at[2 * weights + 2];
      problem.greedy_cost = at[2 * weights + 3];
    }
  }

  double Count() const { return static_cast<double>(problems_.size()); }

  void ReportDrawn() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++drawn_;
    if (!context_.on_progress) return;
    Progress progress;
    progress.phase = "train samples";
    progress.epoch = drawn_;
    progress.epochs = static_cast<uint32_t>(own_.size());
    progress.seconds_left = watch_.Seconds() / drawn_ * (progress.epochs - drawn_);
    context_.on_progress(progress);
  }

  // The nodes of one sample.
  struct Roles {
    std::vector<uint32_t> train, shown, scored;
  };

  // At most `nodes` of each role, at random.
  Roles DrawRoles(const Dataset& dataset, const Split& split, uint64_t seed, uint32_t task) const {
    const auto draw = [&](Role role, uint32_t stream) {
      std::vector<uint32_t> all = NodesWithRole(split, role);
      if (all.empty()) return all;
      const uint32_t count = config_.nodes == 0
                                 ? static_cast<uint32_t>(all.size())
                                 : std::min<uint32_t>(config_.nodes, static_cast<uint32_t>(all.size()));
      const Permutation order(static_cast<uint32_t>(all.size()),
                              RandomStream(seed, RandomUse::kController, 4 + stream, task));
      std::vector<uint32_t> picked(count);
      for (uint32_t i = 0; i < count; ++i) picked[i] = all[order(i)];
      return picked;
    };
    const bool shows = config_.sees == SearchConfig::Sees::kValidation,
               scores = config_.reward == SearchConfig::Reward::kF1,
               on_test = config_.evaluation_split == SearchConfig::EvaluationSplit::kTest;
    Roles roles{draw(Role::kTrain, 0), {}, {}};
    if (roles.train.empty()) {
      ThrowInput("{}: split '{}' has no train node to learn on", dataset.name, split.name);
    }
    if (shows) roles.shown = draw(Role::kVal, 1);
    if (scores) roles.scored = draw(on_test ? Role::kTest : Role::kVal, 1);
    if (shows && scores && !on_test) {  // the same nodes in the same order: half each
      const size_t half = roles.shown.size() / 2;
      roles.shown.resize(half);
      roles.scored.erase(roles.scored.begin(), roles.scored.begin() + static_cast<ptrdiff_t>(half));
    }
    if (shows && roles.shown.empty()) {
      ThrowUsage("{}: split '{}' has no validation node to show the controller; use --sees loss",
                 dataset.name, split.name);
    }
    if (scores && roles.scored.empty()) {
      ThrowUsage("{}: split '{}' has no {} node to score; use --reward loss", dataset.name, split.name,
                 on_test ? "test" : "validation");
    }
    return roles;
  }

  void Draw(const Dataset& dataset, uint32_t task, const Overrides& training, Problem& problem) const {
    TrainConfig config = RolloutConfig(dataset, config_, training);
    config.seed = config_.seed + task;
    const RandomStream stream(config_.seed, RandomUse::kController, 6, task);
    *config.lr *= std::pow(config_.lr_spread, 2.0 * static_cast<double>(stream.Uniform(0)) - 1);
    Context context = SingleThreaded(WithoutRanks(context_));
    context.on_note = nullptr;
    context.on_warning = nullptr;
    const Split split = ResolveSplit(dataset, config.split, config.seed);
    Roles roles = DrawRoles(dataset, split, config.seed, task);
    std::vector<uint32_t> nodes;
    for (std::vector<uint32_t>* role : {&roles.train, &roles.shown, &roles.scored}) {
      for (uint32_t& node : *role) {
        nodes.push_back(node);
        node = static_cast<uint32_t>(nodes.size() - 1);
      }
    }
    if (config.transductive) {
      std::vector<uint32_t> known = NodesWithRole(split, Role::kTrain);
      const double share = static_cast<double>(roles.train.size()) / static_cast<double>(known.size());
      known.insert(known.end(), nodes.begin(), nodes.end());
      const RandomStream others(config.seed, RandomUse::kController, 7, task);
      for (uint32_t node : DrawOthers(dataset.nodes(), known, share, others)) nodes.push_back(node);
    }
    problem.sample = std::make_unique<Dataset>(KeepNodes(context, dataset, nodes));
    problem.tree = std::make_unique<RolloutTree>(context, *problem.sample, config, std::move(roles.train),
                                                 std::move(roles.scored), std::move(roles.shown));
    Reference(problem);
  }

  // What the full budget reaches, and the least cost of stopping all layers but the last at one decision and
  // the last anywhere: all there is with two layers, a good sample with more.
  void Reference(Problem& problem) const {
    RolloutTree& tree = *problem.tree;
    std::vector<uint32_t> stops;
    problem.full_seconds = 0;
    for (uint32_t layer = 0; layer < tree.layers(); ++layer) {
      const LayerTrace& trace = tree.Trace(stops);
      problem.full_seconds += trace.seconds_per_epoch * tree.BudgetOf(layer);
      if (!trace.f1.empty()) problem.full_f1 = trace.f1.back();
      stops.push_back(static_cast<uint32_t>(trace.decisions.size() - 1));
    }
    problem.least_cost = std::numeric_limits<double>::max();
    for (uint32_t inner = 0; inner < tree.Trace({}).decisions.size(); ++inner) {
      stops.clear();
      while (stops.size() + 1 < tree.layers()) {
        stops.push_back(std::min(inner, static_cast<uint32_t>(tree.Trace(stops).decisions.size() - 1)));
      }
      stops.push_back(0);
      for (; stops.back() < tree.Trace({stops.begin(), stops.end() - 1}).decisions.size(); ++stops.back()) {
        problem.least_cost = std::min(problem.least_cost, CostOf(problem, stops).cost);
      }
    }
  }

  // What these stops cost, and how many epochs they took.
  Outcome CostOf(const Problem& problem, const std::vector<uint32_t>& stops) const {
    RolloutTree& tree = *problem.tree;
    Outcome outcome;
    double seconds = 0, quality = 0;
    std::vector<uint32_t> before;
    for (uint32_t at : stops) {
      const LayerTrace& trace = tree.Trace(before);
      const bool last = before.size() + 1 == tree.layers();
      outcome.epochs += trace.decisions[at];
      seconds += trace.decisions[at] * trace.seconds_per_epoch;
      if (config_.reward == SearchConfig::Reward::kF1) {
        quality += last ? 100 * (problem.full_f1 - trace.f1[at])
                        : 100 * config_.layer_weight * (trace.f1.back() - trace.f1[at]);
      } else if (last) {
        quality = trace.losses[trace.decisions[trace.kept[at]] - 1] / tree.prior_loss();
      }
      before.push_back(at);
    }
    const double share = config_.cost == SearchConfig::Cost::kSeconds ? seconds / problem.full_seconds
                                                                      : outcome.epochs / tree.TotalBudget();
    outcome.cost = quality + config_.cost_weight * share;
    return outcome;
  }

  // One episode; choose(step) says whether to stop. Its cost is the regret.
  template <class Choose>
  Outcome Run(const Problem& problem, const PolicyNet& net, const Choose& choose) const {
    RolloutTree& tree = *problem.tree;
    std::vector<PolicyNet::Step> steps;
    std::vector<uint32_t> stops;
    for (uint32_t layer = 0; layer < tree.layers(); ++layer) {
      const LayerTrace& trace = tree.Trace(stops);
      const uint32_t budget = tree.BudgetOf(layer);
      const GeneralView view{layer, tree.layers(), budget, GeneralInterval(budget), tree.prior_loss()};
      uint32_t at = 0;
      for (;; ++at) {
        const auto losses = std::span(trace.losses).first(trace.decisions[at]);
        const auto shown = std::span(trace.shown).first(trace.shown.empty() ? 0 : at + 1);
        steps.push_back(
            net.Decide(steps.empty() ? nullptr : &steps.back(), GeneralInputs(losses, view, shown), 0, 0));
        PolicyNet::Step& step = steps.back();
        const bool ended = at + 1 == trace.decisions.size();
        step.chosen = !ended && MayStop(losses.back(), tree.prior_loss());
        step.action = ended || (step.chosen && choose(step)) ? 1 : 0;
        if (step.action == 1) break;
      }
      stops.push_back(at);
    }
    Outcome outcome = CostOf(problem, stops);
    outcome.cost = std::min(outcome.cost - problem.least_cost, config_.regret_cap);
    outcome.steps = std::move(steps);
    return outcome;
  }

  Outcome Greedy(Problem& problem, const PolicyNet& net, double threshold) const {
    return Run(problem, net, [&](const PolicyNet::Step& step) { return step.probability[1] >= threshold; });
  }

  // Sampled episodes of one problem; leaves its share of the gradient.
  void Play(const SearchState& state, uint32_t task, double entropy, Problem& problem) const {
    std::vector<Outcome> outcomes;
    double mean = 0, squares = 0;
    problem.mean_epochs = 0;
    for (uint32_t i = 0; i < config_.rollouts; ++i) {
      const RandomStream stream(config_.seed, RandomUse::kController, 16 + task * config_.rollouts + i,
                                state.round);
      uint64_t drawn = 0;
      outcomes.push_back(Run(problem, state.net, [&](const PolicyNet::Step& step) {
        return static_cast<double>(stream.Uniform(drawn++)) < step.probability[1];
      }));
      mean += outcomes.back().cost / config_.rollouts;
      problem.mean_epochs += outcomes.back().epochs / config_.rollouts;
    }
    for (const Outcome& outcome : outcomes) squares += (outcome.cost - mean) * (outcome.cost - mean);
    problem.spread = std::sqrt(squares / config_.rollouts);
    problem.mean_cost = mean;
    problem.gradient.assign(state.net.shape().size(), 0.0);
    problem.entropy_gradient.assign(state.net.shape().size(), 0.0);
    for (const Outcome& outcome : outcomes) {
      state.net.AccumulateGradient(outcome.steps, (outcome.cost - mean) / config_.rollouts, 0,
                                   problem.gradient);
      state.net.AccumulateGradient(outcome.steps, 0, -entropy / config_.rollouts, problem.entropy_gradient);
    }
  }

  const Context& context_;
  const SearchConfig& config_;
  std::vector<Problem> problems_;
  std::vector<size_t> own_;  // those that this process plays: every R-th where R ranks share them
  Stopwatch watch_;
  std::mutex mutex_;  // guards drawn_ and the progress callback
  uint32_t drawn_ = 0;
};

}  // namespace

Controller SearchGeneral(const Context& context, const std::vector<Dataset>& datasets,
                         const SearchConfig& config, const Overrides& training, SearchResult& result) {
  GeneralSearch search(context, datasets, config, training);
  SearchState state = search.Start();
  RunRounds(context, config, state, [&](SearchState& s) { search.Round(s); });
  if (state.best_weights.size() != state.net.shape().size()) {
    ThrowRuntime("the search found no stop of finite cost: its trainings diverge; lower --lr");
  }
  auto impl = std::make_shared<ControllerImpl>();
  impl->kind = SearchConfig::Kind::kGeneral;
  impl->net = PolicyNet(state.net.shape(), state.best_weights);
  impl->threshold = config.threshold > 0 ? config.threshold : search.BestThreshold(impl->net);
  impl->rounds = config.rounds;
  for (const Dataset& dataset : datasets)
    impl->learned_on += (impl->learned_on.empty() ? "" : " ") + dataset.name;
  result.curve = state.curve;
  result.trained_epochs = search.TrainedEpochs();
  return Controller(impl);
}

}  // namespace l2gcn
