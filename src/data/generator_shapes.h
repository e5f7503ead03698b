// The shapes of the paper's sets and what a request for one comes to: counts, parts, split boundaries and the
// strengths of the signals in graph and features. docs/reference/synthetic.md tells the model behind the numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"
#include "l2gcn/generate.h"

namespace l2gcn {

enum class FeatureKind { kBinaryWords, kTfIdfWords, kGaussian };

// A stretch of positions that share a role; a position is a node, or its place in a keyed shuffle.
struct SplitStretch {
  uint64_t end = 0;  // one past its last position
  Role role = Role::kNone;
};

struct GeneratorPlan {
  std::string shape;
  std::string preset_row;
  uint64_t seed = 0;
  uint32_t nodes = 0;
  uint64_t edges = 0;  // undirected, simple, no self loops; exact
  uint32_t features = 0;
  uint32_t classes = 0;  // labels, where multilabel
  uint32_t groups = 0;   // latent communities: one a class, or kinds of label sets
  bool multilabel = false;
  bool unlabelled_rest = false;  // nodes without a role carry no label
  FeatureKind kind = FeatureKind::kGaussian;
  double homophily = 0;    // share of edges drawn inside a group on purpose
  double signal = 0;       // kGaussian: length of a group's mean, noise having deviation 1 a column;
                           // words: share of a node's words that come from its group's topic
  double label_noise = 0;  // share of labels replaced (multilabel: of entries flipped)
  double words = 0;        // mean number of words a node
  double skew = 1;         // nodes of a class over those of the next one
  std::vector<uint32_t> part_begin;  // (parts + 1) first node of each disjoint graph
  std::vector<uint64_t> part_edges;  // (parts)
  std::vector<SplitStretch> split;   // ends at `nodes`
  bool shuffled_split = false;

  bool sparse() const { return kind != FeatureKind::kGaussian; }
  uint32_t parts() const { return static_cast<uint32_t>(part_edges.size()); }
};

// Throws Error(kUsage) for a shape that does not exist, counts out of range, and more edges than half the
// pairs.
GeneratorPlan ResolveGeneratorPlan(const GenerateOptions& options);

}  // namespace l2gcn
