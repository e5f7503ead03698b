#include "data/prepare.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>

#include "core/disk_memory.h"
#include "core/files.h"
#include "core/memory_meter.h"
#include "core/rng.h"
#include "data/fixtures.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

constexpr size_t kRows = 300, kCols = 12;

// Columns with different means and spreads, about two thirds zeros, the last column constant.
Features DenseSample() {
  Matrix rows = Matrix::Zeros(kRows, kCols);
  const RandomStream stream(4, RandomUse::kGenerator);
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t c = 0; c + 1 < kCols; ++c) {
      if (stream.Uniform(2 * (i * kCols + c)) < 0.67f) continue;
      rows.mutable_row(i)[c] = stream.Normal(100000 + i * kCols + c) * static_cast<float>(c + 1) + 0.5f;
    }
    rows.mutable_row(i)[kCols - 1] = 3;
  }
  return Features::Dense(std::move(rows));
}

Features SparseOf(const Features& dense) {
  std::vector<uint64_t> indptr{0};
  std::vector<uint32_t> indices;
  std::vector<float> values;
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t c = 0; c < kCols; ++c) {
      if (dense.matrix().row(i)[c] == 0) continue;
      indices.push_back(static_cast<uint32_t>(c));
      values.push_back(dense.matrix().row(i)[c]);
    }
    indptr.push_back(indices.size());
  }
  return Features::Sparse({kRows, kCols, ArrayOf(indptr), ArrayOf(indices), ArrayOf(values)});
}

float At(const Features& features, size_t row, size_t column) {
  std::vector<float> values(features.cols());
  features.ReadRows(row, 1, values.data());
  return values[column];
}

std::vector<uint8_t> EveryThird() {
  std::vector<uint8_t> rows(kRows, 0);
  for (size_t i = 0; i < kRows; i += 3) rows[i] = 1;
  return rows;
}

TEST(Prepare, StandardHasZeroMeanAndUnitVarianceOverTheFittedRows) {
  const Context context = MakeContext(2);
  const std::vector<uint8_t> fit = EveryThird();
  for (const Features& features : {DenseSample(), SparseOf(DenseSample())}) {
    const Model::Preparation preparation = FitPreparation(context, features, fit, Scale::kStandard, 0, 0);
    const Features prepared = ApplyPreparation(context, preparation, features);
    EXPECT_FALSE(prepared.is_sparse());
    const Matrix scaled = prepared.ToMatrix(context);
    for (size_t c = 0; c + 1 < kCols; ++c) {
      double sum = 0, squares = 0;
      for (size_t i = 0; i < kRows; i += 3) {
        sum += scaled.row(i)[c];
        squares += scaled.row(i)[c] * scaled.row(i)[c];
      }
      EXPECT_NEAR(sum / 100, 0, 1e-5);
      EXPECT_NEAR(squares / 100, 1, 1e-4);
    }
    EXPECT_EQ(scaled.row(7)[kCols - 1], 0);  // constant: shifted, not divided by zero
  }
}

TEST(Prepare, MinmaxReachesZeroAndOneAndKeepsNonNegativeFeaturesSparse) {
  const Context context = MakeContext(1);
  Features features = SparseOf(DenseSample());
  CsrMatrix positive = features.csr();
  for (float& value : positive.values.mutable_span()) value = std::abs(value);
  features = Features::Sparse(positive);
  const Features scaled =
      ApplyPreparation(context, FitPreparation(context, features, {}, Scale::kMinMax, 0, 0), features);
  for (size_t c = 0; c + 1 < kCols; ++c) {
    float smallest = 9, largest = -9;
    for (size_t i = 0; i < kRows; ++i) {
      smallest = std::min(smallest, At(scaled, i, c));
      largest = std::max(largest, At(scaled, i, c));
    }
    EXPECT_NEAR(smallest, 0, 1e-6);
    EXPECT_NEAR(largest, 1, 1e-6);
  }
  for (size_t e = 0; e < positive.nnz(); ++e) {
    if (positive.indices[e] == kCols - 1) positive.values.mutable_data()[e] = static_cast<float>(e % 7);
  }
  features = Features::Sparse(positive);
  EXPECT_TRUE(ApplyPreparation(context, FitPreparation(context, features, {}, Scale::kMinMax, 0, 0), features)
                  .is_sparse());
}

