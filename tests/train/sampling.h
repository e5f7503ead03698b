// A sampling problem over the small data set, for tests of samplers and of back-propagation through their
// blocks.
#pragma once

#include <string>

#include "graph/normalise.h"
#include "small_dataset.h"
#include "train/block_network.h"
#include "train/sampler.h"

namespace l2gcn {

struct SmallProblem {
  Context context = MakeContext(2);
  Dataset dataset;
  TrainConfig config;
  SamplingProblem problem;
  NetworkInput input;
  Targets targets;

  // Transductive over all nodes; every fourth node counts in the loss unless `all_nodes`.
  SmallProblem(const std::string& method, uint32_t layers, bool sparse = false, bool multilabel = false,
               bool all_nodes = false)
      : dataset(SmallDataset(multilabel, sparse)) {
    for (uint32_t i = 0; i < dataset.nodes(); ++i) {  // an unlabelled node cannot be a target
      if (!multilabel && dataset.labels.classes_of[i] < 0) dataset.labels.classes_of.mutable_data()[i] = 1;
    }
    config = SmallConfig();
    config.method = method;
    config.adjacency = Adjacency::kSym;
    config.layers = layers;
    config.hidden = {10};
    config.batch = 24;
    config.samples = {method == "fastgcn" || method == "ladies" ? 30u : 2u};
    config.parts = 6;
    config.clusters_per_batch = 2;
    config.powers = {0, 1, 3};
    problem.graph = dataset.graph;
    problem.a = MakePropagation(context, dataset.graph, Adjacency::kSym);
    problem.layers = layers;
    problem.prediction_head = method == "ngcn";
    for (uint32_t i = 0; i < dataset.nodes(); ++i) {
      if (all_nodes || i % 4 == 0) problem.loss_nodes.push_back(i);
    }
    input.features = dataset.features;
    targets = {multilabel, 3, dataset.labels.classes_of, dataset.labels.matrix, {}};
  }

  NetworkSpec Spec(float dropout) const {
    NetworkSpec spec;
    spec.multilabel = dataset.labels.multilabel;
    spec.dropout = dropout;
    spec.seed = 3;
    const bool joins = config.method == "ngcn";
    for (size_t s = 0; s < (joins ? config.powers.size() : 1); ++s) {
      auto& shapes = spec.stacks.emplace_back();
      size_t width = input.features.cols();
      for (uint32_t l = 0; l < problem.layers; ++l) {
        const bool last = !joins && l + 1 == problem.layers;
        shapes.push_back({width, last ? size_t{3} : size_t{10}, config.method == "graphsage",
                          joins ? config.powers[s] : 1});
        width = shapes.back().out;
      }
      if (joins) shapes.push_back({width, 3, false, 1});
    }
    return spec;
  }
};

}  // namespace l2gcn
