#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/generator_shapes.h"
#include "l2gcn/error.h"
#include "l2gcn/generate.h"
#include "l2gcn/reproduce.h"
#include "report/comparison.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

CompareOptions SmallOptions(std::vector<std::string> methods) {
  CompareOptions options;
  options.methods = std::move(methods);
  options.overrides = {{"epochs", "20"}, {"hidden", "16"}, {"batch", "20"}, {"split", "random:0.5,0.2,0.3"}};
  return options;
}

TEST(Compare, OneRowAMethodWithTheSameFiguresInEveryForm) {
  const Dataset dataset = SmallDataset();
  CompareOptions options = SmallOptions({"lgcn", "gcn", "vrgcn"});
  options.runs = 2;
  options.equal_f1 = true;
  const Comparison comparison = MeasureComparison(MakeContext(2), dataset, options);
  ASSERT_EQ(comparison.rows.size(), 3u);
  EXPECT_EQ(comparison.rows[1].config.adjacency, std::vector{Adjacency::kSym});
  EXPECT_EQ(comparison.rows[0].config.batch, comparison.rows[2].config.batch);
  EXPECT_GT(comparison.rows[2].sampler_bytes, comparison.rows[0].sampler_bytes);
  const auto json = nlohmann::json::parse(ComparisonToJson(comparison));
  const std::string csv = ComparisonToCsv(comparison);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  for (size_t i = 0; i < 3; ++i) {
    const CompareRow& row = comparison.rows[i];
    EXPECT_EQ(row.runs, 2u);
    EXPECT_GT(row.f1, 0.4) << row.method;
    EXPECT_GT(row.seconds, 0);
    EXPECT_NEAR(row.target_f1, comparison.rows[0].f1_val - 0.005, 1e-12);
    EXPECT_EQ(json.at("methods")[i].at("method"), row.method);
    EXPECT_EQ(json.at("methods")[i].at("f1").at("test"), row.f1);
    EXPECT_NE(ComparisonToText(comparison).find(row.method), std::string::npos);
    // Reached exactly where the curve first reaches it.
    const auto reached =
        std::find_if(row.validation.begin(), row.validation.end(),
                     [&](const SeedResult::ValidationPoint& point) { return point.f1 >= row.target_f1; });
    EXPECT_EQ(row.seconds_to_f1, reached == row.validation.end() ? -1 : reached->seconds) << row.method;
  }
}

TEST(Compare, OneComparisonForEachValueOfWhatGrows) {
  CompareOptions options = SmallOptions({"lgcn"});
  options.vary = "layers";
  options.values = {1, 3};
  const Study study = Compare(MakeContext(1), SmallDataset(), options);
  const auto json = nlohmann::json::parse(study.json).at("comparisons");
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1].at("methods")[0].at("config").at("layers"), 3);
  EXPECT_EQ(std::count(study.csv.begin(), study.csv.end(), '\n'), 2);
  EXPECT_NE(study.text.find("layers: 3"), std::string::npos);
  ASSERT_EQ(study.files.size(), 1u);
  EXPECT_EQ(study.files[0].first, "growth.svg");
  options.vary = "nodes";
  EXPECT_THROW(Compare(MakeContext(1), SmallDataset(), options), Error) << "this data set has its nodes";
}

TEST(Compare, TheClockStopsATraining) {
  const Dataset dataset = SmallDataset();
  CompareOptions options = SmallOptions({"gcn"});
  options.overrides[0].second = "1000000";
  options.max_seconds = 0.1;
  const Comparison comparison = MeasureComparison(MakeContext(1), dataset, options);
  EXPECT_TRUE(comparison.rows[0].stopped_by_clock);
  EXPECT_LT(comparison.rows[0].epochs, 1000000);
}

// An automatic rate needs evaluations, and its cool-down one last decision; a time limit far away changes neither.
TEST(Compare, AFoundRateTrainsAsItDoesAlone) {
  const Dataset dataset = SmallDataset(false, false, 600);
  for (const double max_seconds : {0.0, 1e6}) {
    CompareOptions options = SmallOptions({"layerwise"});
    options.overrides.emplace_back("lr", "auto");
    options.max_seconds = max_seconds;
    const Comparison comparison = MeasureComparison(MakeContext(1), dataset, options);
    Trained alone = Train(MakeContext(1), dataset, comparison.rows[0].config);
    EvaluateTrained(MakeContext(1), dataset, alone);
    EXPECT_EQ(comparison.rows[0].f1, alone.result.f1_test) << max_seconds;
    EXPECT_EQ(comparison.rows[0].f1_val, alone.result.f1_val) << max_seconds;
  }
}

TEST(Compare, SettingsGoToTheMethodsThatHaveThem) {
  const Dataset dataset = SmallDataset();
  CompareOptions options = SmallOptions({"sgc", "gcn"});
  options.overrides.emplace_back("hops", "3");
  const Comparison comparison = MeasureComparison(MakeContext(1), dataset, options);
  EXPECT_EQ(comparison.rows[0].config.hops, 3u);
}

TEST(Compare, UnknownMethodsAndTargetsAreErrorsThatNameTheNearest) {
  const Dataset dataset = SmallDataset();
  try {
    Compare(MakeContext(1), dataset, SmallOptions({"lgcn", "fastgnc"}));
    FAIL() << "compared";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fastgcn"), std::string::npos) << error.what();
  }
  ReproduceOptions options;
  options.target = "table-sot";
  try {
    Reproduce(MakeContext(1), options);
    FAIL() << "reproduced";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("table-sota"), std::string::npos) << error.what();
  }
}

TEST(Reproduce, OnlyTheSetsAskedForAndNoLongerThanAllowed) {
  ReproduceOptions options;
  options.target = "table-sota";
  options.sets = {"cora"};
  options.runs = 1;
  options.max_seconds = 0.01;
  options.quick = true;
  const std::string text = Reproduce(MakeContext(1), options).text;
  EXPECT_NE(text.find("cora"), std::string::npos) << text;
  EXPECT_EQ(text.find("pubmed"), std::string::npos) << text;
  EXPECT_NE(text.find("*: stopped past 0.01 seconds"), std::string::npos) << text;
  options.sets = {"corra"};
  try {
    Reproduce(MakeContext(1), options);
    FAIL() << "reproduced";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'cora'"), std::string::npos) << error.what();
  }
}

// --quick shrinks every shape as far as it can be shrunk, not further.
TEST(Reproduce, EveryShapeCanBeDrawnAtItsQuickScale) {
  for (const std::string& shape : GeneratorShapes()) {
    if (shape == "papers100m") continue;  // in none of the tables
    GenerateOptions options;
    options.shape = shape;
    options.scale = QuickScale(shape);
    EXPECT_NO_THROW(ResolveGeneratorPlan(options)) << shape;
  }
}

}  // namespace
}  // namespace l2gcn
