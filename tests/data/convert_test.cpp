#include "l2gcn/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "core/rng.h"
#include "data/edge_stream.h"
#include "data/fixtures.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "data/reader.h"
#include "data/samples.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// An edge list whose ids are spelled by `name`, with repeats, self loops and, if asked, weights.
std::string EdgeText(size_t edges, uint32_t nodes, bool weighted,
                     const std::function<std::string(uint64_t)>& name) {
  const RandomStream stream(9, RandomUse::kGenerator);
  std::string text = weighted ? "source,target,weight\n" : "source,target\n";
  for (size_t e = 0; e < edges; ++e) {
    text += name(stream.Below(3 * e, nodes)) + "," + name(stream.Below(3 * e + 1, nodes));
    if (weighted) text += "," + std::to_string(1 + stream.Below(3 * e + 2, 5));
    text += "\n";
  }
  return text;
}

// The external sort must give what opening in memory gives, for every kind of ids and every option.
TEST(Convert, StreamedEdgeListsEqualThoseReadInMemory) {
  const std::vector<std::function<std::string(uint64_t)>> spellings = {
      [](uint64_t id) { return std::to_string(id); },
      [](uint64_t id) { return std::to_string(id * 7 + 3); },
      [](uint64_t id) { return std::to_string(static_cast<int64_t>(id) * 5000000000 - 7); },
      [](uint64_t id) { return "user_" + std::to_string(id); },
      [](uint64_t id) { return "a name of more than fifteen bytes " + std::to_string(id); },
  };
  for (const auto& spelling : spellings) {
    for (const bool weighted : {false, true}) {
      for (const bool directed : {false, true}) {
        TemporaryFolder folder;
        const fs::path path = folder.Write("list.csv", EdgeText(20000, 1500, weighted, spelling));
        OpenOptions options;
        options.directed = options.one_way = directed;
        options.keep_self_loops = weighted;
        const Context context = MakeContext(2);
        const Dataset expected = OpenDataset(context, path.string(), options);
        for (const uint32_t threads : {1u, 3u}) {
          const fs::path out = folder.path() / ("out" + std::to_string(threads));
          ConvertDataset(MakeContext(threads), path.string(), options, out.string(), {});
          const Dataset streamed = OpenNative(context, out);
          ValidateDataset(context, streamed);
          ExpectSameData(expected, streamed);
        }
      }
    }
  }
}

TEST(Convert, RunsSpilledToDiskMergeToTheSame) {
  TemporaryFolder folder;
  const fs::path path = folder.Write(
      "long.csv", EdgeText(3000000, 40000, false, [](uint64_t id) { return std::to_string(id); }));
  Context context = MakeContext(4);
  context.host_memory = uint64_t{64} << 20;  // 3 M edges are 6 M entries of 8 bytes: several runs a worker
  ConvertDataset(context, path.string(), {}, (folder.path() / "out").string());
  ExpectSameData(OpenDataset(context, path.string()), OpenNative(context, folder.path() / "out"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}), 2);
}

// Text ids are numbered as they first appear, whichever worker gets which block of the file.
TEST(Convert, TextIdsKeepTheirOrderOverManyBlocks) {
  TemporaryFolder folder;
  const fs::path path = folder.Write(
      "long.csv", EdgeText(900000, 300000, false, [](uint64_t id) { return "n" + std::to_string(id); }));
  ASSERT_GT(fs::file_size(path), 3 * TextSource::kBlockBytes);
  ConvertDataset(MakeContext(4), path.string(), {}, (folder.path() / "out").string(), {});
  const Context context = MakeContext(2);
  ExpectSameData(OpenDataset(context, path.string()), OpenNative(context, folder.path() / "out"));
}

TEST(Convert, NpzRoundTripIsIdentical) {
  const Context context = MakeContext(1);
  for (const bool sparse : {false, true}) {
    for (const bool multilabel : {false, true}) {
      TemporaryFolder folder;
      const auto at = [&](const char* name) { return (folder.path() / name).string(); };
      SaveDataset(context, SampleDataset(sparse, multilabel), at("a"));
      ConvertDataset(context, at("a"), {}, at("b.npz"), {});
      ConvertDataset(context, at("b.npz"), {}, at("c"), {});
      ExpectSameData(OpenNative(context, at("a")), OpenNative(context, at("c")));
      for (const auto& entry : fs::directory_iterator(folder.path() / "a")) {
        if (entry.path().extension() != ".npy") continue;
        EXPECT_EQ(ReadTextFile(entry.path()), ReadTextFile(folder.path() / "c" / entry.path().filename()))
            << entry.path();
      }
    }
  }
}

