// Targets of a regression from tables, arrays and .npy files, and their round trips.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/fixtures.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "l2gcn/convert.h"
#include "l2gcn/generate.h"
#include "l2gcn/make_dataset.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// A context that keeps its notes.
struct Heard {
  std::vector<std::string> notes;
  Context context = MakeContext(1);
  Heard() {
    context.on_note = [this](const std::string& text) { notes.push_back(text); };
    context.on_warning = context.on_note;
  }
  bool Has(const std::string& part) const {
    for (const std::string& note : notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

class RegressionTableTest : public ::testing::Test {
 protected:
  OpenOptions Tables(const std::string& nodes, const std::string& label = "") {
    OpenOptions options;
    options.edges = folder_.Write("e.csv", "0,1\n1,2\n2,3\n").string();
    options.nodes = folder_.Write("n.csv", nodes).string();
    options.label_column = label;
    return options;
  }
  static Dataset Open(const OpenOptions& options) { return OpenDataset(MakeContext(1), "", options); }
  static std::string Error(const OpenOptions& options, ErrorKind kind = ErrorKind::kInput) {
    return ErrorOf(kind, [&] { Open(options); });
  }

  TemporaryFolder folder_;
  const std::string prices_ = "id,rooms,price,rent,trust\n0,1,1.5,10,1\n1,2,,20,2\n2,3,3.5,,1\n3,4,4,40,3\n";
};

TEST_F(RegressionTableTest, NumbersThatAreNotWholeAreTargets) {
  Heard heard;
  const Dataset dataset = OpenDataset(heard.context, "", Tables(prices_, "price"));
  ASSERT_EQ(dataset.labels.task(), Task::kRegression);
  EXPECT_TRUE(heard.Has("the targets of a regression"));
  EXPECT_EQ(dataset.labels.classes, 1u);
  EXPECT_EQ(dataset.labels.targets.row(2)[0], 3.5f);
  EXPECT_TRUE(std::isnan(dataset.labels.targets.row(1)[0]));
  EXPECT_FALSE(dataset.labels.IsLabelled(1));
  EXPECT_EQ(dataset.class_names, std::vector<std::string>{"price"});
  EXPECT_TRUE(dataset.schema.regression);
  ValidateDataset(MakeContext(1), dataset);
}

TEST_F(RegressionTableTest, WholeNumbersAreClassesUnlessTheUserSaysOtherwise) {
  OpenOptions options = Tables(prices_, "rent");
  EXPECT_EQ(Open(options).labels.task(), Task::kClass);
  options.task = "regression";
  EXPECT_EQ(Open(options).labels.task(), Task::kRegression);
  options = Tables(prices_, "price");
  options.task = "classification";
  EXPECT_EQ(Open(options).labels.task(), Task::kClass);
}

TEST_F(RegressionTableTest, SeveralColumnsAreSeveralTargetsAndWeightsAreNoFeature) {
  OpenOptions options = Tables(prices_, "price,rent");
  options.sample_weight_column = "trust";
  const Dataset dataset = Open(options);
  EXPECT_EQ(dataset.labels.classes, 2u);
  EXPECT_EQ(dataset.schema.label, "price,rent");
  EXPECT_TRUE(dataset.labels.IsLabelled(1));
  EXPECT_EQ(dataset.labels.targets.row(3)[1], 40.0f);
  EXPECT_EQ(dataset.features.cols(), 1u);
  EXPECT_EQ(dataset.labels.node_weights[3], 3.0f);
}

TEST_F(RegressionTableTest, AModelFindsItsTargetsByName) {
  const Dataset trained = Open(Tables(prices_, "price,rent"));
  OpenOptions options = Tables("id,rooms,rent,price\n0,1,5,7\n1,2,6,8\n2,3,7,9\n3,1,8,9\n");
  ReuseColumns(trained.schema, options);
  const Dataset whole = Open(options);  // whole numbers, which would be classes
  EXPECT_EQ(whole.labels.task(), Task::kRegression);
  EXPECT_EQ(whole.labels.targets.row(0)[0], 7.0f);
  OpenOptions without = Tables("id,rooms\n0,1\n1,2\n2,3\n3,1\n");
  ReuseColumns(trained.schema, without);
  EXPECT_EQ(Open(without).labels.classes, 0u);
}

TEST_F(RegressionTableTest, MistakesAreNamed) {
  OpenOptions text = Tables("id,a,y\n0,1,1.5\n1,2,much\n2,3,2.5\n3,4,1\n", "y");
  text.task = "regression";
  EXPECT_NE(Error(text).find("row 2: column 'y' holds 'much'"), std::string::npos);
  EXPECT_NE(Error(Tables("id,a,y\n0,1,1.5\n1,2,1e99\n2,3,2.5\n3,4,1\n", "y")).find("infinite"),
            std::string::npos);
  OpenOptions weights = Tables(prices_, "price");
  weights.sample_weight_column = "rent";
  EXPECT_NE(Error(weights).find("a sample weight must be above 0"), std::string::npos);
  weights.sample_weight_column = "price";
  EXPECT_NE(Error(weights, ErrorKind::kUsage).find("that column is a label"), std::string::npos);
  weights = Tables(prices_, "rooms");
  weights.sample_weight_column = "trust";
  EXPECT_NE(Error(weights, ErrorKind::kUsage).find("for a regression"), std::string::npos);
  OpenOptions classes = Tables(prices_, "price,rent");
  classes.task = "classification";
  EXPECT_NE(Error(classes, ErrorKind::kUsage).find("several columns are targets"), std::string::npos);
}

TEST_F(RegressionTableTest, FloatsInAnNpyFileAreTargets) {
  OpenOptions options;
  options.edges = folder_.Write("e.csv", "0,1\n1,2\n").string();
  options.labels = (folder_.path() / "y.npy").string();
  WriteNpy<float>(options.labels, std::vector<float>{1.5f, kMissing, 2.0f});
  const Dataset one = Open(options);
  ASSERT_EQ(one.labels.task(), Task::kRegression);
  EXPECT_FALSE(one.labels.IsLabelled(1));
  WriteNpy<float>(options.labels, std::vector<float>{1, kMissing, 2});
  EXPECT_EQ(Open(options).labels.task(), Task::kClass);
  WriteNpy<float>(options.labels, std::vector<float>{1, 2, 3, kMissing, 5, 6}, {3, 2});
  EXPECT_EQ(Open(options).labels.classes, 2u);
}

Dataset FromArrays(std::vector<float> values, std::vector<float> weights = {}) {
  static const std::vector<int64_t> source = {0, 1}, target = {1, 2};
  DatasetArrays arrays;
  arrays.nodes = 3;
  arrays.source = source;
  arrays.target = target;
  arrays.features = Features::None(3);
  arrays.targets = {Array<float>::CopyOf(values), values.size(), 1};
  arrays.node_weights = weights;
  arrays.class_names = {"height"};
  return MakeDataset(MakeContext(1), std::move(arrays));
}

TEST(RegressionArrays, TargetsAreCheckedByName) {
  EXPECT_EQ(FromArrays({1, kMissing, 3}, {1, 1, 2}).labels.node_weights[2], 2.0f);
  const auto message = [](const std::vector<float>& values, const std::vector<float>& weights = {}) {
    return ErrorOf(ErrorKind::kInput, [&] { FromArrays(values, weights); });
  };
  EXPECT_NE(message({1, 2}).find("targets has 2 values; expected 3"), std::string::npos);
  EXPECT_NE(
      message({1, std::numeric_limits<float>::infinity(), 2}).find("target 'height' of node 1 is infinite"),
      std::string::npos);
  EXPECT_NE(message({1, 2, 3}, {1, 0, 1}).find("the sample weight of node 1 is 0"), std::string::npos);
}

TEST(RegressionStore, RoundTripsKeepTargetsAndWeights) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const Dataset dataset = FromArrays({1.5f, kMissing, 3}, {1, 1, 2});
  const std::string set = (folder.path() / "set").string();
  SaveDataset(context, dataset, set);
  const Dataset opened = OpenDataset(context, set);
  ASSERT_EQ(opened.labels.task(), Task::kRegression);
  EXPECT_EQ(opened.labels.targets.row(0)[0], 1.5f);
  EXPECT_TRUE(std::isnan(opened.labels.targets.row(1)[0]));
  EXPECT_EQ(opened.labels.node_weights[2], 2.0f);
  EXPECT_EQ(opened.class_names, dataset.class_names);
  EXPECT_GT(VerifyNative(context, set), 0u);
  ConvertDataset(context, set, {}, (folder.path() / "set.npz").string(), {});
  const Dataset archived = OpenDataset(context, (folder.path() / "set.npz").string());
  EXPECT_EQ(archived.labels.targets.row(2)[0], 3.0f);
  EXPECT_EQ(archived.labels.node_weights[2], 2.0f);
  EXPECT_EQ(archived.class_names, dataset.class_names);
}

TEST(RegressionStore, GeneratedTargetsFollowFromTheSeed) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  GenerateOptions options;
  options.shape = "reddit";
  options.nodes = 200, options.edges = 600, options.features = 8;
  options.regression = true;
  const Dataset dataset = GenerateDataset(context, options);
  ASSERT_EQ(dataset.labels.task(), Task::kRegression);
  GenerateToDirectory(context, options, (folder.path() / "set").string());
  const Dataset stored = OpenDataset(context, (folder.path() / "set").string());
  for (uint32_t node = 0; node < 200; ++node)
    EXPECT_EQ(stored.labels.targets.row(node)[0], dataset.labels.targets.row(node)[0]);
}

TEST(RegressionStore, GeneratedRelationsHaveClassesOrTargets) {
  GenerateOptions options;
  options.shape = "reddit";
  options.nodes = 200, options.edges = 600, options.features = 8;
  options.edge_types = 2;
  options.directed = true;
  const Dataset classes = GenerateDataset(MakeContext(1), options);
  EXPECT_EQ(classes.labels.task(), Task::kClass);
  EXPECT_GT(classes.labels.classes_of[7] + 1, 0);
  options.regression = true;
  const Dataset targets = GenerateDataset(MakeContext(1), options);
  EXPECT_EQ(targets.labels.task(), Task::kRegression);
  EXPECT_EQ(targets.relations.size(), classes.relations.size());
  EXPECT_GT(targets.relations.size(), 1u);
}

}  // namespace
}  // namespace l2gcn
