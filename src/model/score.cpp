// The full score of a model on some nodes, by scikit-learn's definitions:
//
//   f1_score, precision, recall          labels=None: classes that occur in truth or prediction
//   accuracy_score, balanced_accuracy_score, confusion_matrix
//   roc_auc_score, average_precision_score   two classes: of class 1; else one class against the rest, mean
//   log_loss                             probabilities as doubles, kept 2⁻⁵² away from 0 and 1
//   calibration_curve                    ten equal bins; the error is the mean gap, weighted by nodes
//
// Where scikit-learn refuses or warns, because a class has no members or no others in these nodes, that
// class is left out of the mean; a mean over nothing is NaN.
#include "model/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error_format.h"
#include "core/threads.h"
#include "core/usable.h"
#include "model/counts.h"
#include "model/decision.h"
#include "model/ranking.h"
#include "model/regression_score.h"

namespace l2gcn {
std::vector<uint32_t> LabelledNodes(const Dataset& dataset, const Split& split, Role role) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    const bool picked = role == Role::kNone || split.roles[node] == static_cast<uint8_t>(role);
    if (picked && dataset.labels.IsLabelled(node)) nodes.push_back(node);
  }
  return nodes;
}

namespace {

constexpr double kUnknownScore = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kCalibrationBins = 10;

// The mean of the numbers added that are not NaN.
struct KnownMean {
  double sum = 0;
  uint64_t count = 0;
  void Add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  }
  double mean() const { return count == 0 ? kUnknownScore : sum / static_cast<double>(count); }
};

void CheckScorable(const Dataset& dataset, const Matrix& logits, const Split& split, Role role) {
  CheckLengths(dataset);
  if (logits.rows != dataset.nodes() || logits.cols != dataset.labels.classes ||
      logits.values.size() != logits.rows * logits.cols) {
    ThrowInput("{}: logits of {} × {} for {} nodes and {} classes; score the data set they were made for",
               dataset.name, logits.rows, logits.cols, dataset.nodes(), dataset.labels.classes);
  }
  if (role != Role::kNone && split.roles.size() != dataset.nodes()) {
    ThrowInput("{}: split '{}' covers {} nodes of {}", dataset.name, split.name, split.roles.size(),
               dataset.nodes());
  }
}

class Scorer {
 public:
  Scorer(const Dataset& dataset, const Matrix& logits, const Split& split, Role role,
         std::span<const double> thresholds)
      : dataset_(dataset),
        labels_(dataset.labels),
        logits_(logits),
        split_(split),
        rule_(labels_.multilabel, labels_.classes, thresholds),
        nodes_((CheckScorable(dataset, logits, split, role), LabelledNodes(dataset, split, role))),
        counts_(labels_.classes) {}

  // For the trivial answer alone, which looks at labels and at no logits.
  Scorer(const Dataset& dataset, const Split& split, Role role)
      : dataset_(dataset),
        labels_(dataset.labels),
        split_(split),
        rule_(labels_.multilabel, labels_.classes, {}),
        nodes_(LabelledNodes(dataset, split, role)),
        counts_(labels_.classes) {}

  Score Trivial() {
    for (const uint32_t node : nodes_) {
      if (!labels_.multilabel) ++counts_[static_cast<size_t>(labels_.classes_of[node])].false_negative;
      for (uint32_t c = 0; labels_.multilabel && c < labels_.classes; ++c)
        counts_[c].false_negative += on(node, c) ? 1 : 0;
    }
    Baseline();
    return score_;
  }

  Score Classes() {
    score_.nodes = nodes_.size();
    score_.roc_auc = score_.average_precision = score_.log_loss = score_.calibration_error = kUnknownScore;
    CountAll();
    if (nodes_.empty()) {
      score_.micro_f1 = score_.macro_f1 = score_.accuracy = score_.balanced_accuracy = kUnknownScore;
    } else {
      Averages();
    }
    Baseline();
    for (uint32_t c = 0; c < labels_.classes; ++c) {
      score_.classes.push_back({dataset_.ClassName(c), counts_[c].Precision(), counts_[c].Recall(),
                                counts_[c].F1(), kUnknownScore, kUnknownScore, counts_[c].members(),
                                counts_[c].predicted()});
    }
    return score_;
  }

  // `given` are probabilities (all nodes × classes); where it is null they follow from the logits.
  Score Everything(const Context& context, const Matrix* given) {
    Classes();
    if (nodes_.empty()) return score_;
    Probabilities(given);
    Rankings(context);
    LogLoss();
    Calibration();
    return score_;
  }

 private:
  bool on(uint32_t node, uint32_t c) const { return labels_.matrix[size_t{node} * labels_.classes + c] != 0; }
  bool IsMember(uint32_t node, uint32_t c) const {
    return labels_.multilabel ? on(node, c) : labels_.classes_of[node] == static_cast<int32_t>(c);
  }

