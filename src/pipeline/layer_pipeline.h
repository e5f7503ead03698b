// From a data set to what a layer computes with: the one place that prepares features, builds the operator Â,
// puts both on the device, smooths features, aggregates activations and decides where all this lives. The
// layer-wise trainer, the validation probe, the controller's rollout trees, the conventional trainers and
// inference differ in what they do between these steps, not in the steps.
//
//   X⁰  = smooth(prepare(features))       Input(), every node
//   X̂   = Âʰ X, or X, ÂX, …, Âʰ X side by side with self features and h hops       Aggregate(), the rows training needs
//   X   = ReLU(X̂ W), with what else the layer's form has               Transform()
//
// Which rows a training holds: in the inductive setting Â is that of the train nodes' subgraph, with its own
// degrees, and activations have one row for each train node; in the transductive setting both are of every
// node. Nodes outside training are reached through the operator of the whole graph (WholeOperator,
// WholeRows).
//
// Runs larger than memory differ inside the backend alone (kernels/disk/).
//
// A pipeline holds handles on the data set's arrays, so the Dataset object itself may go. Operators and the
// input are made when they are first asked for. Not for use by several threads at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/architecture.h"
#include "core/propagation.h"
#include "graph/needed_rows.h"
#include "kernels/backend.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

class LayerPipeline {
 public:
  // For training on `train_nodes` (ascending): the preparation, and what stands in for missing cells of a
  // table, are fitted on them alone. Of a table only numbers are scaled, not the features of categories.
  LayerPipeline(const Context& context, const Dataset& dataset, const TrainConfig& config,
                std::vector<uint32_t> train_nodes);
  // For a trained model: with the preparation that it brings; columns of tables are found by name. Throws
  // Error(kInput) if columns are missing or too many, or the data set has another number of features.
  LayerPipeline(const Context& context, const Dataset& dataset, const Model& model);

  Backend& backend() { return *backend_; }
  const Preparation& preparation() const { return preparation_; }
  const TableSchema& schema() const { return schema_; }
  const std::vector<uint32_t>& train_nodes() const { return train_nodes_; }
  bool inductive() const { return inductive_; }
  // Whether this pipeline was made for this device and these arrays.
  bool Serves(const Context& context, const Dataset& dataset) const;

  // X⁰ of every node.
  TensorPtr Input(const Context& context);
  // Training has aggregated X⁰ and needs it no more. It stays where it costs no memory of its own, and as long as the
  // backend has room to spare for it.
  void ReleaseInput();
  // Lets go of the operator over the train nodes where it is not that of the whole graph: a subgraph is a copy, and
  // evaluation has no use for it. It is made again if it is asked for.
  void ReleaseTrainOperator();
  // X⁰ on the host, for trainers that pick rows of it. Sparse features stay sparse.
  Features HostInput(const Context& context);
  double smooth_seconds() const { return smooth_seconds_; }

  // The graph in training with its Â as --adjacency says, on the host, for samplers. The pipeline itself keeps the
  // operator on its device alone.
  struct TrainingGraph {
    Graph graph;
    Propagation a;
  };
  TrainingGraph MakeTrainingGraph(const Context& context);
  const DeviceGraph& TrainOperator(const Context& context);
  // Whether activations in training have a row for each train node alone. With `hops` = 0 nothing is
  // aggregated, and the rows are those of the features: every node.
  bool HoldsTrainNodesAlone(uint32_t hops = 1) const { return inductive_ && hops > 0; }
  // Nobody will ask for rows of the last layer's X̂ in training but those of `nodes` (ascending), nor read X outside
  // Aggregate() and Transform(). Where activations hold every node and lie on disk, rows that do not lead there are not
  // computed, in any layer where that saves much (graph/needed_rows.h); X of a later layer then has fewer rows.
  void NeedLastRowsOf(const Context& context, const std::vector<uint32_t>& nodes);
  // The rows of layer `layer`'s X̂ in training that stand for `nodes`, where activations hold every node.
  std::vector<uint32_t> RowsIn(uint32_t layer, std::span<const uint32_t> nodes) const;
  // Entries of Â that the aggregation of a layer reads.
  uint64_t EntriesIn(const Context& context, uint32_t layer);
  // The last layer's X̂ may be used again to score the nodes whose rows it has; empty where it was not kept.
  void KeepLastInput(LayerInput xhat) { last_input_ = std::move(xhat); }
  LayerInput TakeLastInput() { return std::exchange(last_input_, {}); }
  // Rows of layer `layer`'s X̂ that the loss counts; empty: all of them.
  Array<uint32_t> SampleRows(uint32_t layer = 0, uint32_t hops = 1) const;
  // Row of X⁰ for each node of the graph in training; empty: node i is row i.
  std::span<const uint32_t> InputRows() const;

