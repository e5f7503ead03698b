// A trained model: the weights of each layer, the classifier, and everything needed to apply it to a data set
// (how the operator is normalised, fitted feature preparation, class names). On disk: model.safetensors + config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "l2gcn/layer_parameters.h"

namespace l2gcn {

struct Model {
  // Feature preparation fitted on training data and applied again by predict: x ← (x − shift) · factor, then
  // x ← x · projection.
  struct Preparation {
    Array<float> shift;   // (features) or empty
    Array<float> factor;  // (features) or empty
    bool row_normalise = false;
    Matrix projection;    // (features × pca) or empty
    Array<float> center;  // (features) mean removed before projecting, or empty
  };

  // Correct & Smooth (Huang et al., 2021): what the model gets wrong on train nodes, and then their labels, are
  // averaged over neighbours again and again; a weight of 0 leaves a half out.
  struct LabelPropagation {
    double correct = 0, smooth = 0;  // weight of the neighbours in each round, below 1
    uint32_t rounds = 0;

    bool on() const { return correct > 0 || smooth > 0; }
  };

  // How a regression's targets are standardised for training, by the train nodes: (y − mean) / deviation.
  struct TargetScaling {
    std::vector<double> mean, deviation;  // (targets) each
  };

  // A tensor by the name that it has in model.safetensors.
  struct Tensor {
    std::string name;
    std::vector<size_t> shape;
    Array<float> values;
  };

  // How features become logits, for other programs that are to compute them: columns of the table of methods as
  // words (docs/explanation/default-preset.md).
  struct Formula {
    std::string
        aggregation;  // "normalised": Â as config.adjacency says | "enhanced-diagonal": Â + λ·diag(Â), λ =
                      // config.diagonal | "neighbour-mean": without the node itself, weights not read
    bool own_beside = false;  // weights multiply [X | ÂX], not ÂX
    std::string
        prediction_head;  // "classifier": XΘ | "last-layer": ÂXΘ, plus a bias the model may have | "hops": ÂᴷXΘ, K = config.hops |
                          // "joined-powers": one network a power of Â, logits of all summed
  };

  TrainConfig config;
  uint32_t features = 0;  // columns the data set must have
  bool multilabel = false;
  uint32_t classes = 0;  // of a regression: targets
  std::vector<std::string> class_names;
  TargetScaling target_scaling;  // of a regression; else empty
  TableSchema
      schema;  // of the table it was trained on, with what stands in for missing cells; empty: by position
  std::vector<std::string> relations;  // of the data set it was trained on, whether or not a layer reads them
  bool structure = false;  // trained on features made from the graph itself (a data set without features)
  std::optional<bool> weighted;  // whether the edges it was trained on have weights; older models do not say
  Preparation preparation;
  std::vector<HiddenParameters> layers;  // W⁽ˡ⁾ (D⁽ˡ⁻¹⁾ × D⁽ˡ⁾), with a norm or a bias where there is one
  // Probability above which a label is on (classes), or class 1 of two is chosen (1); empty: one half.
  std::vector<double> thresholds;
  Matrix theta;             // Θ (D⁽ᴸ⁾ × classes); empty where the layers have heads of their own
  Matrix bias;              // (1 × classes) added to X Θ, or empty
  std::vector<Head> heads;  // one a layer where the configuration gives layers more than W and Θ; else empty
  bool mean_of_layers = false;  // probabilities are the mean over the layers' heads; else the last one's
  LabelPropagation label_propagation;
  std::vector<std::pair<std::string, Matrix>> extra;  // tensors of methods with other shapes, by name

  Task task() const {
    return !target_scaling.mean.empty() ? Task::kRegression : multilabel ? Task::kLabels : Task::kClass;
  }
};

// How well a model does on some nodes, by scikit-learn's definitions (docs/reference/metrics.md). A metric that is
// undefined for these nodes is NaN.
struct Score {
  struct Class {
    std::string name;
    double precision = 0, recall = 0, f1 = 0;
    double roc_auc = 0, average_precision = 0;  // this class against the rest
    uint64_t count = 0;                         // true members
    uint64_t predicted = 0;                     // nodes the model puts here
  };

  // Predictions whose probability lies in (low, high], the first bin including 0, and how often they were
  // right.
  struct Bin {
    double low = 0, high = 0;
    uint64_t count = 0;
    double probability = 0, frequency = 0;  // means over the bin; 0 where it is empty
  };

  // How close predicted numbers are to true ones, by the definitions of scikit-learn and SciPy. A figure that is undefined
  // for these nodes is NaN.
  struct Numbers {
    double r2 = 0, mae = 0, rmse = 0, spearman = 0;
  };

