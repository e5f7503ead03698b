#include "data/pca.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/row_preparation.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr uint32_t kOversampling = 10;
constexpr int kIterations = 6;
constexpr size_t kPcaBlockRows = 1024;
constexpr size_t kPcaRows = 32;
constexpr size_t kPcaColumns = 16;

// Factor and shift of each column, with the mean that centring takes away.
struct ColumnScales {
  std::vector<float> factor, total_shift;  // (cols)

  ColumnScales(const Model::Preparation& preparation, size_t cols)
      : factor(cols, 1.0f), total_shift(cols, 0.0f) {
    for (size_t c = 0; c < cols; ++c) {
      if (!preparation.factor.empty()) factor[c] = preparation.factor[c];
      const float shift = preparation.shift.empty() ? 0.0f : preparation.shift[c];
      const float center = preparation.center.empty() ? 0.0f : preparation.center[c];
      total_shift[c] = shift * factor[c] + center;
    }
  }

  // diag(factor)·q
  Matrix ScaledRows(const Matrix& q) const {
    Matrix scaled = Matrix::Allocate(q.rows, q.cols);
    for (size_t c = 0; c < q.rows; ++c) {
      float* row = scaled.mutable_row(c);
      for (size_t k = 0; k < q.cols; ++k) row[k] = q.row(c)[k] * factor[c];
    }
    return scaled;
  }
  // total_shiftᵀ·q
  std::vector<float> OffsetOf(const Matrix& q) const {
    std::vector<double> sums(q.cols, 0);
    for (size_t c = 0; c < q.rows; ++c) {
      for (size_t k = 0; k < q.cols; ++k) sums[k] += double{total_shift[c]} * q.row(c)[k];
    }
    return {sums.begin(), sums.end()};
  }
};

// The matrix A of the head comment, over the fitted rows.
class ImplicitMatrix {
 public:
  ImplicitMatrix(const Context& context, const Features& x, std::span<const uint8_t> fit_rows,
                 const Model::Preparation& preparation)
      : context_(context), x_(x), scales_(preparation, x.cols()) {
    for (size_t row = 0; row < x.rows(); ++row) {
      if (fit_rows.empty() || fit_rows[row] != 0) rows_.push_back(static_cast<uint32_t>(row));
    }
  }

  size_t rows() const { return rows_.size(); }
  size_t cols() const { return x_.cols(); }

