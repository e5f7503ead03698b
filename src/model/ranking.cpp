#include "model/ranking.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr double kUndefinedRank = std::numeric_limits<double>::quiet_NaN();

// body(members, others) for each group of equal scores, from the highest score down.
template <class Body>
void ForTies(const std::vector<uint64_t>& keys, const Body& body) {
  for (size_t begin = 0; begin < keys.size();) {
    uint64_t members = 0;
    size_t end = begin;
    for (; end < keys.size() && keys[end] >> 1 == keys[begin] >> 1; ++end) members += keys[end] & 1;
    body(members, end - begin - members);
    begin = end;
  }
}

}  // namespace

void Ranking::Add(float score, bool member) {
  const float plus_zero = score + 0.0f;  // −0 is 0
  L2GCN_ASSERT(plus_zero >= 0);
  keys_.push_back(uint64_t{std::bit_cast<uint32_t>(plus_zero)} << 1 | (member ? 1 : 0));
  members_ += member ? 1 : 0;
}

void Ranking::Sort() { std::sort(keys_.begin(), keys_.end(), std::greater<>()); }

double Ranking::RocAuc() const {
  const uint64_t all_others = keys_.size() - members_;
  if (members_ == 0 || all_others == 0) return kUndefinedRank;
  double twice = 0;  // pairs won, counted twice: whole numbers, exact up to 2⁵³
  uint64_t above = 0;
  ForTies(keys_, [&](uint64_t members, uint64_t others) {
    twice += static_cast<double>(others) * static_cast<double>(2 * above + members);
    above += members;
  });
  return twice / 2 / static_cast<double>(members_) / static_cast<double>(all_others);
}

double Ranking::AveragePrecision() const {
  if (members_ == 0) return kUndefinedRank;
  double sum = 0;
  uint64_t found = 0, seen = 0;
  ForTies(keys_, [&](uint64_t members, uint64_t others) {
    found += members;
    seen += members + others;
    sum += static_cast<double>(members) * (static_cast<double>(found) / static_cast<double>(seen));
  });
  return sum / static_cast<double>(members_);
}

}  // namespace l2gcn