  struct Target {
    std::string name;
    uint64_t count = 0;       // nodes that have this target
    Numbers model, baseline;  // the baseline predicts the mean of the train nodes
  };

  uint64_t nodes = 0;
  double micro_f1 = 0;
  double macro_f1 = 0;           // over classes with members or predictions; multi-label: over all labels
  double accuracy = 0;           // multi-label: nodes whose labels are all right
  double balanced_accuracy = 0;  // mean recall of classes with members; multi-label: NaN
  double roc_auc = 0;            // two classes: of class 1; else the mean over classes that have one
  double average_precision = 0;  // likewise
  double log_loss = 0;           // multi-label: mean over nodes and labels
  double calibration_error = 0;  // expected calibration error over the bins
  std::vector<Bin> calibration;  // of the likeliest class; two classes: of class 1; else all labels
  // (classes × classes) nodes by true class (row) and predicted class (column); empty where there are more
  // than kMostConfusion classes. Multi-label: (classes × 4) true negative, false positive, false negative,
  // true positive.
  std::vector<uint64_t> confusion;
  // What knows nothing of a node scores here: the train nodes' largest class for all, or every label on.
  std::string baseline;  // its name: "majority class NAME", "all labels on", "train mean"
  double baseline_f1 = 0, baseline_macro_f1 = 0;  // micro, macro
  std::vector<Class> classes;
  // A regression has these and no figure above but nodes and the baseline's name. Means are over the targets.
  Numbers regression, regression_baseline;
  std::vector<Target> targets;
};
inline constexpr uint32_t kMostConfusion = 1024;

// The data set as the model needs it for scoring: classes matched by name. Nodes of classes the model does
// not know lose their label; a note reports classes missing on either side. Throws Error(kInput) where no
// class is shared.
Dataset AlignLabels(const Context& context, const Model& model, Dataset dataset);

// The data set as the model aggregates it: its relations by name, in the model's order. Those that the data set lacks have no
// edges, and a note says so. Throws Error(kInput) for a data set with none of them, and for one with relations that the model
// does not know unless these are to be dropped, with a note.
Dataset AlignRelations(const Context& context, const Model& model, Dataset dataset,
                       bool drop_unknown = false);

// Logits (nodes × classes) for every node of `dataset`, layer by layer over its whole graph; of a regression the predicted
// targets, in their own units. A model that
// propagates labels takes those of the train nodes of `known`, which may be null or empty: it then does without, and says
// so in a note. Throws Error(kInput) naming the nodes whose logits overflow.
Matrix PredictLogits(const Context& context, const Model& model, const Dataset& dataset,
                     const Split* known = nullptr);
// Output of layer `layer` (1-based; 0 = the last) for every node.
Matrix Embed(const Context& context, const Model& model, const Dataset& dataset, uint32_t layer = 0);

// Scores the nodes with `role` (kNone: every labelled node). A regression is scored by ScoreLogits. `thresholds` as in Model. ScoreClasses leaves
// out what needs probabilities: AUC, average precision, log loss and calibration are NaN.
Score ScoreClasses(const Dataset& dataset, const Matrix& logits, const Split& split, Role role,
                   std::span<const double> thresholds = {});
// Probabilities are those of LogitsToProbabilities, in float32, as predict writes them: every figure follows
// from its file.
Score ScoreLogits(const Context& context, const Dataset& dataset, const Matrix& logits, const Split& split,
                  Role role, std::span<const double> thresholds = {});

// Class probabilities in place: softmax per row, or sigmoid per entry.
void LogitsToProbabilities(Matrix& logits, bool multilabel);

// The model's decisions from its logits (nodes × classes), its thresholds included: the class of each node
// (nodes), or, of a multi-label model, which labels are on (nodes × classes) 0/1. The one that does not fit the model
// throws Error(kUsage).
Array<int32_t> DecideClasses(const Model& model, const Matrix& logits);
Array<uint8_t> DecideLabels(const Model& model, const Matrix& logits);

// Every tensor of a model; shares the model's memory.
std::vector<Model::Tensor> TensorsByName(const Model& model);
Model::Formula FormulaOf(const Model& model);

// Writes model.safetensors and config.json into `directory`, which is made if it is not there. LoadModel and
// the program's evaluate, predict, embed and info open it. Throws Error(kUsage) for a model whose shapes do
// not fit together.
void SaveModel(const Model& model, const std::string& directory);
Model LoadModel(const std::string& directory);

}  // namespace l2gcn
