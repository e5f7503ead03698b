#include "data/prepare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_format.h"
#include "core/feature_rows.h"
#include "core/row_preparation.h"
#include "core/threads.h"
#include "data/pca.h"

namespace l2gcn {
namespace {

constexpr size_t kScaledColumns = 16;  // a line of the cache
constexpr size_t kScaledRows = 512;
constexpr size_t kMeasuredBytes = size_t{4} << 20;  // of rows at once

bool Fitted(std::span<const uint8_t> fit_rows, size_t row) { return fit_rows.empty() || fit_rows[row] != 0; }

// Per column over the fitted rows; zeros of sparse rows count.
struct ColumnFigures {
  uint64_t rows = 0;
  std::vector<double> mean, variance, smallest, largest;  // (cols)

  explicit ColumnFigures(size_t cols)
      : mean(cols, 0),
        variance(cols, 0),
        smallest(cols, std::numeric_limits<double>::infinity()),
        largest(cols, -std::numeric_limits<double>::infinity()) {}

  // Columns begin … end − 1 of these.
  ColumnFigures Part(size_t begin, size_t end) const {
    ColumnFigures part(end - begin);
    for (const auto figure : kAll) {
      const auto from = (this->*figure).begin();
      std::copy(from + static_cast<std::ptrdiff_t>(begin), from + static_cast<std::ptrdiff_t>(end),
                (part.*figure).begin());
    }
    return part;
  }
  void Put(size_t begin, const ColumnFigures& part) {
    for (const auto figure : kAll)
      std::copy((part.*figure).begin(), (part.*figure).end(),
                (this->*figure).begin() + static_cast<std::ptrdiff_t>(begin));
  }

 private:
  static constexpr std::vector<double> ColumnFigures::*kAll[] = {
      &ColumnFigures::mean, &ColumnFigures::variance, &ColumnFigures::smallest, &ColumnFigures::largest};
};

// add(figures of some columns, their values in a row) for every fitted row. Rows come by blocks, in order, so that
// features on disk are read at its rate and their pages never stand in memory; within a block each thread owns columns,
// so the sums of a column run over the rows in one order. A thread adds up in memory of its own: neighbours' sums would
// share lines of the cache.
template <class Add>
void ForFittedRows(const Context& context, const Features& x, std::span<const uint8_t> fit_rows,
                   ColumnFigures& figures, const Add& add) {
  const size_t row_bytes = x.bytes() / std::max<size_t>(1, x.rows());
  const size_t at_once = std::max<size_t>(1, kMeasuredBytes / std::max<size_t>(1, row_bytes));
  DiskBuffer buffer;
  for (size_t first = 0; first < x.rows(); first += at_once) {
    context.CheckCancelled();
    const size_t count = std::min(at_once, x.rows() - first);
    const Features rows = ViewRows(context.disk, x, first, count, buffer);
    ParallelFor(context, x.cols(), kScaledColumns, [&](size_t begin, size_t end) {
      std::vector<float> scratch(end - begin);
      ColumnFigures own = figures.Part(begin, end);
      for (size_t row = 0; row < count; ++row) {
        if (Fitted(fit_rows, first + row)) add(own, rows.ReadColumns(row, begin, end, scratch.data()));
      }
      figures.Put(begin, own);
    });
  }
}

void MeasureDense(const Context& context, const Features& x, std::span<const uint8_t> fit_rows,
                  ColumnFigures& figures) {
  ForFittedRows(context, x, fit_rows, figures, [](ColumnFigures& own, const float* values) {
    for (size_t c = 0; c < own.mean.size(); ++c) {
      const double value = values[c];
      own.mean[c] += value;
      own.smallest[c] = std::min(own.smallest[c], value);
      own.largest[c] = std::max(own.largest[c], value);
    }
  });
  for (double& mean : figures.mean) mean /= static_cast<double>(figures.rows);
  ForFittedRows(context, x, fit_rows, figures, [](ColumnFigures& own, const float* values) {
    for (size_t c = 0; c < own.mean.size(); ++c) {
      const double off = values[c] - own.mean[c];
      own.variance[c] += off * off;
    }
  });
  for (double& variance : figures.variance) variance /= static_cast<double>(figures.rows);
}

void MeasureSparse(const CsrMatrix& x, std::span<const uint8_t> fit_rows, ColumnFigures& figures) {
  std::vector<uint64_t> stored(x.cols, 0);
  const auto for_each = [&](const auto& visit) {
    for (size_t row = 0; row < x.rows; ++row) {
      if (!Fitted(fit_rows, row)) continue;
      for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) visit(x.indices[e], double{x.values[e]});
    }
  };
  for_each([&](uint32_t c, double value) {
    ++stored[c];
    figures.mean[c] += value;
    figures.smallest[c] = std::min(figures.smallest[c], value);
    figures.largest[c] = std::max(figures.largest[c], value);
  });
  for (size_t c = 0; c < x.cols; ++c) {
    figures.mean[c] /= static_cast<double>(figures.rows);
    const auto zeros = static_cast<double>(figures.rows - stored[c]);
    figures.variance[c] = zeros * figures.mean[c] * figures.mean[c];
    if (zeros == 0) continue;
    figures.smallest[c] = std::min(figures.smallest[c], 0.0);
    figures.largest[c] = std::max(figures.largest[c], 0.0);
  }
  for_each([&](uint32_t c, double value) {
    figures.variance[c] += (value - figures.mean[c]) * (value - figures.mean[c]);
  });
  for (double& variance : figures.variance) variance /= static_cast<double>(figures.rows);
}

ColumnFigures Measure(const Context& context, const Features& features, std::span<const uint8_t> fit_rows) {
  ColumnFigures figures(features.cols());
  for (size_t row = 0; row < features.rows(); ++row) figures.rows += Fitted(fit_rows, row) ? 1 : 0;
  if (figures.rows == 0) ThrowInput("--scale: the split has no training rows to fit on");
  if (features.stores_sparse()) {
    MeasureSparse(features.csr(), fit_rows, figures);
  } else {
    MeasureDense(context, features, fit_rows, figures);
  }
  return figures;
}

void FitColumns(const Context& context, const Features& features, std::span<const uint8_t> fit_rows,
                bool standard, Model::Preparation& preparation) {
  const ColumnFigures figures = Measure(context, features, fit_rows);
  const size_t cols = features.cols();
  preparation.shift = Array<float>::Allocate(cols);
  preparation.factor = Array<float>::Allocate(cols);
  for (size_t c = 0; c < cols; ++c) {
    const double shift = standard ? figures.mean[c] : figures.smallest[c];
    const double spread =
        standard ? std::sqrt(figures.variance[c]) : figures.largest[c] - figures.smallest[c];
    preparation.shift.mutable_data()[c] = static_cast<float>(shift);
    preparation.factor.mutable_data()[c] = spread > 0 ? static_cast<float>(1 / spread) : 1.0f;
  }
}

// 1 / the sum of absolute values of each row; 1 for a row of zeros.
Array<float> RowFactors(const Context& context, const Features& features) {
  Array<float> factors = Array<float>::Allocate(features.rows());
  float* out = factors.mutable_data();
  ParallelFor(context, features.rows(), kScaledRows, [&](size_t begin, size_t end) {
    std::vector<float> scratch(features.stores_sparse() ? 0 : features.cols());
    for (size_t row = begin; row < end; ++row) {
      const float* values = nullptr;
      size_t count = features.cols();
      if (features.stores_sparse()) {
        const CsrMatrix& x = features.csr();
        values = x.values.data() + x.indptr[row];
        count = x.indptr[row + 1] - x.indptr[row];
      } else {
        values = features.ReadColumns(row, 0, count, scratch.data());
      }
      double sum = 0;
      for (size_t i = 0; i < count; ++i) sum += std::abs(values[i]);
      out[row] = sum > 0 ? static_cast<float>(1 / sum) : 1.0f;
    }
  });
  return factors;
}

Features RowNormalised(const Context& context, const Features& features) {
  RowPreparation rows;
  rows.row_factor = RowFactors(context, features);
  return features.WithPreparation(std::move(rows));
}

void CheckColumns(const Model::Preparation& preparation, const Features& features) {
  const size_t expected =
      preparation.projection.rows != 0 ? preparation.projection.rows : preparation.factor.size();
  if (expected != 0 && expected != features.cols()) {
    ThrowInput("the features have {} columns, but their preparation was fitted on {}", features.cols(),
               expected);
  }
}

}  // namespace

