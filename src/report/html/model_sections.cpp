// Parts of a report that apply the model to its data set: scores by class, confusion, calibration, the nodes
// it is surest and most mistaken about.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "l2gcn/error.h"
#include "model/decision.h"
#include "model/score.h"
#include "report/html/sections.h"

namespace l2gcn {
namespace {

constexpr size_t kNodesListed = 12, kUnlabelledListed = 20, kMostClassRows = 500, kMostConfusionShown = 30;

// How one node fared.
struct ScoredNode {
  uint32_t node = 0;
  double sureness = 0;  // probability of the class chosen; multi-label: minus the mean loss of the labels
  bool right = false;
};

// What the model says of nodes, decided as `evaluate` and `predict` decide it.
struct Answers {
  const Matrix& logits;  // (nodes × classes)
  DecisionRule rule;
};

// Names of the labels of a node: those that the model gives it, or the true ones where `answers` is null.
std::string LabelsText(const Dataset& dataset, const Answers* answers, uint32_t node) {
  std::string text;
  for (uint32_t c = 0; c < dataset.labels.classes; ++c) {
    const bool on = answers != nullptr
                        ? answers->rule.IsOn(c, answers->logits.row(node)[c])
                        : dataset.labels.matrix[size_t{node} * dataset.labels.classes + c] != 0;
    if (!on) continue;
    if (text.size() > 120) return text + ", …";
    text += (text.empty() ? "" : ", ") + dataset.ClassName(c);
  }
  return text.empty() ? "none" : text;
}

ScoredNode ScoreNode(const Dataset& dataset, const Answers& answers, uint32_t node) {
  const float* const logits = answers.logits.row(node);
  const uint32_t classes = dataset.labels.classes;
  std::vector<float> p(logits, logits + classes);
  RowToProbabilities(p.data(), classes, dataset.labels.multilabel);
  ScoredNode scored{node, 0, true};
  if (!dataset.labels.multilabel) {
    const uint32_t chosen = answers.rule.ClassOf(logits);
    scored.sureness = p[chosen];
    scored.right = dataset.labels.classes_of[node] == static_cast<int32_t>(chosen);
    return scored;
  }
  for (uint32_t c = 0; c < classes; ++c) {
    const bool on = dataset.labels.matrix[size_t{node} * classes + c] != 0;
    scored.right = scored.right && answers.rule.IsOn(c, logits[c]) == on;
    scored.sureness += std::log(std::max(1e-12, on ? double{p[c]} : 1 - double{p[c]})) / classes;
  }
  return scored;
}

std::vector<Cell> NodeRow(const Dataset& dataset, const Answers& answers, const ScoredNode& scored) {
  const uint32_t node = scored.node;
  const bool many = dataset.labels.multilabel;
  const std::string truth = many ? LabelsText(dataset, nullptr, node)
                                 : dataset.ClassName(static_cast<uint32_t>(dataset.labels.classes_of[node]));
  const std::string said = many ? LabelsText(dataset, &answers, node)
                                : dataset.ClassName(answers.rule.ClassOf(answers.logits.row(node)));
  return {{dataset.NodeName(node), "w"},
          {truth, "l w"},
          {said, "l w"},
          {many ? fmt::format("{:.4f}", -scored.sureness) : fmt::format("{:.4f}", scored.sureness)},
          {fmt::format("{}", dataset.graph.degree(node))}};
}

void AddNodes(const Dataset& dataset, const Answers& answers, const Split& split, Page& page) {
  std::vector<ScoredNode> scored;
  const bool has_test = std::find(split.roles.begin(), split.roles.end(),
                                  static_cast<uint8_t>(Role::kTest)) != split.roles.end();
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (!dataset.labels.IsLabelled(node)) continue;
    if (has_test && split.roles[node] != static_cast<uint8_t>(Role::kTest)) continue;
    scored.push_back(ScoreNode(dataset, answers, node));
  }
  if (scored.empty()) return;
  page.Section("Nodes");
  const bool many = dataset.labels.multilabel;
  const std::vector<std::string> head = {"node", "truth", "model", many ? "mean loss" : "probability",
                                         "neighbours"};
  page.BeginPair();
  for (const bool mistaken : {false, true}) {
    std::vector<ScoredNode> chosen;
    std::copy_if(scored.begin(), scored.end(), std::back_inserter(chosen),
                 [&](const ScoredNode& one) { return many || one.right != mistaken; });
    // Multi-label: the most mistaken are those of the largest loss; else the surest of the wrong ones.
    const bool lowest = many && mistaken;
    const size_t count = std::min(kNodesListed, chosen.size());
    std::partial_sort(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(count), chosen.end(),
                      [&](const ScoredNode& a, const ScoredNode& b) {
                        if (a.sureness != b.sureness)
                          return lowest ? a.sureness < b.sureness : a.sureness > b.sureness;
                        return a.node < b.node;
                      });
    std::vector<std::vector<Cell>> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(NodeRow(dataset, answers, chosen[i]));
    page.Table(head, rows,
               {fmt::format("{} {} nodes",
                            mistaken ? "Most mistaken" : "Surest and right:", has_test ? "test" : "labelled"),
                true, false});
  }
  page.EndPair();
}

// A node without a label: the model's prediction as text, with its probabilities.
struct UnlabelledAnswer {
  std::vector<uint32_t> classes;  // the class first, then the runner-up; multi-label: the labels that are on
  std::vector<float> p;           // (classes) probabilities
};

UnlabelledAnswer AnswerOf(const Dataset& dataset, const Answers& answers, uint32_t node) {
  const uint32_t classes = dataset.labels.classes;
  const float* const logits = answers.logits.row(node);
  UnlabelledAnswer answer;
  answer.p.assign(logits, logits + classes);
  RowToProbabilities(answer.p.data(), classes, dataset.labels.multilabel);
  if (dataset.labels.multilabel) {
    for (uint32_t c = 0; c < classes; ++c) {
      if (answers.rule.IsOn(c, logits[c])) answer.classes.push_back(c);
    }
    return answer;
  }
  const uint32_t first = answers.rule.ClassOf(logits);
  uint32_t second = first == 0 ? 1 : 0;
  for (uint32_t c = 0; c < classes; ++c) {
    if (c != first && answer.p[c] > answer.p[second]) second = c;
  }
  answer.classes = {first};
  if (second < classes) answer.classes.push_back(second);
  return answer;
}

// "red 0.9312", or several of a multi-label set.
std::string NamesAndProbabilities(const Dataset& dataset, const UnlabelledAnswer& answer, size_t from,
                                  size_t count) {
  std::string text;
  for (size_t i = from; i < std::min(from + count, answer.classes.size()); ++i) {
    if (text.size() > 120) return text + ", …";
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", dataset.ClassName(answer.classes[i]),
                        answer.p[answer.classes[i]]);
  }
  return text.empty() ? "none" : text;
}