  void CountAll() {
    const size_t classes = labels_.classes;
    const bool table = !labels_.multilabel && classes <= kMostConfusion;
    if (table) score_.confusion.assign(classes * classes, 0);
    for (uint32_t node : nodes_) {
      const float* logits = logits_.row(node);  // (classes)
      CountRow(labels_, node, rule_, logits, counts_);
      if (table) {
        const auto truth = static_cast<size_t>(labels_.classes_of[node]);
        ++score_.confusion[truth * classes + rule_.ClassOf(logits)];
      }
      bool exact = labels_.multilabel;
      for (uint32_t c = 0; exact && c < classes; ++c) exact = rule_.IsOn(c, logits[c]) == on(node, c);
      exact_ += exact ? 1 : 0;
    }
    if (!labels_.multilabel) return;
    for (const Counts& c : counts_) {
      const uint64_t wrong = c.false_positive + c.false_negative;
      score_.confusion.insert(score_.confusion.end(), {nodes_.size() - c.true_positive - wrong,
                                                       c.false_positive, c.false_negative, c.true_positive});
    }
  }

  void Averages() {
    const Counts all = Sum(counts_);
    KnownMean f1, recall;
    for (const Counts& c : counts_) {
      if (labels_.multilabel || c.occurs()) f1.Add(c.F1());
      if (c.members() > 0) recall.Add(c.Recall());
    }
    score_.micro_f1 = all.F1();
    score_.macro_f1 = f1.mean();
    score_.accuracy = Counts::Ratio(labels_.multilabel ? exact_ : all.true_positive, nodes_.size());
    score_.balanced_accuracy = labels_.multilabel ? kUnknownScore : recall.mean();
  }

  // The largest class of the train nodes, the first of equals. Without train nodes the scored ones count.
  uint32_t MajorityClass() const {
    std::vector<uint64_t> members(labels_.classes, 0);
    bool any = false;
    for (uint32_t node = 0; node < split_.roles.size(); ++node) {
      if (split_.roles[node] != static_cast<uint8_t>(Role::kTrain) || !labels_.IsLabelled(node)) continue;
      ++members[static_cast<size_t>(labels_.classes_of[node])];
      any = true;
    }
    for (uint32_t c = 0; !any && c < labels_.classes; ++c) members[c] = counts_[c].members();
    return static_cast<uint32_t>(std::max_element(members.begin(), members.end()) - members.begin());
  }

  // Scores the same answer for every node.
  void Baseline() {
    if (labels_.classes == 0) return;
    std::vector<Counts> guess(labels_.classes);
    const uint32_t majority = labels_.multilabel ? 0 : MajorityClass();
    for (uint32_t c = 0; c < labels_.classes; ++c) {
      const uint64_t members = counts_[c].members();
      const bool answered = labels_.multilabel || c == majority;
      if (answered) guess[c] = {members, nodes_.size() - members, 0};
      if (!answered) guess[c] = {0, 0, members};
    }
    KnownMean f1;
    for (const Counts& c : guess) {
      if (labels_.multilabel || c.occurs()) f1.Add(c.F1());
    }
    score_.baseline = labels_.multilabel ? "all labels on" : "majority class " + dataset_.ClassName(majority);
    score_.baseline_f1 = nodes_.empty() ? kUnknownScore : Sum(guess).F1();
    score_.baseline_macro_f1 = f1.mean();
  }

