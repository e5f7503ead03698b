// A caller's mistakes through the public headers: every one is an l2gcn::Error with a message; none ends the
// process, and no other exception gets out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "api/ring.h"
#include "l2gcn/ceilings.h"
#include "l2gcn/compare.h"
#include "l2gcn/controller.h"
#include "l2gcn/convert.h"
#include "l2gcn/error.h"
#include "l2gcn/export.h"
#include "l2gcn/generate.h"
#include "l2gcn/reproduce.h"
#include "l2gcn/train.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

void ExpectError(const char* what, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << what << ": no error";
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty()) << what;
  } catch (const std::exception& other) {
    ADD_FAILURE() << what << ": threw something else: " << other.what();
  }
}

class MistakesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ =
        ResolveConfig({{"preset", "paper"}, {"method", "lgcn"}, {"hidden", "4"}, {"epochs", "2"}}, dataset_);
    folder_ = fs::temp_directory_path() / ("l2gcn-mistakes-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void ExpectBadConfig(const char* what, const std::function<void(TrainConfig&)>& change) {
    TrainConfig config = config_;
    change(config);
    ExpectError(what, [&] { Validate(config); });
    ExpectError(what, [&] { Train(context_, dataset_, config); });
  }
  void ExpectBadDataset(const char* what, const std::function<void(Dataset&)>& change) {
    Dataset dataset = dataset_;
    dataset.checked = false;
    change(dataset);
    ExpectError(what, [&] { ValidateDataset(context_, dataset); });
    ExpectError(what, [&] { Train(context_, dataset, config_); });
    ExpectError(what, [&] { PredictLogits(context_, trained_.model, dataset); });
  }

  const Context context_ = MakeContext(2);
  const Dataset dataset_ = Ring().Make(context_);
  TrainConfig config_;
  Trained trained_ =
      Train(context_, dataset_,
            ResolveConfig({{"preset", "paper"}, {"method", "lgcn"}, {"epochs", "1"}}, dataset_));
  fs::path folder_;
};

TEST_F(MistakesTest, Configurations) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Validate(config_);
  Validate(SearchConfig{});
  ExpectBadConfig("no layers", [](TrainConfig& c) { c.layers = 0; });
  ExpectBadConfig("no width", [](TrainConfig& c) { c.hidden = {}; });
  ExpectBadConfig("width 0", [](TrainConfig& c) { c.hidden = {0}; });
  ExpectBadConfig("three widths", [](TrainConfig& c) { c.hidden = {4, 4, 4}; });
  ExpectBadConfig("no epochs", [](TrainConfig& c) { c.epochs = {}; });
  ExpectBadConfig("batch 0", [](TrainConfig& c) { c.batch = 0; });
  ExpectBadConfig("rate NaN", [=](TrainConfig& c) { c.lr = nan; });
  ExpectBadConfig("rate below 0", [](TrainConfig& c) { c.lr = -1; });
  ExpectBadConfig("dropout 1", [](TrainConfig& c) { c.dropout = 1; });
  ExpectBadConfig("unknown method", [](TrainConfig& c) { c.method = "nonsense"; });
  ExpectBadConfig("no method", [](TrainConfig& c) { c.method = ""; });
  ExpectBadConfig("learned stop of gcn",
                  [](TrainConfig& c) { c.method = "gcn", c.stop = StopRule::kController; });
  ExpectBadConfig("patience 0", [](TrainConfig& c) { c.patience = 0; });
  ExpectBadConfig("precompute of lgcn", [](TrainConfig& c) { c.precompute = true; });
  ExpectBadConfig("epochs per layer of gcn", [](TrainConfig& c) { c.method = "gcn", c.epochs = {2, 2}; });
  ExpectBadConfig("no powers", [](TrainConfig& c) { c.method = "ngcn", c.powers = {}; });
  ExpectBadConfig("no samples", [](TrainConfig& c) { c.method = "graphsage", c.samples = {}; });
  TrainConfig config = config_;
  config.split = "file:7";
  ExpectError("no such split", [&] { Train(context_, dataset_, config); });
  config = config_;
  config.method = "l2gcn";
  config.stop = StopRule::kController;
  config.controller_file = (folder_ / "absent").string();
  ExpectError("no such controller", [&] { Train(context_, dataset_, config); });
  ExpectError("unknown adjacency", [&] { ResolveConfig({{"adjacency", "up"}}, dataset_); });
  ExpectError("unknown stop", [&] { ResolveConfig({{"stop", "never"}}, dataset_); });
  ExpectError("renamed", [&] { ResolveConfig({{"controller-kind", "paper"}}, dataset_); });
  ExpectError("unknown field", [&] { FindField("colour"); });
  ExpectError("unknown override", [&] { ResolveConfig({{"colour", "1"}}, dataset_); });
  ExpectError("no JSON", [&] { ConfigFromJson("{", "here"); });
}

