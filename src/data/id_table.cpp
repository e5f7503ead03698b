#include "data/id_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <queue>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kWordsTold = 64;  // whose ids are told together
constexpr size_t kLookAhead = 32;  // names that are fetched together before they are compared

// std::popcount is a call where the instruction may be missing.
inline uint32_t CountBits(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
  return static_cast<uint32_t>(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

}  // namespace

IdTable::IdTable(IdKind kind, uint64_t memory_limit) : kind_(kind), memory_limit_(memory_limit) {
  if (kind != IdKind::kSmall) {
    shards_.resize(kShards);
    for (Shard& shard : shards_) shard.slots.resize(16);
  }
}

void IdTable::Reserve(uint32_t largest_id) {
  const size_t words = size_t{largest_id} / 64 + 1;
  if (words <= marked_.size()) return;
  marked_.resize(std::max(words, marked_.size() + marked_.size() / 2), 0);
  CheckMemory();
}

void IdTable::MarkSmall(std::span<const uint32_t> ids) {
  for (const uint32_t id : ids) {
    uint64_t& word = marked_[id / 64];
    const uint64_t bit = uint64_t{1} << (id % 64);
    const std::atomic_ref<uint64_t> shared(word);
    // Most ids are marked already: a look is cheaper than an atomic write.
    if ((shared.load(std::memory_order_relaxed) & bit) == 0) shared.fetch_or(bit, std::memory_order_relaxed);
  }
}

uint64_t IdTable::Shard::bytes() const {
  return slots.capacity() * sizeof(Slot) + cells.capacity() * sizeof(Cell) + text.capacity() +
         first_seen.capacity() * sizeof(uint64_t) + node_of.capacity() * sizeof(uint32_t);
}

std::string_view IdTable::Shard::Name(size_t entry) const {
  const Cell& cell = cells[entry];
  if (cell.size != Cell::kLong) return {cell.bytes, cell.size};
  uint64_t offset = 0;
  uint32_t length = 0;
  std::memcpy(&offset, cell.bytes, sizeof(offset));
  std::memcpy(&length, cell.bytes + sizeof(offset), sizeof(length));
  return {text.data() + offset, length};
}

bool IdTable::Shard::Is(size_t entry, std::string_view name, const Cell& cell) const {
  return cell.size == Cell::kLong ? Name(entry) == name
                                  : std::memcmp(&cells[entry], &cell, sizeof(Cell)) == 0;
}

uint32_t IdTable::Shard::LikelyEntry(uint64_t hash) const {
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = Home(hash);
  while (slots[at].entry != 0 && slots[at].tag != tag) at = (at + 1) & (slots.size() - 1);
  return slots[at].entry;
}

uint64_t IdTable::bytes() const {
  uint64_t bytes = marked_.capacity() * sizeof(uint64_t) + rank_.capacity() * sizeof(uint32_t);
  for (const Shard& shard : shards_) bytes += shard.bytes();
  return bytes;
}

void IdTable::CheckMemory() const {
  if (memory_limit_ == 0 || bytes() <= memory_limit_) return;
  ThrowInput("the table of node ids needs more than its share of {} MiB; raise --memory",
             memory_limit_ >> 20);
}

void IdTable::Grow(Shard& shard) {
  std::vector<Slot> slots(shard.slots.size() * 2);
  const size_t mask = slots.size() - 1;
  for (size_t entry = 0; entry < shard.cells.size(); ++entry) {
    const std::string_view name = shard.Name(entry);
    const uint64_t hash = XXH3_64bits(name.data(), name.size());
    size_t at = (hash >> kShardBits) & mask;
    while (slots[at].entry != 0) at = (at + 1) & mask;
    slots[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(entry + 1)};
  }
  shard.slots.swap(slots);
}

uint32_t IdTable::Enter(uint32_t shard_number, std::string_view name, uint64_t hash, uint64_t seen) {
  Shard& shard = shards_[shard_number];
  const size_t mask = shard.slots.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  Cell cell{{}, Cell::kLong};
  if (name.size() <= Cell::kShort) {
    std::memcpy(cell.bytes, name.data(), name.size());
    cell.size = static_cast<uint8_t>(name.size());
  }
  size_t at = shard.Home(hash);
  for (; shard.slots[at].entry != 0; at = (at + 1) & mask) {
    const uint32_t entry = shard.slots[at].entry - 1;
    if (shard.slots[at].tag == tag && shard.Is(entry, name, cell)) return entry << kShardBits | shard_number;
  }
  const size_t entry = shard.cells.size();
  if (entry >= (size_t{1} << (31 - kShardBits))) ThrowInput("more than 2³¹ different node ids");
  shard.slots[at] = {tag, static_cast<uint32_t>(entry + 1)};
  if (cell.size == Cell::kLong) {
    const uint64_t offset = shard.text.size();
    const auto length = static_cast<uint32_t>(name.size());  // a line is shorter than 2³² bytes
    std::memcpy(cell.bytes, &offset, sizeof(offset));
    std::memcpy(cell.bytes + sizeof(offset), &length, sizeof(length));
    shard.text.insert(shard.text.end(), name.begin(), name.end());
  }
  shard.cells.push_back(cell);
  shard.first_seen.push_back(seen);
  if (shard.first_seen.size() * 4 > shard.slots.size() * 3) Grow(shard);
  return static_cast<uint32_t>(entry) << kShardBits | shard_number;
}

// Integers are kept as their eight bytes, so that one dictionary serves both kinds.
std::string_view IdTable::KeyText(std::string_view token, char* integer_buffer) const {
  if (kind_ == IdKind::kText) return token;
  int64_t id = 0;
  if (!ParseId(token, id)) throw NeedsWiderIds{IdKind::kText};
  std::memcpy(integer_buffer, &id, sizeof(id));
  return {integer_buffer, sizeof(id)};
}

void IdTable::Resolve(const Context& context, std::span<const std::string_view> tokens,
                      std::span<uint32_t> keys) {
  L2GCN_ASSERT(kind_ != IdKind::kSmall && tokens.size() == keys.size());
  const uint64_t first = seen_;
  seen_ += tokens.size();
  std::vector<uint64_t> hashes(tokens.size());
  std::vector<int64_t> integers(kind_ == IdKind::kInteger ? tokens.size() : 0);
  const auto text_of = [&](size_t i) {
    return integers.empty() ? tokens[i]
                            : std::string_view(reinterpret_cast<const char*>(&integers[i]), sizeof(int64_t));
  };
  ParallelFor(context, tokens.size(), 4096, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!integers.empty() && !ParseId(tokens[i], integers[i])) throw NeedsWiderIds{IdKind::kText};
      const std::string_view text = text_of(i);
      hashes[i] = XXH3_64bits(text.data(), text.size());
    }
  });
  // Each part is a range of shards, for which one thread walks all tokens in order.
  const uint32_t parts = std::min(context.threads, kShards);
  const auto serve = [&](uint32_t part) {
    const uint32_t begin = kShards * part / parts, end = kShards * (part + 1) / parts;
    size_t batch[kLookAhead];
    size_t waiting = 0;
    // A known name is two far reads away: its slot and its cell. Each is fetched for the whole batch before
    // any of them is needed.
    const auto enter_batch = [&] {
      for (size_t k = 0; k < waiting; ++k) {
        const Shard& shard = shards_[hashes[batch[k]] & (kShards - 1)];
        const uint32_t likely = shard.LikelyEntry(hashes[batch[k]]);
        if (likely != 0) __builtin_prefetch(&shard.cells[likely - 1]);
      }
      for (size_t k = 0; k < waiting; ++k) {
        const size_t i = batch[k];
        keys[i] = Enter(hashes[i] & (kShards - 1), text_of(i), hashes[i], first + i);
      }
      waiting = 0;
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      const uint32_t shard = hashes[i] & (kShards - 1);
      if (shard < begin || shard >= end) continue;
      __builtin_prefetch(&shards_[shard].slots[shards_[shard].Home(hashes[i])]);
      batch[waiting++] = i;
      if (waiting == kLookAhead) enter_batch();
    }
    enter_batch();
  };
  ParallelTasks(context, parts, [&](size_t part, uint32_t) { serve(static_cast<uint32_t>(part)); });
  CheckMemory();
}

