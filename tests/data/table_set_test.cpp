#include "data/table_set.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "data/fixtures.h"
#include "data/npy.h"
#include "data/samples.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

Dataset Open(const fs::path& path, const OpenOptions& options = {}) {
  return OpenDataset(MakeContext(2), path.string(), options);
}
std::string InputError(const fs::path& path, const OpenOptions& options = {}) {
  return ErrorOf(ErrorKind::kInput, [&] { Open(path, options); });
}

TEST(EdgeList, HeadersSeparatorsCommentsAndWeights) {
  TemporaryFolder folder;
  for (const char* text :
       {"0,1\n1,2\n2,3\n", "source,target\n0,1\n1,2\n2,3\n", "# graph\n0\t1\n1\t2\n2\t3",
        "0 1\r\n1  2\r\n2 3\r\n", "% matrix\n0;1\n1;2\n2;3\n", "0,1,1.0\n1,2,1.0\n2,3,1.0\n",
        "a_col,b_col\n0,1\n1,2\n2,3\n", "\"0\",\"1\"\n\"1\",\"2\"\n\"2\",\"3\"\n"}) {
    const Dataset dataset = Open(folder.Write("e.txt", text));
    EXPECT_EQ(dataset.nodes(), 4u) << text;
    EXPECT_EQ(dataset.edges, 3u) << text;
    EXPECT_FALSE(dataset.graph.weighted()) << text;
    EXPECT_TRUE(dataset.node_ids.empty()) << text;
  }
  const Dataset weighted = Open(folder.Write("w.csv", "0,1,0.5\n1,0,2\n"));
  ASSERT_EQ(weighted.graph.entries(), 2u);
  EXPECT_EQ(weighted.graph.weights[0], 2.0f);
  const Dataset noted =
      Open(folder.Write("n.csv", "0,1,knows\n1,2,likes\n"));  // a third column of words is a note
  EXPECT_EQ(noted.edges, 2u);
  EXPECT_FALSE(noted.graph.weighted());
}

TEST(EdgeList, SparseHugeAndTextIdsKeepTheirNames) {
  TemporaryFolder folder;
  const Dataset sparse = Open(folder.Write("a.csv", "1000000,5\n5,70\n"));
  EXPECT_EQ(sparse.nodes(), 3u);
  EXPECT_EQ(sparse.NodeName(2), "1000000");
  const Dataset huge = Open(folder.Write("b.csv", "0,1\n9000000000000000000,-3\n"));
  EXPECT_EQ(huge.NodeName(0), "-3");
  EXPECT_EQ(huge.NodeName(3), "9000000000000000000");
  const Dataset text = Open(folder.Write("c.csv", "0,1\n007,1\nzürich,0\n"));
  ASSERT_EQ(text.nodes(), 4u);
  EXPECT_EQ(text.NodeName(0), "0");
  EXPECT_EQ(text.NodeName(2), "007");
  EXPECT_EQ(text.NodeName(3), "zürich");
}

TEST(EdgeList, PackedFilesAreReadAsTheyAre) {
  TemporaryFolder folder;
  const std::string text = "0,1\n1,2\n";
  gzFile gz = gzopen((folder.path() / "e.csv.gz").c_str(), "wb");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  folder.Write("e.csv.zst", packed);
  EXPECT_EQ(Open(folder.path() / "e.csv.gz").edges, 2u);
  EXPECT_EQ(Open(folder.path() / "e.csv.zst").edges, 2u);
  folder.Write("cut.csv.zst", packed.substr(0, packed.size() - 4));
  EXPECT_MENTIONS(InputError(folder.path() / "cut.csv.zst"), "zstd");
  folder.Write("bad.csv.gz", "\x1f\x8b this is no gzip file");
  EXPECT_MENTIONS(InputError(folder.path() / "bad.csv.gz"), "gzip");
}

TEST(TextSource, TextThatSwellsWithoutBoundIsRefused) {
  TemporaryFolder folder;
  const std::string text(size_t{300} << 20, '7');
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  const fs::path path = folder.Write("bomb.csv.zst", packed);
  const std::unique_ptr<ByteStream> stream = ByteStream::Open(path);
  std::vector<char> block(size_t{1} << 20);
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput,
                          [&] {
                            while (stream->Read(block.data(), block.size()) > 0) {
                            }
                          }),
                  "refused as a bomb");
}