Model::Preparation FitPreparation(const Context& context, const Features& features,
                                  std::span<const uint8_t> fit_rows, Scale scale, uint32_t pca,
                                  uint64_t seed) {
  L2GCN_ASSERT(fit_rows.empty() || fit_rows.size() == features.rows());
  Model::Preparation preparation;
  if (scale == Scale::kStandard || scale == Scale::kMinMax) {
    FitColumns(context, features, fit_rows, scale == Scale::kStandard, preparation);
  }
  preparation.row_normalise = scale == Scale::kRow;
  if (pca == 0) return preparation;
  if (pca > features.cols()) {
    ThrowUsage("--pca {}: the features have only {} columns; choose at most that many", pca, features.cols());
  }
  Features scaled = preparation.row_normalise ? RowNormalised(context, features) : features;
  if (scaled.is_sparse()) scaled = Features::Sparse(scaled.ToCsr(context));
  FitPca(context, scaled, fit_rows, pca, seed, preparation);
  return preparation;
}

Features ApplyPreparation(const Context& context, const Model::Preparation& preparation,
                          const Features& features) {
  CheckColumns(preparation, features);
  const bool projects = preparation.projection.rows != 0;
  if (!preparation.row_normalise && !projects && preparation.factor.empty()) return features;
  RowPreparation rows;
  if (preparation.row_normalise) rows.row_factor = RowFactors(context, features);
  if (projects) {
    ScaledProjection(preparation, rows);
  } else {
    rows.shift = preparation.shift;
    rows.factor = preparation.factor;
  }
  Features prepared = features.WithPreparation(std::move(rows));
  if (features.is_sparse() && !prepared.is_sparse() && !projects) {
    context.Note(
        fmt::format("features: {} × {} become dense ({:.2f} GiB), since scaling moves their zeros",
                    features.rows(), features.cols(),
                    static_cast<double>(features.rows() * features.cols() * sizeof(float)) / (1u << 30)));
  }
  return prepared;
}

}  // namespace l2gcn