  void Probabilities(const Matrix* given) {
    probabilities_ = Matrix::Allocate(nodes_.size(), labels_.classes);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      float* row = probabilities_.mutable_row(i);
      std::copy_n((given != nullptr ? *given : logits_).row(nodes_[i]), labels_.classes, row);
      if (given == nullptr) RowToProbabilities(row, labels_.classes, labels_.multilabel);
      for (uint32_t c = 0; c < labels_.classes; ++c) {
        if (std::isnan(row[c]))
          ThrowInput("{}: the logits of node {} are not finite", dataset_.name, dataset_.NodeName(nodes_[i]));
      }
    }
  }

  void Rankings(const Context& context) {
    ParallelTasks(context, labels_.classes, [&](size_t c, uint32_t) {
      Ranking ranking(nodes_.size());
      for (size_t i = 0; i < nodes_.size(); ++i) {
        ranking.Add(probabilities_.row(i)[c], IsMember(nodes_[i], static_cast<uint32_t>(c)));
      }
      ranking.Sort();
      score_.classes[c].roc_auc = ranking.RocAuc();
      score_.classes[c].average_precision = ranking.AveragePrecision();
    });
    KnownMean auc, precision;
    const bool two = !labels_.multilabel && labels_.classes == 2;
    for (uint32_t c = two ? 1 : 0; c < labels_.classes; ++c) {
      auc.Add(score_.classes[c].roc_auc);
      precision.Add(score_.classes[c].average_precision);
    }
    score_.roc_auc = auc.mean();
    score_.average_precision = precision.mean();
  }

  void LogLoss() {
    constexpr double kEdge = std::numeric_limits<double>::epsilon();
    const auto loss = [&](double probability) {
      return -std::log(std::clamp(probability, kEdge, 1 - kEdge));
    };
    double sum = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const float* row = probabilities_.row(i);  // (classes)
      if (!labels_.multilabel) sum += loss(row[labels_.classes_of[nodes_[i]]]);
      for (uint32_t c = 0; labels_.multilabel && c < labels_.classes; ++c) {
        sum += loss(on(nodes_[i], c) ? double{row[c]} : 1 - double{row[c]});
      }
    }
    const double terms = static_cast<double>(nodes_.size()) * (labels_.multilabel ? labels_.classes : 1.0);
    score_.log_loss = sum / terms;
  }

  void Calibration() {
    bins_.resize(kCalibrationBins);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const float* row = probabilities_.row(i);  // (classes)
      if (labels_.multilabel) {
        for (uint32_t c = 0; c < labels_.classes; ++c) AddToBin(row[c], on(nodes_[i], c));
      } else if (labels_.classes == 2) {
        AddToBin(row[1], IsMember(nodes_[i], 1));
      } else {
        const auto top = static_cast<uint32_t>(std::max_element(row, row + labels_.classes) - row);
        AddToBin(row[top], IsMember(nodes_[i], top));
      }
    }
    double gap = 0;
    uint64_t all = 0;
    for (size_t b = 0; b < kCalibrationBins; ++b) {
      const Bin& bin = bins_[b];
      const double count = static_cast<double>(std::max<uint64_t>(bin.count, 1));
      score_.calibration.push_back(
          {Edge(b), Edge(b + 1), bin.count, bin.probability / count, static_cast<double>(bin.right) / count});
      gap += std::abs(static_cast<double>(bin.right) - bin.probability);
      all += bin.count;
    }
    score_.calibration_error = gap / static_cast<double>(all);
  }

  static double Edge(size_t bin) { return static_cast<double>(bin) * (1.0 / kCalibrationBins); }
  void AddToBin(double probability, bool right) {
    size_t b = 0;
    while (b + 1 < kCalibrationBins && probability > Edge(b + 1)) ++b;
    bins_[b].probability += probability;
    bins_[b].right += right ? 1 : 0;
    ++bins_[b].count;
  }

  struct Bin {
    double probability = 0;
    uint64_t right = 0, count = 0;
  };

  const Dataset& dataset_;
  const Labels& labels_;
  const Matrix logits_;  // (all nodes × classes), or empty
  const Split& split_;
  const DecisionRule rule_;
  const std::vector<uint32_t> nodes_;  // the nodes that are scored
  std::vector<Counts> counts_;         // (classes)
  uint64_t exact_ = 0;                 // how many nodes of a multi-label set have all labels right
  Matrix probabilities_;               // (nodes_ × classes)
  std::vector<Bin> bins_;
  Score score_;
};

}  // namespace

BaselineScore ScoreBaseline(const Dataset& dataset, const Split& split, Role role) {
  L2GCN_ASSERT(dataset.labels.task() != Task::kRegression);
  const Score score = Scorer(dataset, split, role).Trivial();
  return {score.baseline, score.baseline_f1};
}

namespace {

bool IsRegression(const Dataset& dataset) { return dataset.labels.task() == Task::kRegression; }

Score ScoreNumbers(const Dataset& dataset, const Matrix& predicted, const Split& split, Role role) {
  CheckScorable(dataset, predicted, split, role);
  return ScoreRegression(dataset, predicted, split, LabelledNodes(dataset, split, role));
}

}  // namespace

Score ScoreClasses(const Dataset& dataset, const Matrix& logits, const Split& split, Role role,
                   std::span<const double> thresholds) {
  if (IsRegression(dataset)) return ScoreNumbers(dataset, logits, split, role);
  return Scorer(dataset, logits, split, role, thresholds).Classes();
}

Score ScoreLogits(const Context& context, const Dataset& dataset, const Matrix& logits, const Split& split,
                  Role role, std::span<const double> thresholds) {
  if (IsRegression(dataset)) return ScoreNumbers(dataset, logits, split, role);
  return Scorer(dataset, logits, split, role, thresholds).Everything(context, nullptr);
}

Score ScorePredictions(const Context& context, const Dataset& dataset, const Matrix& logits,
                       const Matrix& probabilities, const Split& split, Role role,
                       std::span<const double> thresholds) {
  if (IsRegression(dataset)) return ScoreNumbers(dataset, logits, split, role);
  return Scorer(dataset, logits, split, role, thresholds).Everything(context, &probabilities);
}

}  // namespace l2gcn
