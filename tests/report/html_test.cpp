#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

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
  EXPECT_NE(html.find("means of 3 seeds"), std::string::npos);
  EXPECT_NE(html.find("mean loss"), std::string::npos);
}

// Names of classes and nodes are whatever a file says; none may become markup.
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
  config.threshold = Threshold{0.9999};  // no label is on
  RunTraining(MakeContext(1), dataset, config, run_);
  const std::string none = MakeReport(MakeContext(1), {run_.output}, options_, &dataset);
  const std::vector<std::string> said = ColumnOf(none, "Most mistaken", 2);
  ASSERT_FALSE(said.empty());
  for (const std::string& labels : said) EXPECT_EQ(labels, "none");
  config.threshold = Threshold{0.0001};  // every label is on
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
  WriteFileWhole(root_ / "compare.json", ComparisonToJson(Compare(MakeContext(1), SmallDataset(), compare)));
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
