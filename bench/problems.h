// The shapes of the benchmarks, and random data of those shapes: speed depends on sizes and sparsity, not on values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/propagation.h"
#include "kernels/backend.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/generate.h"

namespace l2gcn::bench {

// One layer's training problem.
struct LayerProblem {
  std::string name;  // "reddit/1": shape and layer
  uint32_t samples, features, hidden, classes, batch;
  double density = 1;  // share of non-zeros of X̂; below 1 it is kept sparse
  bool multilabel = false;
  uint32_t head = 0;  // above 0: a layer of preset `best` with this head, its norms and both of its dropouts

  double FlopsPerSample() const {  // useful arithmetic, forward and backward, none to the input
    const double last = head > 0 ? head : hidden;
    return 4.0 * density * features * hidden + 6.0 * hidden * head + 6.0 * last * classes;
  }
};

const std::vector<LayerProblem>& LayerProblems();

Features RandomFeatures(const Context& context, size_t rows, size_t cols, double density);
Targets RandomTargets(const LayerProblem& problem);
LayerState RandomState(const LayerProblem& problem);
LayerSpec SpecOf(const LayerProblem& problem);

// Â of the train nodes' own graph, as inductive training aggregates with, of a generated data set.
Propagation TrainPropagation(const Context& context, const GenerateOptions& options);

}  // namespace l2gcn::bench
