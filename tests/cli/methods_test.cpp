// The commands that train many times, run to their end through the program: search and compare; and features
// stored in 16 bits from training to evaluation.
#include <algorithm>
#include <fstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

class MethodsTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    MakeSmallSet();
  }
};

TEST_F(MethodsTest, SearchWritesAControllerThatTrainUses) {
  for (const std::string kind : {"general", "paper"}) {
    const std::string file = kind + ".safetensors";
    std::ofstream(folder_ / "more.json") << R"({"warmup": 2, "interval": 2, "decisions": 4})";
    const nlohmann::json found =
        RunWell({"learn-controller", "small",        "--kind",     kind, "--rounds",   "3",
                 "--nodes",          "60",           "--problems", "2",  "--rollouts", "2",
                 "--config",         "more.json",    "--hidden",   "8",  "--epochs",   "6",
                 "--setting",        "transductive", "--json",     "-o", file})
            .json();
    EXPECT_EQ(found.at("controller").at("kind"), kind);
    EXPECT_EQ(found.at("search").at("curve").size(), 3u);
    EXPECT_EQ(nlohmann::json::parse(Read(file + ".json")).at("curve").size(), 3u);
    EXPECT_EQ(RunWell({"info", file, "--json"}).json().at("controller").at("kind"), kind);
    const nlohmann::json trained =
        RunWell({"train", "small", "--controller", file, "--epochs", "6", "--json", "-o", kind}).json();
    EXPECT_EQ(trained.at("method"), "layerwise");
    EXPECT_EQ(nlohmann::json::parse(Read(kind + "/config.json")).at("config").at("stop"), "controller");
    EXPECT_FALSE(trained.at("runs")[0].at("layers")[0].at("probabilities").empty()) << kind;
  }
}

TEST_F(MethodsTest, CompareTrainsEveryMethodOfItsTable) {
  const nlohmann::json all = RunWell({"compare", "small", "--epochs", "2", "--json"}).json();
  std::vector<std::string> methods;
  for (const nlohmann::json& row : all.at("methods")) {
    methods.push_back(row.at("method"));
    EXPECT_GT(row.at("f1").at("test").get<double>(), 0) << methods.back();
    EXPECT_GE(row.at("seconds").at("train").get<double>(), 0) << methods.back();
  }
  EXPECT_EQ(methods, (std::vector<std::string>{"lgcn", "gcn", "graphsage", "fastgcn", "ladies", "vrgcn",
                                               "clustergcn", "sgc"}));
  const std::string csv = RunWell({"compare", "small", "--methods", "lgcn,sgc", "--epochs", "2", "--csv",
                                   "--to-f1", "10", "--max-seconds", "60"})
                              .out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << csv;
  const Outcome unknown = Run({"compare", "small", "--methods", "lgnc"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("'lgcn'"), std::string::npos) << unknown.err;
}

// 16-bit features train, are stored with the model's settings and evaluate to the same scores; what they cost
// in F1 is small. The features are dense: sparse ones stay as they are.
TEST_F(MethodsTest, NarrowFeaturesFromTrainingToEvaluation) {
  RunWell({"generate", "reddit", "--nodes", "300", "--edges", "900", "--features", "40", "-o", "dense"});
  const auto train = [&](const std::string& type, const std::string& method) {
    return RunWell({"train", "dense", "--method", method, "--epochs", "30", "--lr", "0.01", "--hidden", "16",
                    "--features-as", type, "--json", "-o", type + method})
        .json();
  };
  for (const std::string method : {"lgcn", "gcn"}) {
    const double f32 = train("f32", method).at("f1").at("train");
    for (const std::string type : {"f16", "bf16"}) {
      const nlohmann::json result = train(type, method);
      const bool same =
          Read(type + method + "/model.safetensors") == Read("f32" + method + "/model.safetensors");
      EXPECT_FALSE(same) << type << " " << method;
      EXPECT_NEAR(result.at("f1").at("train").get<double>(), f32, 0.05) << type << " " << method;
      EXPECT_EQ(RunWell({"evaluate", type + method, "--json"}).json().at("f1").at("test"),
                result.at("f1").at("test"));
    }
  }
}

TEST_F(MethodsTest, TrainListsTheMethods) {
  const std::string help = RunWell({"train", "--help-all"}).out;
  EXPECT_NE(help.find("Methods:"), std::string::npos);
  EXPECT_NE(help.find("ngcn-layerwise"), std::string::npos);
  EXPECT_NE(help.find("clustergcn)"), std::string::npos);  // the methods that take a setting
}

}  // namespace
}  // namespace l2gcn