  // AᵀA·q; also ‖A·q‖² per column, in double.
  Matrix GramTimes(const Matrix& q) const {
    Matrix result = Matrix::Zeros(q.rows, q.cols);
    std::vector<double> column_sums(q.cols, 0);  // sums of the columns of A·q
    RowPreparation product;                      // what makes a row of A·q of a row of X
    if (x_.preparation() != nullptr) product.row_factor = x_.preparation()->row_factor;
    product.projection = scales_.ScaledRows(q);
    product.offset = Array<float>::CopyOf(scales_.OffsetOf(q));
    const Features projected = x_.WithPreparation(std::move(product));
    Matrix block = Matrix::Allocate(std::min(kPcaBlockRows, rows()), q.cols);
    for (size_t first = 0; first < rows(); first += kPcaBlockRows) {
      context_.CheckCancelled();
      const size_t count = std::min(kPcaBlockRows, rows() - first);
      ParallelFor(context_, count, kPcaRows, [&](size_t begin, size_t end) {
        projected.GatherRows(std::span(rows_).subspan(first + begin, end - begin), block.mutable_row(begin));
      });
      for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < q.cols; ++k) column_sums[k] += block.row(i)[k];
      }
      ParallelFor(context_, q.rows, kPcaColumns,
                  [&](size_t begin, size_t end) { AddTransposed(first, count, block, begin, end, result); });
    }
    // Aᵀ·Y = diag(factor)·Xᵀ·Y − total_shift·(1ᵀ·Y)
    ParallelFor(context_, q.rows, kPcaColumns, [&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) {
        float* out = result.mutable_row(c);
        for (size_t k = 0; k < q.cols; ++k) {
          out[k] = out[k] * scales_.factor[c] - scales_.total_shift[c] * static_cast<float>(column_sums[k]);
        }
      }
    });
    return result;
  }

  // Mean of each scaled column, and the total variance ‖A‖² once `center` is in place.
  std::vector<double> ColumnMeans() const {
    std::vector<double> means(cols(), 0);
    ForEachValue([&](size_t c, float value) { means[c] += value; });
    for (size_t c = 0; c < cols(); ++c) {
      means[c] = means[c] / static_cast<double>(rows()) * scales_.factor[c] - scales_.total_shift[c];
    }
    return means;
  }
  double SquaredNorm() const {
    std::vector<uint64_t> stored(cols(), 0);
    std::vector<double> squares(cols(), 0);
    ForEachValue([&](size_t c, float value) {
      const double scaled = double{value} * scales_.factor[c] - scales_.total_shift[c];
      squares[c] += scaled * scaled;
      ++stored[c];
    });
    double norm = 0;
    for (size_t c = 0; c < cols(); ++c) {
      const double zero = scales_.total_shift[c];
      norm += squares[c] + static_cast<double>(rows() - stored[c]) * zero * zero;
    }
    return norm;
  }

 private:
  template <class Visit>
  void ForEachValue(const Visit& visit) const {
    std::vector<float> scratch(x_.stores_sparse() ? 0 : cols());
    for (const uint32_t row : rows_) {
      if (x_.stores_sparse()) {
        const CsrMatrix& x = x_.csr();
        for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) visit(x.indices[e], x.values[e]);
      } else {
        const float* values = x_.ReadColumns(row, 0, cols(), scratch.data());
        for (size_t c = 0; c < cols(); ++c) visit(c, values[c]);
      }
    }
  }

  // Rows [begin, end) of result += Xᵀ·block for rows first … first+count−1 of A. A thread owns its rows of
  // result.
  void AddTransposed(size_t first, size_t count, const Matrix& block, size_t begin, size_t end,
                     Matrix& result) const {
    const auto add = [&](size_t column, float value, size_t i) {
      float* out = result.mutable_row(column);
      const float* from = block.row(i);
      for (size_t k = 0; k < block.cols; ++k) out[k] += value * from[k];
    };
    std::vector<float> scratch(x_.stores_sparse() ? 0 : end - begin);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t row = rows_[first + i];
      if (x_.stores_sparse()) {
        const CsrMatrix& x = x_.csr();
        const uint32_t* columns = x.indices.data();
        const uint32_t* row_end = columns + x.indptr[row + 1];
        const uint32_t* at = std::lower_bound(columns + x.indptr[row], row_end, begin);
        for (; at != row_end && *at < end; ++at) add(*at, x.values[static_cast<size_t>(at - columns)], i);
      } else {
        const float* values = x_.ReadColumns(row, begin, end, scratch.data());
        for (size_t c = begin; c < end; ++c) {
          if (values[c - begin] != 0) add(c, values[c - begin], i);
        }
      }
    }
  }

  const Context& context_;
  const Features& x_;
  const ColumnScales scales_;
  std::vector<uint32_t> rows_;
};

// Orthonormal columns by modified Gram–Schmidt, twice; a column that vanishes becomes zero.
void Orthonormalise(Matrix& q) {
  std::vector<std::vector<double>> columns(q.cols, std::vector<double>(q.rows));
  for (size_t k = 0; k < q.cols; ++k) {
    for (size_t c = 0; c < q.rows; ++c) columns[k][c] = q.row(c)[k];
  }
  const auto dot = [&](size_t a, size_t b) {
    return std::inner_product(columns[a].begin(), columns[a].end(), columns[b].begin(), 0.0);
  };
  for (size_t k = 0; k < q.cols; ++k) {
    const double before = std::sqrt(dot(k, k));
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < k; ++j) {
        const double along = dot(j, k);
        for (size_t c = 0; c < q.rows; ++c) columns[k][c] -= along * columns[j][c];
      }
    }
    const double length = std::sqrt(dot(k, k));
    const double scale = length > 1e-10 * before ? 1 / length : 0;
    for (double& value : columns[k]) value *= scale;
  }
  for (size_t k = 0; k < q.cols; ++k) {
    for (size_t c = 0; c < q.rows; ++c) q.mutable_row(c)[k] = static_cast<float>(columns[k][c]);
  }
}