// How often each class is predicted where there is no label.
void AddUnlabelledCounts(const Dataset& dataset, const std::vector<uint64_t>& counts,
                         const std::vector<double>& sums, uint64_t nodes, Page& page) {
  std::vector<uint32_t> order;
  for (uint32_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0) order.push_back(c);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  std::vector<std::vector<Cell>> rows;
  for (const uint32_t c : order) {
    if (rows.size() == kMostClassRows) break;
    rows.push_back({{dataset.ClassName(c), "w"},
                    {CountText(counts[c])},
                    {PercentText(static_cast<double>(counts[c]) / static_cast<double>(nodes))},
                    {fmt::format("{:.4f}", sums[c] / static_cast<double>(counts[c]))}});
  }
  page.Table({"class", "nodes", "share", "mean probability"}, rows,
             {fmt::format("Classes predicted for {} nodes without a label", CountText(nodes)), true, false});
}

void AddUnlabelled(const Dataset& dataset, const Answers& answers, Page& page) {
  const uint32_t classes = dataset.labels.classes;
  std::vector<uint32_t> nodes;
  std::vector<uint64_t> counts(classes, 0);
  std::vector<double> sums(classes, 0);
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (dataset.labels.IsLabelled(node)) continue;
    nodes.push_back(node);
    const UnlabelledAnswer answer = AnswerOf(dataset, answers, node);
    const size_t given = dataset.labels.multilabel ? answer.classes.size() : 1;
    for (size_t i = 0; i < given; ++i) {
      ++counts[answer.classes[i]];
      sums[answer.classes[i]] += answer.p[answer.classes[i]];
    }
  }
  if (nodes.empty()) return;
  page.Section("Unlabelled nodes");
  AddUnlabelledCounts(dataset, counts, sums, nodes.size(), page);
  const Permutation order(nodes.size(), RandomStream(0, RandomUse::kSampler));
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < std::min(kUnlabelledListed, nodes.size()); ++i) {
    const uint32_t node = nodes[nodes.size() <= kUnlabelledListed ? i : order(i)];
    const UnlabelledAnswer answer = AnswerOf(dataset, answers, node);
    const bool many = dataset.labels.multilabel;
    std::vector<Cell> row = {{dataset.NodeName(node), "w"},
                             {NamesAndProbabilities(dataset, answer, 0, many ? classes : 1), "l w"}};
    if (!many) row.push_back({NamesAndProbabilities(dataset, answer, 1, 1), "l w"});
    row.push_back({fmt::format("{}", dataset.graph.degree(node))});
    rows.push_back(std::move(row));
  }
  std::vector<std::string> head = {"node", "prediction and probability", "second choice", "neighbours"};
  if (dataset.labels.multilabel) head = {"node", "labels and probabilities", "neighbours"};
  page.Table(head, rows,
             {fmt::format("{} of these nodes{}; l2gcn predict RUN -o predictions.csv writes all",
                          CountText(rows.size()), rows.size() < nodes.size() ? ", drawn at random" : ""),
              true, false});
}

