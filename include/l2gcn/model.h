// A trained model: the weights of each layer, the classifier, and everything needed to apply it to a data set
// (the operator's recipe, fitted feature preparation, class names). On disk: model.safetensors + config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/array.h"
#include "l2gcn/config.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// Feature preparation fitted on training data and applied again by predict: x ← (x − shift) · factor, then
// x ← x · projection.
struct Preparation {
  Array<float> shift;   // (features) or empty
  Array<float> factor;  // (features) or empty
  bool row_normalise = false;
  Matrix projection;    // (features × pca) or empty
  Array<float> center;  // (features) mean removed before projecting, or empty
};

struct Model {
  TrainConfig config;
  uint32_t features = 0;  // columns the data set must have
  bool multilabel = false;
  uint32_t classes = 0;
  std::vector<std::string> class_names;
  Preparation preparation;
  std::vector<Matrix> weights;                        // W⁽ˡ⁾ (D⁽ˡ⁻¹⁾ × D⁽ˡ⁾)
  Matrix theta;                                       // Θ (D⁽ᴸ⁾ × classes)
  std::vector<std::pair<std::string, Matrix>> extra;  // tensors of methods with other shapes, by name
};

// Micro and macro F1 with what people ask next: per-class figures and the trivial baseline.
struct ClassScore {
  std::string name;
  double precision = 0, recall = 0, f1 = 0;
  uint64_t count = 0;  // true members
};
struct Score {
  uint64_t nodes = 0;
  double micro_f1 = 0, macro_f1 = 0;
  double baseline_f1 = 0;  // majority class; multi-label: every label on
  std::vector<ClassScore> classes;
};

// Logits (nodes × classes) for every node of `dataset`, layer by layer over its whole graph.
Matrix PredictLogits(const Context& context, const Model& model, const Dataset& dataset);
// Output of layer `layer` (1-based; 0 = the last) for every node.
Matrix Embed(const Context& context, const Model& model, const Dataset& dataset, uint32_t layer = 0);

// Scores the nodes with `role` (kNone: every labelled node).
Score ScoreLogits(const Dataset& dataset, const Matrix& logits, const Split& split, Role role);

// Class probabilities in place: softmax per row, or sigmoid per entry.
void LogitsToProbabilities(Matrix& logits, bool multilabel);

// Writes model.safetensors and config.json into `directory`, which is made if it is not there. LoadModel and
// the program's evaluate, predict, embed and info open it. Throws Error(kUsage) for a model whose shapes do
// not fit together.
void SaveModel(const Model& model, const std::string& directory);
Model LoadModel(const std::string& directory);

}  // namespace l2gcn
