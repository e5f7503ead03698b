// A training that is cut off anywhere and resumed gives the bytes of one that was not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/files.h"
#include "l2gcn/error.h"
#include "run/checkpoint.h"
#include "run/run_lock.h"
#include "run/train_seed.h"
#include "train/layerwise_trainer.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Everything but wall-clock fields, memory, the run's own name, and checksums over files that hold such fields.
Json WithoutClocks(const Json& json) {
  Json kept = json;
  if (json.is_object()) {
    for (const char* field : {"seconds", "train_seconds", "aggregate_seconds", "transform_seconds", "memory",
                              "run", "threads", "files", "checksum"})
      kept.erase(field);
  }
  for (auto& [name, value] : kept.items()) {
    if (value.is_structured()) value = WithoutClocks(Json(value));
  }
  return kept;
}

class ResumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-resume-" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  RunOptions OptionsFor(const char* name) const {
    RunOptions options;
    options.output = (root_ / name).string();
    options.dataset_spec = "small";
    options.checkpoint_epochs = 1;
    options.runs = runs_;
    return options;
  }
  void TrainWhole() {
    fs::remove_all(root_ / "whole");
    RunTraining(MakeContext(2), dataset_, config_, OptionsFor("whole"));
  }
  // Stops at the `stop`-th progress report; true if it was stopped by that.
  bool TrainUntil(RunOptions options, int stop) {
    std::atomic<bool> cancel{false};
    int reports = 0;
    Context context = MakeContext(2);
    context.cancel = &cancel;
    context.on_progress = [&](const Progress&) { cancel = ++reports >= stop; };
    try {
      RunTraining(context, dataset_, config_, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCancelled) << error.what();
      return true;
    }
    return false;
  }
  RunOptions Taken(const char* name) {
    RunOptions options = OptionsFor(name);
    options.lock = ResumeRun(options.output, false).lock;
    return options;
  }
  // Cuts the training off again and again until it is done; the number of cuts.
  int TrainInPieces(int piece) {
    fs::remove_all(root_ / "cut");
    fs::remove_all(root_ / "cut.unfinished");
    int cuts = 0;
    for (; cuts < 200; ++cuts) {
      const bool unfinished = fs::exists(root_ / "cut.unfinished");
      if (!TrainUntil(unfinished ? Taken("cut") : OptionsFor("cut"), piece)) break;
      if (!fs::exists(root_ / "cut.unfinished"))
        piece += 2;  // no progress that could be kept in so short a time
    }
    return cuts;
  }
  void ExpectSameRun(const std::string& what) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "whole")) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root_ / "whole"));
    }
    EXPECT_GE(files.size(), 4u);
    for (const fs::path& file : files) {
      const std::string a = ReadTextFile(root_ / "whole" / file), b = ReadTextFile(root_ / "cut" / file);
      if (file.extension() == ".json") {
        EXPECT_EQ(WithoutClocks(Json::parse(a)), WithoutClocks(Json::parse(b))) << what << " " << file;
      } else if (file.extension() == ".jsonl") {
        std::istringstream first(a), second(b);
        for (std::string x, y; std::getline(first, x);) {
          ASSERT_TRUE(std::getline(second, y)) << what;
          EXPECT_EQ(WithoutClocks(Json::parse(x)), WithoutClocks(Json::parse(y))) << what;
        }
      } else {
        EXPECT_EQ(a, b) << what << " " << file;
      }
    }
    EXPECT_FALSE(fs::exists(root_ / "cut/checkpoint")) << what;
    EXPECT_FALSE(fs::exists(root_ / "cut.unfinished")) << what;
  }

  fs::path root_;
  Dataset dataset_ = SmallDataset();
  TrainConfig config_ = SmallConfig();
  uint32_t runs_ = 1;
};

