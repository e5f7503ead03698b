// Writing predictions and embeddings, row by row: memory does not grow with the file. confusion.cpp writes
// confusion matrices.
#include "l2gcn/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "core/csv_field.h"
#include "core/error_format.h"
#include "core/files.h"
#include "data/npy.h"
#include "model/decision.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kRowsBetweenChecks = 1 << 14;

bool IsNpy(const fs::path& path) { return path.extension() == ".npy"; }

std::string ClassNameOf(const Model& model, const Dataset& dataset, uint32_t label) {
  return label < model.class_names.size() ? model.class_names[label] : dataset.ClassName(label);
}

void AppendRow(const Matrix& matrix, size_t row, std::string& line) {
  for (size_t col = 0; col < matrix.cols; ++col) {
    fmt::format_to(std::back_inserter(line), ",{:.9g}", matrix.row(row)[col]);
  }
}

// A line for each node that `listed` takes, with the id first; `append` adds what follows it.
void WriteLines(const Context& context, const Dataset& dataset, const std::string& header, CsvNames& names,
                const TextSink& sink, const std::function<bool(uint32_t node)>& listed,
                const std::function<void(uint32_t node, std::string& line)>& append) {
  sink(header + "\n");
  std::string line;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (node % kRowsBetweenChecks == 0) context.CheckCancelled();
    if (!listed(node)) continue;
    line = names.Cell(dataset.NodeName(node));
    append(node, line);
    line += '\n';
    sink(line);
  }
  if (names.changed() == 0) return;
  context.Note(
      fmt::format("{}: {} cells that a spreadsheet would run as formulas begin with an apostrophe; "
                  "--exact-names writes them as they are",
                  dataset.name, names.changed()));
}

void WriteCsvFile(const fs::path& path, const std::function<void(const TextSink&)>& write) {
  ReplaceFile(path, [&](const fs::path& aside) {
    FileWriter writer(aside);
    write([&](std::string_view text) { writer.Write(text); });
    writer.Close();
  });
}

void WriteMatrix(const Matrix& matrix, const fs::path& path) {
  ReplaceFile(path, [&](const fs::path& aside) {
    WriteNpy<float>(aside, matrix.values.span(), {matrix.rows, matrix.cols});
  });
}

// Row by row, since logits of all nodes may lie on disk.
void WriteProbabilities(const Model& model, const Dataset& dataset, const Matrix& logits,
                        const fs::path& path) {
  NpyWriter writer(path, NpyDescr<float>(), {logits.cols});
  std::vector<float> row(logits.cols);
  size_t rows = 0;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) {
    if (!dataset.IsPredicted(node)) continue;
    ++rows;
    std::copy_n(logits.row(node), logits.cols, row.begin());
    if (model.task() != Task::kRegression) RowToProbabilities(row.data(), logits.cols, model.multilabel);
    writer.Write(row.data(), row.size() * sizeof(float));
  }
  writer.Close(rows);
}

void CheckRowPerNode(const char* what, const Matrix& matrix, const Dataset& dataset) {
  if (matrix.rows != dataset.nodes() || matrix.values.size() != matrix.rows * matrix.cols) {
    ThrowInput("{}: {} of {} × {} for {} nodes; expected one row a node", dataset.name, what, matrix.rows,
               matrix.cols, dataset.nodes());
  }
}

}  // namespace

void CheckExportPath(const std::string& path) {
  const fs::path file = path;
  if (file.extension() != ".csv" && file.extension() != ".npy") {
    ThrowUsage("{}: the name must end in .csv or .npy, which decides the format", path);
  }
  CheckOutputFile(file, true);
}

namespace {

const char* PartName(const Split& split, uint32_t node) {
  if (split.roles.empty()) return "";
  switch (static_cast<Role>(split.roles[node])) {
    case Role::kTrain:
      return "train";
    case Role::kVal:
      return "val";
    case Role::kTest:
      return "test";
    case Role::kNone:
      break;
  }
  return "";
}

// One node's line: what the model says of it.
class PredictionLines {
 public:
  PredictionLines(const Model& model, const Dataset& dataset, const Matrix& logits, const Split& split,
                  CsvNames& cells)
      : model_(model),
        dataset_(dataset),
        logits_(logits),
        split_(split),
        rule_(model.multilabel, model.classes, model.thresholds),
        cells_(cells),
        probabilities_(model.classes) {
    for (uint32_t label = 0; label < model.classes; ++label)
      names_.push_back(cells_.Cell(ClassNameOf(model, dataset, label)));
  }

  std::string Header() const {
    if (model_.task() == Task::kRegression) return HeaderOfRegression();
    std::string header = model_.multilabel ? "node,split" : "node,split,truth,class,probability";
    for (const std::string& name : names_) header += "," + name;
    return header + (model_.multilabel ? ",labels" : "");
  }

