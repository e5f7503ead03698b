// The documentation does what it says: the bash blocks of each page run one after the other in an empty folder, as a reader
// would run them. Blocks that cannot run here are fenced as console; scripts/check-docs.py lists their pages.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

const std::filesystem::path kSource = L2GCN_SOURCE_DIR;

std::string BashBlocks(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string script;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```bash";
    } else if (inside) {
      script += line + "\n";
    }
  }
  return script;
}

// README.md and the pages of docs/ that have bash blocks, relative to the source tree.
std::vector<std::string> PagesWithCommands() {
  std::vector<std::string> pages = {"README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "docs")) {
    if (entry.path().extension() == ".md" && !BashBlocks(entry.path()).empty()) {
      pages.push_back(std::filesystem::relative(entry.path(), kSource).string());
    }
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class DocumentationTest : public ProgramTest {
 protected:
  // Runs a script in the folder with the program on the PATH; its output goes to out.txt and err.txt.
  void RunScript(const std::string& script) const {
    const std::string programs = std::filesystem::path(L2GCN_BINARY).parent_path().string();
    std::ofstream(folder_ / "page.sh") << "set -euo pipefail\nexport PATH='" << programs << "':\"$PATH\"\n"
                                       << script;
    const std::string command = "cd '" + folder_.string() + "' && bash page.sh > out.txt 2> err.txt";
    ASSERT_EQ(std::system(command.c_str()), 0) << Read("out.txt") << Read("err.txt");
  }
};

class PageTest : public DocumentationTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(PageTest, EveryCommandWorks) {
  const std::string script = BashBlocks(kSource / GetParam());
  ASSERT_NE(script.find("l2gcn "), std::string::npos);
  RunScript(script);
}

std::string PageName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Documentation, PageTest, ::testing::ValuesIn(PagesWithCommands()), PageName);

TEST_F(DocumentationTest, TheTutorialPredictsWhatItPromises) {
  ASSERT_NO_FATAL_FAILURE(RunScript(BashBlocks(kSource / "docs/tutorial.md")));
  EXPECT_EQ(LinesOf(Read("joined.csv")).size(), 401u);
  EXPECT_EQ(LinesOf(Read("predictions.csv")).size(), 401u);
  EXPECT_EQ(LinesOf(Read("next-predictions.csv")).size(), 401u);
  const std::string out = Read("out.txt"), err = Read("err.txt");
  int right = 0;
  for (const std::string& line : LinesOf(out)) {
    if (line.find("people without a label are predicted right") != std::string::npos) right = std::stoi(line);
  }
  EXPECT_GE(right, 64) << out;  // of 80
  EXPECT_NE(err.find("edges from column caller to column callee, weight minutes"), std::string::npos) << err;
  EXPECT_NE(err.find("missing in column age"), std::string::npos) << err;
  EXPECT_NE(err.find("count as other (Paris)"), std::string::npos) << err;
}

TEST_F(DocumentationTest, TheExampleOfTheCommandLineWorks) {
  RunScript("bash '" + (kSource / "examples/train.sh").string() + "'");
  EXPECT_EQ(LinesOf(Read("predictions.csv")).size(), 2709u);
}

}  // namespace
}  // namespace l2gcn
