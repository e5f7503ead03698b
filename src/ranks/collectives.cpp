#include "ranks/collectives.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/error_format.h"

namespace l2gcn {

uint32_t OwnerOf(size_t at, size_t count, uint32_t size) {
  L2GCN_ASSERT(at < count);
  auto rank = static_cast<uint32_t>(uint64_t{at} * size / count);
  while (ShareBegin(count, rank + 1, size) <= at) ++rank;
  while (ShareBegin(count, rank, size) > at) --rank;
  return rank;
}

void Broadcast(Ranks& ranks, std::span<char> bytes) {
  const uint32_t rank = ranks.rank(), size = ranks.size();
  for (uint32_t reach = 1; reach < size; reach *= 2) {
    // Ranks below `reach` have it, and each tells one other.
    if (rank < reach && rank + reach < size) ranks.Exchange(rank + reach, bytes, 0, {});
    if (rank >= reach && rank < 2 * reach) ranks.Exchange(0, {}, rank - reach, bytes);
  }
}

void BroadcastText(Ranks& ranks, std::string& text) {
  uint64_t length = text.size();
  Broadcast(ranks, {reinterpret_cast<char*>(&length), sizeof(length)});
  text.resize(length);
  Broadcast(ranks, text);
}

void Barrier(Ranks& ranks) {
  const uint32_t rank = ranks.rank(), size = ranks.size();
  for (uint32_t reach = 1; reach < size; reach *= 2) {
    const char out = 0;
    char in = 0;
    ranks.Exchange((rank + reach) % size, {&out, 1}, (rank + size - reach) % size, {&in, 1});
  }
}

void AllGather(Ranks& ranks, std::span<const size_t> offsets, std::span<char> bytes) {
  const uint32_t rank = ranks.rank(), size = ranks.size();
  const auto part = [&](uint32_t of) { return bytes.subspan(offsets[of], offsets[of + 1] - offsets[of]); };
  for (uint32_t step = 1; step < size; ++step) {
    const uint32_t to = (rank + step) % size, from = (rank + size - step) % size;
    ranks.Exchange(to, part(rank), from, part(from));
  }
}

std::vector<std::string> AllGatherText(Ranks& ranks, const std::string& mine) {
  const uint32_t size = ranks.size();
  std::vector<uint64_t> lengths(size);
  std::vector<size_t> offsets(size + 1);
  for (uint32_t r = 0; r <= size; ++r) offsets[r] = r * sizeof(uint64_t);
  lengths[ranks.rank()] = mine.size();
  AllGather(ranks, offsets, {reinterpret_cast<char*>(lengths.data()), size * sizeof(uint64_t)});
  for (uint32_t r = 0; r < size; ++r) offsets[r + 1] = (r == 0 ? 0 : offsets[r]) + lengths[r];
  offsets[0] = 0;
  std::string all(offsets[size], '\0');
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<ptrdiff_t>(offsets[ranks.rank()]));
  AllGather(ranks, offsets, all);
  std::vector<std::string> texts;
  for (uint32_t r = 0; r < size; ++r) texts.push_back(all.substr(offsets[r], lengths[r]));
  return texts;
}

std::string AgreedText(const Context& context, const std::function<std::string()>& make) {
  std::string text = Leads(context) ? make() : std::string();
  if (context.ranks != nullptr) BroadcastText(*context.ranks, text);
  return text;
}

uint64_t SumOverRanks(Ranks& ranks, uint64_t value) {
  std::vector<uint64_t> values(ranks.size());
  std::vector<size_t> offsets(ranks.size() + size_t{1});
  for (uint32_t r = 0; r <= ranks.size(); ++r) offsets[r] = r * sizeof(uint64_t);
  values[ranks.rank()] = value;
  AllGather(ranks, offsets, {reinterpret_cast<char*>(values.data()), values.size() * sizeof(uint64_t)});
  uint64_t sum = 0;
  for (const uint64_t one : values) sum += one;
  return sum;
}

Context WithoutRanks(const Context& context) {
  Context alone = context;
  alone.ranks.reset();
  return alone;
}

namespace {

// Who makes which of some things. Each rank begins with the one of its own number. Where all ranks see one memory, who is
// done then takes the next that nobody has taken, so that a slow rank is left with fewer; else every rank has those that
// follow in steps of the ranks' number.
class SharedThings {
 public:
  explicit SharedThings(Ranks& ranks) : ranks_(ranks), next_(ranks.rank()) {
    if (ranks_.shares_memory()) taken_ = ranks_.AllocateShared(sizeof(uint64_t));
  }
  size_t First() const { return next_; }
  size_t Next() {
    if (taken_ == nullptr) return next_ += ranks_.size();
    std::atomic_ref<uint64_t> taken(*static_cast<uint64_t*>(taken_.get()));
    return ranks_.size() + taken.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);  // so that it works between processes

  Ranks& ranks_;
  size_t next_;
  std::shared_ptr<void> taken_;  // (1) uint64_t: how many beyond those that everyone began with; or null
};

}  // namespace

void ShareOut(const Context& context, size_t count,
              const std::function<std::string(const Context&, size_t)>& make,
              const std::function<void(size_t, std::string)>& give) {
  const Context alone = WithoutRanks(context);
  if (context.ranks == nullptr) {
    for (size_t i = 0; i < count; ++i) give(i, make(alone, i));
    return;
  }
  Ranks& ranks = *context.ranks;
  size_t left = count;
  // A message is the number of the thing and the thing.
  const auto take = [&](bool wait) {
    std::optional<Ranks::Posted> posted = ranks.Take(wait);
    if (!posted) return false;
    uint64_t number = 0;
    std::memcpy(&number, posted->bytes.data(), sizeof(number));
    give(number, posted->bytes.substr(sizeof(number)));
    --left;
    return true;
  };
  SharedThings things(ranks);
  for (size_t i = things.First(); i < count; i = things.Next()) {
    std::string thing = make(alone, i);
    if (ranks.leads()) {
      give(i, std::move(thing));
      --left;
      while (left > 0 && take(false)) continue;
    } else {
      const uint64_t number = i;
      ranks.Post(std::string(reinterpret_cast<const char*>(&number), sizeof(number)) + thing);
    }
  }
  while (ranks.leads() && left > 0) take(true);
}

}  // namespace l2gcn