std::string NumberText(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "–"; }

void AddSplitScores(const std::vector<std::pair<std::string, Score>>& scores, Page& page) {
  page.Section("Scores");
  std::vector<std::vector<Cell>> rows;
  std::string baseline;
  for (const auto& [name, score] : scores) {
    if (score.nodes == 0) continue;
    baseline = score.baseline;
    rows.push_back({{name},
                    {CountText(score.nodes)},
                    {PercentText(score.micro_f1)},
                    {PercentText(score.macro_f1)},
                    {PercentText(score.accuracy)},
                    {PercentText(score.balanced_accuracy)},
                    {NumberText(score.roc_auc)},
                    {NumberText(score.average_precision)},
                    {NumberText(score.log_loss)},
                    {PercentText(score.baseline_f1)}});
  }
  page.Table({"nodes", "number", "micro F1", "macro F1", "accuracy", "balanced accuracy", "ROC AUC",
              "average precision", "log loss", "baseline F1"},
             rows, {fmt::format("Baseline: {}", baseline), false, false});
}

// With many classes: the pairs that are confused most.
void AddConfusedPairs(const Score& score, const std::string& which, Page& page) {
  const size_t classes = score.classes.size();
  std::vector<size_t> cells;
  for (size_t i = 0; i < score.confusion.size(); ++i) {
    if (i / classes != i % classes && score.confusion[i] > 0) cells.push_back(i);
  }
  const size_t count = std::min(cells.size(), kMostConfusionShown);
  std::partial_sort(
      cells.begin(), cells.begin() + static_cast<ptrdiff_t>(count), cells.end(), [&](size_t a, size_t b) {
        return score.confusion[a] != score.confusion[b] ? score.confusion[a] > score.confusion[b] : a < b;
      });
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({{score.classes[cells[i] / classes].name, "w"},
                    {score.classes[cells[i] % classes].name, "l w"},
                    {CountText(score.confusion[cells[i]])}});
  }
  page.Table({"true class", "model says", "nodes"}, rows,
             {fmt::format("The pairs confused most, {} nodes, of {} classes", which, classes), true, false});
}

