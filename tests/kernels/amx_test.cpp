// Products in bf16 on AMX: against sums of the rounded operands in double precision, and what callers count on: that
// bits do not depend on how rows are cut, on threads, or on who packs what.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend_cases.h"
#include "core/rng.h"
#include "kernels/cpu/kernels.h"

namespace l2gcn {
namespace {

using backend_cases::Shape;

float RoundedToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

std::vector<float> RandomValues(size_t count, uint32_t seed) {
  const RandomStream stream(seed, RandomUse::kDropout, 0, 0);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 2 * stream.Uniform(i) - 1;
  return values;
}

// Operands of a product C (m × n) = A · B of k terms, or Aᵀ · B.
struct Product {
  Product(size_t m, size_t n, size_t k, bool transposed, size_t group = 0)
      : transposed(transposed),
        lda(PadStride(transposed ? m : k)),
        ld(PadStride(n)),
        a(RandomValues((transposed ? k : m) * lda, 1)),
        b(RandomValues(k * ld + kPad, 2)),
        c(m * ld, 7.0f) {
    args = {m, n, k, a.data(), lda, b.data(), ld, c.data(), ld};
    args.group = group;
  }
  double At(size_t i, size_t j) const {
    double sum = 0;
    for (size_t p = 0; p < args.k; ++p) {
      sum += double{RoundedToBf16(transposed ? a[p * lda + i] : a[i * lda + p])} *
             double{RoundedToBf16(b[p * ld + j])};
    }
    return sum;
  }

  bool transposed;
  size_t lda, ld;
  std::vector<float> a, b, c;
  GemmArgs args;
};

class AmxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (CpuKernelLevels().front() != "amx") GTEST_SKIP() << "this processor has no AMX";
    kernels_ = &CpuKernelTable("amx", Precision::kBf16);
  }
  void Compute(Product& product) const {
    (product.transposed ? kernels_->gemm_transposed : kernels_->gemm)(product.args);
  }
  const CpuKernels* kernels_ = nullptr;
};

TEST_F(AmxTest, ProductsAreSumsOfRoundedOperands) {
  for (bool transposed : {false, true}) {
    for (const auto& [m, n, k, group] : std::vector<std::array<size_t, 4>>{{1, 16, 1, 0},
                                                                           {17, 16, 35, 32},
                                                                           {32, 48, 64, 32},
                                                                           {33, 80, 129, 64},
                                                                           {130, 32, 31, 0},
                                                                           {49, 112, 300, 32},
                                                                           {5, 16, 0, 0}}) {
      Product product(m, n, k, transposed, transposed ? group : 0);
      Compute(product);
      for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
          ASSERT_NEAR(static_cast<double>(product.c[i * product.ld + j]), product.At(i, j),
                      1e-5 * std::sqrt(static_cast<double>(k)) + 1e-6)
              << m << " × " << n << " × " << k << " at " << i << ", " << j << ", transposed " << transposed;
        }
      }
    }
  }
}

TEST_F(AmxTest, FinishesAreThoseOfTheF32Products) {
  Product product(19, 32, 40, false);
  product.args.finish = Finish::kRelu;
  Compute(product);
  Product masked(19, 32, 40, false);
  masked.args.finish = Finish::kMask;
  masked.args.mask = product.c.data();
  masked.args.mask_scale = 2;
  Compute(masked);
  for (size_t i = 0; i < 19; ++i) {
    for (size_t j = 0; j < 32; ++j) {
      const double sum = product.At(i, j);
      const size_t at = i * product.ld + j;
      EXPECT_NEAR(double{product.c[at]}, std::max(sum, 0.0), 1e-4);
      EXPECT_NEAR(double{masked.c[at]}, product.c[at] > 0 ? 2 * sum : 0, 2e-4);
    }
  }
}

