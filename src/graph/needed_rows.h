// Finds the rows of every layer's X̂ = Â X that the requested rows of the last layer depend on, and builds operators of those
// rows alone.
//
// A walk backwards over Â, one bit a node: the last layer needs the rows it is asked for; a layer before needs the rows
// of those nodes and of their neighbours. It ends where too few rows would be saved; that layer and those before it
// have every row. Where a layer's input has fewer rows than there are nodes, the columns of its operator are numbers of
// those rows. Numbers ascend as nodes do, so a row's sum keeps its order and its bits.
//
// The operator is read once a layer, by stretches and by a few threads, past the page cache where the context watches
// it; the results are then placed in scratch. CPU only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/propagation.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {

struct NeededRows {
  Array<uint32_t> nodes;  // ascending: what the rows stand for; empty: the layer has every row
  Propagation a;          // those rows, if there are any
};

// Whether computing `rows` rows with `entries` entries in place of all is worth copying them out.
bool PaysToCopyRows(uint64_t rows, uint64_t entries, uint64_t all_rows, uint64_t all_entries);

// For each of `layers` layers, if of the last one the rows of `last` (ascending) are wanted. Layers before `first` have
// every row in any case.
std::vector<NeededRows> FindNeededRows(const Context& context, const Propagation& a,
                                       const std::vector<uint32_t>& last, uint32_t layers,
                                       uint32_t first = 0);

}  // namespace l2gcn