TEST_F(ResumeTest, LayerwiseMethodsUnderEveryPolicy) {
  const std::pair<const char*, const char*> kinds[] = {{"layerwise", "fixed"},
                                                       {"layerwise", "early"},
                                                       {"layerwise", "controller"},
                                                       {"ngcn-layerwise", "fixed"}};
  for (const auto& [method, stop] : kinds) {
    config_.method = method;
    FindField("stop").set(config_, stop);
    config_.watch = Watch::kValidationF1;
    config_.patience = 3;
    config_.dropout = 0.3;
    TrainWhole();
    EXPECT_GT(TrainInPieces(7), 1) << method;
    ExpectSameRun(std::string(method) + " " + stop);
  }
}

// Constant rate, decay and cool-down, with evaluation of validation nodes and of held-out train nodes.
TEST_F(ResumeTest, RatesThatTheProgramFinds) {
  config_.lr.reset();
  config_.dropout = 0.3;
  config_.epochs = {20};
  config_.stop = StopRule::kPlateau;
  for (const char* hold_out : {"auto", "0.3"}) {
    FindField("hold-out").set(config_, hold_out);
    for (const bool norm : {false, true}) {
      config_.hidden_norm = norm ? HiddenNorm::kLayer : HiddenNorm::kNone;
      TrainWhole();
      EXPECT_GE(TrainInPieces(7), 1) << hold_out;
      ExpectSameRun(std::string("--lr auto, --hold-out ") + hold_out);
    }
  }
}

TEST_F(ResumeTest, LayersThatAreNotBasic) {
  config_.method = "lgcn";
  config_.stop = StopRule::kEarly;
  config_.watch = Watch::kValidationF1;
  config_.patience = 5;
  config_.dropout = 0.3;
  config_.input_dropout = 0.2;
  config_.hops = 2, config_.self_features = true;
  config_.head = 8;
  config_.predict_from = PredictFrom::kAuto;
  config_.correct = Choice::kAuto;
  for (const char* setting : {"inductive", "transductive"}) {
    FindField("setting").set(config_, setting);
    for (const HiddenNorm norm : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
      config_.hidden_norm = norm;
      TrainWhole();
      EXPECT_GT(TrainInPieces(7), 1) << setting;
      ExpectSameRun(std::string("powers, norm and head, ") + setting);
    }
  }
}

TEST_F(ResumeTest, DeepNetworksTrainedEndToEnd) {
  config_.method = "gcn";
  config_.layers = 3;
  config_.hidden = {16};
  config_.self_features = true;
  config_.dropout = 0.3;
  config_.stop = StopRule::kEarly;
  config_.watch = Watch::kValidationLoss;
  config_.patience = 8;
  for (const HiddenNorm norm : {HiddenNorm::kLayer, HiddenNorm::kBatch}) {
    config_.hidden_norm = norm;
    TrainWhole();
    EXPECT_GT(TrainInPieces(7), 0);
    ExpectSameRun(norm == HiddenNorm::kBatch ? "batch norm" : "layer norm");
  }
}

TEST_F(ResumeTest, FinishedSeedsAreNotTrainedAgain) {
  runs_ = 3;
  TrainWhole();
  EXPECT_GT(TrainInPieces(12), 2);
  ExpectSameRun("three seeds");
}

// What is trained is kept in the checkpoint. The model is written once, with what evaluation decides.
TEST_F(ResumeTest, ATrainingCutOffBeforeItsEvaluationIsNotTrainedAgain) {
  config_.hops = 2, config_.self_features = true;
  config_.hidden_norm = HiddenNorm::kLayer;
  config_.head = 8;
  config_.predict_from = PredictFrom::kAuto;
  config_.correct = Choice::kAuto;
  TrainWhole();
  const fs::path work = root_ / "cut.unfinished", model = work / "checkpoint/model-0";
  for (const bool damaged : {false, true}) {
    fs::remove_all(root_ / "cut");
    std::atomic<bool> cancel{false};
    Context cut = MakeContext(2);
    cut.cancel = &cancel;
    cut.on_progress = [&](const Progress& progress) {
      if (std::string(progress.phase) == "evaluate") cancel = true;
    };
    EXPECT_THROW(RunTraining(cut, dataset_, config_, OptionsFor("cut")), Error);
    EXPECT_TRUE(fs::exists(work / "checkpoint/trained-0.json"));
    EXPECT_FALSE(fs::exists(work / "model.safetensors"));
    if (damaged) {
      std::string bytes = ReadTextFile(model);
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
      WriteFileWhole(model, bytes);
    }
    uint32_t epochs = 0;
    std::string warnings;
    Context again = MakeContext(1);
    again.on_progress = [&](const Progress& progress) { epochs += progress.epoch > 0 ? 1 : 0; };
    again.on_warning = [&](const std::string& text) { warnings += text; };
    RunTraining(again, dataset_, config_, Taken("cut"));
    EXPECT_EQ(epochs > 0, damaged);
    EXPECT_EQ(warnings.find("is trained again") != std::string::npos, damaged) << warnings;
    ExpectSameRun("cut off before its evaluation");
  }
}

