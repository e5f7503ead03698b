// Turns a data set into the inputs of layers: the one place that prepares features, builds the operator Â,
// puts both on the device, smooths features, aggregates activations and decides where they are kept. The
// layer-wise trainer, the evaluator, the controller's rollout trees, the conventional trainers and
// inference share these steps and differ in what they do between them.
//
//   X⁰  = smooth(prepare(features))       Input(), every node
//   X̂   = Âʰ X, or the blocks X, ÂX, …, Âʰ X side by side with self features and h hops       Aggregate(), the rows training
//         needs; several operators, one for each relation and adjacency, have hops of their own, and deeper layers may read X⁰ again, which comes first
//   X   = ReLU(X̂ W), with what else the layer has                      Transform()
//
// Which rows a training holds: in the inductive setting Â is that of the train nodes' subgraph, with its own
// degrees, and activations have one row for each train node; in the transductive setting both are of every
// node. Nodes outside training are reached through the operator of the whole graph (WholeOperator,
// WholeRows).
//
// Runs larger than memory differ inside the backend alone (kernels/disk/).
//
// A pipeline holds handles on the data set's arrays, so the Dataset object itself may go. Operators and the
// input are built on first use. Not thread-safe.
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
#include "pipeline/shared_input.h"

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
  // For other layers of the same features, nodes, setting and device, which may also have other operators. What both compute
  // from X⁰ is computed once (pipeline/shared_input.h) and kept until all of them are gone, or let go of it by EndSharing.
  std::shared_ptr<LayerPipeline> WithLayers(const Context& context, const TrainConfig& config);
  // No pipeline shares this one's input any more: what others alone needed goes now, the rest once layer 1 is aggregated.
  void EndSharing();

  Backend& backend() { return *backend_; }
  const Model::Preparation& preparation() const { return preparation_; }
  const TableSchema& schema() const { return schema_; }
  const std::vector<uint32_t>& train_nodes() const { return train_nodes_; }
  bool inductive() const { return inductive_; }

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

  // The graph in training with its operators as --adjacency says, on the host, for samplers. The pipeline itself keeps
  // them on its device alone.
  struct TrainingGraph {
    std::vector<Graph> graphs;           // one for each relation that operators are of
    std::vector<Propagation> operators;  // of each of them one for each adjacency
  };
  TrainingGraph MakeTrainingGraph(const Context& context);
  // The first is the one of layers that have no others.
  const std::vector<DeviceGraphPtr>& TrainOperators(const Context& context);
  const DeviceGraph& TrainOperator(const Context& context) { return *TrainOperators(context).front(); }
  // Whether activations in training have a row for each train node alone. With `hops` = 0 nothing is
  // aggregated, and the rows are those of the features: every node.
  bool HoldsTrainNodesAlone(uint32_t hops = 1) const { return inductive_ && hops > 0; }
  // Nobody will ask for rows of the last layer's X̂ in training but those of `nodes` (ascending), nor read X outside
  // Aggregate() and Transform(). Where activations hold every node and lie on disk, rows that do not lead there are not
  // computed, in any layer where that saves much (graph/needed_rows.h); X of a later layer then has fewer rows.
  void NeedLastRowsOf(const Context& context, const std::vector<uint32_t>& nodes);
  // The rows of layer `layer`'s X̂ in training that stand for `nodes`, where activations hold every node.
  std::vector<uint32_t> RowsIn(uint32_t layer, std::span<const uint32_t> nodes) const;
  // Entries of its operators that a hop of a layer reads.
  uint64_t EntriesIn(const Context& context, uint32_t layer);
  // The X̂ that the last layer, `hidden`, was trained on may be used again to score the nodes whose rows it has. Whoever takes
  // it has it alone; empty where it was not kept.
  void KeepLastInput(const HiddenParameters& hidden, LayerInput xhat);
  LayerInput TakeLastInput(const HiddenParameters& hidden);
  // Whether X̂ and X in training have a row for every node, and are where inference would have them.
  bool HoldsEveryNode(const Context& context) const;
  // Rows of layer `layer`'s X̂ that the loss counts; empty: all of them.
  Array<uint32_t> SampleRows(uint32_t layer = 0, uint32_t hops = 1) const;
  // Row of X⁰ for each node of the graph in training; empty: node i is row i.
  std::span<const uint32_t> InputRows() const;

  // X̂ = Âʰ X of layer `layer` (0-based) in training. `x` comes by value so that it can go once it is used.
  LayerInput Aggregate(const Context& context, uint32_t layer, TensorPtr x, uint32_t hops = 1);
  // X, or what is there of its aggregates, is followed by those that are missing for so many hops, hop by hop one for each
  // operator: X, Â₁X, Â₂X, Â₁²X, Â₂²X, …
  void AddHops(const Context& context, const std::vector<DeviceGraphPtr>& operators, uint32_t hops,
               LayerInput& input);
  // The block that the next aggregate by operator `which` starts from.
  static const Tensor& LastHop(const LayerInput& input, size_t operators, size_t which);
  // Puts X⁰ in front of a deeper layer's input where the configuration asks for it: its rows `rows`, or all.
  void AddRawFeatures(const Context& context, uint32_t layer, std::span<const uint32_t> rows,
                      LayerInput& input);
  TensorPtr Transform(const Context& context, const LayerInput& xhat, const HiddenParameters& hidden);
  // The rows of activations in training that are train nodes: (train nodes × width).
  Matrix TrainRows(const Context& context, const Tensor& x, uint32_t hops = 1);

  // The model's operators over the whole graph, and `nodes`' rows of them. With `hops` = 0 the rows pick nodes
  // and aggregate nothing.
  const std::vector<DeviceGraphPtr>& WholeOperators(const Context& context);
  const DeviceGraph& WholeOperator(const Context& context) { return *WholeOperators(context).front(); }
  std::vector<DeviceGraphPtr> WholeRows(const Context& context, std::span<const uint32_t> nodes,
                                        uint32_t hops = 1);
  // The output of layer `layer` (0-based) for every node, from X.
  TensorPtr ForwardWhole(const Context& context, uint32_t layer, const TensorPtr& x,
                         const HiddenParameters& hidden);
  // What ForwardWhole gave for the next layer, counted from the first one, may be used again by whoever asks with the
  // same block, which is known by its memory. The next training, which begins where its first layer is aggregated, lets
  // go of it. Of all layers no more than `most_bytes` are kept; false: this one is not.
  bool KeepWhole(const HiddenParameters& hidden, TensorPtr output, size_t most_bytes);
  // That of layer `layer` (0-based); null where it was not kept.
  TensorPtr KeptWhole(size_t layer, const HiddenParameters& hidden) const;
  // Logits of `rows` of a layer's output x; empty: all.
  Matrix HeadLogits(const Context& context, const TensorPtr& x, const Head& head,
                    std::span<const uint32_t> rows);
  // Logits with a layer in training as the last one, for `rows` of X̂; empty: all.
  Matrix LayerLogits(const Context& context, const LayerInput& xhat, const LayerState& state,
                     std::span<const uint32_t> rows = {});
  // The operator of Correct & Smooth on the device: D^-½(A+I)D^-½ of the whole graph.
  DeviceGraphPtr PropagationOperator(const Context& context);

 private:
  LayerPipeline(const Dataset& dataset, const TrainConfig& config);
  LayerPipeline(const LayerPipeline& other, const TrainConfig& config);
  TensorPtr Product(const Context& context, const DeviceGraph& a, const Tensor& x,
                    std::span<const uint32_t> rows);
  LayerInput AggregateRows(const Context& context, uint32_t layer, TensorPtr x,
                           std::span<const uint32_t> rows, uint32_t hops);
  std::vector<DeviceGraphPtr> SharedOperators(const Context& context, bool whole);
  std::vector<Graph> GraphsOf(const std::vector<std::string>& relations) const;
  TensorPtr MakeInput(const Context& context);
  const std::vector<Propagation>& Whole(const Context& context);
  TrainingGraph GraphInTraining(const Context& context) const;
  bool HasFewRows(uint32_t layer) const { return layer < needed_.size() && !needed_[layer].nodes.empty(); }
  const DeviceGraph& OperatorFor(const Context& context, uint32_t layer);
  bool TrainsWithWhole() const;  // the operator in training is that of the whole graph

  std::string name_;                 // of the data set
  Graph graph_;                      // of all edges; handles on the data set's arrays
  std::vector<Relation> relations_;  // all that the data set has
  TableSchema schema_;
  Features features_;  // in the layout of the schema; shares memory with the data set's where it can
  TrainConfig config_;
  bool inductive_;
  std::vector<uint32_t> train_nodes_;
  Model::Preparation preparation_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<SharedInput> shared_;                            // null: no other pipeline has this input
  bool shares_once_more_ = false;                                  // until layer 1 is aggregated
  TensorPtr input_;                                                // null: not made yet, or released
  std::weak_ptr<const Tensor> spare_input_;                        // released, and maybe still there
  bool input_is_free_ = false;                                     // the input shares the data set's memory
  double smooth_seconds_ = 0;                                      // of all smoothing so far
  std::optional<TrainingGraph> made_;                              // ahead, until it is asked for
  std::vector<DeviceGraphPtr> train_operators_, whole_operators_;  // empty: not made yet
  std::vector<NeededRows> needed_;                // by layer; empty: every layer has every row
  std::vector<DeviceGraphPtr> needed_operators_;  // of those that have fewer
  HiddenParameters last_;                         // of the last input
  LayerInput last_input_;
  struct Kept {
    HiddenParameters hidden;
    TensorPtr output;
  };
  std::vector<Kept> kept_;  // by layer
  std::vector<Propagation>
      whole_;  // what whole_operators_ are made of, once they are wanted; share the graph's arrays
};

}  // namespace l2gcn
