#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/files.h"
#include "l2gcn/compare.h"
#include "l2gcn/error.h"
#include "l2gcn/report.h"
#include "l2gcn/train.h"
#include "report/html/embedding_map.h"
#include "report/html/page.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(Sha256Base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  EXPECT_EQ(Sha256Base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(Sha256Base64(std::string(1000, 'a')), "Qe3s5C1j6Nm/UVqbppMuHCDLyfWl0TRkWttdsblzfqM=");
}

TEST(Page, PolicyNamesItsOwnStyleAndScriptAndNothingElse) {
  Page page("t");
  page.Heading("h", "b");
  const std::string html = page.Finish("f");
  const size_t style = html.find("<style>") + 7, script = html.find("<script>") + 8;
  const std::string policy = ContentSecurityPolicy(false);
  EXPECT_NE(policy.find(Sha256Base64(html.substr(style, html.find("</style>") - style))), std::string::npos);
  EXPECT_NE(policy.find(Sha256Base64(html.substr(script, html.find("</script>", script) - script))),
            std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(html.find("content=\"" + policy), std::string::npos);
  EXPECT_EQ(html.find("http://www.w3.org"), html.rfind("http://")) << "nothing is fetched";
  EXPECT_EQ(html.find(" style=\""), std::string::npos) << "the policy forbids style attributes";
}

TEST(Page, DataCannotEndItsElement) {
  Page page("t");
  page.Data("d", R"({"a": "</script><script>alert(1)</script>"})");
  EXPECT_EQ(page.Finish("").find("<script>alert"), std::string::npos);
}

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-report-" + std::to_string(getpid()));
    fs::create_directories(root_);
    run_.output = (root_ / "run").string();
    run_.dataset_spec = "small";
    options_.map_nodes = 40;
    options_.ceilings = false;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Report(const Dataset& dataset) {
    RunTraining(MakeContext(1), dataset, SmallConfig(), run_);
    return MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  }
  std::string MakeReportOf(const Dataset& dataset) {
    run_.force = true;
    return Report(dataset);
  }
  fs::path root_;
  RunOptions run_;
  ReportOptions options_;
};

