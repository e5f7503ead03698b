// A backend whose matrices are shared out over ranks (Context::ranks): rank r of R holds rows N·r/R … N·(r+1)/R − 1 of
// every matrix of N rows. Every rank calls every operation at the same time.
//
// Where all ranks see one memory (Ranks::shares_memory), the CPU computes and nothing goes to disk, what Aggregate reads
// lies there, each
// rank sums its own rows of the result, and nothing is moved (kernels/ranks/shared_rows.h). Elsewhere, with F columns of
// b bytes, Aggregate moves its data by columns; the other operations move theirs in both cases:
//   Aggregate   columns are the unit. In rounds every rank gets a panel of columns of all rows from the others (the
//               first transpose), sums it with the whole graph, and sends everyone its rows of the result (the second
//               one): together 2·N·F·b·(R−1)/R bytes over all ranks. A row's sum keeps its order, so the bits are
//               those of one process. Sparse matrices are known whole to every rank, which sums its own rows.
//   Transform   own rows, nothing is moved
//   Logits, Download   own rows, then everyone gets all: results are for the host
//   PickRows    rows go to where they are wanted
//   BeginLayer  rank 0 trains. The samples' rows travel to it: whole where they are few, else window by window
//               (core/sample_order.h), so that no rank ever holds all of them. Where all ranks run on one machine, its
//               steps run on the threads of all, which would be idle. Where rows travel by messages, all ranks may
//               share the steps (kernels/ranks/step_choice.h, rank_steps.h); rows then go to who computes with them
//   Score       own rows with rank 0's weights; the loss of each row comes back, and their mean is taken in order
// Arithmetic is left to backends of the rank's own (LocalBackends). Those of GPUs keep rows in host memory
// (kernels/ranks/hosted_backend.h).
//
// Guarantees: every result has the bits that the local backend gives. Over ranks whole numbers are summed, and, where
// steps are shared, gradients and losses, which each rank adds to in turn in the order in which one process does.
#pragma once

#include <functional>
#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

using LocalBackendMaker = std::function<std::shared_ptr<Backend>(const BackendOptions& options)>;

struct LocalBackends {
  LocalBackendMaker make_local;    // for this rank's share; the tensors of one are known to the others
  LocalBackendMaker make_trainer;  // whose matrices are where training reads them
  bool sum_in_place = true;        // the CPU computes, so it can sum rows where other ranks have put them
  FeatureType product_type = FeatureType::kF32;  // in which Forward sums a product over the graph
  double sparse_density = 0;                     // up to which aggregated features stay sparse
};

std::unique_ptr<Backend> MakeRanksBackend(const Context& context, const BackendOptions& options,
                                          const LocalBackends& backends);

}  // namespace l2gcn
