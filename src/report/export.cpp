// Writing predictions and embeddings, row by row: memory does not grow with the file.
#include "l2gcn/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/error_format.h"
#include "core/files.h"
#include "data/npy.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kRowsBetweenChecks = 1 << 14;

bool IsNpy(const fs::path& path) { return path.extension() == ".npy"; }

// A CSV field, quoted where RFC 4180 asks for it.
std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string ClassNameOf(const Model& model, const Dataset& dataset, uint32_t label) {
  return label < model.class_names.size() ? model.class_names[label] : dataset.ClassName(label);
}

void AppendRow(const Matrix& matrix, size_t row, std::string& line) {
  for (size_t col = 0; col < matrix.cols; ++col) {
    fmt::format_to(std::back_inserter(line), ",{:.9g}", matrix.row(row)[col]);
  }
}

// `append` adds what follows the node's id on its line.
void WriteCsv(const Context& context, const Dataset& dataset, const std::string& header, const fs::path& path,
              const std::function<void(uint32_t node, std::string& line)>& append) {
  ReplaceFile(path, [&](const fs::path& aside) {
    FileWriter writer(aside);
    writer.Write(header + "\n");
    std::string line;
    for (uint32_t node = 0; node < dataset.nodes(); ++node) {
      if (node % kRowsBetweenChecks == 0) context.CheckCancelled();
      line = Quoted(dataset.NodeName(node));
      append(node, line);
      line += '\n';
      writer.Write(line);
    }
    writer.Close();
  });
}

void WriteMatrix(const Matrix& matrix, const fs::path& path) {
  ReplaceFile(path, [&](const fs::path& aside) {
    WriteNpy<float>(aside, matrix.values.span(), {matrix.rows, matrix.cols});
  });
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
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) ThrowUsage("{}: is a directory; expected a file to write", path);
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, ignored))
    ThrowUsage("{}: no such directory {}; create it first", path, parent.string());
  if (access(parent.c_str(), W_OK) != 0)
    ThrowUsage("{}: directory {} is not writable", path, parent.string());
}

void ExportPredictions(const Context& context, const Model& model, const Dataset& dataset,
                       const Matrix& probabilities, const std::string& path) {
  CheckRowPerNode("probabilities", probabilities, dataset);
  if (probabilities.cols != model.classes || model.classes == 0) {
    ThrowInput("{}: {} columns of probabilities for a model of {} classes", dataset.name, probabilities.cols,
               model.classes);
  }
  CheckExportPath(path);
  if (IsNpy(path)) return WriteMatrix(probabilities, path);
  std::vector<std::string> names;
  for (uint32_t label = 0; label < model.classes; ++label) {
    names.push_back(Quoted(ClassNameOf(model, dataset, label)));
  }
  if (model.multilabel) {
    WriteCsv(context, dataset, fmt::format("node,{}", fmt::join(names, ",")), path,
             [&](uint32_t node, std::string& line) { AppendRow(probabilities, node, line); });
    return;
  }
  WriteCsv(context, dataset, "node,class,probability", path, [&](uint32_t node, std::string& line) {
    const float* row = probabilities.row(node);  // (classes)
    const size_t best = static_cast<size_t>(std::max_element(row, row + probabilities.cols) - row);
    fmt::format_to(std::back_inserter(line), ",{},{:.9g}", names[best], row[best]);
  });
}

void ExportEmbeddings(const Context& context, const Dataset& dataset, const Matrix& embeddings,
                      const std::string& path) {
  CheckRowPerNode("embeddings", embeddings, dataset);
  CheckExportPath(path);
  if (IsNpy(path)) return WriteMatrix(embeddings, path);
  std::string header = "node";
  for (size_t col = 0; col < embeddings.cols; ++col) header += fmt::format(",x{}", col);
  WriteCsv(context, dataset, header, path,
           [&](uint32_t node, std::string& line) { AppendRow(embeddings, node, line); });
}

}  // namespace l2gcn
