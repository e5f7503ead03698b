// The paper's tables and figures, measured again in this engine, with the paper's own figures beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/compare.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

inline constexpr uint32_t kMostCapacityNodes = 8;

struct ReproduceOptions {
  // What target theorems measures: theorems 5 and 6, on all graphs of some sizes up to isomorphism.
  struct Theorems {
    uint32_t least_nodes = 4;  // sizes of the enumerated graphs, 2 … 8
    uint32_t most_nodes = 8;
    uint32_t layers = 5;  // networks of depth 1 … layers; colour refinement goes on until it ends
    std::vector<uint32_t> widths = {2, 8, 32};
    uint32_t seeds = 3;  // networks of every kind: seed … seed + seeds − 1
    uint64_t seed = 0;
    std::vector<std::string> features = {"constant", "degree"};
    std::string activation = "relu";  // relu | tanh
    uint32_t steps = 40;              // of training, for a layer (layer-wise) or a network (end to end)
    uint32_t examples = 3;            // pairs listed where counts differ, at most
  };

  std::string target;  // one of ReproduceTargets(), or "all"
  bool quick = false;  // large shapes at QuickScale(), fewer epochs and seeds: minutes instead of hours
  uint32_t runs = 0;   // seeds; 0: 5, or 2 when quick
  std::vector<std::string> sets;  // only rows of these; empty: all
  double max_seconds = 0;         // a training is stopped past this much of its own clock; 0: none
  Theorems theorems;              // of target theorems; quick: graphs of at most 6 nodes
  OpenOptions open;               // where real data sets are looked for
  // Folder for TARGET.json and figures, made if it is not there; until all is done, trainings that are measured are kept in
  // it. "": none.
  std::string folder;
  bool resume = false;  // trainings that an earlier reproduction kept there need not be measured again
};

std::vector<std::string> ReproduceTargets();
// Data sets of the paper's tables.
std::vector<std::string> ReproduceSets();

// The share of its full size at which --quick generates a shape: 1 for the small ones, else less.
double QuickScale(const std::string& shape);

// Throws Error(kUsage) for an unknown target or set, naming the nearest, for an option the target has no use for, and
// before anything is measured for a folder that cannot be written. Every row says whether its data set is the real one or
// a generated shape, and at which scale.
Study Reproduce(const Context& context, const ReproduceOptions& options);

}  // namespace l2gcn