TEST(EdgeList, MistakesAreNamedByLine) {
  TemporaryFolder folder;
  EXPECT_MENTIONS(InputError(folder.Write("a.csv", "0,1\n1,2\n3\n")), "a.csv:3: expected two node ids");
  EXPECT_MENTIONS(InputError(folder.Write("b.csv", "0,1,1\n1,2,heavy\n")),
                  "b.csv:2: column 2: the weight 'heavy' is no number");
  EXPECT_MENTIONS(InputError(folder.Write("c.csv", "")), "empty");
  EXPECT_MENTIONS(InputError(folder.Write("d.csv", "hello\nworld\n")), "d.csv:1");
  EXPECT_MENTIONS(InputError(folder.Write("e.csv", "0,1\n1,\n")), "e.csv:2");
}

TEST(TableSet, NodeTableWithCategoriesSplitAndEmptyLabels) {
  TemporaryFolder folder;
  OpenOptions options;
  options.edges = folder.Write("links.csv", "from,to\na,b\nb,c\nc,d\n").string();
  options.nodes = folder
                      .Write("people.csv",
                             "id,age,colour,kind,part\na,1.5,red,x,train\nb,2,blue,,val\nc,3,red,\"y, "
                             "z\",test\nd,4,green,x,train\n")
                      .string();
  options.label_column = "kind";
  const Dataset dataset = Open("", options);
  EXPECT_EQ(dataset.nodes(), 4u);
  EXPECT_EQ(dataset.features.cols(), 4u);  // age, blue, green, red
  EXPECT_EQ(std::vector<float>(dataset.features.matrix().row(2), dataset.features.matrix().row(3)),
            (std::vector<float>{3, 0, 0, 1}));
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"x", "y, z"}));
  EXPECT_EQ(dataset.labels.classes_of[1], -1);
  ASSERT_EQ(dataset.splits.size(), 1u);
  EXPECT_EQ(ResolveSplit(dataset, "column:part", 0).roles[2], static_cast<uint8_t>(Role::kTest));
  options.label_column = "knd";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Open("", options); }), "did you mean kind?");
}

TEST(TableSet, FeaturesInEveryFileKind) {
  TemporaryFolder folder;
  OpenOptions options;
  options.edges = folder.Write("e.csv", "0,1\n1,2\n").string();
  options.labels = folder.Write("l.csv", "id,y\n0,5\n1,9\n2,5\n").string();
  const auto with = [&](const fs::path& features) {
    options.features = features.string();
    return Open("", options);
  };
  const Dataset json = with(folder.Write("f.json", R"({"2": [3, 1], "0": [], "1": []})"));
  EXPECT_EQ(json.features.cols(), 4u);
  EXPECT_EQ(json.features.csr().nnz(), 2u);
  EXPECT_EQ(json.class_names, (std::vector<std::string>{"5", "9"}));
  const Dataset svm = with(folder.Write("f.svm", "0 1:0.5 3:2\n0 2:1\n0 # nothing\n"));
  EXPECT_EQ(svm.features.cols(), 3u);
  EXPECT_EQ(svm.features.csr().values[1], 2.0f);
  WriteNpy<float>(folder.path() / "f.npy", std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  EXPECT_EQ(with(folder.path() / "f.npy").features.matrix().row(2)[1], 6.0f);
  const Dataset csv = with(folder.Write("f.csv", ",p,q\n2,7,8\n0,1,2\n1,3,4\n"));
  EXPECT_EQ(csv.features.matrix().row(2)[0], 7.0f);
  WriteNpy<float>(folder.path() / "short.npy", std::vector<float>{1, 2}, {1, 2});
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.path() / "short.npy"); }),
                  "features or labels have 1 rows");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.Write("n.csv", "id,p\n0,1\n1,inf\n2,3\n")); }),
                  "n.csv:3: column p: inf is past what a number can hold");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.Write("r.csv", "id,p\n0,1\n1\n2,3\n")); }),
                  "r.csv:3: 1 cell on the line, expected 2; column p is missing");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.Write("d.csv", "id,p\n0,1\n0,2\n")); }),
                  "stands twice");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.Write("b.json", R"({"0": {"a": 1}})")); }),
                  "expected {\"node\"");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { with(folder.Write("c.json", R"({"0": [1, )")); }),
                  "no valid JSON at byte");
}

TEST(Filters, LargestComponentAndLeastDegree) {
  TemporaryFolder folder;
  const fs::path path = folder.Write("e.csv", "0,1\n1,2\n2,0\n2,3\n7,8\n");
  OpenOptions options;
  options.largest_component = true;
  const Dataset largest = Open(path, options);
  EXPECT_EQ(largest.nodes(), 4u);
  EXPECT_EQ(largest.edges, 4u);
  options.largest_component = false;
  options.min_degree = 2;
  const Dataset dense = Open(path, options);
  EXPECT_EQ(dense.nodes(), 3u);
  EXPECT_EQ(dense.edges, 3u);
  options.min_degree = 9;
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { Open(path, options); }), "leaves no node");
}

}  // namespace
}  // namespace l2gcn