uint32_t IdTable::ResolveOne(std::string_view token) {
  if (kind_ == IdKind::kSmall) {
    const IdKind needed = KindOfId(token);
    if (needed != IdKind::kSmall) throw NeedsWiderIds{needed};
    int64_t id = 0;
    ParseId(token, id);
    const auto key = static_cast<uint32_t>(id);
    Reserve(key);
    MarkSmall({&key, 1});
    return key;
  }
  char buffer[sizeof(int64_t)];
  const std::string_view text = KeyText(token, buffer);
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  return Enter(hash & (kShards - 1), text, hash, seen_++);
}

void IdTable::Finish() {
  if (kind_ == IdKind::kSmall) {
    FinishSmall();
  } else {
    FinishDictionary();
  }
}

void IdTable::FinishSmall() {
  rank_.resize(marked_.size());
  uint64_t count = 0, largest = 0;
  for (size_t word = 0; word < marked_.size(); ++word) {
    rank_[word] = static_cast<uint32_t>(count);
    count += CountBits(marked_[word]);
    if (marked_[word] != 0) largest = word * 64 + 63 - static_cast<uint64_t>(std::countl_zero(marked_[word]));
  }
  nodes_ = static_cast<uint32_t>(count);
  identity_ = count == 0 || count == largest + 1;
}

