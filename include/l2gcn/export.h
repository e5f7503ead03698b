// Predictions and embeddings as files: .csv for people, .npy for programs. The ending of the name decides; a
// file is written aside and put in place whole.
#pragma once

#include <string>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// Throws Error(kUsage) unless `path` ends in .csv or .npy and lies in a directory that can be written: to be
// asked before the work whose result goes there.
void CheckExportPath(const std::string& path);

// .csv: node,class,probability of the likeliest class; multi-label: node and one probability column a label.
// Node ids and class names as in the input. .npy: the probabilities, float32 (nodes × classes).
void ExportPredictions(const Context& context, const Model& model, const Dataset& dataset,
                       const Matrix& probabilities, const std::string& path);

// .csv: node and one column a dimension. .npy: float32 (nodes × width).
void ExportEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                      const std::string& path);

}  // namespace l2gcn
