// Combines the logits of a trained model's layers into one prediction per node: the mean of the layers' probabilities, and
// Correct & Smooth (Huang et al., "Combining Label Propagation and Simple Models Out-performs Graph Neural Networks", ICLR
// 2021). Reads the labels of train nodes alone, and those of validation nodes where it has to choose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "l2gcn/model.h"
#include "pipeline/layer_pipeline.h"

namespace l2gcn {

// Logits whose probabilities are the mean of those of `logits`, each (nodes × classes); of a regression the mean itself.
Matrix MeanOfLayers(std::vector<Matrix> logits, Task task);

// Labelled nodes of the train part, ascending.
std::vector<uint32_t> TrainNodes(const Labels& labels, const Split& split);

// Logits after Correct & Smooth. With Z the probabilities, S = D^-½(A+I)D^-½ and Y the train nodes' labels:
//   correct   E ← Y − Z on train nodes, 0 elsewhere; rounds of E ← (1−a) E₀ + a S E; Z ← Z + E, clipped to [0, 1]
//   smooth    G ← Y on train nodes, Z elsewhere; rounds of G ← (1−a) G₀ + a S G
Matrix CorrectAndSmooth(const Context& context, LayerPipeline& pipeline, const Labels& labels,
                        std::span<const uint32_t> train, const Matrix& logits,
                        const Model::LabelPropagation& propagation);

// Logits of every node, from one layer or all of them, with or without Correct & Smooth: as the configuration says, or whichever
// has the better micro F1, or R², on the validation nodes (the simpler one of equals). Records the choice in the model.
Matrix ChoosePrediction(const Context& context, LayerPipeline& pipeline, const Dataset& dataset,
                        const Split& split, std::vector<Matrix> logits_of_layers, Model& model);

}  // namespace l2gcn