// The leading eigenvectors within the span of q, and their eigenvalues, largest first: Rayleigh–Ritz.
Matrix RotateToAxes(const Matrix& q, const Matrix& gram_q, uint32_t components, std::vector<double>& values) {
  const auto width = static_cast<Eigen::Index>(q.cols);
  Eigen::MatrixXd small = Eigen::MatrixXd::Zero(width, width);  // qᵀ·(AᵀA·q)
  for (size_t c = 0; c < q.rows; ++c) {
    for (Eigen::Index i = 0; i < width; ++i) {
      for (Eigen::Index j = 0; j < width; ++j) small(i, j) += double{q.row(c)[i]} * gram_q.row(c)[j];
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver((small + small.transpose()) / 2);
  if (solver.info() != Eigen::Success) ThrowRuntime("pca: the eigenvalue iteration did not converge");
  const Eigen::VectorXd& ascending = solver.eigenvalues();
  values.clear();
  Matrix axes = Matrix::Zeros(q.rows, components);
  float* out = axes.values.mutable_data();
  for (uint32_t k = 0; k < components; ++k) {
    const Eigen::Index at = width - 1 - static_cast<Eigen::Index>(k);
    values.push_back(ascending[at]);
    for (size_t c = 0; c < q.rows; ++c) {
      double sum = 0;
      for (Eigen::Index i = 0; i < width; ++i) sum += double{q.row(c)[i]} * solver.eigenvectors()(i, at);
      out[c * components + k] = static_cast<float>(sum);
    }
  }
  return axes;
}

// The sign of an axis is arbitrary; its largest entry is made positive so that equal data give equal axes.
void FixSigns(Matrix& axes) {
  for (size_t k = 0; k < axes.cols; ++k) {
    float largest = 0;
    for (size_t c = 0; c < axes.rows; ++c) {
      if (std::abs(axes.row(c)[k]) > std::abs(largest)) largest = axes.row(c)[k];
    }
    if (largest >= 0) continue;
    for (size_t c = 0; c < axes.rows; ++c) axes.mutable_row(c)[k] = -axes.row(c)[k];
  }
}

}  // namespace

void FitPca(const Context& context, const Features& features, std::span<const uint8_t> fit_rows,
            uint32_t components, uint64_t seed, Model::Preparation& preparation) {
  const std::vector<double> means = ImplicitMatrix(context, features, fit_rows, preparation).ColumnMeans();
  preparation.center = Array<float>::Allocate(features.cols());
  for (size_t c = 0; c < means.size(); ++c)
    preparation.center.mutable_data()[c] = static_cast<float>(means[c]);
  const ImplicitMatrix a(context, features, fit_rows, preparation);
  const size_t width = std::min<size_t>(features.cols(), size_t{components} + kOversampling);
  Matrix q = Matrix::Allocate(features.cols(), width);
  const RandomStream stream(seed, RandomUse::kPca);
  for (size_t i = 0; i < q.values.size(); ++i) q.values.mutable_data()[i] = stream.Normal(i);
  Orthonormalise(q);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    q = a.GramTimes(q);
    Orthonormalise(q);
  }
  std::vector<double> values;
  preparation.projection = RotateToAxes(q, a.GramTimes(q), components, values);
  FixSigns(preparation.projection);
  const double held = std::accumulate(values.begin(), values.end(), 0.0), total = a.SquaredNorm();
  context.Note(fmt::format("pca: {} of {} columns hold {:.2f} % of the variance", components, features.cols(),
                           total > 0 ? 100 * held / total : 100.0));
}

void ScaledProjection(const Model::Preparation& preparation, RowPreparation& rows) {
  const ColumnScales scales(preparation, preparation.projection.rows);
  rows.projection = scales.ScaledRows(preparation.projection);
  rows.offset = Array<float>::CopyOf(scales.OffsetOf(preparation.projection));
}

}  // namespace l2gcn