  void Append(uint32_t node, std::string& line) {
    const float* logits = logits_.row(node);  // (classes)
    if (model_.task() == Task::kRegression) return AppendNumbers(node, line);
    std::copy_n(logits, model_.classes, probabilities_.begin());
    RowToProbabilities(probabilities_.data(), model_.classes, model_.multilabel);
    line += ',';
    line += PartName(split_, node);
    if (!model_.multilabel) {
      const uint32_t label = rule_.ClassOf(logits);
      fmt::format_to(std::back_inserter(line), ",{},{},{:.9g}", Truth(node), names_[label],
                     probabilities_[label]);
    }
    for (const float p : probabilities_) fmt::format_to(std::back_inserter(line), ",{:.9g}", p);
    if (model_.multilabel) line += "," + cells_.Cell(LabelsOn(logits));
  }

 private:
  std::string HeaderOfRegression() const {
    std::string header = "node,split";
    for (const std::string& name : names_) header += "," + name + "_true";
    for (const std::string& name : names_) header += "," + name;
    return header;
  }
  // True values, empty where they are missing, and the predicted ones.
  void AppendNumbers(uint32_t node, std::string& line) {
    line += ',';
    line += PartName(split_, node);
    const Matrix& targets = dataset_.labels.targets;
    for (uint32_t c = 0; c < model_.classes; ++c) {
      const bool known = c < targets.cols && !std::isnan(targets.row(node)[c]);
      line += known ? fmt::format(",{:.9g}", targets.row(node)[c]) : ",";
    }
    for (uint32_t c = 0; c < model_.classes; ++c)
      fmt::format_to(std::back_inserter(line), ",{:.9g}", logits_.row(node)[c]);
  }
  std::string Truth(uint32_t node) {
    const Labels& labels = dataset_.labels;
    const bool known = !labels.multilabel && !labels.classes_of.empty() && labels.classes_of[node] >= 0;
    return known ? cells_.Cell(dataset_.ClassName(static_cast<uint32_t>(labels.classes_of[node]))) : "";
  }
  std::string LabelsOn(const float* logits) const {
    std::string on;
    for (uint32_t label = 0; label < model_.classes; ++label) {
      if (!rule_.IsOn(label, logits[label])) continue;
      on += (on.empty() ? "" : ";") + ClassNameOf(model_, dataset_, label);
    }
    return on;
  }

  const Model& model_;
  const Dataset& dataset_;
  const Matrix& logits_;
  const Split& split_;
  const DecisionRule rule_;
  CsvNames& cells_;
  std::vector<float> probabilities_;  // (classes) of the current node
  std::vector<std::string> names_;    // (classes) as CSV fields
};

}  // namespace

void WritePredictions(const Context& context, const Model& model, const Dataset& dataset,
                      const Matrix& logits, const Split& split, const TextSink& sink, bool exact_names) {
  CheckRowPerNode("logits", logits, dataset);
  if (logits.cols != model.classes || model.classes == 0) {
    ThrowInput("{}: {} columns of logits for a model of {} classes", dataset.name, logits.cols,
               model.classes);
  }
  CsvNames names(exact_names);
  PredictionLines lines(model, dataset, logits, split, names);
  WriteLines(
      context, dataset, lines.Header(), names, sink, [&](uint32_t node) { return dataset.IsPredicted(node); },
      [&](uint32_t node, std::string& line) { lines.Append(node, line); });
}

void ExportPredictions(const Context& context, const Model& model, const Dataset& dataset,
                       const Matrix& logits, const Split& split, const std::string& path, bool exact_names) {
  CheckExportPath(path);
  if (!IsNpy(path)) {
    WriteCsvFile(path, [&](const TextSink& sink) {
      WritePredictions(context, model, dataset, logits, split, sink, exact_names);
    });
    return;
  }
  ReplaceFile(path, [&](const fs::path& aside) { WriteProbabilities(model, dataset, logits, aside); });
}

void WriteEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                     const TextSink& sink, bool exact_names) {
  CheckRowPerNode("embeddings", embeddings, dataset);
  const bool typed = !dataset.node_types.empty();
  std::string header = typed ? "node,type" : "node";
  for (size_t col = 0; col < embeddings.cols; ++col) header += fmt::format(",x{}", col);
  CsvNames names(exact_names);
  WriteLines(
      context, dataset, header, names, sink, [](uint32_t) { return true; },
      [&](uint32_t node, std::string& line) {
        if (typed) line += "," + names.Cell(dataset.TypeOf(node)->name);
        AppendRow(embeddings, node, line);
      });
}

void ExportEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                      const std::string& path, bool exact_names) {
  CheckExportPath(path);
  CheckRowPerNode("embeddings", embeddings, dataset);
  if (IsNpy(path)) return WriteMatrix(embeddings, path);
  WriteCsvFile(
      path, [&](const TextSink& sink) { WriteEmbeddings(context, dataset, embeddings, sink, exact_names); });
}

}  // namespace l2gcn