// Rows are the true classes, columns the model's; shades are shares of a row.
void AddConfusion(const Score& score, const std::string& which, bool multilabel, Page& page) {
  if (score.confusion.empty()) return;
  page.Section("Confusion");
  std::vector<std::vector<Cell>> rows;
  if (multilabel) {
    for (size_t c = 0; c < score.classes.size() && c < kMostClassRows; ++c) {
      std::vector<Cell> row = {{score.classes[c].name, "w"}};
      for (size_t k = 0; k < 4; ++k) row.push_back({CountText(score.confusion[4 * c + k])});
      rows.push_back(std::move(row));
    }
    page.Table({"label", "rightly off", "wrongly on", "wrongly off", "rightly on"}, rows,
               {fmt::format("By label, {} nodes", which), true, false});
    return;
  }
  const size_t classes = score.classes.size();
  if (classes > kMostConfusionShown) return AddConfusedPairs(score, which, page);
  std::vector<std::string> head = {"true class"};
  for (const Score::Class& one : score.classes) head.push_back(one.name);
  for (size_t t = 0; t < classes; ++t) {
    std::vector<Cell> row = {{score.classes[t].name}};
    for (size_t p = 0; p < classes; ++p) {
      const uint64_t count = score.confusion[t * classes + p];
      const double share = score.classes[t].count > 0
                               ? static_cast<double>(count) / static_cast<double>(score.classes[t].count)
                               : 0;
      const auto heat = static_cast<int>(std::ceil(10 * share - 1e-9));
      row.push_back(
          {CountText(count), fmt::format("{}{}", heat > 0 ? fmt::format("h{}", std::min(heat, 10)) : "",
                                         t == p ? " diag" : "")});
    }
    rows.push_back(std::move(row));
  }
  page.Table(head, rows,
             {fmt::format("Number of {} nodes by true class (rows) and predicted class (columns)", which),
              false, true});
}

void AddClassScores(const Score& score, const std::string& which, Page& page) {
  page.Section("Classes");
  std::vector<std::vector<Cell>> rows;
  for (const Score::Class& one : score.classes) {
    if (rows.size() == kMostClassRows) break;
    rows.push_back({{one.name, "w"},
                    {CountText(one.count)},
                    {CountText(one.predicted)},
                    {PercentText(one.precision)},
                    {PercentText(one.recall)},
                    {PercentText(one.f1)},
                    {NumberText(one.roc_auc)},
                    {NumberText(one.average_precision)}});
  }
  const std::string more = score.classes.size() > rows.size()
                               ? fmt::format("; the first {} of {}", rows.size(), score.classes.size())
                               : "";
  page.Table({"class", "members", "predicted", "precision", "recall", "F1", "ROC AUC", "average precision"},
             rows, {fmt::format("By class, {} nodes{}", which, more), true, false});
}

// What the bins of Score::calibration count, in words: of two classes the second one's probability, of more the
// likeliest one's, of a multi-label set those of all labels.
struct CalibrationWords {
  std::string title, probability, frequency;
};
CalibrationWords WordsOfCalibration(const Score& score, bool multilabel) {
  if (multilabel) return {"How often a label is on", "probability of a label", "how often it is on"};
  if (score.classes.size() == 2) {
    const std::string& name = score.classes[1].name;
    return {fmt::format("How often a node is “{}”", name), fmt::format("probability of “{}”", name),
            fmt::format("share that is “{}”", name)};
  }
  return {"How often the prediction is right", "probability of the prediction", "how often it is right"};
}