TEST(Prepare, RowsSumToOne) {
  const Context context = MakeContext(1);
  const Features features = SparseOf(DenseSample());
  const Features scaled =
      ApplyPreparation(context, FitPreparation(context, features, {}, Scale::kRow, 0, 0), features);
  ASSERT_TRUE(scaled.is_sparse());
  const CsrMatrix rows = scaled.ToCsr(context);
  for (size_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (uint64_t e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e) sum += std::abs(rows.values[e]);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Prepare, NoneChangesNothing) {
  const Context context = MakeContext(1);
  const Features features = DenseSample();
  const Features same =
      ApplyPreparation(context, FitPreparation(context, features, {}, Scale::kNone, 0, 0), features);
  EXPECT_EQ(same.matrix().values.data(), features.matrix().values.data());
}

// The watch over mapped pages may come late, so what fits a preparation must not make them resident in the first place.
TEST(Prepare, FittingToFeaturesOnDiskLeavesTheirPagesThere) {
  constexpr size_t kMany = 1 << 16, kWide = 128, kBytes = kMany * kWide * sizeof(float);
  TemporaryFolder folder;
  std::vector<float> values(kMany * kWide);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1013);
  FileWriter writer(folder.path() / "features");
  writer.Write(values.data(), kBytes);
  writer.Close();
  const Descriptor file(open((folder.path() / "features").c_str(), O_RDONLY));
  void* const memory = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto mapped = Array<float>::Borrow(nullptr, static_cast<const float*>(memory), kMany * kWide);
  const Context context = MakeContext(2);
  Context from_disk = context;
  // A budget that is never near, so that whatever becomes resident stays.
  from_disk.disk = std::make_shared<DiskMemory>(uint64_t{1} << 40, folder.path());
  from_disk.disk->Watch(mapped);

  const std::vector<uint8_t> fit(kMany, 1);
  const uint64_t before = ResidentBytes() - AnonymousBytes();
  const Model::Preparation ours =
      FitPreparation(from_disk, Features::Dense({mapped, kMany, kWide}), fit, Scale::kStandard, 0, 0);
  // Pages of the program itself come in on the way, a few MiB of them under a sanitiser.
  EXPECT_LT(ResidentBytes() - AnonymousBytes(), before + kBytes / 2);
  const Model::Preparation theirs =
      FitPreparation(context, Features::Dense({ArrayOf(values), kMany, kWide}), fit, Scale::kStandard, 0, 0);
  for (size_t c = 0; c < kWide; ++c) {
    EXPECT_EQ(ours.shift[c], theirs.shift[c]);
    EXPECT_EQ(ours.factor[c], theirs.factor[c]);
  }
  munmap(memory, kBytes);
}

// Projected columns must be uncorrelated, centred, and hold as much variance as power iteration on the
// explicit covariance finds.
TEST(Pca, AxesAreThoseOfTheExplicitCovariance) {
  const Context context = MakeContext(2);
  const Features dense = DenseSample();
  for (const Scale scale : {Scale::kNone, Scale::kStandard}) {
    const Matrix scaled =
        ApplyPreparation(context, FitPreparation(context, dense, {}, scale, 0, 0), dense).ToMatrix(context);
    std::vector<double> mean(kCols, 0);
    std::vector<double> covariance(kCols * kCols, 0);
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t c = 0; c < kCols; ++c) mean[c] += scaled.row(i)[c] / double{kRows};
    }
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t a = 0; a < kCols; ++a) {
        for (size_t b = 0; b < kCols; ++b) {
          covariance[a * kCols + b] += (scaled.row(i)[a] - mean[a]) * (scaled.row(i)[b] - mean[b]);
        }
      }
    }
    std::vector<double> axis(kCols, 1);
    double eigenvalue = 0;
    for (int step = 0; step < 5000; ++step) {
      std::vector<double> next(kCols, 0);
      for (size_t a = 0; a < kCols; ++a) {
        for (size_t b = 0; b < kCols; ++b) next[a] += covariance[a * kCols + b] * axis[b];
      }
      eigenvalue = 0;
      for (const double value : next) eigenvalue += value * value;
      eigenvalue = std::sqrt(eigenvalue);
      for (size_t a = 0; a < kCols; ++a) axis[a] = next[a] / eigenvalue;
    }
    for (const Features& features : {dense, SparseOf(dense)}) {
      const Model::Preparation preparation = FitPreparation(context, features, {}, scale, 3, 0);
      const Matrix projected = ApplyPreparation(context, preparation, features).ToMatrix(context);
      ASSERT_EQ(projected.cols, 3u);
      double squares = 0, cross = 0, sum = 0;
      for (size_t i = 0; i < kRows; ++i) {
        const float* row = projected.row(i);
        squares += double{row[0]} * row[0];
        cross += double{row[0]} * row[1];
        sum += row[0];
      }
      EXPECT_NEAR(squares / eigenvalue, 1, 1e-4) << static_cast<int>(scale);
      EXPECT_NEAR(cross / eigenvalue, 0, 1e-4);
      EXPECT_NEAR(sum / kRows, 0, 1e-4);
    }
  }
}

TEST(Pca, SameBitsForAnyThreadCountAndTheShareIsTold) {
  const Features features = SparseOf(DenseSample());
  Context one = MakeContext(1);
  std::string note;
  one.on_note = [&](const std::string& text) { note = text; };
  const Model::Preparation a = FitPreparation(one, features, EveryThird(), Scale::kStandard, 4, 7);
  EXPECT_MENTIONS(note, "pca: 4 of 12 columns hold");
  const Model::Preparation b = FitPreparation(MakeContext(3), features, EveryThird(), Scale::kStandard, 4, 7);
  ExpectSameArray(a.projection.values, b.projection.values, "projection");
  EXPECT_THROW(FitPreparation(one, features, {}, Scale::kNone, 13, 0), Error);
}

}  // namespace
}  // namespace l2gcn
