#include "data/pca.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error_format.h"
#include "core/rng.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr uint32_t kOversampling = 10;
constexpr int kIterations = 6;
constexpr size_t kBlockRows = 1024;
constexpr size_t kPcaRows = 32;
constexpr size_t kPcaColumns = 16;

// out (width) ← row · q (cols × width)
void RowTimes(const Features& x, size_t row, const Matrix& q, float* out) {
  std::fill(out, out + q.cols, 0.0f);
  const auto add = [&](float value, size_t column) {
    const float* from = q.row(column);
    for (size_t k = 0; k < q.cols; ++k) out[k] += value * from[k];
  };
  if (x.is_sparse) {
    for (uint64_t e = x.sparse.indptr[row]; e < x.sparse.indptr[row + 1]; ++e)
      add(x.sparse.values[e], x.sparse.indices[e]);
  } else {
    for (size_t c = 0; c < x.dense.cols; ++c) {
      if (x.dense.row(row)[c] != 0) add(x.dense.row(row)[c], c);
    }
  }
}

// The matrix A of the head comment, over the fitted rows.
class ImplicitMatrix {
 public:
  ImplicitMatrix(const Context& context, const Features& x, std::span<const uint8_t> fit_rows,
                 const Preparation& preparation)
      : context_(context), x_(x), factor_(x.cols(), 1.0f), total_shift_(x.cols(), 0.0f) {
    for (size_t row = 0; row < x.rows(); ++row) {
      if (fit_rows.empty() || fit_rows[row] != 0) rows_.push_back(static_cast<uint32_t>(row));
    }
    for (size_t c = 0; c < x.cols(); ++c) {
      if (!preparation.factor.empty()) factor_[c] = preparation.factor[c];
      const float shift = preparation.shift.empty() ? 0.0f : preparation.shift[c];
      const float center = preparation.center.empty() ? 0.0f : preparation.center[c];
      total_shift_[c] = shift * factor_[c] + center;
    }
  }

  size_t rows() const { return rows_.size(); }
  size_t cols() const { return x_.cols(); }

  // AᵀA·q; also ‖A·q‖² per column, in double.
  Matrix GramTimes(const Matrix& q) const {
    Matrix result = Matrix::Zeros(q.rows, q.cols);
    std::vector<double> column_sums(q.cols, 0);  // of A·q
    const Matrix scaled = ScaledRows(q);
    const std::vector<float> offset = OffsetOf(q);
    Matrix block = Matrix::Allocate(std::min(kBlockRows, rows()), q.cols);
    for (size_t first = 0; first < rows(); first += kBlockRows) {
      context_.CheckCancelled();
      const size_t count = std::min(kBlockRows, rows() - first);
      ParallelFor(context_, count, kPcaRows, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          float* out = block.mutable_row(i);
          RowTimes(x_, rows_[first + i], scaled, out);
          for (size_t k = 0; k < q.cols; ++k) out[k] -= offset[k];
        }
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
          out[k] = out[k] * factor_[c] - total_shift_[c] * static_cast<float>(column_sums[k]);
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
      means[c] = means[c] / static_cast<double>(rows()) * factor_[c] - total_shift_[c];
    }
    return means;
  }
  double SquaredNorm() const {
    std::vector<uint64_t> stored(cols(), 0);
    std::vector<double> squares(cols(), 0);
    ForEachValue([&](size_t c, float value) {
      const double scaled = double{value} * factor_[c] - total_shift_[c];
      squares[c] += scaled * scaled;
      ++stored[c];
    });
    double norm = 0;
    for (size_t c = 0; c < cols(); ++c) {
      const double zero = total_shift_[c];
      norm += squares[c] + static_cast<double>(rows() - stored[c]) * zero * zero;
    }
    return norm;
  }

  // diag(factor)·q
  Matrix ScaledRows(const Matrix& q) const {
    Matrix scaled = Matrix::Allocate(q.rows, q.cols);
    for (size_t c = 0; c < q.rows; ++c) {
      for (size_t k = 0; k < q.cols; ++k) scaled.mutable_row(c)[k] = q.row(c)[k] * factor_[c];
    }
    return scaled;
  }
  // total_shiftᵀ·q
  std::vector<float> OffsetOf(const Matrix& q) const {
    std::vector<double> sums(q.cols, 0);
    for (size_t c = 0; c < q.rows; ++c) {
      for (size_t k = 0; k < q.cols; ++k) sums[k] += double{total_shift_[c]} * q.row(c)[k];
    }
    return {sums.begin(), sums.end()};
  }

