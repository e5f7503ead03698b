#include "model/thresholds.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr double kCommonMembers = 25;    // As many members weigh as much as the cut that all labels share.
constexpr double kSteepestLogit = 30.0;  // The probability of this logit still differs from 0 and 1.

struct Candidate {
  double logit;
  bool member;
};

// body(cut, hits, chosen) for every way to cut the candidates, from the highest logit down: `chosen` of
// them lie above the cut and `hits` of those are members.
template <class Body>
void ForCuts(std::vector<Candidate>& all, const Body& body) {
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
  uint64_t hits = 0;
  for (size_t i = 0; i <= all.size(); ++i) {
    const double above = i == 0 ? all.front().logit + 1 : all[i - 1].logit;
    const double below = i == all.size() ? all.back().logit - 1 : all[i].logit;
    if (above > below) body(0.5 * (above + below), hits, i);
    if (i < all.size()) hits += all[i].member ? 1 : 0;
  }
}

// The best cut so far; of equals the one nearest to logit 0.
struct BestCut {
  double cut = 0, value = -1;
  void Offer(double candidate, double worth) {
    if (worth > value || (worth == value && std::abs(candidate) < std::abs(cut))) {
      cut = candidate;
      value = worth;
    }
  }
};

double F1Of(uint64_t hits, uint64_t chosen, uint64_t members) {
  return chosen + members == 0 ? 0 : 2.0 * static_cast<double>(hits) / static_cast<double>(chosen + members);
}

uint64_t MembersAmong(const std::vector<Candidate>& all) {
  return static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [](const Candidate& one) { return one.member; }));
}

double BestF1Cut(std::vector<Candidate>& all) {
  const uint64_t members = MembersAmong(all);
  BestCut best;
  ForCuts(all,
          [&](double cut, uint64_t hits, uint64_t chosen) { best.Offer(cut, F1Of(hits, chosen, members)); });
  return best.cut;
}

// The cut of one label: its own best, drawn towards the common one as its members are few.
double LabelCut(std::vector<Candidate>& all, double common) {
  const auto members = static_cast<double>(MembersAmong(all));
  if (members == 0) return common;
  const double own_share = members / (members + kCommonMembers);
  return own_share * BestF1Cut(all) + (1 - own_share) * common;
}

double BestBinaryCut(std::vector<Candidate>& all) {
  const uint64_t nodes = all.size(), members = MembersAmong(all), others = nodes - members;
  const double count = static_cast<double>(nodes), larger = static_cast<double>(std::max(members, others));
  // The standard error of the larger class's count, if these nodes are a sample.
  const double error = std::sqrt(larger * (1 - larger / count));
  BestCut surely, fair, any;
  ForCuts(all, [&](double cut, uint64_t hits, uint64_t chosen) {
    const uint64_t others_hit = others - (chosen - hits);
    const double right = static_cast<double>(hits + others_hit);
    const double macro = 0.5 * (F1Of(hits, chosen, members) + F1Of(others_hit, nodes - chosen, others));
    any.Offer(cut, macro);
    if (right >= larger) fair.Offer(cut, macro);
    if (right >= larger + error) surely.Offer(cut, macro);
  });
  return surely.value >= 0 ? surely.cut : fair.value >= 0 ? fair.cut : any.cut;
}

double ToProbability(double logit) {
  return 1 / (1 + std::exp(-std::clamp(logit, -kSteepestLogit, kSteepestLogit)));
}

}  // namespace

std::vector<double> ChooseThresholds(const Context& context, const Labels& labels,
                                     std::span<const uint32_t> nodes, const Matrix& logits) {
  L2GCN_ASSERT(labels.multilabel || labels.classes == 2);
  std::vector<uint32_t> labelled;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(labelled),
               [&](uint32_t node) { return labels.IsLabelled(node); });
  if (labelled.empty()) ThrowUsage("--threshold auto: no labelled validation node to choose it on");
  std::vector<Candidate> all;
  if (!labels.multilabel) {
    for (uint32_t node : labelled) {
      const float* row = logits.row(node);
      all.push_back({double{row[1]} - double{row[0]}, labels.classes_of[node] == 1});
    }
    return {ToProbability(BestBinaryCut(all))};
  }
  const auto candidate = [&](uint32_t node, size_t c) {
    return Candidate{double{logits.row(node)[c]}, labels.matrix[size_t{node} * labels.classes + c] != 0};
  };
  for (uint32_t node : labelled) {
    for (size_t c = 0; c < labels.classes; ++c) all.push_back(candidate(node, c));
  }
  const double common = BestF1Cut(all);
  std::vector<double> thresholds(labels.classes);
  ParallelTasks(context, labels.classes, [&](size_t c, uint32_t) {
    std::vector<Candidate> own;
    for (uint32_t node : labelled) own.push_back(candidate(node, c));
    thresholds[c] = ToProbability(LabelCut(own, common));
  });
  return thresholds;
}

}  // namespace l2gcn
