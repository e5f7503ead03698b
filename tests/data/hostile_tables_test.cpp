// Hostile but legal tables, written by Python (hostile_tables.py): read right, or refused with file, line and
// column.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/fixtures.h"
#include "l2gcn/dataset.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

void ExpectHeld(const Json& expected, const Dataset& dataset, const std::string& name) {
  EXPECT_EQ(dataset.nodes(), expected.at("nodes").get<uint32_t>()) << name;
  EXPECT_EQ(dataset.edges, expected.at("edges").get<uint64_t>()) << name;
  EXPECT_EQ(dataset.graph.weighted(), expected.value("weighted", false)) << name;
  if (expected.contains("width")) {
    EXPECT_EQ(dataset.features.cols(), expected["width"].get<size_t>()) << name;
    EXPECT_EQ(dataset.labels.classes, 2u) << name;
  }
  if (expected.contains("names")) {
    std::vector<std::string> names;
    for (uint32_t node = 0; node < dataset.nodes(); ++node) names.push_back(dataset.NodeName(node));
    EXPECT_EQ(names, expected["names"].get<std::vector<std::string>>()) << name;
  }
  if (expected.contains("row")) {
    const auto node = expected["row"][0].get<uint32_t>();
    const auto cells = expected["row"][1].get<std::vector<float>>();
    const Matrix& dense = dataset.features.matrix();
    ASSERT_EQ(dense.cols, cells.size()) << name;
    EXPECT_EQ(std::vector<float>(dense.row(node), dense.row(node) + dense.cols), cells) << name;
  }
}

TEST(HostileTables, ReadRightOrRefusedWithTheirPlace) {
  TemporaryFolder folder;
  const std::string script = std::string(L2GCN_SOURCE_DIR) + "/tests/data/hostile_tables.py";
  const std::string command = "python3 '" + script + "' '" + folder.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << "python3 is needed: scripts/install-deps.sh";
  const Json written = Json::parse(ReadTextFile(folder.path() / "cases.json"));
  EXPECT_GE(written.at("cases").size(), 20u);
  for (const Json& one : written.at("cases")) {
    const auto name = one.at("name").get<std::string>();
    OpenOptions options;
    options.edges = (folder.path() / (name + "-edges.csv")).string();
    if (one.at("has_nodes")) options.nodes = (folder.path() / (name + "-nodes.csv")).string();
    const auto open = [&] { return OpenDataset(MakeContext(2), "", options); };
    if (one.at("refuse").empty()) {
      EXPECT_NO_THROW(ExpectHeld(one.at("expect"), open(), name)) << name;
      continue;
    }
    const std::string message = ErrorOf(ErrorKind::kInput, open);
    for (const Json& word : one.at("refuse")) EXPECT_MENTIONS(message, word.get<std::string>());
  }
}

}  // namespace
}  // namespace l2gcn