// On the diagonal where the model's probabilities can be taken at their word.
void AddCalibration(const Score& score, const std::string& which, bool multilabel, Page& page) {
  if (score.calibration.empty() || !std::isfinite(score.calibration_error)) return;
  page.Section("Calibration");
  Chart chart;
  const CalibrationWords words = WordsOfCalibration(score, multilabel);
  chart.title = words.title;
  chart.x_label = words.probability;
  chart.y_label = words.frequency;
  chart.width = kPairWidth, chart.height = kPairHeight;
  ChartSeries ideal{"perfect", {0, 1}, {0, 1}, SeriesStyle::kDashedLine, 5, {}, {}, true};
  ChartSeries real{"this model", {}, {}, SeriesStyle::kLineAndPoints, 0, {}, {}, true};
  std::vector<std::vector<Cell>> rows;
  for (const Score::Bin& bin : score.calibration) {
    if (bin.count == 0) continue;
    real.x.push_back(bin.probability);
    real.y.push_back(bin.frequency);
    rows.push_back({{fmt::format("{:.2f} – {:.2f}", bin.low, bin.high)},
                    {CountText(bin.count)},
                    {NumberText(bin.probability)},
                    {NumberText(bin.frequency)}});
  }
  chart.series = {std::move(ideal), std::move(real)};
  page.BeginPair();
  page.Figure(chart,
              fmt::format("{} nodes; expected calibration error {:.4f}.", which, score.calibration_error));
  page.Table({words.probability, multilabel ? "labels" : "nodes", "mean", words.frequency}, rows,
             {"By bins of probability", false, false});
  page.EndPair();
}

// Residuals are those of the last part that has nodes: test, else validation.
void AddRegressionParts(const Dataset& dataset, const Matrix& predicted, const Split& split,
                        const std::vector<std::pair<std::string, Score>>& scores, Page& page) {
  AddRegressionScores(scores, page);
  for (size_t part = scores.size(); part-- > 0;) {
    if (scores[part].second.nodes == 0) continue;
    const auto role = static_cast<Role>(part + 1);  // scores are in the order of the roles
    return AddResiduals(dataset, predicted, LabelledNodes(dataset, split, role), scores[part].first, page);
  }
}

}  // namespace

void AddModelParts(const Context& context, const OpenedRun& run, const Dataset& dataset,
                   const std::vector<std::string>& notes, const ReportOptions& options, Page& page) {
  const bool stored = run.split.roles.size() == dataset.nodes();
  const Split split =
      stored ? run.split : ResolveSplit(dataset, run.model.config.split, run.model.config.seed);
  const Matrix logits = PredictLogits(context, run.model, dataset, &split);
  std::vector<std::pair<std::string, Score>> scores;
  const std::pair<const char*, Role> roles[] = {
      {"train", Role::kTrain}, {"validation", Role::kVal}, {"test", Role::kTest}};
  for (const auto& [name, role] : roles)
    scores.emplace_back(name, ScoreLogits(context, dataset, logits, split, role, run.model.thresholds));
  if (run.model.task() == Task::kRegression) {
    AddRegressionParts(dataset, logits, split, scores, page);
    return AddDataParts(dataset, split, notes, page);
  }
  AddSplitScores(scores, page);
  const auto shown =
      std::find_if(scores.rbegin(), scores.rend(), [](const auto& one) { return one.second.nodes > 0; });
  if (shown != scores.rend()) {
    AddClassScores(shown->second, shown->first, page);
    AddConfusion(shown->second, shown->first, run.model.multilabel, page);
    AddCalibration(shown->second, shown->first, run.model.multilabel, page);
  }
  if (options.map_nodes > 0) AddMap(context, run, dataset, logits, options, page);
  const Answers answers = {logits,
                           DecisionRule(run.model.multilabel, run.model.classes, run.model.thresholds)};
  AddNodes(dataset, answers, split, page);
  AddUnlabelled(dataset, answers, page);
  AddDataParts(dataset, split, notes, page);
}

}  // namespace l2gcn
