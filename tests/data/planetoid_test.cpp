#include "data/planetoid.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/fixtures.h"

namespace l2gcn {
namespace {

size_t CountRole(const Split& split, Role role) {
  return static_cast<size_t>(std::count(split.roles.begin(), split.roles.end(), static_cast<uint8_t>(role)));
}

Dataset ReadReal(const std::string& name) {
  return ReadPlanetoid(MakeContext(2), RealData() / "planetoid", name, {});
}

TEST(Planetoid, Cora) {
  L2GCN_NEEDS_REAL_DATA();
  const Dataset cora = ReadReal("cora");
  EXPECT_EQ(cora.nodes(), 2708u);
  EXPECT_EQ(cora.edges, 5278u);
  EXPECT_EQ(cora.changes.entries_read, 10858u);
  EXPECT_EQ(cora.changes.duplicates_dropped, 302u);
  EXPECT_EQ(cora.changes.reverses_added, 0u);
  EXPECT_EQ(cora.features.cols(), 1433u);
  EXPECT_TRUE(cora.features.is_sparse());
  EXPECT_EQ(cora.features.csr().nnz(), 49216u);
  EXPECT_EQ(cora.labels.classes, 7u);
  EXPECT_EQ(cora.preset_row, "cora");
  ASSERT_EQ(cora.splits.size(), 2u);
  EXPECT_EQ(cora.splits[0].name, "paper");
  EXPECT_EQ(CountRole(cora.splits[0], Role::kTrain), 1208u);
  EXPECT_EQ(CountRole(cora.splits[0], Role::kVal), 500u);
  EXPECT_EQ(CountRole(cora.splits[0], Role::kTest), 1000u);
  EXPECT_EQ(cora.splits[1].name, "public");
  EXPECT_EQ(CountRole(cora.splits[1], Role::kTrain), 140u);
}

TEST(Planetoid, CiteseersHolesAreUnlabelledAndEmpty) {
  L2GCN_NEEDS_REAL_DATA();
  const Dataset citeseer = ReadReal("citeseer");
  EXPECT_EQ(citeseer.nodes(), 3327u);
  EXPECT_EQ(citeseer.edges, 4552u);
  EXPECT_EQ(citeseer.self_loops, 124u);
  EXPECT_EQ(citeseer.labels.classes, 6u);
  for (const uint32_t hole : {2407u, 2489u, 3309u}) {
    EXPECT_EQ(citeseer.labels.classes_of[hole], -1);
    EXPECT_EQ(citeseer.features.csr().indptr[hole], citeseer.features.csr().indptr[hole + 1]);
  }
  EXPECT_EQ(std::count(citeseer.labels.classes_of.begin(), citeseer.labels.classes_of.end(), -1), 15);
  EXPECT_EQ(CountRole(citeseer.splits[0], Role::kTrain), 1812u);
  EXPECT_EQ(CountRole(citeseer.splits[0], Role::kTest), 1000u);
  uint32_t isolated = 0;
  for (uint32_t node = 0; node < citeseer.nodes(); ++node)
    isolated += citeseer.graph.degree(node) == 0 ? 1 : 0;
  EXPECT_EQ(isolated, 48u);
}

TEST(Planetoid, Pubmed) {
  L2GCN_NEEDS_REAL_DATA();
  const Dataset pubmed = ReadReal("pubmed");
  EXPECT_EQ(pubmed.nodes(), 19717u);
  EXPECT_EQ(pubmed.edges, 44324u);
  EXPECT_EQ(pubmed.features.cols(), 500u);
  EXPECT_EQ(pubmed.features.csr().nnz(), 988031u);
  EXPECT_EQ(pubmed.labels.classes, 3u);
  EXPECT_EQ(CountRole(pubmed.splits[0], Role::kTrain), 17717u);
  EXPECT_EQ(pubmed.splits[0].roles[18216], static_cast<uint8_t>(Role::kTrain));
  EXPECT_EQ(pubmed.splits[0].roles[18217], static_cast<uint8_t>(Role::kNone));
}

// Row i of tx belongs to node test.index[i]: shuffling the order of test.index would move features.
TEST(Planetoid, TestRowsFollowTheIndexFile) {
  L2GCN_NEEDS_REAL_DATA();
  const Dataset cora = ReadReal("cora");
  // First test node of the file is 2692; its words and class were read with scipy.
  const uint64_t begin = cora.features.csr().indptr[2692], end = cora.features.csr().indptr[2693];
  const std::vector<uint32_t> words(cora.features.csr().indices.begin() + begin,
                                    cora.features.csr().indices.begin() + end);
  EXPECT_EQ(words, (std::vector<uint32_t>{311, 314, 353, 505, 510, 621, 1075, 1132, 1171, 1226, 1230, 1301,
                                          1379, 1389, 1392}));
  EXPECT_EQ(cora.labels.classes_of[2692], 3);
}

TEST(Planetoid, DamagedFilesAreNamed) {
  L2GCN_NEEDS_REAL_DATA();
  TemporaryFolder folder;
  const std::filesystem::path real = RealData() / "planetoid";
  for (const char* part : {"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"}) {
    std::filesystem::copy_file(real / (std::string("ind.cora.") + part),
                               folder.path() / (std::string("ind.cora.") + part));
  }
  const auto read = [&] { ReadPlanetoid(MakeContext(1), folder.path(), "cora", {}); };
  std::filesystem::resize_file(folder.path() / "ind.cora.tx", 1000);
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, read), "ind.cora.tx: pickle refused at byte");
  std::filesystem::copy_file(real / "ind.cora.tx", folder.path() / "ind.cora.tx",
                             std::filesystem::copy_options::overwrite_existing);
  folder.Write("ind.cora.test.index", "2692\nhello\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, read), "ind.cora.test.index:2: expected one node number");
  folder.Write("ind.cora.test.index", "2692\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, read), "1 test nodes, but tx has 1000 rows");
}

}  // namespace
}  // namespace l2gcn