 private:
  template <class Visit>
  void ForEachValue(const Visit& visit) const {
    for (const uint32_t row : rows_) {
      if (x_.is_sparse) {
        for (uint64_t e = x_.sparse.indptr[row]; e < x_.sparse.indptr[row + 1]; ++e) {
          visit(x_.sparse.indices[e], x_.sparse.values[e]);
        }
      } else {
        for (size_t c = 0; c < cols(); ++c) visit(c, x_.dense.row(row)[c]);
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
    for (size_t i = 0; i < count; ++i) {
      const uint32_t row = rows_[first + i];
      if (x_.is_sparse) {
        const uint32_t* columns = x_.sparse.indices.data();
        const uint32_t* row_end = columns + x_.sparse.indptr[row + 1];
        const uint32_t* at = std::lower_bound(columns + x_.sparse.indptr[row], row_end, begin);
        for (; at != row_end && *at < end; ++at)
          add(*at, x_.sparse.values[static_cast<size_t>(at - columns)], i);
      } else {
        for (size_t c = begin; c < end; ++c) {
          if (x_.dense.row(row)[c] != 0) add(c, x_.dense.row(row)[c], i);
        }
      }
    }
  }

  const Context& context_;
  const Features& x_;
  std::vector<uint32_t> rows_;
  std::vector<float> factor_, total_shift_;  // (cols)
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

// Eigenvalues (descending) and eigenvectors (columns) of a symmetric n × n matrix by cyclic Jacobi rotations.
struct Eigen {
  std::vector<double> values;   // (n)
  std::vector<double> vectors;  // (n × n) row-major, vector k in column k
};
Eigen SymmetricEigen(std::vector<double> a, size_t n) {
  std::vector<double> v(n * n, 0);
  for (size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, diagonal = 0;
    for (size_t i = 0; i < n; ++i) {
      diagonal += a[i * n + i] * a[i * n + i];
      for (size_t j = i + 1; j < n; ++j) off += a[i * n + j] * a[i * n + j];
    }
    if (off <= 1e-24 * diagonal) break;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t i = 0; i < n; ++i) {
          const double ip = a[i * n + p], iq = a[i * n + q];
          a[i * n + p] = c * ip - s * iq;
          a[i * n + q] = s * ip + c * iq;
        }
        for (size_t i = 0; i < n; ++i) {
          const double pi = a[p * n + i], qi = a[q * n + i];
          a[p * n + i] = c * pi - s * qi;
          a[q * n + i] = s * pi + c * qi;
          const double vp = v[i * n + p], vq = v[i * n + q];
          v[i * n + p] = c * vp - s * vq;
          v[i * n + q] = s * vp + c * vq;
        }
      }
    }
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return a[i * n + i] > a[j * n + j]; });
  Eigen eigen{std::vector<double>(n), std::vector<double>(n * n)};
  for (size_t k = 0; k < n; ++k) {
    eigen.values[k] = a[order[k] * n + order[k]];
    for (size_t i = 0; i < n; ++i) eigen.vectors[i * n + k] = v[i * n + order[k]];
  }
  return eigen;
}

// The leading eigenvectors within the span of q, and their eigenvalues: Rayleigh–Ritz.
Matrix RotateToAxes(const Matrix& q, const Matrix& gram_q, uint32_t components, std::vector<double>& values) {
  const size_t width = q.cols;
  std::vector<double> small(width * width, 0);
  for (size_t c = 0; c < q.rows; ++c) {
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j < width; ++j) small[i * width + j] += double{q.row(c)[i]} * gram_q.row(c)[j];
    }
  }
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j < i; ++j) {
      small[i * width + j] = small[j * width + i] = (small[i * width + j] + small[j * width + i]) / 2;
    }
  }
  const Eigen eigen = SymmetricEigen(std::move(small), width);
  values.assign(eigen.values.begin(), eigen.values.begin() + components);
  Matrix axes = Matrix::Zeros(q.rows, components);
  for (size_t c = 0; c < q.rows; ++c) {
    for (uint32_t k = 0; k < components; ++k) {
      double sum = 0;
      for (size_t i = 0; i < width; ++i) sum += double{q.row(c)[i]} * eigen.vectors[i * width + k];
      axes.mutable_row(c)[k] = static_cast<float>(sum);
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
            uint32_t components, uint64_t seed, Preparation& preparation) {
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

Features Project(const Context& context, const Preparation& preparation, const Features& features) {
  const ImplicitMatrix a(context, features, {}, preparation);
  const Matrix scaled = a.ScaledRows(preparation.projection);
  const std::vector<float> offset = a.OffsetOf(preparation.projection);
  Features out;
  out.dense = Matrix::Allocate(features.rows(), preparation.projection.cols);
  ParallelFor(context, features.rows(), kPcaRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* to = out.dense.mutable_row(row);
      RowTimes(features, row, scaled, to);
      for (size_t k = 0; k < out.dense.cols; ++k) to[k] -= offset[k];
    }
  });
  return out;
}

}  // namespace l2gcn