TEST_F(ReportTest, HasEveryPart) {
  const std::string html = Report(SmallDataset());
  for (const char* part :
       {"Training", "Scores", "Classes", "Confusion", "Calibration", "Map of the embeddings", "Nodes", "Data",
        "Time and memory", "Settings and versions", "Loss by epoch", "Most mistaken", "micro F1"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_LT(html.size(), 400u << 10);
  for (const char* not_a_number : {">nan", "\"nan", " nan"})
    EXPECT_EQ(html.find(not_a_number), std::string::npos);
}

TEST_F(ReportTest, MultiLabelAndSeveralSeeds) {
  run_.runs = 3;
  const std::string html = Report(SmallDataset(true));
  EXPECT_NE(html.find("Test F1 by seed"), std::string::npos);
  EXPECT_NE(html.find("Means of 3 seeds"), std::string::npos);
  EXPECT_NE(html.find("mean loss"), std::string::npos);
}

// The text of the cells of a table's column, by the table's caption.
std::vector<std::string> ColumnOf(const std::string& html, const std::string& caption, size_t column) {
  const size_t at = html.find(caption), end = html.find("</table>", at);
  const std::string table = html.substr(at, end - at);
  std::vector<std::string> found;
  const std::regex row("<tr>(.*?)</tr>"), cell("<t[dh][^>]*>(.*?)</t[dh]>"), tag("<[^>]*>");
  std::string flat;
  std::replace_copy(table.begin(), table.end(), std::back_inserter(flat), '\n', ' ');
  const std::string body = flat.substr(std::min(flat.find("<tbody>"), flat.size()));
  for (std::sregex_iterator r(body.begin(), body.end(), row), none; r != none; ++r) {
    const std::string cells = (*r)[1].str();
    std::vector<std::string> texts;
    for (std::sregex_iterator c(cells.begin(), cells.end(), cell); c != none; ++c)
      texts.push_back(std::regex_replace((*c)[1].str(), tag, ""));
    if (column < texts.size()) found.push_back(texts[column]);
  }
  return found;
}

TEST_F(ReportTest, NodeTablesDecideByTheModelsThresholds) {
  const Dataset dataset = SmallDataset(true);
  TrainConfig config = SmallConfig();
  config.threshold = 0.9999;  // no label is on
  RunTraining(MakeContext(1), dataset, config, run_);
  const std::string none = MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  const std::vector<std::string> said = ColumnOf(none, "Most mistaken", 2);
  ASSERT_FALSE(said.empty());
  for (const std::string& labels : said) EXPECT_EQ(labels, "none");
  config.threshold = 0.0001;  // every label is on
  run_.force = true;
  RunTraining(MakeContext(1), dataset, config, run_);
  const std::string all = MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  for (const std::string& labels : ColumnOf(all, "Most mistaken", 2)) EXPECT_EQ(labels, "red, green, blue");
}

TEST_F(ReportTest, ShowsMemoryByPhase) {
  run_.load_seconds = 0.5;
  const std::string html = Report(SmallDataset());
  const std::vector<std::string> phases = ColumnOf(html, "Seconds and memory by phase", 0);
  const std::vector<std::string> memory = ColumnOf(html, "Seconds and memory by phase", 4);
  EXPECT_EQ(phases,
            (std::vector<std::string>{"load", "setup", "aggregate", "train", "transform", "evaluate"}));
  for (const std::string& bytes : memory) EXPECT_NE(bytes.find("iB"), std::string::npos) << bytes;
}

TEST_F(ReportTest, TheMapCountsLabelledNodes) {
  const Dataset dataset = SmallDataset();
  uint64_t labelled = 0;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) labelled += dataset.labels.IsLabelled(node);
  ASSERT_LT(labelled, dataset.nodes());
  EXPECT_NE(Report(dataset).find("40 of " + CountText(labelled) + " labelled nodes"), std::string::npos);
}

// What is shown of one seed is of the seed that the model is taken from, and every part says so.
TEST_F(ReportTest, ShowsOneSeedThroughoutAndNamesIt) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.epochs = {1};
  config.lr = 0.001;  // too little to learn all: seeds differ
  run_.runs = 3;
  run_.force = true;
  uint64_t shown = 0;
  do {  // until the best seed is not the first
    config.seed += 10;
    RunTraining(MakeContext(1), dataset, config, run_);
    shown = OpenRun(run_.output).model.config.seed;
  } while (shown == config.seed && config.seed < 200);
  ASSERT_NE(shown, config.seed);
  const std::string html = MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  const std::string label = "<small><bdi>seed " + std::to_string(shown) + ", best of 3 on validation</bdi>";
  for (const char* part : {"Training", "Scores", "Classes", "Confusion", "Calibration",
                           "Map of the embeddings", "Nodes", "Unlabelled nodes"}) {
    EXPECT_NE(html.find(std::string(">") + part + " " + label), std::string::npos) << part;
  }
  const auto result = nlohmann::json::parse(ReadTextFile(fs::path(run_.output) / "result.json"));
  const auto& run = result.at("runs")[shown - config.seed];
  EXPECT_EQ(ColumnOf(html, "Baseline: ", 2).back(), PercentText(run.at("f1").at("test").get<double>()));
  EXPECT_NE(html.find(fmt::format("[{:.6g},", run.at("loss")[0][0].get<double>())), std::string::npos);
}

TEST_F(ReportTest, CalibrationOfTwoClassesIsThatOfTheSecond) {
  Dataset dataset = SmallDataset();
  dataset.labels.classes = 2;
  int32_t* const classes = dataset.labels.classes_of.mutable_data();
  for (uint32_t node = 0; node < dataset.nodes(); ++node) classes[node] = std::min(classes[node], 1);
  dataset.class_names = {"stays", "leaves"};
  const std::string html = Report(dataset);
  EXPECT_NE(html.find("probability of “leaves”"), std::string::npos);
  EXPECT_NE(html.find("share that is “leaves”"), std::string::npos);
  EXPECT_EQ(html.find("how often it is right"), std::string::npos);
  EXPECT_NE(MakeReportOf(SmallDataset()).find("how often it is right"), std::string::npos);
  EXPECT_NE(MakeReportOf(SmallDataset(true)).find("probability of a label"), std::string::npos);
}

TEST_F(ReportTest, CurvesMarkTheEpochWhoseWeightsWereKept) {
  const Dataset dataset = SmallDataset();
  TrainConfig config = SmallConfig();
  config.stop = StopRule::kEarly;
  config.val_every = 1;
  RunTraining(MakeContext(1), dataset, config, run_);
  const std::string html = MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  const auto result = nlohmann::json::parse(ReadTextFile(fs::path(run_.output) / "result.json"));
  for (const auto& layer : result.at("runs")[0].at("layers")) {
    const std::string text = ">epoch " + std::to_string(layer.at("kept_epoch").get<int>()) + "</text>";
    const size_t in_losses = html.find(text, html.find("Loss by epoch"));
    EXPECT_NE(in_losses, std::string::npos) << text;
    EXPECT_NE(html.find(text, html.find("Validation F1 by epoch")), std::string::npos) << text;
  }
}

