// A data set from arrays: the same graph whichever way it is given, features without a copy, and every wrong
// array refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "api/ring.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

class MakeDatasetTest : public ::testing::Test {
 protected:
  // The message with which the arrays are refused, or "" if they are taken.
  std::string Refusal(DatasetArrays arrays) const {
    try {
      MakeDataset(context_, std::move(arrays));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
      return error.what();
    }
    return "";
  }
  void ExpectRefused(DatasetArrays arrays, const std::string& fragment) const {
    const std::string message = Refusal(std::move(arrays));
    EXPECT_NE(message.find(fragment), std::string::npos) << "'" << message << "' lacks '" << fragment << "'";
  }

  const Context context_ = MakeContext(2);
  const Ring ring_;
};

TEST_F(MakeDatasetTest, EdgesAndRowsGiveTheSameGraph) {
  const Dataset from_edges = ring_.Make(context_);
  EXPECT_EQ(from_edges.nodes(), 90u);
  EXPECT_EQ(from_edges.edges, 90u);
  EXPECT_EQ(from_edges.graph.entries(), 180u);  // each edge both ways
  EXPECT_EQ(from_edges.labels.classes, 3u);
  EXPECT_TRUE(from_edges.checked);
  DatasetArrays arrays = ring_.Arrays();
  std::vector<int32_t> indptr, indices;
  for (int32_t node = 0; node < 90; ++node) {
    indptr.push_back(node);
    indices.push_back((node + 3) % 90);
  }
  indptr.push_back(90);
  arrays.source = arrays.target = {};
  arrays.indptr = indptr;
  arrays.indices = indices;
  const Dataset from_rows = MakeDataset(context_, std::move(arrays));
  EXPECT_TRUE(std::equal(from_edges.graph.indices.begin(), from_edges.graph.indices.end(),
                         from_rows.graph.indices.begin(), from_rows.graph.indices.end()));
  EXPECT_TRUE(std::equal(from_edges.graph.indptr.begin(), from_edges.graph.indptr.end(),
                         from_rows.graph.indptr.begin(), from_rows.graph.indptr.end()));
}

TEST_F(MakeDatasetTest, FeaturesAreSharedNotCopied) {
  DatasetArrays arrays = ring_.Arrays();
  const float* memory = arrays.features.matrix().values.data();
  EXPECT_EQ(MakeDataset(context_, std::move(arrays)).features.matrix().values.data(), memory);
}

TEST_F(MakeDatasetTest, TheSplitIsTheGivenOne) {
  const Dataset dataset = ring_.Make(context_);
  const Split split = ResolveSplit(dataset, "", 0);
  EXPECT_EQ(split.name, "given");
  for (const int64_t node : ring_.train) EXPECT_EQ(split.roles[node], static_cast<uint8_t>(Role::kTrain));
  for (const int64_t node : ring_.test) EXPECT_EQ(split.roles[node], static_cast<uint8_t>(Role::kTest));
}

TEST_F(MakeDatasetTest, NamesAndLabelSetsArrive) {
  DatasetArrays arrays = ring_.Arrays();
  std::vector<uint8_t> matrix(90 * 3, 0);
  for (size_t node = 0; node < 90; ++node) matrix[node * 3 + node % 3] = 1;
  arrays.classes_of = {};
  arrays.label_matrix = matrix;
  arrays.class_names = {"red", "green", "blue"};
  for (int node = 0; node < 90; ++node) arrays.node_names.push_back("node" + std::to_string(node));
  const Dataset dataset = MakeDataset(context_, std::move(arrays));
  EXPECT_TRUE(dataset.labels.multilabel);
  EXPECT_EQ(dataset.labels.classes, 3u);
  EXPECT_EQ(dataset.NodeName(17), "node17");
  EXPECT_EQ(dataset.ClassName(2), "blue");
  EXPECT_EQ(dataset.ClassName(7), "7");
}

TEST_F(MakeDatasetTest, WrongArraysAreRefusedByName) {
  std::vector<int64_t> wrong = ring_.target;
  DatasetArrays arrays = ring_.Arrays();
  wrong[4] = 90;
  arrays.target = wrong;
  ExpectRefused(arrays, "target[4] is 90; expected a node from 0 to 89");
  wrong[4] = -1;
  ExpectRefused(arrays, "target[4] is -1");
  const std::vector<uint64_t> huge(90, std::numeric_limits<uint64_t>::max());
  arrays.target = huge;
  ExpectRefused(arrays, "target[0] is 18446744073709551615");
  arrays.target = std::span<const int64_t>(wrong).first(3);
  ExpectRefused(arrays, "target has 3 values; expected 90");

  arrays = ring_.Arrays();
  arrays.indptr = ring_.source;
  ExpectRefused(arrays, "not both");
  arrays.source = arrays.target = {};
  ExpectRefused(arrays, "indptr has 90 values; expected 91");
  std::vector<int64_t> falling(91, 5);
  arrays.indptr = falling;
  arrays.indices = ring_.target;
  ExpectRefused(arrays, "indptr[0] is 5");

  arrays = ring_.Arrays();
  std::vector<int64_t> classes = ring_.classes_of;
  classes[8] = -2;
  arrays.classes_of = classes;
  ExpectRefused(arrays, "classes_of[8] is -2");
  classes[8] = 1000000;
  ExpectRefused(arrays, "class 1000000");
  arrays.classes = 3;
  ExpectRefused(arrays, "classes_of[8] is 1000000");
  arrays.classes_of = std::span<const int64_t>(classes).first(7);
  ExpectRefused(arrays, "classes_of has 7 values; expected 90");

  arrays = ring_.Arrays();
  arrays.val = ring_.train;
  ExpectRefused(arrays, "is in train and in val");
  const std::vector<uint8_t> roles(90, 4);
  arrays = ring_.Arrays();
  arrays.roles = roles;
  ExpectRefused(arrays, "not both");
  arrays.train = arrays.val = arrays.test = {};
  ExpectRefused(arrays, "the role 4");

  arrays = ring_.Arrays();
  Matrix broken = arrays.features.matrix();
  broken.values.mutable_data()[20] = std::numeric_limits<float>::quiet_NaN();
  arrays.features = Features::Dense(std::move(broken));
  ExpectRefused(arrays, "feature 2 of node 3 is nan");
  arrays = ring_.Arrays();
  arrays.nodes = 91;
  arrays.classes_of = arrays.train = arrays.val = arrays.test = {};
  ExpectRefused(arrays, "90 rows of features for 91 nodes");
  arrays.nodes = uint64_t{1} << 40;
  EXPECT_NE(Refusal(arrays), "");
  arrays = ring_.Arrays();
  const std::vector<float> weights(89, 1.0f);
  arrays.weights = weights;
  ExpectRefused(arrays, "weights has 89 values");
  arrays.weights = {};
  arrays.class_names = {"one"};
  ExpectRefused(arrays, "class_names has 1 values");
}

