// Collective operations, built from exchanges between two ranks. All ranks must call the same ones in the same order.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

// The part of `count` things that rank `rank` of `size` has: begin(rank) … begin(rank + 1) − 1.
inline size_t ShareBegin(size_t count, uint32_t rank, uint32_t size) {
  return static_cast<size_t>(uint64_t{count} * rank / size);
}
// The rank that has thing `at`.
uint32_t OwnerOf(size_t at, size_t count, uint32_t size);

// visit(to, from) for every pair of partners of this rank, in an order in which all meet without waiting for a third.
template <class Visit>
void ForPartners(const Ranks& ranks, const Visit& visit) {
  const uint32_t rank = ranks.rank(), size = ranks.size();
  for (uint32_t step = 1; step < size; ++step) visit((rank + step) % size, (rank + size - step) % size);
}

// Rank 0's bytes to all, along a binary tree.
void Broadcast(Ranks& ranks, std::span<char> bytes);
void BroadcastText(Ranks& ranks, std::string& text);
void Barrier(Ranks& ranks);
// Rank r has bytes offsets[r] … offsets[r + 1] − 1 of `bytes`, and gets all others.
void AllGather(Ranks& ranks, std::span<const size_t> offsets, std::span<char> bytes);
// Everyone's text, in the order of ranks.
std::vector<std::string> AllGatherText(Ranks& ranks, const std::string& mine);

// Rank 0's value where there are ranks; else the given one. For what a clock or a disk decides.
template <class T>
T Agreed(const Context& context, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (context.ranks != nullptr) Broadcast(*context.ranks, {reinterpret_cast<char*>(&value), sizeof(T)});
  return value;
}
// Likewise of a text; `make` is called by rank 0 alone.
std::string AgreedText(const Context& context, const std::function<std::string()>& make);

// The sum over ranks of a whole number.
uint64_t SumOverRanks(Ranks& ranks, uint64_t value);

// A context for work that this rank does alone.
Context WithoutRanks(const Context& context);

// Independent things, each made by one rank: make(i) returns thing i as bytes. Rank 0 is given every thing as soon as
// it has come, and no two at once; the others are given none. Rank r begins with thing r; who makes which of the others may
// depend on who is faster. `make` must not use the ranks. Returns at once on ranks other than 0 when their part is done.
// Without ranks all things are made and given here.
void ShareOut(const Context& context, size_t count,
              const std::function<std::string(const Context&, size_t)>& make,
              const std::function<void(size_t, std::string)>& give);
}  // namespace l2gcn
