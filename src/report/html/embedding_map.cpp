#include "report/html/embedding_map.h"

#include <algorithm>
#include <cmath>

#include "core/row_preparation.h"
#include "core/threads.h"
#include "data/pca.h"

namespace l2gcn {
namespace {

constexpr uint32_t kAxes = 30;  // principal axes that t-SNE measures distances in
constexpr double kPerplexity = 30;
constexpr int kSteps = 350, kExaggeratedSteps = 100;
constexpr double kExaggeration = 12;
constexpr size_t kRowsPerPiece = 16;

// Rows along their principal axes (rows × at most `axes`).
Matrix AlongAxes(const Context& context, const Matrix& rows, uint32_t axes) {
  const Features features = Features::Dense(rows);
  Model::Preparation preparation;
  Context silent = context;
  silent.on_note = nullptr;
  const std::vector<uint8_t> all(rows.rows, 1);
  const auto most = static_cast<uint32_t>(std::min(rows.cols, rows.rows));
  FitPca(silent, features, all, std::min(axes, most), 0, preparation);
  RowPreparation projected;
  ScaledProjection(preparation, projected);
  return features.WithPreparation(std::move(projected)).ToMatrix(silent);
}

class TsneMap {
 public:
  TsneMap(const Context& context, const Matrix& points) : context_(context), n_(points.rows), p_(n_ * n_) {
    FindAffinities(points);
    Begin(points);
  }

  PlanePoints Run() {
    std::vector<double> gx(n_), gy(n_), vx(n_), vy(n_), gain_x(n_, 1.0), gain_y(n_, 1.0);
    for (int step = 0; step < kSteps; ++step) {
      context_.CheckCancelled();
      Gradient(step < kExaggeratedSteps ? kExaggeration : 1.0, gx, gy);
      const double momentum = step < kExaggeratedSteps ? 0.5 : 0.8;
      Move(gx, momentum, vx, gain_x, at_.x);
      Move(gy, momentum, vy, gain_y, at_.y);
    }
    return std::move(at_);
  }

 private:
  // Gaussian affinities of each row, its width found by bisection for the perplexity; then both directions.
  void FindAffinities(const Matrix& points) {
    const double wanted = std::log(std::min(kPerplexity, std::max(2.0, static_cast<double>(n_ - 1) / 3)));
    ParallelFor(context_, n_, kRowsPerPiece, [&](size_t begin, size_t end) {
      std::vector<double> squared(n_);
      for (size_t i = begin; i < end; ++i) {
        for (size_t j = 0; j < n_; ++j) {
          double sum = 0;
          for (size_t k = 0; k < points.cols; ++k) {
            const double d = static_cast<double>(points.row(i)[k]) - static_cast<double>(points.row(j)[k]);
            sum += d * d;
          }
          squared[j] = sum;
        }
        RowAffinities(squared, i, wanted);
      }
    });
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double both =
            std::max((p_[i * n_ + j] + p_[j * n_ + i]) / (2 * static_cast<double>(n_)), 1e-12);
        p_[i * n_ + j] = p_[j * n_ + i] = both;
      }
    }
  }

  void RowAffinities(const std::vector<double>& squared, size_t i, double wanted) {
    double nearest = 1e300;
    for (size_t j = 0; j < n_; ++j) nearest = j == i ? nearest : std::min(nearest, squared[j]);
    double low = 0, high = 1e300, precision = 1;
    double* row = p_.data() + i * n_;
    for (int turn = 0; turn < 64; ++turn) {
      double sum = 0, weighted = 0;
      for (size_t j = 0; j < n_; ++j) {
        row[j] = j == i ? 0 : std::exp(-precision * (squared[j] - nearest));
        sum += row[j];
        weighted += row[j] * (squared[j] - nearest);
      }
      const double entropy = std::log(sum) + precision * weighted / sum;
      for (size_t j = 0; j < n_; ++j) row[j] /= sum;
      if (std::abs(entropy - wanted) < 1e-5) return;
      (entropy > wanted ? low : high) = precision;
      precision = high > 1e299 ? precision * 2 : (low + high) / 2;
    }
  }

  void Begin(const Matrix& points) {
    double spread = 1e-12;
    for (size_t i = 0; i < n_; ++i) spread += std::pow(points.row(i)[0], 2) / static_cast<double>(n_);
    for (size_t i = 0; i < n_; ++i) {
      at_.x.push_back(points.row(i)[0] / std::sqrt(spread) * 1e-4);
      at_.y.push_back(points.cols > 1 ? points.row(i)[1] / std::sqrt(spread) * 1e-4 : 0.0);
    }
  }

  void Gradient(double exaggeration, std::vector<double>& gx, std::vector<double>& gy) {
    std::vector<double> share(n_), rx(n_), ry(n_);
    ParallelFor(context_, n_, kRowsPerPiece, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        double sum = 0, ax = 0, ay = 0, bx = 0, by = 0;
        for (size_t j = 0; j < n_; ++j) {
          const double dx = at_.x[i] - at_.x[j], dy = at_.y[i] - at_.y[j];
          const double near = 1 / (1 + dx * dx + dy * dy);
          const double pull = exaggeration * p_[i * n_ + j] * near, push = near * near;
          ax += pull * dx, ay += pull * dy;
          bx += push * dx, by += push * dy;
          sum += near;
        }
        share[i] = sum - 1;  // less the point itself
        gx[i] = ax, gy[i] = ay, rx[i] = bx, ry[i] = by;
      }
    });
    double total = 0;
    for (const double part : share) total += part;
    for (size_t i = 0; i < n_; ++i) {
      gx[i] = 4 * (gx[i] - rx[i] / total);
      gy[i] = 4 * (gy[i] - ry[i] / total);
    }
  }

  void Move(const std::vector<double>& g, double momentum, std::vector<double>& v, std::vector<double>& gain,
            std::vector<double>& at) const {
    const double rate = std::max(static_cast<double>(n_) / kExaggeration, 50.0);
    for (size_t i = 0; i < n_; ++i) {
      gain[i] = (g[i] > 0) == (v[i] > 0) ? std::max(0.01, gain[i] * 0.8) : gain[i] + 0.2;
      v[i] = momentum * v[i] - rate * gain[i] * g[i];
      at[i] += v[i];
    }
  }

  const Context& context_;
  const size_t n_;
  std::vector<double> p_;  // (n × n) affinities
  PlanePoints at_;
};

}  // namespace

PlanePoints PlaceInPlane(const Context& context, const Matrix& rows, const std::string& kind) {
  const Matrix along = AlongAxes(context, rows, kind == "pca" ? 2 : kAxes);
  if (kind != "pca" && rows.rows >= 4) return TsneMap(context, along).Run();
  PlanePoints points;
  for (size_t i = 0; i < along.rows; ++i) {
    points.x.push_back(along.row(i)[0]);
    points.y.push_back(along.cols > 1 ? along.row(i)[1] : 0.0);
  }
  return points;
}

}  // namespace l2gcn
