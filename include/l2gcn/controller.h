// The learned controller: when is a layer trained enough? Learned by REINFORCE over many short trainings
// (SearchController), kept in one file, used by method l2gcn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Every constant of a search. Kind `paper` is the paper's program; `general` works for any number of layers,
// run length and data set.
struct SearchConfig {
  enum class Kind { kGeneral, kPaper };
  // What the controller looks at while a layer trains: validation nodes and training losses, or losses alone.
  enum class Sees { kValidation, kLoss };
  // What a training is worth.
  enum class Reward { kLoss, kF1 };
  // Whose F1: that of half of the validation nodes (the others are shown), or of the test nodes (of generated graphs).
  enum class EvaluationSplit { kValidation, kTest };
  enum class Cost { kEpochs, kSeconds };
  // The batch of the sampled trainings: the whole sample, the data set's own, or this many nodes.
  struct Batch {
    enum class Kind { kFull, kPreset, kNodes } kind = Kind::kFull;
    uint32_t nodes = 0;
  };

  Kind kind = Kind::kGeneral;
  uint32_t rounds = 0;    // 0: 50 for paper (Reddit 200), 400 for general
  uint32_t warmup = 50;   // paper: rounds that follow pre-drawn stops
  uint32_t nodes = 1024;  // train nodes of a sampled subgraph; 0: all
  Batch batch;
  uint32_t problems = 4;   // general: subgraphs drawn from each data set
  double lr_spread = 1;    // general: each problem's learning rate is multiplied by up to this, or divided
  uint32_t interval = 0;   // paper: epochs between decisions (10, PPI 50); general: 1/16 of the budget
  uint32_t decisions = 0;  // paper: at most this many over all layers (20, Reddit 40)
  uint32_t hidden = 8;     // width of the LSTM
  double lr = 0.05;        // Adam's learning rate; general: 0.02
  Sees sees = Sees::kValidation;  // general
  Reward reward = Reward::kLoss;
  EvaluationSplit evaluation_split = EvaluationSplit::kValidation;  // general, reward f1
  double layer_weight = 2;  // general, reward f1: weight of the points an inner layer's own classifier loses
  double regret_cap = 4;    // general: an episode costs at most this more than the best stops in hindsight
  Cost cost = Cost::kEpochs;
  double cost_weight = 0;  // 0: 0.0001 an epoch for paper; for general, of a fully spent budget: 0.05 of the
                           // starting loss, or 2 points of F1
  double baseline = 0.3;   // paper: where the running baseline starts …
  double baseline_decay = 0.9;  // … and how much of it stays each round
  double entropy = 0.02;        // general: bonus that keeps the policy exploring; fades to 0 over the search
  uint32_t rollouts = 16;       // general: episodes per problem and round
  double threshold = 0;         // stop at this probability; 0: learned (paper: the mean seen in the search)
  uint32_t min_epochs = 0;      // paper: a layer runs longer than this (35, PPI 175)
  uint32_t max_epochs = 0;      // paper: and not past this (95, PPI 475)
  uint64_t seed = 0;
  // Where progress is kept, none of it stored with the controller
  std::string state_path;    // "": nowhere
  uint32_t save_every = 25;  // rounds
  bool resume = false;       // go on with what is kept
};

using SearchField = FieldOf<SearchConfig>;
const std::vector<SearchField>& SearchFields();
// Throws Error(kUsage) for the first value out of range.
void Validate(const SearchConfig& config);

struct ControllerImpl;

class Controller {
 public:
  // Throws Error(kInput) for a file that is damaged, of another version or of inconsistent shapes.
  static Controller Load(const std::string& path);
  // One of those inside the library: "general", "general-loss" (sees training losses alone), "paper".
  static Controller Shipped(const std::string& kind);
  explicit Controller(std::shared_ptr<const ControllerImpl> impl);

  // Replaces a file of that name, unless `replace` forbids it (Error(kRuntime)).
  void Save(const std::string& path, bool replace = true) const;
  std::string DescribeJson() const;
  const ControllerImpl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const ControllerImpl> impl_;
};

struct SearchResult {
  // One round of a search, as its log and its progress show it.
  struct Round {
    uint32_t round = 0;
    double cost = 0;         // mean over the round's episodes
    double epochs = 0;       // mean total epochs
    double greedy_cost = 0;  // general: of the policy as it would be used, where it was measured; else NaN
  };

  std::vector<Round> curve;
  double seconds = 0;
  double trained_epochs = 0;  // epochs actually run by all rollouts
};

// Learns a controller on samples of `datasets` (all known to method lgcn's preset). Same bits for any thread
// count and for an interrupted and resumed search, unless cost is measured in seconds.
Controller SearchController(const Context& context, const std::vector<Dataset>& datasets,
                            const SearchConfig& config, const Overrides& training,
                            SearchResult* result = nullptr);

// The controller to `path`, its reward curve to `path`.json. A curve never stands beside another controller:
// the old one goes first. Unless `replace`, a file that has appeared at `path` is left alone
// (Error(kRuntime)).
void SaveSearch(const Controller& controller, const SearchConfig& config, const SearchResult& result,
                const std::string& path, bool replace = true);

// Whether a search may write to `path`: asked before it begins. Throws Error(kUsage).
void CheckSearchPath(const std::string& path, bool replace);

std::string SearchResultJson(const SearchConfig& config, const SearchResult& result);

}  // namespace l2gcn
