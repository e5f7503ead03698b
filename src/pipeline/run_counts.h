// The counts of a data set and a configuration that a plan is computed from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/needed_rows.h"

namespace l2gcn {

struct RunCounts {
  uint64_t nodes = 0;
  uint64_t graphs = 1, entries = 0;  // that operators are of; entries of one of them, on average
  uint64_t train = 0;
  uint64_t scored = 0;              // nodes that train, validate or test
  bool scores_in_training = false;  // evaluation uses what training aggregated
  bool inductive = false, sparse = false, multilabel = false;
  uint64_t features = 0;  // columns of the first layer's input
  uint64_t classes = 0;
  uint64_t element = 4;       // bytes of one, in activations
  uint64_t stored_bytes = 0;  // of the features as they lie
  uint64_t graph_bytes = 0;
  uint64_t other_bytes = 0;      // labels and names
  uint64_t held_bytes = 0;       // by the process before the run, not mapped from files: all that is here …
  uint64_t others_bytes = 0;     // … and what of it is not the data set's
  uint64_t aggregates = 0;       // beside X in a layer's input; 0: the input is ÂX alone
  uint64_t raw_features = 0;     // columns of X⁰ in the input of every later layer
  uint64_t tried_operators = 0;  // of trials, which share the aggregates of X⁰; 0: there are no trials
  uint64_t smooth = 0, head = 0, batch = 0;
  size_t first_few = 0;  // layers before it have every row
  std::vector<uint64_t> hidden;
  std::vector<uint64_t> epochs;

  uint64_t rows() const { return inductive ? train : nodes; }
  // The train nodes' subgraph, as if edges did not care.
  uint64_t train_entries() const {
    const double share = static_cast<double>(train) / static_cast<double>(std::max<uint64_t>(1, nodes));
    return inductive ? static_cast<uint64_t>(share * share * static_cast<double>(entries)) : entries;
  }
  uint64_t copies() const { return 1 + aggregates; }
  // Columns of X̂, whose layer has `in` of X.
  uint64_t WidthOf(size_t layer, uint64_t in) const { return copies() * in + (layer > 0 ? raw_features : 0); }
  // Columns over every node that trials keep beside layer 1's X̂ for their validation nodes: all hops but the last.
  uint64_t TrialColumns() const {
    return inductive && tried_operators > 0 ? (copies() - tried_operators) * features : 0;
  }
  // The share of rows of a layer's X̂ in training that lead to a row that is scored, as if every node had the mean number
  // of neighbours, drawn from all nodes; 1 where all are computed (LayerPipeline::NeedLastRowsOf).
  double ShareOf(size_t layer) const {
    if (inductive || aggregates > 0 || layer < first_few || nodes == 0) return 1;
    const double degree = static_cast<double>(entries) / static_cast<double>(nodes);
    double share = static_cast<double>(scored) / static_cast<double>(nodes);
    for (size_t later = hidden.size() - 1;; --later) {
      const auto part = [&](uint64_t all) { return static_cast<uint64_t>(share * static_cast<double>(all)); };
      if (!PaysToCopyRows(part(nodes), part(entries), nodes, entries)) return 1;
      if (later == layer) return share;
      share = 1 - std::pow(1 - share, 1 + degree);
    }
  }
  uint64_t rows_of(size_t layer) const {
    return static_cast<uint64_t>(ShareOf(layer) * static_cast<double>(rows()));
  }
  uint64_t entries_of(size_t layer) const {
    return static_cast<uint64_t>(ShareOf(layer) * static_cast<double>(train_entries()));
  }
  uint64_t InputsOf(size_t layer) const { return layer == 0 ? features : hidden[layer - 1]; }
};

}  // namespace l2gcn
