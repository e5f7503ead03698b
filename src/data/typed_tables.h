// Data sets of several node tables and several edge tables: --nodes user=users.csv --edges user:bought:item=bought.csv.
//
// Row k of a table is the k-th node of its type, and ids belong to their type. Every id of an edge table must stand in the
// node table of its end; with --allow-unmatched edges with other ids are left out, and a note counts them.
#pragma once

#include "l2gcn/dataset.h"

namespace l2gcn {

// Whether the options name such tables, or a schema file.
bool NamesTypedTables(const OpenOptions& options);

Dataset ReadTypedTables(const Context& context, const OpenOptions& options);

}  // namespace l2gcn
