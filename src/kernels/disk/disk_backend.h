// A backend whose matrices lie on disk, for graphs and features larger than memory (Context::disk).
//
// How each operation moves its data, with N nodes, F columns and a panel of p columns that fits into memory:
//   Aggregate   for each panel: the panel is read, the graph's rows stream past it, the panel of the result is written.
//               A row's sum keeps its order, so the bits are those of the aggregation in memory.
//   Transform, Logits, Download, PickRows   block of rows by block of rows
//   BeginLayer  the samples' rows are put in memory if they fit, else into a scratch file that training reads by
//               windows (core/sample_order.h)
// Arithmetic is left to the CPU backend (aggregation) and to the backend of the context's device (all else). Sparse
// features stay sparse, in mapped memory.
//
// Guarantees: on the CPU every result has the bits that the CPU backend gives. What is allocated stays within the
// budget of Context::disk as long as a panel of one cache line a node fits into it.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

// `device` is the backend that computes; null: the CPU.
std::unique_ptr<Backend> MakeDiskBackend(const Context& context, const BackendOptions& options,
                                         std::unique_ptr<Backend> device);

}  // namespace l2gcn
