// Checks whether tables and edges use the same ids. Counts what does not match, shows examples, and
// refuses a set of which too much does not: more than a tenth, or with --allow-unmatched everything. The error says
// what would match: another column, or the same ids without regard to case, leading zeros or blanks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/edge_load.h"
#include "data/id_table.h"
#include "data/table.h"

namespace l2gcn {

struct IdMatch {
  const Context& context;
  const std::filesystem::path& edge_path;
  const EdgeTextFormat& format;
  const IdTable& ids;          // It is finished.
  const LoadedEdges& edges;    // They hold keys of `ids`.
  const OpenOptions& options;  // Those of --allow-unmatched and of the model that predicts.
};

// For a table that should have a row for every node: more than a tenth of the edges' ids without one is
// Error(kInput). `row_of` (nodes) gives each node's row, or kNoTableRow.
void CheckCoversEdges(const IdMatch& match, const Table& table, size_t id_column,
                      std::span<const uint32_t> row_of);

// Checks the same for features in JSON, which have no other column to name. `has_row` (nodes) is 0 or 1.
void CheckCovered(const IdMatch& match, const std::filesystem::path& file, std::span<const uint8_t> has_row);

// For a table of labels beside features, or of labels alone: more than a tenth of its rows of nodes that
// stand nowhere else is Error(kInput). `has_features` (nodes) may be empty.
void CheckStandsElsewhere(const IdMatch& match, const Table& table, size_t id_column,
                          std::span<const uint32_t> row_of, std::span<const uint8_t> has_features);

// Whether the table of nodes was given as `edges`, and the edge list as `nodes`: to be asked where reading them failed.
bool LookSwapped(const std::filesystem::path& edges, const std::filesystem::path& nodes);

}  // namespace l2gcn
