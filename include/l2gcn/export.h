// Predictions and embeddings as files: .csv for people, .npy for programs. The ending of the name decides; a
// file is written aside and put in place whole.
//
// Predictions as .csv, ids and class names as in the input:
//
//   one label a node   node,split,truth,class,probability, then one probability column a class, by its name
//   multi-label        node,split, then one probability column a label, by its name, and labels: those that
//                      are on
//
// split is train, val, test or empty; truth is empty where it is not known; several labels stand in one field
// with ';' between them. As .npy: the probabilities, float32 (nodes × classes). Of several types of nodes those with labels
// are written alone.
//
// Names that a spreadsheet would run as a formula (those that begin with = + - @, a tab or a carriage return and are no
// numbers) get an apostrophe in front in every .csv, and a note says how many. `exact_names` writes them as they are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "l2gcn/array.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"

namespace l2gcn {

// Throws Error(kUsage) unless `path` ends in .csv or .npy and lies in a directory that can be written: to be
// asked before the work whose result goes there.
void CheckExportPath(const std::string& path);

// What takes text bit by bit: a stream that is not a file.
using TextSink = std::function<void(std::string_view text)>;

// `logits` (nodes × classes) are the model's; `split` may have no roles. The class is the model's decision,
// its thresholds included; `probability` is that class's.
void ExportPredictions(const Context& context, const Model& model, const Dataset& dataset,
                       const Matrix& logits, const Split& split, const std::string& path,
                       bool exact_names = false);
void WritePredictions(const Context& context, const Model& model, const Dataset& dataset,
                      const Matrix& logits, const Split& split, const TextSink& sink,
                      bool exact_names = false);

// .csv: node, its type where there are several, and one column a dimension. .npy: float32 (nodes × width).
void ExportEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                      const std::string& path, bool exact_names = false);
void WriteEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                     const TextSink& sink, bool exact_names = false);

// A confusion matrix (Score::confusion) as .csv or as a picture, .svg; `names` are the classes'. Multi-label
// ones are a row a label: true negatives, false positives, false negatives, true positives.
void ExportConfusion(const Score& score, bool multilabel, const std::string& title, const std::string& path,
                     bool exact_names = false);
std::string ConfusionToCsv(const Score& score, bool multilabel, bool exact_names = false);
std::string ConfusionToSvg(const Score& score, bool multilabel, const std::string& title);

}  // namespace l2gcn
