#include "data/append_features.h"

#include <algorithm>
#include <set>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/schema_features.h"

namespace l2gcn {
namespace {

constexpr size_t kRowsTogether = 512;

void AppendColumns(const std::vector<TableSchema::Column>& added, Dataset& dataset) {
  std::vector<TableSchema::Column>& columns = dataset.schema.columns;
  if (columns.empty()) {
    for (size_t c = 0; c < dataset.features.cols(); ++c) {
      columns.emplace_back();
      columns.back().name = std::to_string(c);
    }
  }
  std::set<std::string_view> names;
  for (const TableSchema::Column& column : columns) names.insert(column.name);
  for (const TableSchema::Column& column : added) {
    if (names.contains(column.name))
      ThrowInput("{}: column '{}' has the name of a feature of the edges; rename it", dataset.schema.path,
                 column.name);
  }
  columns.insert(columns.end(), added.begin(), added.end());
}

Features JoinDense(const Context& context, const Features& features, const Matrix& added) {
  const size_t rows = features.rows(), own = features.cols(), width = own + added.cols;
  Matrix joined = Matrix::Zeros(rows, width);
  float* const out = joined.values.mutable_data();
  ParallelFor(context, rows, kRowsTogether, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      if (own > 0) features.ReadRows(row, 1, out + row * width);
      std::copy(added.row(row), added.row(row) + added.cols, out + row * width + own);
    }
  });
  return Features::Dense(std::move(joined));
}

Features JoinSparse(const Features& features, const Matrix& added) {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  CsrMatrix joined;
  joined.rows = features.rows();
  joined.cols = features.cols() + added.cols;
  joined.indptr = Array<uint64_t>::Zeros(joined.rows + 1);
  for (size_t row = 0; row < joined.rows; ++row) {
    const auto put = [&](uint32_t column, float value) {
      indices.push_back(column);
      values.push_back(value);
    };
    ForEachValue(features, row, put);
    for (size_t c = 0; c < added.cols; ++c) {
      if (added.row(row)[c] != 0) put(static_cast<uint32_t>(features.cols() + c), added.row(row)[c]);
    }
    joined.indptr.mutable_data()[row + 1] = indices.size();
  }
  joined.indices = Array<uint32_t>::CopyOf(indices);
  joined.values = Array<float>::CopyOf(values);
  return Features::Sparse(std::move(joined));
}

}  // namespace

void AppendFeatures(const Context& context, FeatureColumns added, Dataset& dataset) {
  AppendColumns(added.columns, dataset);
  const Features& own = dataset.features;
  if (own.cols() == 0) {
    dataset.features = Features::Dense(std::move(added.values));
  } else {
    dataset.features =
        own.stores_sparse() ? JoinSparse(own, added.values) : JoinDense(context, own, added.values);
  }
}

}  // namespace l2gcn