// What an earlier process finished is compared with its checksums, and made again where it does not agree.
TEST_F(ResumeTest, FinishedSeedsThatAreDamagedOrMissingAreTrainedAgain) {
  runs_ = 3;
  TrainWhole();
  const fs::path work = root_ / "cut.unfinished", kept = root_ / "kept";
  for (int stop = 40; !fs::exists(work / "checkpoint/seed-1.json"); stop += 10) {
    fs::remove_all(root_ / "cut");
    fs::remove_all(work);
    ASSERT_TRUE(TrainUntil(OptionsFor("cut"), stop));
  }
  fs::copy(work, kept, fs::copy_options::recursive);
  const auto flip = [&](const fs::path& path, const std::string& word = "") {
    std::string bytes = ReadTextFile(path);
    char& flipped = bytes[word.empty() ? bytes.size() / 2 : bytes.find(word)];
    flipped = static_cast<char>(flipped ^ 1);
    WriteFileWhole(path, bytes);
  };
  const auto swap = [&](const char* name) {
    fs::rename(work / "seed-0" / name, root_ / "aside");
    fs::rename(work / "seed-1" / name, work / "seed-0" / name);
    fs::rename(root_ / "aside", work / "seed-1" / name);
  };
  const std::pair<const char*, std::function<void()>> damages[] = {
      {"seed-0/model.safetensors", [&] { flip(work / "seed-0/model.safetensors"); }},
      {"seed-1/config.json", [&] { flip(work / "seed-1/config.json"); }},
      {"seed-0/split.npy", [&] { flip(work / "seed-0/split.npy"); }},
      {"seed-1/log.jsonl", [&] { fs::remove(work / "seed-1/log.jsonl"); }},
      {"seed-0/result.json", [&] { fs::resize_file(work / "seed-0/result.json", 9); }},
      {"seed-0/config.json", [&] { swap("model.safetensors"), swap("config.json"); }},
      // Not anywhere: the last digit of a number may be another one and mean the same.
      {"seed-0.json", [&] { flip(work / "checkpoint/seed-0.json", "files"); }},
      {"seed-1/config.json", [&] { fs::remove_all(work / "seed-1"); }},
  };
  for (const auto& [name, damage] : damages) {
    fs::remove_all(root_ / "cut");
    fs::remove_all(work);
    fs::copy(kept, work, fs::copy_options::recursive);
    damage();
    std::string warnings;
    Context context = MakeContext(1);
    context.on_warning = [&](const std::string& text) { warnings += text + "\n"; };
    RunTraining(context, dataset_, config_, Taken("cut"));
    ExpectSameRun(name);
    EXPECT_NE(warnings.find(name), std::string::npos) << name << ": " << warnings;
    EXPECT_NE(warnings.find("is trained again"), std::string::npos) << warnings;
  }
}

// The process ended between the last file and the rename.
TEST_F(ResumeTest, ARunThatLacksOnlyItsNameIsComparedBeforeItGetsIt) {
  for (const uint32_t runs : {1u, 2u}) {
    runs_ = runs;
    TrainWhole();
    const std::string split = runs == 1 ? "split.npy" : "seed-1/split.npy";
    fs::rename(root_ / "whole", root_ / "cut.unfinished");
    std::string bytes = ReadTextFile(root_ / "cut.unfinished" / split);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    WriteFileWhole(root_ / "cut.unfinished" / split, bytes);
    try {
      ResumeRun((root_ / "cut").string(), false);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(split), std::string::npos) << error.what();
    }
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    WriteFileWhole(root_ / "cut.unfinished" / split, bytes);
    EXPECT_EQ(ResumeRun((root_ / "cut").string(), false).lock, nullptr);
    fs::remove_all(root_ / "cut");
  }
}

