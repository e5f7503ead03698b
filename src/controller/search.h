// What the two kinds of search share: progress that survives interruption, and drawing a sample of a data
// set.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "controller/controller_impl.h"
#include "controller/policy_net.h"
#include "l2gcn/controller.h"

namespace l2gcn {

// Everything the next round depends on; written to disk as JSON, whose numbers keep every bit of a double.
struct SearchState {
  uint32_t round = 0;  // rounds done
  PolicyNet net;
  FlatAdam adam;
  double baseline = 0;
  double probability_sum = 0, probability_count = 0;  // paper: over all decisions seen
  std::vector<double> best_weights;                   // by greedy cost (general)
  double best_cost = 0;
  std::vector<SearchResult::Round> curve;

  std::string ToJson(const SearchConfig& config) const;
  // From the text of the file `path`. Throws Error(kInput) if it is damaged or belongs to other settings.
  void Load(const std::string& text, const std::string& path, const SearchConfig& config);
};

// Calls `round(state)` until config.rounds are done: reports progress, honours cancellation, saves the state
// every few rounds and, when interrupted, before it leaves.
void RunRounds(const Context& context, const SearchConfig& config, SearchState& state,
               const std::function<void(SearchState&)>& round);

// The training configuration of a data set, as method lgcn's preset gives it, with the search's batch.
TrainConfig RolloutConfig(const Dataset& dataset, const SearchConfig& config, const Overrides& training);

// Nodes below `nodes` that are not among `picked`, about `share` of them, at random and ascending: what a
// transductive sample of a data set sees besides the nodes it was drawn for.
std::vector<uint32_t> DrawOthers(uint32_t nodes, std::span<const uint32_t> picked, double share,
                                 const RandomStream& stream);

Controller SearchPaper(const Context& context, const Dataset& dataset, const SearchConfig& config,
                       const Overrides& training, SearchResult& result);
Controller SearchGeneral(const Context& context, const std::vector<Dataset>& datasets,
                         const SearchConfig& config, const Overrides& training, SearchResult& result);

}  // namespace l2gcn
