// A small two-community data set for tests: 120 nodes, dense or sparse features, one class or several labels
// a node.
#pragma once

#include <algorithm>
#include <vector>

#include "core/rng.h"
#include "graph/build.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

inline Dataset SmallDataset(bool multilabel = false, bool sparse = false, uint32_t nodes = 120) {
  const Context context = MakeContext(1);
  const RandomStream random(42, RandomUse::kGenerator, 500);
  constexpr uint32_t kFeatures = 12, kClasses = 3;
  std::vector<uint32_t> source, target;
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t draw = 0; draw < 4; ++draw) {
      const uint32_t other =
          static_cast<uint32_t>(random.Below(i * 8 + draw, nodes / kClasses)) * kClasses + i % kClasses;
      if (other < nodes && i % 17 != 0) {
        source.push_back(i);
        target.push_back(other);
      }
    }
  }
  Dataset dataset;
  dataset.name = "small";
  dataset.format = "test";
  BuiltGraph built = BuildGraph(context, nodes, source, target, {}, {});
  dataset.graph = built.graph;
  dataset.edges = built.edges;
  Matrix x = Matrix::Allocate(nodes, kFeatures);
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t j = 0; j < kFeatures; ++j) {
      const float noise = random.Uniform(100000 + i * kFeatures + j);
      x.mutable_row(i)[j] =
          sparse && noise < 0.7f ? 0.0f : noise + (j % kClasses == i % kClasses ? 0.5f : 0.0f);
    }
  }
  if (sparse) {
    std::vector<uint64_t> indptr = {0};
    std::vector<uint32_t> indices;
    std::vector<float> values;
    for (uint32_t i = 0; i < nodes; ++i) {
      for (uint32_t j = 0; j < kFeatures; ++j) {
        if (x.row(i)[j] != 0) {
          indices.push_back(j);
          values.push_back(x.row(i)[j]);
        }
      }
      indptr.push_back(indices.size());
    }
    dataset.features = Features::Sparse({nodes, kFeatures, Array<uint64_t>::CopyOf(indptr),
                                         Array<uint32_t>::CopyOf(indices), Array<float>::CopyOf(values)});
  } else {
    dataset.features = Features::Dense(x);
  }
  dataset.labels.multilabel = multilabel;
  dataset.labels.classes = kClasses;
  if (multilabel) {
    dataset.labels.matrix = Array<uint8_t>::Zeros(size_t{nodes} * kClasses);
    for (uint32_t i = 0; i < nodes; ++i) {
      dataset.labels.matrix.mutable_data()[i * kClasses + i % kClasses] = 1;
      dataset.labels.matrix.mutable_data()[i * kClasses + (i + i % 2) % kClasses] = 1;
    }
  } else {
    dataset.labels.classes_of = Array<int32_t>::Allocate(nodes);
    for (uint32_t i = 0; i < nodes; ++i) {
      dataset.labels.classes_of.mutable_data()[i] = i % 23 == 5 ? -1 : static_cast<int32_t>(i % kClasses);
    }
  }
  dataset.class_names = {"red", "green", "blue"};
  return dataset;
}

// The edges as two relations: between nodes whose numbers sum to an even number, and the others.
inline Dataset WithRelations(Dataset dataset) {
  const Graph& all = dataset.graph;
  for (uint32_t odd = 0; odd < 2; ++odd) {
    std::vector<uint32_t> source, target;
    for (uint32_t i = 0; i < all.nodes; ++i) {
      for (uint64_t e = all.indptr[i]; e < all.indptr[i + 1]; ++e) {
        if ((i + all.indices[e]) % 2 != odd) continue;
        source.push_back(i);
        target.push_back(all.indices[e]);
      }
    }
    dataset.relations.push_back(
        {odd == 0 ? "even" : "odd", BuildGraph(MakeContext(1), all.nodes, source, target, {}, {}).graph});
  }
  return dataset;
}

inline TrainConfig SmallConfig() {
  TrainConfig config;
  config.method = "lgcn";
  config.split = "uniform:0.5,0.2,0.3";  // which looks at no label: tests change them
  config.hidden = {16, 24};
  config.epochs = {12};
  config.batch = 16;
  config.lr = 0.01;
  return config;
}

}  // namespace l2gcn