TEST_F(AmxTest, BitsDoNotDependOnHowRowsAreCut) {
  for (bool transposed : {false, true}) {
    Product whole(75, 48, 100, transposed, transposed ? 32 : 0), cut = whole;
    cut.args.c = cut.c.data();
    Compute(whole);
    const size_t ends[] = {1, 18, 50, 75};
    size_t begin = 0;
    for (size_t end : ends) {
      GemmArgs part = cut.args;
      part.m = end - begin;
      part.a = cut.a.data() + (transposed ? begin : begin * cut.lda);
      part.c = cut.c.data() + begin * cut.ld;
      (transposed ? kernels_->gemm_transposed : kernels_->gemm)(part);
      begin = end;
    }
    EXPECT_EQ(whole.c, cut.c) << "transposed " << transposed;
  }
}

// What a training relies on: a gradient by groups, each by itself, is the gradient by rows.
TEST_F(AmxTest, GroupsAddUpToTheWhole) {
  Product whole(40, 32, 150, true, 64);
  Compute(whole);
  std::vector<float> sum;
  for (size_t begin = 0; begin < 150; begin += 64) {
    Product part(40, 32, 150, true);
    part.args.k = std::min<size_t>(64, 150 - begin);
    part.args.a = part.a.data() + begin * part.lda;
    part.args.b = part.b.data() + begin * part.ld;
    Compute(part);
    if (sum.empty()) {
      sum = part.c;
    } else {
      for (size_t i = 0; i < 40 * part.ld; ++i) sum[i] += part.c[i];
    }
  }
  for (size_t i = 0; i < 40; ++i) {
    for (size_t j = 0; j < 32; ++j) EXPECT_EQ(whole.c[i * whole.ld + j], sum[i * whole.ld + j]);
  }
}

TEST_F(AmxTest, PackedOperandsGiveTheSameBits) {
  Product plain(20, 48, 75, false), packed = plain;
  packed.args.c = packed.c.data();
  Compute(plain);
  std::vector<uint16_t> tiles(kernels_->packed_values(75, 48));
  size_t begin = 0;
  for (size_t end : {1, 2, 5, 38, 75}) {
    kernels_->pack(packed.b.data(), packed.ld, 75, 48, begin, end, tiles.data());
    begin = end;
  }
  packed.args.packed_b = tiles.data();
  packed.args.packed_k = 75;
  packed.args.b = nullptr;
  Compute(packed);
  EXPECT_EQ(plain.c, packed.c);
}

// Part of the samples of a batch that was packed whole.
TEST_F(AmxTest, GradientsReadPackedOperandsFromTheMiddle) {
  Product plain(20, 48, 150, true, 32);
  std::vector<uint16_t> tiles(kernels_->packed_values(150, 48));
  kernels_->pack(plain.b.data(), plain.ld, 150, 48, 0, 150, tiles.data());
  plain.args.k = 86;
  plain.args.a = plain.a.data() + 64 * plain.lda;
  plain.args.b = plain.b.data() + 64 * plain.ld;
  Compute(plain);
  const std::vector<float> expected = plain.c;
  std::fill(plain.c.begin(), plain.c.end(), 7.0f);
  plain.args.b = nullptr;
  plain.args.packed_b = tiles.data();
  plain.args.packed_k = 150;
  plain.args.packed_begin = 64;
  Compute(plain);
  EXPECT_EQ(plain.c, expected);
}

TEST_F(AmxTest, TrainingStaysNearTheReferenceAndKeepsItsBitsForAnyThreadCount) {
  BackendOptions options;
  options.precision = Precision::kBf16;
  options.sparse = Choice::kOff;
  backend_cases::Tolerance tolerance;
  tolerance.product = tolerance.loss = 3e-2;  // a few roundings to 8 bits
  for (const Shape& shape : backend_cases::Shapes()) {
    const Context context = MakeContext(2);
    backend_cases::CheckTraining(context, *MakeBackend(context, options), shape, tolerance);
  }
  const Shape shape{1500, 150, 64, 41, 512, false, false, true};  // one worker goes by rows, two by groups
  const Matrix first =
      backend_cases::TrainOnRandomRows(MakeContext(1), options, shape, 3).state["weight"].value;
  for (uint32_t threads : {2u, 3u, 7u}) {
    const auto trained = backend_cases::TrainOnRandomRows(MakeContext(threads), options, shape, 3);
    EXPECT_TRUE(backend_cases::SameBits(first, trained.state["weight"].value)) << threads << " threads";
  }
}

}  // namespace
}  // namespace l2gcn
