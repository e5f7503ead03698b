#include "run/data_fingerprint.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

// 4 MB of features, of which samples read 4 KiB in every 62,500 bytes; the value lies 35 KB behind the start of such
// a stretch.
Dataset WideDataset(float in_the_middle) {
  Dataset dataset;
  dataset.name = "wide";
  dataset.graph.indptr = Array<uint64_t>::Zeros(1001);
  Matrix features = Matrix::Zeros(1000, 1000);
  features.mutable_row(509)[0] = in_the_middle;
  dataset.features = Features::Dense(std::move(features));
  return dataset;
}

// A copy of a data set must not stand for another one that differs in a single value.
TEST(DataFingerprint, EverythingFindsAValueThatSamplesMiss) {
  const Dataset zero = WideDataset(0), one = WideDataset(1);
  EXPECT_EQ(DataFingerprint(zero, Reads::kSamples), DataFingerprint(one, Reads::kSamples));
  EXPECT_NE(DataFingerprint(zero, Reads::kEverything), DataFingerprint(one, Reads::kEverything));
  EXPECT_EQ(DataFingerprint(one, Reads::kEverything), DataFingerprint(WideDataset(1), Reads::kEverything));
}

TEST(DataFingerprint, SamplesTellSizesAndNamesApart) {
  Dataset named = WideDataset(0), smaller = WideDataset(0);
  named.name = "other";
  smaller.graph.indptr = Array<uint64_t>::Zeros(1000);
  const std::string wide = DataFingerprint(WideDataset(0), Reads::kSamples);
  EXPECT_NE(DataFingerprint(named, Reads::kSamples), wide);
  EXPECT_NE(DataFingerprint(smaller, Reads::kSamples), wide);
}

}  // namespace
}  // namespace l2gcn
