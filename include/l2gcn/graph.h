// A graph in compressed sparse rows: 32-bit node ids, 64-bit edge offsets.
//
// Guarantees of every Graph the library builds: neighbours of a node ascend and do not repeat; an undirected
// graph holds each edge in both directions; isolated nodes are allowed.
#pragma once

#include <cstdint>

#include "l2gcn/array.h"

namespace l2gcn {

struct Graph {
  // What cleaning an edge list did to it; every reader reports it.
  struct Changes {
    uint64_t entries_read = 0;        // directed entries or lines as stored
    uint64_t reverses_added = 0;      // entries that exist only because the graph was symmetrised
    uint64_t duplicates_dropped = 0;  // repeated entries
    uint64_t self_loops_found = 0;
    uint64_t self_loops_dropped = 0;
  };

  uint32_t nodes = 0;
  Array<uint64_t> indptr;   // (nodes + 1)
  Array<uint32_t> indices;  // (entries)
  Array<float> weights;     // (entries), or empty: every edge weighs 1
  bool directed = false;

  uint64_t entries() const { return indices.size(); }
  bool weighted() const { return !weights.empty(); }
  uint64_t degree(uint32_t node) const { return indptr[node + 1] - indptr[node]; }
  size_t bytes() const { return indptr.bytes() + indices.bytes() + weights.bytes(); }
};

}  // namespace l2gcn
