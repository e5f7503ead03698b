// Synthetic graphs of the paper's shapes. Same bytes for any thread count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/dataset.h"

namespace l2gcn {

struct GenerateOptions {
  std::string shape = "pubmed";  // cora pubmed ppi reddit reddit-dgl amazon670k amazon3m papers100m
  uint64_t seed = 0;
  double scale = 1.0;  // multiplies nodes and edges
  uint64_t nodes = 0;  // 0: the shape's
  uint64_t edges = 0;  // undirected; 0: the shape's, in proportion to nodes
  uint32_t features = 0;
  uint32_t classes = 0;
  FeatureType features_as = FeatureType::kF32;  // what dense features are written as: f32 or f16
  uint32_t topics = 1;      // communities of a class, each with features of its own, large and small
  double skew = 1;          // 1 … 100: each class has so many times the nodes of the next one
  uint32_t edge_types = 1;  // 1 … 32; above 1 a label is the class that edges of the first type lead to
  bool directed =
      false;  // a label is the class that edges (of the first type) lead to, not those that arrive
  // Strengths; none: the shape's.
  std::optional<double> homophily;    // 0 … 1: share of edges drawn inside a class on purpose
  std::optional<double> signal;       // length of a class's mean under noise of deviation 1 a column, or, of
                                      // word features, the share of words from the class's topic (0 … 1)
  std::optional<double> label_noise;  // 0 … 1: share of labels replaced
  // One number a node in place of labels, by its own and its neighbours' features; a directory is then written from memory.
  bool regression = false;
};

std::vector<std::string> GeneratorShapes();

// In memory. Throws Error(kInput) naming the GiB needed where they are not free or exceed 64 (papers100m).
Dataset GenerateDataset(const Context& context, const GenerateOptions& options);

// The same data set straight to a native directory, with memory that does not hold the features or the edges
// at once.
void GenerateToDirectory(const Context& context, const GenerateOptions& options, const std::string& directory,
                         bool force = false);

}  // namespace l2gcn
