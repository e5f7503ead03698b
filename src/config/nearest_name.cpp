// The candidate that someone means: a name that other libraries use for it, else the nearest by edit distance with swaps of
// neighbours (optimal string alignment), which is what a typing slip costs.
#include <algorithm>
#include <initializer_list>
#include <limits>

#include "l2gcn/config.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

size_t TypingDistance(const std::string& a, const std::string& b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);  // (|a|+1 × |b|+1)
  for (size_t i = 0; i <= a.size(); ++i) cost[i * width] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      size_t best = std::min(cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1);
      best = std::min(best, cost[(i - 1) * width + j - 1] + change);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, cost[(i - 2) * width + j - 2] + 1);
      }
      cost[i * width + j] = best;
    }
  }
  return cost.back();
}

// Each row holds names of one thing, this library's and those of others.
constexpr std::initializer_list<const char*> kSynonyms[] = {
    {"seed", "random-state", "random-seed"},
    {"threads", "n-jobs", "num-threads", "nthread", "num-workers"},
    {"lr", "learning-rate", "learning-rate-init", "eta"},
    {"epochs", "n-epochs", "num-epochs", "max-epochs", "max-iter", "n-iter"},
    {"layers", "n-layers", "num-layers"},
    {"hidden", "hidden-channels", "hidden-dim", "hidden-size", "hidden-layer-sizes"},
    {"batch", "batch-size"},
    {"class-weights", "class-weight"},
};

// The name without dashes in front, its words joined by dashes.
std::string Plain(const std::string& name) {
  std::string plain = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::replace(plain.begin(), plain.end(), '_', '-');
  return plain;
}

// The candidate that is another name of `word`; empty if there is none.
std::string SynonymOf(const std::string& word, const std::vector<std::string>& candidates) {
  for (const auto& row : kSynonyms) {
    const auto in_row = [&](const std::string& name) {
      return std::find(row.begin(), row.end(), Plain(name)) != row.end();
    };
    const auto found = std::find_if(candidates.begin(), candidates.end(), in_row);
    if (in_row(word) && found != candidates.end()) return *found;
  }
  return "";
}

}  // namespace

std::string NearestName(const std::string& word, const std::vector<std::string>& candidates) {
  std::string nearest = SynonymOf(word, candidates);
  if (!nearest.empty()) return nearest;
  size_t best = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : candidates) {
    const size_t distance = TypingDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string Suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestName(word, candidates);
  const bool begun = !word.empty() && nearest.starts_with(word);
  const size_t most = std::max<size_t>(2, word.size() / 3);  // slips; beyond that it is another word
  const bool synonym = !nearest.empty() && SynonymOf(word, candidates) == nearest;
  if (nearest.empty() || (!begun && !synonym && TypingDistance(word, nearest) > most)) return "";
  return ": did you mean '" + nearest + "'?";
}

}  // namespace l2gcn