// The ring's rows, both directions, as a caller holds them: 32-bit indices in compressed rows.
struct RingRows {
  std::vector<int32_t> indptr = {0}, indices;
  std::vector<float> weights;

  RingRows() {
    constexpr int32_t kNodes = Ring::kNodes, kStep = Ring::kClasses;
    for (int32_t node = 0; node < kNodes; ++node) {
      const int32_t ends[] = {(node + kNodes - kStep) % kNodes, (node + kStep) % kNodes};
      indices.push_back(std::min(ends[0], ends[1]));
      indices.push_back(std::max(ends[0], ends[1]));
      indptr.push_back(static_cast<int32_t>(indices.size()));
    }
  }
  DatasetArrays Arrays(const Ring& ring) const {
    DatasetArrays arrays = ring.Arrays();
    arrays.source = arrays.target = {};
    arrays.indptr = indptr;
    arrays.indices = indices;
    arrays.weights = weights;
    return arrays;
  }
};

TEST_F(MakeDatasetTest, RowsOfAGraphAreSharedWhereTheyHaveAnOwner) {
  RingRows rows;
  const auto owner = std::make_shared<int>(0);
  DatasetArrays arrays = rows.Arrays(ring_);
  const Dataset copied = MakeDataset(context_, arrays);
  EXPECT_NE(static_cast<const void*>(copied.graph.indices.data()), rows.indices.data());
  arrays.rows_owner = owner;
  const Dataset shared = MakeDataset(context_, arrays);
  arrays.rows_owner = nullptr;
  EXPECT_EQ(static_cast<const void*>(shared.graph.indices.data()), rows.indices.data());
  EXPECT_GT(owner.use_count(), 1) << "the data set keeps the owner";
  EXPECT_TRUE(std::ranges::equal(shared.graph.indices.span(), copied.graph.indices.span()));
  EXPECT_TRUE(std::ranges::equal(shared.graph.indptr.span(), copied.graph.indptr.span()));
  EXPECT_EQ(shared.edges, copied.edges);
  EXPECT_EQ(shared.changes.entries_read, copied.changes.entries_read);
}

TEST_F(MakeDatasetTest, RowsThatNeedBuildingAreBuilt) {
  const auto owner = std::make_shared<int>(0);
  const Dataset expected = MakeDataset(context_, RingRows().Arrays(ring_));
  const auto make = [&](const RingRows& rows) {
    DatasetArrays arrays = rows.Arrays(ring_);
    arrays.rows_owner = owner;
    return MakeDataset(context_, arrays);
  };
  RingRows unsorted;
  std::swap(unsorted.indices[0], unsorted.indices[1]);
  EXPECT_TRUE(std::ranges::equal(make(unsorted).graph.indices.span(), expected.graph.indices.span()));

  RingRows one_way;  // the reverse of node 0's first edge stands nowhere
  one_way.indices[0] = 5;
  const Dataset added = make(one_way);
  EXPECT_EQ(added.edges, expected.edges + 1) << "the edge 0 – 5 and the reverse that was still there";

  RingRows weighted;
  weighted.weights.assign(weighted.indices.size(), 2.0f);
  EXPECT_EQ(make(weighted).graph.weights.data(), weighted.weights.data());
  weighted.weights[0] = 3.0f;  // and its reverse weighs 2
  EXPECT_NE(make(weighted).graph.weights.data(), weighted.weights.data());

  RingRows negative;
  negative.indices[7] = -4;
  DatasetArrays arrays = negative.Arrays(ring_);
  arrays.rows_owner = owner;
  ExpectRefused(arrays, "indices[7] is -4; expected a node from 0 to 89");

  const RingRows plain;
  DatasetArrays directed = plain.Arrays(ring_);
  directed.rows_owner = owner;
  directed.directed = true;
  EXPECT_TRUE(MakeDataset(context_, directed).relations[1].graph.directed);
  directed.one_way = true;
  EXPECT_TRUE(MakeDataset(context_, directed).graph.directed);
}

}  // namespace
}  // namespace l2gcn
