// Edit distance with swaps of neighbours (optimal string alignment): what a typing slip costs.
#include <algorithm>
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

}  // namespace

std::string NearestName(const std::string& word, const std::vector<std::string>& candidates) {
  std::string nearest;
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
  if (nearest.empty() || (!begun && TypingDistance(word, nearest) > most)) return "";
  return ": did you mean '" + nearest + "'?";
}

}  // namespace l2gcn