TEST_F(ReportTest, NamesTheRunItsDateAndTheNotesOfLoading) {
  options_.notes = {"edges.csv: 4 duplicates <dropped>"};
  const std::string html = Report(SmallDataset());
  EXPECT_NE(html.find("Run " + run_.output + ", finished 20"), std::string::npos);
  EXPECT_TRUE(std::regex_search(html, std::regex("finished \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC")));
  EXPECT_NE(html.find("<li><bdi>edges.csv: 4 duplicates &lt;dropped&gt;</bdi></li>"), std::string::npos);
}

TEST_F(ReportTest, ListsPredictionsOfUnlabelledNodes) {
  Dataset dataset = SmallDataset();
  uint64_t unlabelled = 0, listed = 0;
  for (uint32_t node = 0; node < dataset.nodes(); ++node) unlabelled += !dataset.labels.IsLabelled(node);
  const std::string html = Report(dataset);
  for (const std::string& count : ColumnOf(html, "Classes predicted for", 1)) listed += std::stoull(count);
  EXPECT_EQ(listed, unlabelled);
  const std::vector<std::string> said = ColumnOf(html, "of these nodes", 1);
  ASSERT_EQ(said.size(), std::min<uint64_t>(20, unlabelled));
  for (const std::string& text : said)
    EXPECT_TRUE(std::regex_match(text, std::regex("(red|green|blue) [01]\\.\\d{4}"))) << text;

  dataset = SmallDataset(true);
  dataset.labels.labelled = Array<uint8_t>::Allocate(dataset.nodes());
  for (uint32_t node = 0; node < dataset.nodes(); ++node)
    dataset.labels.labelled.mutable_data()[node] = node > 2;
  const std::string many = MakeReportOf(dataset);
  EXPECT_EQ(ColumnOf(many, "of these nodes", 0).size(), 3u);
  EXPECT_EQ(MakeReportOf(SmallDataset(true)).find("Unlabelled nodes"), std::string::npos);
}

TEST_F(ReportTest, SeveralRunsStandSideBySideFirst) {
  const Dataset dataset = SmallDataset();
  std::vector<std::string> runs;
  for (const char* name : {"one", "two<b>"}) {
    run_.output = (root_ / name).string();
    RunTraining(MakeContext(1), dataset, SmallConfig(), run_);
    runs.push_back(run_.output);
  }
  const std::string html = MakeReport(MakeContext(1), runs, options_, &dataset);
  EXPECT_EQ(ColumnOf(html, "Means, with the standard deviation", 0).size(), 2u);
  EXPECT_EQ(ColumnOf(html, "Means, with the standard deviation", 2),
            (std::vector<std::string>{"lgcn", "lgcn"}));
  EXPECT_LT(html.find("Runs side by side</h2>"), html.find("<details class=\"part\" id=\"run-1\">"));
  EXPECT_NE(html.find("href=\"#run-2\""), std::string::npos);
  EXPECT_EQ(html.find("two<b>"), std::string::npos);
  for (const char* record : {R"({"runs": []})", R"({"runs": [1], "dataset": 3})"}) {
    fs::create_directories(root_ / "damaged");
    WriteFileWhole(root_ / "damaged/result.json", record);
    EXPECT_THROW(MakeReport(MakeContext(1), {runs[0], (root_ / "damaged").string()}, options_, &dataset),
                 Error);
  }
  std::set<std::string> ids;
  const std::regex id(" id=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), id), none; at != none; ++at)
    EXPECT_TRUE(ids.insert((*at)[1].str()).second) << (*at)[1].str();
}

TEST_F(ReportTest, ReproductionsNameTheirColumnsAndDrawTheirFigures) {
  WriteFileWhole(root_ / "fig-loss.json", R"({"quick": true, "fig-loss": [
    {"set": "cora", "data": "real", "method": "lgcn", "layers": 2, "epochs": 4, "runs": 2, "f1": 84.5, "f1_sd": 0.5,
     "seconds": 0.5, "stopped_by_clock": false, "training_bytes": 1048576, "sampler_bytes": 0, "paper_f1": 84.7,
     "paper_seconds": null, "loss": [[1.5, 0.5], [0.25, 0.125]]}]})");
  const std::string html = MakeReport(MakeContext(1), {(root_ / "fig-loss.json").string()}, options_);
  EXPECT_NE(html.find("Loss by epoch, cora (real)"), std::string::npos);
  for (const char* key : {"paper_f1", "f1_sd", "stopped_by_clock", "training_bytes"})
    EXPECT_EQ(html.find(key), std::string::npos) << key;
  EXPECT_EQ(ColumnOf(html, "figures are those it prints", 6), std::vector<std::string>{"84.50 ± 0.50"});
  EXPECT_EQ(ColumnOf(html, "figures are those it prints", 7), std::vector<std::string>{"84.7"});
}

