// What trainings with different layers compute once from one input X⁰: the train nodes' subgraph, operators on the device,
// and aggregates of X⁰. A product is known by its operator and the matrix it is of, so Â₁X⁰ serves a layer that reads Â₁
// alone and one that reads Â₂ beside it.
//
// Whoever asks first computes, and others wait. Calls may come from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "kernels/backend.h"
#include "l2gcn/choices.h"
#include "l2gcn/graph.h"

namespace l2gcn {

class SharedInput {
 public:
  explicit SharedInput(TensorPtr input);

  struct OperatorKey {
    std::string relation;
    Adjacency adjacency;
    bool whole;  // over the whole graph, or over that in training
    auto operator<=>(const OperatorKey&) const = default;
  };

  // That of a relation among the train nodes.
  Graph Subgraph(const std::string& relation, const std::function<Graph()>& make);
  DeviceGraphPtr Operator(const OperatorKey& key, const std::function<DeviceGraphPtr()>& make);
  // The product of an operator with x; without an operator the rows of x that training picks. Products of other operators or
  // of other matrices than X⁰ and what was computed from it here are made anew.
  TensorPtr Product(const DeviceGraph* a, const Tensor& x, const std::function<TensorPtr()>& make);
  // The blocks of a layer's input as training reads them (Backend::MergeSparse). Only the last input asked for is kept.
  LayerInput Merged(const LayerInput& blocks, const std::function<LayerInput()>& make);
  // Lets go of all operators but those of these relations and adjacencies, and of what was aggregated by them.
  void KeepOnly(std::span<const std::string> relations, std::span<const Adjacency> adjacency);

 private:
  bool Knows(const Tensor& x) const;

  std::mutex mutex_;
  TensorPtr input_;
  std::map<std::string, Graph> subgraphs_;
  std::map<OperatorKey, DeviceGraphPtr> operators_;
  std::map<std::pair<const DeviceGraph*, const Tensor*>, TensorPtr> products_;
  LayerInput merged_, merged_of_;  // merged_of_: the blocks that merged_ was made of
};

}  // namespace l2gcn