TEST_F(MistakesTest, DatasetsFilledByHand) {
  ExpectBadDataset("empty", [](Dataset& d) { d = Dataset(); });
  ExpectBadDataset("no features", [](Dataset& d) { d.features = Features(); });
  ExpectBadDataset("edge out of range",
                   [](Dataset& d) { d.graph.indices = Array<uint32_t>::Filled(d.graph.indices.size(), 90); });
  ExpectBadDataset("offsets too short",
                   [](Dataset& d) { d.graph.indptr = Array<uint64_t>::Zeros(d.graph.nodes); });
  ExpectBadDataset("more nodes than rows", [](Dataset& d) { d.graph.nodes = 1000; });
  ExpectBadDataset("labels too short", [](Dataset& d) { d.labels.classes_of = Array<int32_t>::Zeros(3); });
  ExpectBadDataset("class out of range",
                   [](Dataset& d) { d.labels.classes_of = Array<int32_t>::Filled(90, 17); });
  ExpectBadDataset("roles too short", [](Dataset& d) { d.splits[0].roles = Array<uint8_t>::Zeros(2); });
  ExpectBadDataset("ids too short", [](Dataset& d) { d.node_ids = Array<int64_t>::Zeros(2); });
  Dataset dataset = dataset_;
  dataset.labels.classes_of = Array<int32_t>::Zeros(3);
  ExpectError("splitting it", [&] { ResolveSplit(dataset, "random:0.5,0.2,0.3", 0); });
  dataset = dataset_;
  dataset.labels = Labels();
  dataset.labels.classes_of = Array<int32_t>::Filled(90, -1);
  ExpectError("nothing to learn", [&] { Train(context_, dataset, config_); });
  ExpectError("random split", [&] { ResolveSplit(dataset_, "random:2,0,0", 0); });
  ExpectError("no such path", [&] { OpenDataset(context_, "/nowhere/at/all"); });
  ExpectError("no such shape", [&] { OpenDataset(context_, "synthetic:sphere"); });
  ExpectError("unknown format", [&] { OpenDataset(context_, folder_.string(), {.format = "clay"}); });
  SaveDataset(context_, dataset_, (folder_ / "set").string());
  ExpectError("kept data set", [&] { SaveDataset(context_, dataset_, (folder_ / "set").string()); });
  ExpectError("convert to nothing",
              [&] { ConvertDataset(context_, (folder_ / "set").string(), {}, "", {.to = "clay"}); });
  ExpectError("verify nothing", [&] { VerifyDataset(context_, folder_.string()); });
  ExpectError("bad options", [&] { OpenOptionsFromJson("[", "here"); });
}

TEST_F(MistakesTest, Contexts) {
  ExpectError("too many threads", [] { MakeContext(4000000000u); });
  Context context;
  context.threads = 8;  // without a pool
  ExpectError("no pool", [&] { Ring().Make(context); });
  ExpectError("no pool", [&] { Train(context, dataset_, config_); });
  ExpectError("no pool", [&] { OpenDataset(context, ""); });
  ExpectError("no pool", [&] { GenerateDataset(context, {}); });
  ExpectError("no pool", [&] { PredictLogits(context, trained_.model, dataset_); });
  ExpectError("no pool", [&] { MeasureCopy(context, 1 << 20); });
  context.threads = 0;
  ExpectError("no thread", [&] { Train(context, dataset_, config_); });
  ExpectError("unknown device", [] { ChooseDevice("abacus"); });
}