TEST(Convert, GraphBoltRoundTripKeepsGraphFeaturesLabelsAndRoles) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  Dataset sample = SampleDataset(false, false);
  sample.graph.weights = {};
  SaveDataset(context, sample, (folder.path() / "a").string());
  ConvertDataset(context, (folder.path() / "a").string(), {}, (folder.path() / "bolt").string(), "graphbolt");
  const Dataset back = OpenDataset(context, (folder.path() / "bolt").string());
  EXPECT_EQ(back.format, "graphbolt");
  ExpectSameArray(sample.graph.indptr, back.graph.indptr, "indptr");
  ExpectSameArray(sample.graph.indices, back.graph.indices, "indices");
  ExpectSameArray(sample.features.matrix().values, back.features.matrix().values, "features");
  ExpectSameArray(sample.labels.classes_of, back.labels.classes_of, "classes");
  ASSERT_EQ(back.splits.size(), 2u);
  ExpectSameArray(sample.splits[0].roles, back.splits[0].roles, "roles");
  folder.Write("evil/metadata.yaml",
               "graph: {nodes: [{num: 1}], edges: [{format: numpy, path: e.npy}]}\n"
               "feature_data: [{domain: node, format: numpy, name: f, path: ../../etc/passwd}]\n");
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kInput, [&] { OpenDataset(context, (folder.path() / "evil").string()); }),
      "leaves the folder");
}

TEST(Convert, EdgeCsvReadsBack) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  SaveDataset(context, SampleDataset(false, false), (folder.path() / "a").string());
  ConvertDataset(context, (folder.path() / "a").string(), {}, (folder.path() / "e.csv").string(), {});
  EXPECT_EQ(ReadTextFile(folder.path() / "e.csv"), "source,target,weight\na,b,1\na,c,2\nb,c,3\n");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            ConvertDataset(context, (folder.path() / "a").string(), {},
                                           (folder.path() / "e.csv").string(), {});
                          }),
                  "exists already");
}

TEST(Convert, TooLittleMemoryAndUnknownTargetsAreRefused) {
  TemporaryFolder folder;
  const fs::path path = folder.Write("e.csv", "0,1\n");
  std::string to;
  Context context = MakeContext(1);
  context.host_memory = 1000;
  const auto run = [&] { ConvertDataset(context, path.string(), {}, (folder.path() / "o").string(), to); };
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, run), "at least 64 MiB");
  to = "nativ";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, run), "did you mean native?");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}), 1);
}

// Edges in an array longer than an eighth of the budget are sorted on disk: the files are those of a conversion in
// memory.
TEST(Convert, ArraysOfEdgesWithinABudget) {
  TemporaryFolder folder;
  constexpr uint32_t kCount = 5000;
  constexpr size_t kPairs = 300000;
  const RandomStream stream(9, RandomUse::kGenerator, 4);
  std::vector<int64_t> pairs(2 * kPairs);
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<int64_t>(stream.Uniform(i) * kCount);
  const Context context = MakeContext(2);
  const auto npy = [&](const char* name) { return folder.path() / name; };
  for (const bool columns : {true, false}) {
    WriteNpy<int64_t>(npy("edges.npy"), pairs,
                      columns ? std::vector<uint64_t>{2, kPairs} : std::vector<uint64_t>{kPairs, 2});
    const NpyArray edges = NpyArray::Open(npy("edges.npy"));
    const BuildOptions options = {false, false, "edges"};
    const BuiltGraph whole = GraphFromPairs(context, edges, kCount, options);
    Context tight = context;
    tight.host_memory = uint64_t{16} << 20;
    tight.scratch_directory = folder.path().string();
    const BuiltGraph sorted = GraphFromPairs(tight, edges, kCount, options);
    EXPECT_EQ(sorted.edges, whole.edges);
    EXPECT_EQ(sorted.self_loops, whole.self_loops);
    EXPECT_EQ(sorted.changes.duplicates_dropped, whole.changes.duplicates_dropped);
    EXPECT_TRUE(std::ranges::equal(sorted.graph.indptr, whole.graph.indptr));
    EXPECT_TRUE(std::ranges::equal(sorted.graph.indices, whole.graph.indices));
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { GraphFromPairs(tight, edges, kCount - 1, options); }),
                    "but the nodes are 0 to 4998");
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename().string().find("l2gcn"), std::string::npos) << "scratch is left";
}

TEST(Convert, FeaturesAsF16) {
  TemporaryFolder folder;
  const Context context = MakeContext(1);
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  SaveDataset(context, SampleDataset(false, false), at("a"));
  ConvertDataset(context, at("a"), {}, at("b"), "", false, FeatureType::kF16);
  const Dataset a = OpenDataset(context, at("a")), b = OpenDataset(context, at("b"));
  EXPECT_EQ(b.features.type(), FeatureType::kF16);
  ASSERT_EQ(b.features.cols(), a.features.cols());
  std::vector<float> wide(a.features.cols()), narrow(a.features.cols());
  for (uint32_t row = 0; row < a.nodes(); ++row) {
    a.features.ReadRows(row, 1, wide.data());
    b.features.ReadRows(row, 1, narrow.data());
    for (size_t c = 0; c < wide.size(); ++c) EXPECT_NEAR(wide[c], narrow[c], 1e-3f * std::abs(wide[c]));
  }
  ConvertDataset(context, at("b"), {}, at("c"), "", false, FeatureType::kF32);
  EXPECT_EQ(OpenDataset(context, at("c")).features.type(), FeatureType::kF32);
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kUsage,
              [&] { ConvertDataset(context, at("a"), {}, at("d.npz"), "npz", false, FeatureType::kF32); }),
      "--features-as");
}

}  // namespace
}  // namespace l2gcn
