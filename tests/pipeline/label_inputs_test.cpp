// Labels as inputs: the shares by their definition, and that no node sees its own label.
#include "pipeline/label_inputs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "train/small_dataset.h"

namespace l2gcn {
namespace {

std::vector<int64_t> EveryThirdHasNone(const Dataset& dataset) {
  std::vector<int64_t> label_of(dataset.nodes());
  for (uint32_t node = 0; node < dataset.nodes(); ++node)
    label_of[node] = node % 3 != 0 && dataset.labels.IsLabelled(node) ? int64_t{node} : -1;
  return label_of;
}

TEST(LabelInputs, AreSharesOverWalks) {
  const Context context = MakeContext(2);
  const Dataset dataset = SmallDataset();
  const std::vector<int64_t> label_of = EveryThirdHasNone(dataset);
  const Matrix z = LabelInputs(context, dataset.graph, dataset.labels, label_of);
  const size_t classes = dataset.labels.classes;
  ASSERT_EQ(z.cols, 2 * classes);
  const auto neighbours = [&](uint32_t node) {
    return std::span(dataset.graph.indices.data() + dataset.graph.indptr[node],
                     dataset.graph.indptr[node + 1] - dataset.graph.indptr[node]);
  };
  for (uint32_t node = 0; node < 60; ++node) {
    std::vector<double> one(classes), two(classes);
    double ones = 0, twos = 0;
    const auto add = [&](uint32_t end, std::vector<double>& sum, double& count) {
      if (end == node || label_of[end] < 0) return;
      ++sum[static_cast<size_t>(dataset.labels.classes_of[end])];
      ++count;
    };
    for (const uint32_t middle : neighbours(node)) {
      add(middle, one, ones);
      for (const uint32_t end : neighbours(middle)) add(end, two, twos);
    }
    for (size_t c = 0; c < classes; ++c) {
      EXPECT_FLOAT_EQ(z.row(node)[c], static_cast<float>(ones > 0 ? one[c] / ones : 0)) << node;
      EXPECT_FLOAT_EQ(z.row(node)[classes + c], static_cast<float>(twos > 0 ? two[c] / twos : 0)) << node;
    }
  }
}

TEST(LabelInputs, ANodesOwnLabelIsHidden) {
  const Context context = MakeContext(1);
  for (const bool multilabel : {false, true}) {
    Dataset dataset = SmallDataset(multilabel);
    Labels& labels = dataset.labels;
    const std::vector<int64_t> label_of = EveryThirdHasNone(dataset);
    const Matrix before = LabelInputs(context, dataset.graph, labels, label_of);
    for (uint32_t node = 1; node < 40; ++node) {
      Labels other = labels;
      if (multilabel) {
        other.matrix = Array<uint8_t>::CopyOf({labels.matrix.data(), labels.matrix.size()});
        for (uint32_t c = 0; c < labels.classes; ++c)
          other.matrix.mutable_data()[node * labels.classes + c] ^= 1;
      } else {
        other.classes_of = Array<int32_t>::CopyOf({labels.classes_of.data(), labels.classes_of.size()});
        other.classes_of.mutable_data()[node] =
            (labels.classes_of[node] + 1) % static_cast<int32_t>(labels.classes);
      }
      const Matrix after = LabelInputs(context, dataset.graph, other, label_of);
      EXPECT_EQ(std::memcmp(before.row(node), after.row(node), before.cols * sizeof(float)), 0) << node;
    }
  }
}

}  // namespace
}  // namespace l2gcn
