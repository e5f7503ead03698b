#include "kernels/ranks/rank_steps.h"

#include <algorithm>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr size_t kPieceFloats = (64 << 10) / sizeof(float);

}  // namespace

// In slot s rank r sends piece s − r to rank r + 1, which adds to it and sends it on in slot s + 1; the last rank sends it
// back one slot later. So what is sent in a slot was received in the one before, and every rank meets each neighbour
// once in a slot; even ranks meet the right one first, odd ranks the left one, so that nobody waits for a third.
void RankSteps::SumGradients(std::span<float> sum, const std::function<void(size_t begin, size_t end)>& add) {
  const auto rank = static_cast<ptrdiff_t>(member()), size = static_cast<ptrdiff_t>(members()),
             pieces = static_cast<ptrdiff_t>((sum.size() + kPieceFloats - 1) / kPieceFloats);
  L2GCN_ASSERT(size > 1);  // alone there is nobody to meet, and too few slots
  const auto piece = [&](ptrdiff_t number) -> std::span<char> {
    if (number < 0 || number >= pieces) return {};
    const size_t begin = static_cast<size_t>(number) * kPieceFloats;
    const std::span<float> part = sum.subspan(begin, std::min(kPieceFloats, sum.size() - begin));
    return {reinterpret_cast<char*>(part.data()), part.size_bytes()};
  };
  const auto add_to = [&](ptrdiff_t number) {
    const size_t begin = static_cast<size_t>(number) * kPieceFloats;
    if (number >= 0 && number < pieces) add(begin, std::min(begin + kPieceFloats, sum.size()));
  };
  const auto meet = [&](ptrdiff_t neighbour, ptrdiff_t sent, ptrdiff_t received) {
    if (neighbour < 0 || neighbour >= size) return;
    const auto with = static_cast<uint32_t>(neighbour);
    ranks_->ExchangeOn(Ranks::Channel::kSteps, with, piece(sent), with, piece(received));
    if (neighbour < rank) add_to(received);
  };
  for (ptrdiff_t slot = 0; slot < pieces + 2 * size - 3; ++slot) {
    if (rank == 0) add_to(slot);
    const ptrdiff_t back = slot - (2 * size - 3 - rank);  // that comes from the right
    if (rank % 2 == 1) meet(rank - 1, back - 1, slot - (rank - 1));
    meet(rank + 1, slot - rank, back);
    if (rank % 2 == 0) meet(rank - 1, back - 1, slot - (rank - 1));
  }
}

double RankSteps::SumLosses(const std::function<double(double sum)>& add) {
  const uint32_t rank = member(), size = members();
  double sum = 0;
  const std::span<char> bytes(reinterpret_cast<char*>(&sum), sizeof(sum));
  const auto meet = [&](bool right, bool send) {
    if (right ? rank + 1 == size : rank == 0) return;
    const uint32_t with = right ? rank + 1 : rank - 1;
    ranks_->ExchangeOn(Ranks::Channel::kSteps, with, send ? bytes : std::span<char>(), with,
                       send ? std::span<char>() : bytes);
  };
  meet(false, false);
  sum = add(sum);
  meet(true, true);
  meet(true, false);
  meet(false, true);
  return sum;
}

}  // namespace l2gcn
