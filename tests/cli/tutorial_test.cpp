// docs/your-own-data.md says what happens: every bash block of it is run, one after the other, as a reader
// would.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/process.h"

namespace l2gcn {
namespace {

class TutorialTest : public ProgramTest {};

std::string BashBlocks(const std::string& path) {
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

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(TutorialTest, EveryCommandOfTheTutorialWorks) {
  const std::string script = BashBlocks(std::string(L2GCN_SOURCE_DIR) + "/docs/your-own-data.md");
  ASSERT_NE(script.find("l2gcn train"), std::string::npos);
  std::ofstream(folder_ / "tutorial.sh") << "set -euo pipefail\nl2gcn() { '" L2GCN_BINARY "' \"$@\"; }\n"
                                         << script;
  const std::string command = "cd '" + folder_.string() + "' && bash tutorial.sh > out.txt 2> err.txt";
  ASSERT_EQ(std::system(command.c_str()), 0) << Read("err.txt");
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

}  // namespace
}  // namespace l2gcn