  // X̂ = Âʰ X of layer `layer` (0-based) in training. `x` comes by value so that it can go once it is used.
  LayerInput Aggregate(const Context& context, uint32_t layer, TensorPtr x, uint32_t hops = 1);
  // Appends Â times the last block until the input has `blocks` of them.
  void AddHops(const Context& context, const DeviceGraph& a, size_t blocks, LayerInput& input);
  // ReLU(X̂ W), or what the block's affine makes of it.
  TensorPtr Transform(const Context& context, const LayerInput& xhat, const DenseBlock& block);
  // The rows of activations in training that are train nodes: (train nodes × width).
  Matrix TrainRows(const Context& context, const Tensor& x, uint32_t hops = 1);

  // The model's operator over the whole graph, and `nodes`' rows of it. With `hops` = 0 the rows pick nodes
  // and aggregate nothing.
  const DeviceGraph& WholeOperator(const Context& context);
  DeviceGraphPtr WholeRows(const Context& context, std::span<const uint32_t> nodes, uint32_t hops = 1);
  // The layer's output for every node, from its input x.
  TensorPtr ForwardWhole(const Context& context, const TensorPtr& x, const DenseBlock& block);
  // What ForwardWhole gave for the next layer, counted from the first one, may be used again by whoever asks with the
  // same block, which is known by its memory. The next training, which begins where its first layer is aggregated, lets
  // go of it. Only for as many bytes as are next to nothing beside a training's own;
  // false: not kept.
  bool KeepWhole(const DenseBlock& block, TensorPtr output);
  // That of layer `layer` (0-based); null where it was not kept.
  TensorPtr KeptWhole(size_t layer, const DenseBlock& block) const;
  // The blocks of a layer's input: 1, or 1 + hops with self features.
  size_t InputBlocks() const { return 1 + size_t{HopsBesideSelf(config_)}; }
  // Logits of `rows` of a layer's output x; empty: all.
  Matrix HeadLogits(const Context& context, const TensorPtr& x, const Head& head,
                    std::span<const uint32_t> rows);
  // Logits with a layer in training as the last one, for `rows` of X̂; empty: all.
  Matrix LayerLogits(const Context& context, const LayerInput& xhat, const LayerState& state,
                     std::span<const uint32_t> rows = {});
  // A device's operator for spreading labels and residuals: D^-½(A+I)D^-½ of the whole graph.
  DeviceGraphPtr PropagationOperator(const Context& context);

 private:
  LayerPipeline(const Context& context, const Dataset& dataset, const TrainConfig& config);
  TensorPtr MakeInput(const Context& context);
  const Propagation& Whole(const Context& context);
  TrainingGraph GraphInTraining(const Context& context) const;
  bool HasFewRows(uint32_t layer) const { return layer < needed_.size() && !needed_[layer].nodes.empty(); }
  const DeviceGraph& OperatorFor(const Context& context, uint32_t layer);
  bool TrainsWithWhole() const;  // the operator in training is that of the whole graph

  DeviceKind device_;
  Graph graph_;     // handles on the data set's arrays
  Features given_;  // likewise, as they were stored
  TableSchema schema_;
  Features features_;  // those in the layout of the schema; shares memory with `given_` where it can
  TrainConfig config_;
  bool inductive_;
  std::vector<uint32_t> train_nodes_;
  Preparation preparation_;
  std::unique_ptr<Backend> backend_;
  TensorPtr input_;                          // null: not made yet, or released
  std::weak_ptr<const Tensor> spare_input_;  // released, and maybe still there
  bool input_is_free_ = false;               // the input shares the data set's memory
  double smooth_seconds_ = 0;                // of all smoothing so far
  std::optional<TrainingGraph> made_;        // ahead, until it is asked for
  DeviceGraphPtr train_operator_, whole_operator_;
  std::vector<NeededRows> needed_;                // by layer; empty: every layer has every row
  std::vector<DeviceGraphPtr> needed_operators_;  // of those that have fewer
  LayerInput last_input_;
  struct Kept {
    DenseBlock block;
    TensorPtr output;
  };
  std::vector<Kept> kept_;  // by layer
  Propagation whole_;       // what whole_operator_ is made of, once it is wanted; shares the graph's arrays
};

}  // namespace l2gcn
