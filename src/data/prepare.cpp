#include "data/prepare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/pca.h"

namespace l2gcn {
namespace {

constexpr size_t kScaledColumns = 64;
constexpr size_t kScaledRows = 512;

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
};

// Each thread owns columns, so sums run over the rows in one order.
void MeasureDense(const Context& context, const Matrix& x, std::span<const uint8_t> fit_rows,
                  ColumnFigures& figures) {
  ParallelFor(context, x.cols, kScaledColumns, [&](size_t begin, size_t end) {
    for (size_t row = 0; row < x.rows; ++row) {
      if (!Fitted(fit_rows, row)) continue;
      for (size_t c = begin; c < end; ++c) {
        const double value = x.row(row)[c];
        figures.mean[c] += value;
        figures.smallest[c] = std::min(figures.smallest[c], value);
        figures.largest[c] = std::max(figures.largest[c], value);
      }
    }
    for (size_t c = begin; c < end; ++c) figures.mean[c] /= static_cast<double>(figures.rows);
    for (size_t row = 0; row < x.rows; ++row) {
      if (!Fitted(fit_rows, row)) continue;
      for (size_t c = begin; c < end; ++c) {
        const double off = x.row(row)[c] - figures.mean[c];
        figures.variance[c] += off * off;
      }
    }
    for (size_t c = begin; c < end; ++c) figures.variance[c] /= static_cast<double>(figures.rows);
  });
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
  if (features.is_sparse) {
    MeasureSparse(features.sparse, fit_rows, figures);
  } else {
    MeasureDense(context, features.dense, fit_rows, figures);
  }
  return figures;
}

void FitColumns(const Context& context, const Features& features, std::span<const uint8_t> fit_rows,
                bool standard, Preparation& preparation) {
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

Features RowNormalised(const Context& context, const Features& features) {
  Features out = features;
  const auto normalise = [](const float* in, float* values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += std::abs(in[i]);
    const auto factor = sum > 0 ? static_cast<float>(1 / sum) : 1.0f;
    for (size_t i = 0; i < count; ++i) values[i] = in[i] * factor;
  };
  Array<float>& values = features.is_sparse ? out.sparse.values : out.dense.values;
  values = Array<float>::Allocate(values.size());
  ParallelFor(context, features.rows(), kScaledRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      if (features.is_sparse) {
        const uint64_t first = features.sparse.indptr[row];
        normalise(features.sparse.values.data() + first, values.mutable_data() + first,
                  features.sparse.indptr[row + 1] - first);
      } else {
        normalise(features.dense.row(row), values.mutable_data() + row * features.dense.cols,
                  features.dense.cols);
      }
    }
  });
  return out;
}

bool ShiftsNothing(const Preparation& preparation) {
  return std::all_of(preparation.shift.begin(), preparation.shift.end(),
                     [](float shift) { return shift == 0; });
}

Features ScaleSparse(const Context& context, const Preparation& preparation, const CsrMatrix& x) {
  Features out;
  out.is_sparse = true;
  out.sparse = x;
  out.sparse.values = Array<float>::Allocate(x.nnz());
  ParallelFor(context, x.nnz(), size_t{1} << 16, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e) {
      out.sparse.values.mutable_data()[e] = x.values[e] * preparation.factor[x.indices[e]];
    }
  });
  return out;
}

Features ScaleToDense(const Context& context, const Preparation& preparation, const Features& features) {
  const size_t cols = features.cols();
  if (features.is_sparse) {
    context.Note(fmt::format("features: {} × {} become dense ({:.2f} GiB), since scaling moves their zeros",
                             features.rows(), cols,
                             static_cast<double>(features.rows() * cols * sizeof(float)) / (1u << 30)));
  }
  Features out;
  out.dense = Matrix::Allocate(features.rows(), cols);
  const float* shift = preparation.shift.data();
  const float* factor = preparation.factor.data();
  ParallelFor(context, features.rows(), kScaledRows, [&](size_t begin, size_t end) {
    std::vector<float> expanded(features.is_sparse ? cols : 0, 0.0f);
    for (size_t row = begin; row < end; ++row) {
      const float* in = features.is_sparse ? expanded.data() : features.dense.row(row);
      const auto scatter = [&](bool clear) {
        for (uint64_t e = features.sparse.indptr[row]; e < features.sparse.indptr[row + 1]; ++e) {
          expanded[features.sparse.indices[e]] = clear ? 0.0f : features.sparse.values[e];
        }
      };
      if (features.is_sparse) scatter(false);
      float* to = out.dense.mutable_row(row);
      for (size_t c = 0; c < cols; ++c) to[c] = (in[c] - shift[c]) * factor[c];
      if (features.is_sparse) scatter(true);
    }
  });
  return out;
}

void CheckColumns(const Preparation& preparation, const Features& features) {
  const size_t expected =
      preparation.projection.rows != 0 ? preparation.projection.rows : preparation.factor.size();
  if (expected != 0 && expected != features.cols()) {
    ThrowInput("the features have {} columns, but their preparation was fitted on {}", features.cols(),
               expected);
  }
}

}  // namespace

Preparation FitPreparation(const Context& context, const Features& features,
                           std::span<const uint8_t> fit_rows, const std::string& scale, uint32_t pca,
                           uint64_t seed) {
  L2GCN_ASSERT(fit_rows.empty() || fit_rows.size() == features.rows());
  Preparation preparation;
  if (scale == "standard" || scale == "minmax") {
    FitColumns(context, features, fit_rows, scale == "standard", preparation);
  } else if (scale == "row") {
    preparation.row_normalise = true;
  } else if (scale != "none" && !scale.empty()) {
    ThrowUsage("--scale {}: expected standard, minmax, row or none", scale);
  }
  if (pca == 0) return preparation;
  if (pca > features.cols()) {
    ThrowUsage("--pca {}: the features have only {} columns; choose at most that many", pca, features.cols());
  }
  const Features scaled = preparation.row_normalise ? RowNormalised(context, features) : features;
  FitPca(context, scaled, fit_rows, pca, seed, preparation);
  return preparation;
}

Features ApplyPreparation(const Context& context, const Preparation& preparation, const Features& features) {
  CheckColumns(preparation, features);
  Features current = preparation.row_normalise ? RowNormalised(context, features) : features;
  if (preparation.projection.rows != 0) return Project(context, preparation, current);
  if (preparation.factor.empty()) return current;
  if (current.is_sparse && ShiftsNothing(preparation))
    return ScaleSparse(context, preparation, current.sparse);
  return ScaleToDense(context, preparation, current);
}

}  // namespace l2gcn