void IdTable::FinishDictionary() {
  uint64_t total = 0;
  for (Shard& shard : shards_) {
    std::vector<Slot>().swap(shard.slots);
    shard.node_of.resize(shard.first_seen.size());
    total += shard.first_seen.size();
  }
  nodes_ = static_cast<uint32_t>(total);
  // Within a shard names stand in the order of first_seen; for integers an order by value is made first.
  std::vector<std::vector<uint32_t>> order(kShards);
  const auto integer_of = [&](uint32_t shard, uint32_t entry) {
    int64_t id = 0;
    std::memcpy(&id, shards_[shard].Name(entry).data(), sizeof(id));
    return id;
  };
  if (kind_ == IdKind::kInteger) {
    for (uint32_t s = 0; s < kShards; ++s) {
      order[s].resize(shards_[s].first_seen.size());
      for (size_t e = 0; e < order[s].size(); ++e) order[s][e] = static_cast<uint32_t>(e);
      std::sort(order[s].begin(), order[s].end(),
                [&](uint32_t a, uint32_t b) { return integer_of(s, a) < integer_of(s, b); });
    }
  }
  struct Head {
    uint64_t rank;  // first_seen, or the integer shifted to unsigned order
    uint32_t shard;
    bool operator>(const Head& other) const { return rank > other.rank; }
  };
  std::priority_queue<Head, std::vector<Head>, std::greater<Head>> heads;
  std::vector<size_t> next(kShards, 0);
  const auto entry_at = [&](uint32_t s) {
    return order[s].empty() ? static_cast<uint32_t>(next[s]) : order[s][next[s]];
  };
  const auto push = [&](uint32_t s) {
    if (next[s] >= shards_[s].first_seen.size()) return;
    const uint64_t rank = kind_ == IdKind::kInteger
                              ? static_cast<uint64_t>(integer_of(s, entry_at(s))) ^ (uint64_t{1} << 63)
                              : shards_[s].first_seen[next[s]];
    heads.push({rank, s});
  };
  for (uint32_t s = 0; s < kShards; ++s) push(s);
  for (uint32_t node = 0; !heads.empty(); ++node) {
    const uint32_t s = heads.top().shard;
    heads.pop();
    shards_[s].node_of[entry_at(s)] = node;
    ++next[s];
    push(s);
  }
}

uint32_t IdTable::NodeOf(uint32_t key) const {
  ToNodes({&key, 1});
  return key;
}

void IdTable::ToNodes(std::span<uint32_t> keys) const {
  if (kind_ != IdKind::kSmall) {
    for (uint32_t& key : keys) key = shards_[key & (kShards - 1)].node_of[key >> kShardBits];
  } else if (!identity_) {
    for (uint32_t& key : keys)
      key = rank_[key / 64] + CountBits(marked_[key / 64] & ((uint64_t{1} << (key % 64)) - 1));
  }
}

void IdTable::VisitNodeIds(const std::function<void(std::span<const int64_t>)>& take) const {
  if (kind_ == IdKind::kText || identity() || nodes_ == 0) return;
  if (kind_ != IdKind::kSmall) {
    std::vector<int64_t> ids(nodes_);
    for (const Shard& shard : shards_) {
      for (size_t e = 0; e < shard.node_of.size(); ++e)
        std::memcpy(&ids[shard.node_of[e]], shard.Name(e).data(), sizeof(int64_t));
    }
    return take(ids);
  }
  int64_t ids[64 * kWordsTold];
  for (size_t first = 0; first < marked_.size(); first += kWordsTold) {
    size_t count = 0;
    for (size_t word = first; word < std::min(marked_.size(), first + kWordsTold); ++word) {
      for (uint64_t bits = marked_[word]; bits != 0; bits &= bits - 1)
        ids[count++] = static_cast<int64_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
    }
    take({ids, count});
  }
}

Array<int64_t> IdTable::NodeIds() const {
  Array<int64_t> ids;
  size_t told = 0;
  VisitNodeIds([&](std::span<const int64_t> some) {
    if (ids.empty()) ids = Array<int64_t>::Allocate(nodes_);
    std::copy(some.begin(), some.end(), ids.mutable_data() + told);
    told += some.size();
  });
  return ids;
}

NameTable IdTable::Names() const {
  NameTable names;
  if (kind_ != IdKind::kText) return names;
  names.offsets = Array<uint64_t>::Zeros(size_t{nodes_} + 1);
  uint64_t* offsets = names.offsets.mutable_data();
  for (const Shard& shard : shards_) {
    for (size_t e = 0; e < shard.node_of.size(); ++e) offsets[shard.node_of[e] + 1] = shard.Name(e).size();
  }
  for (uint32_t node = 0; node < nodes_; ++node) offsets[node + 1] += offsets[node];
  names.text = Array<uint8_t>::Allocate(offsets[nodes_]);
  for (const Shard& shard : shards_) {
    for (size_t e = 0; e < shard.node_of.size(); ++e) {
      const std::string_view name = shard.Name(e);
      std::copy(name.begin(), name.end(), names.text.mutable_data() + offsets[shard.node_of[e]]);
    }
  }
  return names;
}

void IdTable::DropNames() {
  for (Shard& shard : shards_) {
    std::vector<Cell>().swap(shard.cells);
    std::vector<char>().swap(shard.text);
    std::vector<uint64_t>().swap(shard.first_seen);
  }
}

void LogIds(const Context& context, const std::string& name, const IdTable& ids) {
  if (ids.identity()) return;
  context.Note(fmt::format("{}: {} {} ids numbered 0 to {}; the map is kept", name, ids.nodes(),
                           ids.kind() == IdKind::kText ? "text" : "integer", int64_t{ids.nodes()} - 1));
}

}  // namespace l2gcn
