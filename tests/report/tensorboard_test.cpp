// Event files read back by a decoder of their own: framing and messages as TensorFlow describes them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "report/tensorboard/event_file.h"
#include "report/tensorboard/tensorboard_log.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
}

struct Wire {
  std::string_view bytes;
  size_t at = 0;
  bool done() const { return at >= bytes.size(); }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.at(at++));
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  template <class T>
  T Fixed() {
    T value;
    std::memcpy(&value, bytes.substr(at, sizeof(T)).data(), sizeof(T));
    at += sizeof(T);
    return value;
  }
  std::string_view Bytes() {
    const size_t size = Varint();
    const std::string_view part = bytes.substr(at, size);
    at += size;
    return part;
  }
};

struct Events {
  std::string version;
  std::map<std::string, std::map<int64_t, float>> scalars;
  std::map<std::string, double> histogram_counts, histogram_sums;
};

void ReadValue(std::string_view bytes, int64_t step, Events& events) {
  std::string tag;
  for (Wire wire{bytes}; !wire.done();) {
    const uint64_t key = wire.Varint();
    if (key == (1 << 3 | 2)) {
      tag = wire.Bytes();
    } else if (key == (2 << 3 | 5)) {
      EXPECT_TRUE(events.scalars[tag].emplace(step, wire.Fixed<float>()).second)
          << tag << " twice at " << step;
    } else if (key == (5 << 3 | 2)) {
      double count = 0;
      for (Wire histogram{wire.Bytes()}; !histogram.done();) {
        const uint64_t field = histogram.Varint();
        if ((field & 7) == 1) {
          const double value = histogram.Fixed<double>();
          if (field >> 3 == 3) events.histogram_counts[tag] = value;
          if (field >> 3 == 4) events.histogram_sums[tag] = value;
        } else {
          const std::string_view packed = histogram.Bytes();
          for (Wire values{packed}; field >> 3 == 7 && !values.done();) count += values.Fixed<double>();
        }
      }
      EXPECT_EQ(count, events.histogram_counts[tag]) << "buckets hold every value";
    } else {
      FAIL() << "field " << key;
    }
  }
}

Events ReadEvents(const fs::path& path) {
  Events events;
  const std::string file = ReadTextFile(path);
  for (Wire records{file}; !records.done();) {
    const std::string_view head = records.bytes.substr(records.at, 8);
    const auto length = records.Fixed<uint64_t>();
    EXPECT_EQ(records.Fixed<uint32_t>(), MaskedCrc32c(head));
    const std::string_view body = records.bytes.substr(records.at, length);
    records.at += length;
    EXPECT_EQ(records.Fixed<uint32_t>(), MaskedCrc32c(body));
    int64_t step = 0;
    for (Wire event{body}; !event.done();) {
      const uint64_t key = event.Varint();
      if (key == (1 << 3 | 1)) {
        event.Fixed<double>();
      } else if (key == 2 << 3) {
        step = static_cast<int64_t>(event.Varint());
      } else if (key == (3 << 3 | 2)) {
        events.version = event.Bytes();
      } else {
        EXPECT_EQ(key, 5u << 3 | 2);
        Wire summary{event.Bytes()};
        EXPECT_EQ(summary.Varint(), 1u << 3 | 2);
        ReadValue(summary.Bytes(), step, events);
      }
    }
  }
  return events;
}

class TensorBoardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-tensorboard-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path EventPath(const fs::path& folder) const {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().find("tfevents") != std::string::npos) return entry.path();
    }
    return {};
  }
  fs::path root_;
};

TEST_F(TensorBoardTest, HoldsEveryLossScoreAndWeightOnce) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.val_every = 4;
  TensorBoardLog log(root_.string(), config.seed, 1);
  Context context = MakeContext(1);
  size_t told = 0;
  context.on_progress = [&](const Progress& progress) {
    log.OnProgress(progress);
    told += progress.epoch > 0 ? 1 : 0;
    if (progress.epoch > 0) {
      EXPECT_FALSE(ReadEvents(EventPath(root_)).scalars.empty()) << "readable while training";
    }
  };
  Trained trained = Train(context, dataset, config);
  EvaluateTrained(context, dataset, trained);
  log.OnSeed(context, dataset, trained);
  EXPECT_GT(told, 0u);
  const Events events = ReadEvents(EventPath(root_));
  EXPECT_EQ(events.version, "brain.Event:2");
  for (size_t l = 0; l < trained.result.layers.size(); ++l) {
    const SeedResult::Layer& layer = trained.result.layers[l];
    const std::string name = "layer" + std::to_string(l + 1);
    const auto& losses = events.scalars.at(name + "/loss");
    ASSERT_EQ(losses.size(), layer.losses.size());
    for (size_t i = 0; i < layer.losses.size(); ++i) {
      EXPECT_EQ(losses.at(static_cast<int64_t>(i + 1)), static_cast<float>(layer.losses[i]));
    }
    EXPECT_EQ(events.scalars.at("epochs").at(static_cast<int64_t>(l + 1)), static_cast<float>(layer.epochs));
    EXPECT_EQ(events.histogram_counts.at(name + "/weights"),
              static_cast<double>(trained.model.layers[l].weight.values.size()));
  }
  for (const SeedResult::ValidationPoint& point : trained.result.validation) {
    EXPECT_EQ(events.scalars.at("layer" + std::to_string(point.layer) + "/validation_f1").at(point.epoch),
              static_cast<float>(point.f1));
  }
  EXPECT_EQ(events.scalars.at("f1/test").at(0), static_cast<float>(trained.result.f1_test));
  EXPECT_TRUE(fs::exists(root_ / "projector_config.pbtxt"));
  const std::string rows = ReadTextFile(root_ / "embeddings.tsv"),
                    names = ReadTextFile(root_ / "metadata.tsv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n') + 1, std::count(names.begin(), names.end(), '\n'));
}

TEST_F(TensorBoardTest, SeedsStandInFoldersOfTheirOwn) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  TensorBoardLog log(root_.string(), 5, 2);
  for (uint64_t seed : {5u, 6u}) {
    config.seed = seed;
    Trained trained = Train(MakeContext(1), dataset, config);
    log.OnSeed(MakeContext(1), dataset, trained);
    EXPECT_FALSE(ReadEvents(EventPath(root_ / ("seed-" + std::to_string(seed)))).scalars.empty());
  }
}

}  // namespace
}  // namespace l2gcn
