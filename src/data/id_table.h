// From ids as files spell them to node numbers 0 … n−1.
//
// Small ids are marked in a bit map and number the nodes by rank. Other ids go through a dictionary of 64
// shards, each an open-addressing table over cells of 16 bytes that hold a short name whole (a long one lies
// behind a reference), so that a look-up touches two cache lines; a shard has one writer at a time and meets
// names in file order, so the numbering does not depend on the number of threads.
//
// Final order: integers ascend; text ids keep the order in which they first appear.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/edge_text.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

class IdTable {
 public:
  // `memory_limit` bounds the dictionary; past it Error(kInput) says how much would be needed. 0: no limit.
  IdTable(IdKind kind, uint64_t memory_limit);

  IdKind kind() const { return kind_; }

  // Small ids: the key is the id. Safe from several threads once Reserve has been called for the current ids.
  void Reserve(uint32_t largest_id);
  void MarkSmall(std::span<const uint32_t> ids);

  // Other ids: key of each token, new ones entered in order. Not to be called from several threads; uses the
  // context's.
  void Resolve(const Context& context, std::span<const std::string_view> tokens, std::span<uint32_t> keys);
  // One id of any kind.
  uint32_t ResolveOne(std::string_view token);

  // Numbers the nodes; keys can be turned into nodes from here on, and no ids added.
  void Finish();
  uint32_t nodes() const { return nodes_; }
  uint32_t NodeOf(uint32_t key) const;
  void ToNodes(std::span<uint32_t> keys) const;                           // each replaced by its node
  bool identity() const { return kind_ == IdKind::kSmall && identity_; }  // node = key

  // Original ids of nodes 0 … n−1: one of these is filled, or neither when the ids are 0 … n−1 themselves.
  Array<int64_t> NodeIds() const;
  NameTable Names() const;
  // NodeIds() in parts, in order; small ids without an array of all of them.
  void VisitNodeIds(const std::function<void(std::span<const int64_t>)>& take) const;
  // Gives back what only Resolve and Names need.
  void DropNames();
  uint64_t bytes() const;

 private:
  static constexpr uint32_t kShardBits = 6, kShards = 1u << kShardBits;
  struct Slot {
    uint32_t tag;    // high half of the hash
    uint32_t entry;  // 1-based; 0: free
  };
  struct alignas(16) Cell {
    static constexpr size_t kShort = 15;
    static constexpr uint8_t kLong = 255;
    char bytes[kShort];  // the name, zeros behind it; a long one: offset into text (8 bytes), length (4)
    uint8_t size;        // of the name, or kLong
  };
  struct Shard {
    std::vector<Slot> slots;           // power of two
    std::vector<Cell> cells;           // (entries)
    std::vector<char> text;            // of long names
    std::vector<uint64_t> first_seen;  // (entries)
    std::vector<uint32_t> node_of;     // (entries), after Finish
    std::string_view Name(size_t entry) const;
    // Whether the entry is `name`, of which `cell` is the cell if it is short.
    bool Is(size_t entry, std::string_view name, const Cell& cell) const;
    size_t Home(uint64_t hash) const {
      return (hash >> kShardBits) & (slots.size() - 1);
    }                                           // first slot to look at
    uint32_t LikelyEntry(uint64_t hash) const;  // the first of this tag, 1-based; 0: none
    uint64_t bytes() const;
  };

  void Grow(Shard& shard);
  uint32_t Enter(uint32_t shard_number, std::string_view name, uint64_t hash, uint64_t seen);
  std::string_view KeyText(std::string_view token, char* integer_buffer) const;
  void CheckMemory() const;
  void FinishSmall();
  void FinishDictionary();

  IdKind kind_;
  uint64_t memory_limit_;
  uint64_t seen_ = 0;             // tokens resolved so far
  std::vector<uint64_t> marked_;  // bit map of small ids
  std::vector<uint32_t> rank_;    // marked ids before each word
  std::vector<Shard> shards_;
  uint32_t nodes_ = 0;
  bool identity_ = false;
};

// Tells how ids became node numbers, where they are not 0 … n−1 already.
void LogIds(const Context& context, const std::string& name, const IdTable& ids);

}  // namespace l2gcn