TEST(Page, TablesSayThatTheyScrollAndArePrintedWhole) {
  Page page("t");
  page.Table({"a", "b"}, {{{"x"}, {"1"}}}, {"caption", false, true});
  const std::string html = page.Finish("");
  EXPECT_NE(html.find("<div class=\"table whole\">"), std::string::npos);
  EXPECT_NE(html.find("scroll sideways"), std::string::npos);
  const std::string style = ReportStyle(), print = style.substr(style.find("@media print"));
  EXPECT_NE(print.find(".whole"), std::string::npos);
  EXPECT_NE(print.find("break-inside:avoid"), std::string::npos);
}

// Names of classes and nodes are whatever a file says; none may become markup.
TEST_F(ReportTest, HostileNamesAreText) {
  Dataset dataset = SmallDataset();
  dataset.name = "<img src=x onerror=alert(1)>";
  dataset.class_names = {"</td><script>alert(1)</script>", "\" onmouseover=\"alert(2)",
                         "\xD7\xA9\xD7\x9C\xE2\x80\xAE\xD7\x95\xD7\x9D"};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < dataset.nodes(); ++i)
    names.push_back("<svg/onload=alert(" + std::to_string(i) + ")>&'\"</script>");
  dataset.node_names = NameTable::FromStrings(names);
  const std::string html = Report(dataset);
  // Elements that begin anywhere are ours: one style, two scripts (data and code), no img, no handler.
  const auto count = [&](const std::string& pattern) {
    const std::regex expression(pattern);
    return std::distance(std::sregex_iterator(html.begin(), html.end(), expression), std::sregex_iterator());
  };
  EXPECT_EQ(count("<script"), 2);
  EXPECT_EQ(count("<img"), 0);
  EXPECT_EQ(count("<svg/"), 0);
  EXPECT_EQ(count("\xE2\x80\xAE"), 0) << "an override of the direction";
  EXPECT_NE(html.find("&lt;/td&gt;&lt;script&gt;"), std::string::npos);
  EXPECT_NE(html.find("&quot; onmouseover=&quot;"), std::string::npos);
}

TEST_F(ReportTest, WithoutItsDataSetSaysSo) {
  RunTraining(MakeContext(1), SmallDataset(), SmallConfig(), run_);
  const std::string html = MakeReport(MakeContext(1), {run_.output}, options_);
  EXPECT_NE(html.find("cannot be used"), std::string::npos);
  EXPECT_NE(html.find("Loss by epoch"), std::string::npos);
}

TEST_F(ReportTest, ComparisonsAndMistakes) {
  CompareOptions compare;
  compare.methods = {"lgcn", "gcn"};
  compare.overrides = {{"epochs", "3"}, {"hidden", "8"}, {"split", "random:0.5,0.2,0.3"}};
  WriteFileWhole(root_ / "compare.json", Compare(MakeContext(1), SmallDataset(), compare).json);
  const std::string html = MakeReport(MakeContext(1), {(root_ / "compare.json").string()}, options_);
  EXPECT_NE(html.find("Test F1 against training time"), std::string::npos);
  EXPECT_NE(html.find("lgcn"), std::string::npos);
  WriteFileWhole(root_ / "other.json", "{\"a\": 1}");
  EXPECT_THROW(MakeReport(MakeContext(1), {(root_ / "other.json").string()}, options_), Error);
  WriteFileWhole(root_ / "broken.json", "{\"a\": ");
  EXPECT_THROW(MakeReport(MakeContext(1), {(root_ / "broken.json").string()}, options_), Error);
  EXPECT_THROW(MakeReport(MakeContext(1), {(root_ / "absent").string()}, options_), Error);
}

// Two clouds far apart stay apart, whatever the number of threads.
TEST(EmbeddingMap, KeepsCloudsApart) {
  Matrix rows = Matrix::Allocate(80, 5);
  const RandomStream random(1, RandomUse::kGenerator);
  for (size_t i = 0; i < rows.rows; ++i) {
    for (size_t c = 0; c < rows.cols; ++c)
      rows.mutable_row(i)[c] = random.Normal(i * 8 + c) + (i < 40 ? 0.0f : 30.0f);
  }
  for (const char* kind : {"pca", "tsne"}) {
    const PlanePoints one = PlaceInPlane(MakeContext(1), rows, kind),
                      two = PlaceInPlane(MakeContext(2), rows, kind);
    EXPECT_EQ(one.x, two.x);
    EXPECT_EQ(one.y, two.y);
    double within = 0, between = 1e300;
    for (size_t i = 0; i < 80; ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double d = std::hypot(one.x[i] - one.x[j], one.y[i] - one.y[j]);
        if ((i < 40) == (j < 40)) {
          within += d / (2 * 40 * 39 / 2);
        } else {
          between = std::min(between, d);
        }
      }
    }
    EXPECT_GT(between, within) << kind;
  }
}

}  // namespace
}  // namespace l2gcn
