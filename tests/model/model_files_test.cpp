#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "core/files.h"
#include "l2gcn/error.h"
#include "l2gcn/model.h"
#include "l2gcn/train.h"
#include "model/safetensors.h"
#include "train/same_model.h"
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
    FindField("scale").set(config, scale);
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

// Writes the model's tensors again with `change` made to them, and without the checksum of config.json.
void Rewrite(const fs::path& directory, const std::function<void(std::vector<NamedTensor>&)>& change) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : ReadSafetensors(directory / "model.safetensors").tensors)
    tensors.push_back(tensor);
  change(tensors);
  WriteSafetensors(directory / "model.safetensors", tensors, {{"format", "l2gcn-model"}});
}

NamedTensor* FindTensor(std::vector<NamedTensor>& tensors, const std::string& name) {
  for (NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  ADD_FAILURE() << name;
  return nullptr;
}

// The rows of the two tensors as one tensor, as earlier versions had a norm's weight and bias.
void JoinRows(std::vector<NamedTensor>& tensors, const std::string& prefix) {
  NamedTensor joined{prefix + "affine", {0, 0}, {}};
  std::vector<float> values;
  for (const char* part : {"norm.weight", "norm.bias", "bias"}) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const NamedTensor& tensor) { return tensor.name == prefix + part; });
    if (found == tensors.end()) continue;
    values.insert(values.end(), found->values.begin(), found->values.end());
    joined.shape = {joined.shape[0] + 1, found->values.size()};
    tensors.erase(found);
  }
  joined.values = Array<float>::CopyOf(values);
  tensors.push_back(joined);
}

TEST_F(ModelFilesTest, ModelsOfEarlierVersionsLoad) {
  const Context context = MakeContext(1);
  const Dataset dataset = SmallDataset();
  for (const bool norm : {false, true}) {
    TrainConfig config = SmallConfig();
    config.head = 8;
    config.bias = !norm;
    config.hidden_norm = norm ? HiddenNorm::kLayer : HiddenNorm::kNone;
    const Model model = Train(context, dataset, config).model;
    SaveModel(model, root_.string());
    Rewrite(root_, [&](std::vector<NamedTensor>& tensors) {
      for (const char* prefix : {"layers.0.", "layers.1.", "heads.0.hidden.", "heads.1.hidden."})
        JoinRows(tensors, prefix);
    });
    EXPECT_TRUE(SameModel(model, LoadModel(root_.string()))) << norm;
  }
}

TEST_F(ModelFilesTest, EveryShapeIsCheckedBeforeUse) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.scale = Scale::kStandard;
  const Model model = Train(MakeContext(1), dataset, config).model;
  for (const std::string name :
       {"prepare.shift", "prepare.factor", "layers.0.weight", "layers.1.weight", "classifier.weight"}) {
    for (const bool missing : {true, false}) {
      SaveModel(model, root_.string());
      Rewrite(root_, [&](std::vector<NamedTensor>& tensors) {
        NamedTensor* tensor = FindTensor(tensors, name);
        if (missing) {
          tensors.erase(tensors.begin() + (tensor - tensors.data()));
          return;
        }
        tensor->shape[0] -= 1;
        size_t count = 1;
        for (const size_t extent : tensor->shape) count *= extent;
        tensor->values = Array<float>::CopyOf(tensor->values.span().first(count));
      });
      EXPECT_THROW(LoadModel(root_.string()), Error) << name << (missing ? " missing" : " short");
    }
  }
}

TEST_F(ModelFilesTest, EveryStackOfNgcnIsChecked) {
  TrainConfig config = SmallConfig();
  config.method = "ngcn";
  config.powers = {0, 1};
  config.hidden = {8};
  SaveModel(Train(MakeContext(1), SmallDataset(), config).model, root_.string());
  EXPECT_NO_THROW(LoadModel(root_.string()));
  Rewrite(root_, [&](std::vector<NamedTensor>& tensors) {
    NamedTensor* tensor = FindTensor(tensors, "extra.stack1.layer0.weight");
    std::swap(tensor->shape[0], tensor->shape[1]);
  });
  EXPECT_THROW(LoadModel(root_.string()), Error);
}

TEST_F(ModelFilesTest, WeightsThatAreNotFiniteAreRefused) {
  SaveModel(Train(MakeContext(1), SmallDataset(), SmallConfig()).model, root_.string());
  Rewrite(root_, [](std::vector<NamedTensor>& tensors) {
    Array<float> values = Array<float>::CopyOf(tensors[0].values.span());
    values.mutable_data()[3] = std::numeric_limits<float>::quiet_NaN();
    tensors[0].values = values;
  });
  try {
    LoadModel(root_.string());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not finite"), std::string::npos) << error.what();
  }
}

TEST_F(ModelFilesTest, EveryFlippedBitIsFound) {
  SaveModel(Train(MakeContext(1), SmallDataset(), SmallConfig()).model, root_.string());
  for (const char* name : {"model.safetensors", "config.json"}) {
    const std::string bytes = ReadTextFile(root_ / name);
    for (size_t at = 0; at < bytes.size(); at += 13) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
      WriteFileWhole(root_ / name, flipped);
      try {
        const Model loaded = LoadModel(root_.string());
        // What a space of the layout was turned into changes nothing that is read, and a file whose key
        // "checksum" is lost looks like one that was written before there were checksums.
        const size_t key = bytes.find("\"checksum\"");
        const bool in_key = at >= key && at < key + 10;
        EXPECT_TRUE(in_key || std::isspace(static_cast<unsigned char>(bytes[at]))) << name << " byte " << at;
      } catch (const Error&) {
      }
    }
    WriteFileWhole(root_ / name, bytes);
  }
}

TEST_F(ModelFilesTest, FilesWithoutChecksumsStillOpen) {
  SaveModel(Train(MakeContext(1), SmallDataset(), SmallConfig()).model, root_.string());
  for (const char* name : {"model.safetensors", "config.json"}) {
    std::string bytes = ReadTextFile(root_ / name);
    bytes.replace(bytes.find("\"checksum\""), 10, "\"unsummed\"");
    WriteFileWhole(root_ / name, bytes);
  }
  EXPECT_NO_THROW(LoadModel(root_.string()));
}

}  // namespace
}  // namespace l2gcn