TEST_F(MistakesTest, Models) {
  ExpectError("empty model", [&] { PredictLogits(context_, Model(), dataset_); });
  ExpectError("empty model", [&] { Embed(context_, Model(), dataset_); });
  ExpectError("no such layer", [&] { Embed(context_, trained_.model, dataset_, 9); });
  Model torn = trained_.model;
  torn.layers[1].weight = Matrix::Zeros(3, 3);
  ExpectError("torn model", [&] { PredictLogits(context_, torn, dataset_); });
  ExpectError("torn model", [&] { SaveModel(torn, (folder_ / "torn").string()); });
  EXPECT_FALSE(fs::exists(folder_ / "torn"));
  torn = trained_.model;
  torn.theta.values = Array<float>::Zeros(1);
  ExpectError("short classifier", [&] { PredictLogits(context_, torn, dataset_); });
  torn = trained_.model;
  torn.theta = Matrix();
  ExpectError("no classifier", [&] { PredictLogits(context_, torn, dataset_); });
  torn = trained_.model;
  torn.layers.clear();
  ExpectError("no layers", [&] { PredictLogits(context_, torn, dataset_); });
  torn = trained_.model;
  torn.preparation.shift = Array<float>::Zeros(2);
  ExpectError("short preparation", [&] { PredictLogits(context_, torn, dataset_); });
  ExpectError("no model there", [&] { LoadModel(folder_.string()); });
  ExpectError("unwritable", [&] { SaveModel(trained_.model, "/proc/nowhere/model"); });
  ExpectError("no run there", [&] { OpenRun((folder_ / "absent").string()); });

  const Split split = ResolveSplit(dataset_, "", 0);
  ExpectError("few logits",
              [&] { ScoreLogits(context_, dataset_, Matrix::Zeros(2, 3), split, Role::kTest); });
  ExpectError("no split",
              [&] { ScoreLogits(context_, dataset_, Matrix::Zeros(90, 3), Split(), Role::kTest); });
  const std::string csv = (folder_ / "out.csv").string();
  ExpectError("few rows", [&] {
    ExportPredictions(context_, trained_.model, dataset_, Matrix::Zeros(2, 3), split, csv);
  });
  ExpectError("few columns", [&] {
    ExportPredictions(context_, trained_.model, dataset_, Matrix::Zeros(90, 2), split, csv);
  });
  ExpectError("few rows", [&] { ExportEmbeddings(context_, dataset_, Matrix::Zeros(2, 3), csv); });
  ExpectError("no such ending",
              [&] { ExportEmbeddings(context_, dataset_, Matrix::Zeros(90, 3), "out.doc"); });
  Matrix none;
  LogitsToProbabilities(none, false);
  none.rows = 5, none.cols = 5;
  ExpectError("no values", [&] { LogitsToProbabilities(none, false); });
}

TEST_F(MistakesTest, RunsComparisonsAndSearches) {
  ExpectError("no seeds", [] { ResultToJson(TrainResult()); });
  TrainResult result;
  result.seeds.resize(1);
  ExpectError("no JSON inside", [&] { ResultToJson(result); });
  RunOptions options;
  options.write = false;
  options.runs = 0;
  ExpectError("no runs", [&] { RunTraining(context_, dataset_, config_, options); });
  options.runs = 1;
  options.write = true;
  options.output = "/proc/nowhere/run";
  ExpectError("unwritable", [&] { RunTraining(context_, dataset_, config_, options); });
  ExpectError("no method", [&] { Compare(context_, dataset_, {}); });
  ExpectError("unknown method", [&] { Compare(context_, dataset_, {.methods = {"nonsense"}}); });
  ExpectError("unknown target", [&] { Reproduce(context_, {.target = "table-nine"}); });
  ExpectError("unknown set", [&] { Reproduce(context_, {.target = "table-sota", .sets = {"mars"}}); });
  ExpectError("unwritable",
              [&] { Reproduce(context_, {.target = "table-sota", .folder = "/proc/nowhere"}); });
  ExpectError("unknown shape", [&] { GenerateDataset(context_, {.shape = "sphere"}); });
  ExpectError("scale NaN", [&] { GenerateDataset(context_, {.scale = std::nan("")}); });
  ExpectError("scale below 0", [&] { GenerateDataset(context_, {.scale = -1}); });
  ExpectError("homophily 7", [&] { GenerateDataset(context_, {.homophily = 7}); });
  ExpectError("noise NaN", [&] { GenerateDataset(context_, {.label_noise = std::nan("")}); });
  ExpectError("unwritable", [&] { GenerateToDirectory(context_, {.nodes = 100}, "/proc/nowhere/set"); });
  ExpectError("unknown kind", [] { Controller::Shipped("nonsense"); });
  ExpectError("nothing inside", [] { Controller(nullptr); });
  ExpectError("no such file", [&] { Controller::Load((folder_ / "absent").string()); });
  ExpectError("no data sets", [&] { SearchController(context_, {}, {}, {}); });
  SearchConfig search;
  search.batch = {SearchConfig::Batch::Kind::kNodes, 0};
  ExpectError("batch of no nodes", [&] { SearchController(context_, {dataset_}, search, {}); });
  search = {};
  search.rollouts = 0;
  ExpectError("no rollouts", [&] { SearchController(context_, {dataset_}, search, {}); });
}

}  // namespace
}  // namespace l2gcn
