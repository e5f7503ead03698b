#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/files.h"
#include "l2gcn/error.h"
#include "l2gcn/model.h"
#include "l2gcn/train.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class ModelFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-model-" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(ModelFilesTest, ALoadedModelPredictsTheSameBits) {
  const Context context = MakeContext(1);
  for (const char* scale : {"none", "standard", "row"}) {
    const Dataset dataset = SmallDataset();
    TrainConfig config = SmallConfig();
    config.scale = scale;
    const Trained trained = Train(context, dataset, config);
    SaveModel(trained.model, root_.string());
    const Model loaded = LoadModel(root_.string());
    const Matrix a = PredictLogits(context, trained.model, dataset),
                 b = PredictLogits(context, loaded, dataset);
    EXPECT_EQ(std::memcmp(a.values.data(), b.values.data(), a.bytes()), 0) << scale;
    EXPECT_EQ(loaded.class_names, dataset.class_names);
    EXPECT_EQ(ConfigToJson(loaded.config), ConfigToJson(trained.model.config));
  }
}

TEST_F(ModelFilesTest, FilesOfEqualTrainingsAreEqual) {
  const Dataset dataset = SmallDataset();
  std::string first;
  for (uint32_t threads : {1u, 3u}) {
    SaveModel(Train(MakeContext(threads), dataset, SmallConfig()).model, root_.string());
    const std::string bytes = ReadTextFile(root_ / "model.safetensors") + ReadTextFile(root_ / "config.json");
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
  }
}

TEST_F(ModelFilesTest, WrongDataSetAndDamageAreNamed) {
  const Context context = MakeContext(1);
  Dataset dataset = SmallDataset();
  const Model model = Train(context, dataset, SmallConfig()).model;
  SaveModel(model, root_.string());
  dataset.features = Features::Dense(Matrix::Zeros(dataset.nodes(), 5));
  EXPECT_THROW(PredictLogits(context, model, dataset), Error);
  EXPECT_THROW(Embed(context, model, SmallDataset(), 3), Error);
  std::string config = ReadTextFile(root_ / "config.json");
  WriteFileWhole(root_ / "config.json", config.substr(0, config.size() / 2));
  EXPECT_THROW(LoadModel(root_.string()), Error);
  config.replace(config.find("\"version\": 1"), 12, "\"version\": 9");
  WriteFileWhole(root_ / "config.json", config);
  try {
    LoadModel(root_.string());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("version 9"), std::string::npos);
  }
}

TEST_F(ModelFilesTest, EmbedGivesTheLayerAskedFor) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  const Model model = Train(context, dataset, SmallConfig()).model;
  EXPECT_EQ(Embed(context, model, dataset, 1).cols, 16u);
  EXPECT_EQ(Embed(context, model, dataset, 0).cols, 24u);
}

}  // namespace
}  // namespace l2gcn
