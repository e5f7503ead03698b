// What trainings with different layers compute once from one input X⁰: the train nodes' subgraph, operators on the device,
// and aggregates of X⁰. A product is known by its operator and the matrix it is of, so Â₁X⁰ serves a layer that reads Â₁
// alone and one that reads Â₂ beside it.
//
// Whoever asks first computes, and others wait. Calls may come from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "kernels/backend.h"
#include "l2gcn/choices.h"
#include "l2gcn/graph.h"

namespace l2gcn {

class SharedInput {
 public:
  explicit SharedInput(TensorPtr input);

  Graph Subgraph(const std::function<Graph()>& make);
  // The operator called `name` over the whole graph, or over that in training.
  DeviceGraphPtr Operator(Adjacency name, bool whole, const std::function<DeviceGraphPtr()>& make);
  // The product of an operator with x; without an operator the rows of x that training picks. Products of other operators or
  // of other matrices than X⁰ and what was computed from it here are made anew.
  TensorPtr Product(const DeviceGraph* a, const Tensor& x, const std::function<TensorPtr()>& make);
  // The blocks of a layer's input as training reads them (Backend::MergeSparse). Only the last input asked for is kept.
  LayerInput Merged(const LayerInput& blocks, const std::function<LayerInput()>& make);
  // Lets go of all operators but the named ones, and of what was aggregated by them.
  void KeepOnly(std::span<const Adjacency> names);

 private:
  bool Knows(const Tensor& x) const;

  std::mutex mutex_;
  TensorPtr input_;
  std::optional<Graph> subgraph_;
  std::map<std::pair<Adjacency, bool>, DeviceGraphPtr> operators_;
  std::map<std::pair<const DeviceGraph*, const Tensor*>, TensorPtr> products_;
  LayerInput merged_, merged_of_;  // merged_of_: the blocks that merged_ was made of
};

}  // namespace l2gcn