// Keeps every snapshot and stops after the n-th.
class StoppingCheckpointer final : public Checkpointer {
 public:
  explicit StoppingCheckpointer(uint32_t stop, const Snapshot* start = nullptr)
      : stop_(stop), start_(start) {}
  const Snapshot* Start() const override { return start_; }
  bool Due(uint64_t) override { return true; }
  uint32_t EpochsBetween() const override { return 1; }
  void Keep(const Snapshot& snapshot) override {
    if (++count_ != stop_) return;
    kept_ = snapshot;
    // A snapshot shares memory with the training, as a file would not.
    for (NamedTensor& tensor : kept_.tensors) tensor.values = Array<float>::CopyOf(tensor.values.span());
    throw Error(ErrorKind::kCancelled, "cut off");
  }
  const Snapshot& kept() const { return kept_; }

 private:
  uint32_t stop_, count_ = 0;
  const Snapshot* start_;
  Snapshot kept_;
};

TEST_F(ResumeTest, EveryEpochOfEveryConventionalMethod) {
  config_.batch = 20;
  config_.samples = {2};
  config_.hidden = {8};
  config_.epochs = {5};
  config_.dropout = 0.2;
  const Context context = MakeContext(1);
  for (const char* stop : {"fixed", "early"}) {
    FindField("stop").set(config_, stop);
    config_.watch = Watch::kValidationF1;
    for (const char* method : {"gcn", "graphsage", "fastgcn", "ladies", "vrgcn", "sgc", "ngcn"}) {
      config_.method = method;
      const Job job = MakeJob(context, dataset_, config_);
      const Trained whole = Train(context, dataset_, config_);
      for (uint32_t cut = 1; cut < 5; ++cut) {
        StoppingCheckpointer first(cut);
        EXPECT_THROW(FitMethod(job, *MakeStopPolicy(job), &first), Error);
        StoppingCheckpointer second(1000, &first.kept());
        const Trained rest = FitMethod(job, *MakeStopPolicy(job), &second).trained;
        EXPECT_EQ(rest.result.layers[0].losses, whole.result.layers[0].losses) << method << " cut " << cut;
        EXPECT_EQ(std::memcmp(rest.model.theta.values.data(), whole.model.theta.values.data(),
                              whole.model.theta.bytes()),
                  0)
            << method << " " << stop << " cut " << cut;
      }
    }
  }
}

