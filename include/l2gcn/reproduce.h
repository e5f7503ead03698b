// The paper's tables and figures, measured again in this engine, with the paper's own figures beside them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/capacity.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

struct ReproduceOptions {
  std::string target;  // one of ReproduceTargets(), or "all"
  bool quick = false;  // large shapes at QuickScale(), fewer epochs and seeds: minutes instead of hours
  uint32_t runs = 0;   // seeds; 0: 5, or 2 when quick
  std::vector<std::string> sets;  // only rows of these; empty: all
  double max_seconds = 0;         // a training is stopped past this much of its own clock; 0: none
  CapacityOptions theorems;       // of target theorems; quick: graphs of at most 6 nodes
  OpenOptions open;               // where real data sets are looked for
  std::string keep;               // folder where each training is kept once it is measured; "": none
};

struct Reproduction {
  std::string text;                                        // tables as people read them
  std::string json;                                        // the same figures
  std::vector<std::pair<std::string, std::string>> files;  // (name, content) of figures, SVG
};

std::vector<std::string> ReproduceTargets();
// Data sets of the paper's tables.
std::vector<std::string> ReproduceSets();

// The share of its full size at which --quick generates a shape: 1 for the small ones, else less.
double QuickScale(const std::string& shape);

// Throws Error(kUsage) for an unknown target or set, naming the nearest, and for an option the target has no use for.
void CheckReproduction(const ReproduceOptions& options);

// Every row says whether its data set is the real one or a generated shape, and at which scale.
Reproduction Reproduce(const Context& context, const ReproduceOptions& options);

// Makes sure that `folder` can be written, before anything is measured; returns where trainings are kept
// until all is done. Unless `resume`, what an earlier reproduction of the target kept is dropped.
std::string BeginReproduction(const std::string& target, const std::string& folder, bool resume);

// TARGET.json and the figures, into `folder`, which is made if it is not there.
void WriteReproduction(const Reproduction& reproduction, const std::string& target,
                       const std::string& folder);

}  // namespace l2gcn
