// Small or odd files that once took minutes or gigabytes. Limits are in seconds of this process's processor time and
// far above what is needed, so that a busy machine passes; what they guard against took a hundred times as long.
#include <gtest/gtest.h>
#include <zstd.h>

#include <ctime>

#include "data/fixtures.h"
#include "data/table_schema.h"
#include "l2gcn/dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

double CpuSeconds(const std::function<void()>& body) {
  const std::clock_t begin = std::clock();
  body();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string Packed(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 19));
  return packed;
}

OpenOptions WithNodes(const TemporaryFolder& folder, const fs::path& nodes) {
  OpenOptions options;
  options.edges = folder.Write("edges.csv", "source,target\nn0,n1\nn1,n2\nn2,n3\nn3,n4\nn4,n5\n").string();
  options.nodes = nodes.string();
  options.label_column = "label";
  return options;
}

// Six nodes whose table has a header longer than 256 KiB; cell(row, column) are the cells behind id and label.
fs::path WideTable(const TemporaryFolder& folder, size_t columns,
                   const std::function<char(size_t, size_t)>& cell) {
  std::string text = "id,label";
  for (size_t c = 0; c < columns; ++c) text += ",column" + std::to_string(1000000 + c);
  for (size_t row = 0; row < 6; ++row) {
    text += "\nn" + std::to_string(row) + (row % 2 == 0 ? ",even" : ",odd");
    for (size_t c = 0; c < columns; ++c) text += {',', cell(row, c)};
  }
  return folder.Write("wide.csv", text + "\n");
}

TEST(HostileSize, AHeaderOfManyColumnsIsAHeaderAndIsReadInAFewPasses) {
  constexpr size_t kColumns = 40000;
  const TemporaryFolder folder;
  // Every column holds words, and the words stand behind what is looked at first.
  const fs::path path = WideTable(folder, kColumns, [](size_t row, size_t c) {
    return row < 4 ? '1' : static_cast<char>('x' + (row + c) % 2);
  });
  ASSERT_GT(fs::file_size(path), size_t{1} << 19);
  Dataset dataset;
  const double reading =
      CpuSeconds([&] { dataset = OpenDataset(MakeContext(1), "", WithNodes(folder, path)); });
  EXPECT_EQ(dataset.nodes(), 6u);
  EXPECT_EQ(dataset.schema.columns.size(), kColumns);
  EXPECT_EQ(dataset.schema.columns[0].name, "column1000000");
  EXPECT_TRUE(dataset.schema.columns[0].category);
  EXPECT_LT(reading, 10);
}

TEST(HostileSize, ManyColumnsOfNumbersAreFittedInTimeLinearInTheirNumber) {
  constexpr size_t kColumns = 40000;
  const TemporaryFolder folder;
  const fs::path path = WideTable(
      folder, kColumns, [](size_t row, size_t c) { return static_cast<char>('0' + (row * c) % 7); });
  const Dataset dataset = OpenDataset(MakeContext(1), "", WithNodes(folder, path));
  const double fitting = CpuSeconds([&] {
    const TableSchema schema = FitSchema(MakeContext(1), dataset, {});
    EXPECT_EQ(schema.columns[1].fill, 2.5f);  // the median of 0 to 5
    EXPECT_EQ(ApplySchema(MakeContext(1), schema, dataset).cols(), dataset.features.cols());
  });
  EXPECT_LT(fitting, 5);
}

TEST(HostileSize, AKilobyteThatUnpacksToOneLongLineIsReadInTimeLinearInTheLine) {
  const TemporaryFolder folder;
  const fs::path path = folder.Write("zeros.csv.zst", Packed(std::string(40000000, '0')));
  ASSERT_LT(fs::file_size(path), 4096u);
  OpenOptions edges;
  edges.edges = path.string();
  EXPECT_LT(CpuSeconds([&] {
              EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), "", edges); }),
                              "expected two node ids");
            }),
            20);
  EXPECT_LT(CpuSeconds([&] {
              ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), "", WithNodes(folder, path)); });
            }),
            20);
}

TEST(HostileSize, AKilobyteOfZeroBytesIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const fs::path path = folder.Write("zeros.csv.zst", Packed(std::string(40000000, '\0')));
  OpenOptions edges;
  edges.edges = path.string();
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), "", edges); }), "zero byte");
}

// Many quoted cells on one line: each was looked at from the line's start.
TEST(HostileSize, LongLinesOfQuotedCellsAreReadInTimeLinearInTheLine) {
  std::string line;
  for (size_t i = 0; i < 1000000; ++i) line += "\"x\" ";
  const TemporaryFolder folder;
  OpenOptions edges;
  edges.edges = folder.Write("quotes.csv", "0 1\n" + line + "\n").string();
  EXPECT_LT(CpuSeconds([&] { ErrorOf(ErrorKind::kInput, [&] { OpenDataset(MakeContext(1), "", edges); }); }),
            10);
}

}  // namespace
}  // namespace l2gcn