TEST_F(ResumeTest, OtherSettingsDataAndDamageAreToldApart) {
  ASSERT_TRUE(TrainUntil(OptionsFor("cut"), 9));
  const fs::path folder = root_ / "cut.unfinished/checkpoint";
  ASSERT_TRUE(fs::exists(folder / "state-0.safetensors"));
  const auto refusal = [&](const TrainConfig& config, const Dataset& dataset) {
    try {
      RunTraining(MakeContext(1), dataset, config, Taken("cut"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainConfig other = config_;
  *other.lr *= 2;
  EXPECT_NE(refusal(other, dataset_).find("--lr"), std::string::npos);
  Dataset changed = SmallDataset();
  Matrix values = changed.features.matrix();
  values.values.mutable_data()[5] += 1;
  changed.features = Features::Dense(std::move(values));
  EXPECT_NE(refusal(config_, changed).find("other data"), std::string::npos);
  // One damaged generation costs an epoch, both cost the seed; the bytes are the same.
  TrainWhole();
  for (const char* name : {"state-0.safetensors", "state-1.safetensors"}) {
    if (!fs::exists(folder / name)) continue;
    std::string bytes = ReadTextFile(folder / name);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
    WriteFileWhole(folder / name, bytes);
    if (std::string(name) == "state-0.safetensors") {
      EXPECT_THROW(ReadSnapshot(folder / name), Error);
    }
  }
  RunTraining(MakeContext(1), dataset_, config_, Taken("cut"));
  ExpectSameRun("damaged checkpoints");
}

TEST_F(ResumeTest, ALossThatIsNotFiniteStopsOrBeginsAgainAtALowerRate) {
  config_.lr = 1e38;
  try {
    RunTraining(MakeContext(1), dataset_, config_, OptionsFor("run"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    for (const char* word : {"diverged", "layer 1", "epoch", "--lr", "--on-nan"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(root_ / "run"));
  config_.method = "sgc";
  EXPECT_THROW(RunTraining(MakeContext(1), dataset_, config_, OptionsFor("sgc")), Error);
}

// The smallest power of two, as a rate, at which the training diverges.
double DivergingRate(const Dataset& dataset, TrainConfig config) {
  for (config.lr = 0x1p40; *config.lr < 0x1p126; *config.lr *= 2) {
    try {
      Train(MakeContext(1), dataset, config);
    } catch (const Diverged&) {
      return *config.lr;
    }
  }
  ADD_FAILURE() << "no rate diverges";
  return 1;
}

TEST_F(ResumeTest, ATrainingThatBeginsAgainAtALowerRateEndsWellAndSaysSo) {
  config_.lr = DivergingRate(dataset_, config_);
  config_.restart_on_nan = true;
  std::vector<std::string> notes, warnings;
  Context context = MakeContext(1);
  context.on_note = [&](const std::string& text) { notes.push_back(text); };
  context.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  const TrainResult result = RunTraining(context, dataset_, config_, OptionsFor("run"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("begins again at a third of the rate"), std::string::npos) << warnings[0];
  const auto told = std::find_if(notes.begin(), notes.end(), [](const std::string& text) {
    return text.find("ended well at --lr") != std::string::npos;
  });
  ASSERT_NE(told, notes.end());
  EXPECT_NE(told->find("after 1 restart"), std::string::npos) << *told;
  // What was trained is what the lower rate gives from the beginning, and the result names that rate.
  TrainConfig lower = config_;
  *lower.lr /= 3;
  const Trained wanted = Train(MakeContext(1), dataset_, lower);
  EXPECT_EQ(result.seeds[0].layers.back().losses, wanted.result.layers.back().losses);
  for (const SeedResult::Layer& layer : result.seeds[0].layers) {
    for (const double loss : layer.losses) EXPECT_TRUE(std::isfinite(loss));
  }
  const Json json = Json::parse(ReadTextFile(root_ / "run/result.json"));
  EXPECT_EQ(json["runs"][0]["restarts"], 1);
  EXPECT_DOUBLE_EQ(json["runs"][0]["lowered_lr"].get<double>(), *lower.lr);
  EXPECT_FALSE(fs::exists(root_ / "run.unfinished"));
}

TEST_F(ResumeTest, DivergenceNamesTheStepWhereTheLossStoppedBeingFinite) {
  config_.batch = 8;  // several steps an epoch
  config_.lr = DivergingRate(dataset_, config_);
  const Job job = MakeJob(MakeContext(1), dataset_, config_);
  std::vector<double> losses;
  LayerwiseOptions options;
  options.step_losses = &losses;
  std::string said;
  try {
    FitLayerwise(job.context, dataset_, *job.nodes, config_, *MakeStopPolicy(job), options);
  } catch (const Diverged& error) {
    said = error.what();
  }
  const auto bad = std::find_if_not(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); });
  ASSERT_NE(bad, losses.end()) << said;
  const size_t step = static_cast<size_t>(bad - losses.begin()), steps = job.nodes->train.size() / 8;
  ASSERT_NE((step + 1) % steps, 0u) << "choose a rate at which it is not an epoch's last step";
  const size_t layer = step / (steps * config_.EpochsOf(0)), within = step % (steps * config_.EpochsOf(0));
  const std::string wanted = "in layer " + std::to_string(layer + 1) + ", epoch " +
                             std::to_string(within / steps + 1) + ", step " +
                             std::to_string(within % steps + 1) + " the loss became";
  EXPECT_NE(said.find(wanted), std::string::npos) << said << "\nwanted: " << wanted;
}

}  // namespace
}  // namespace l2gcn
