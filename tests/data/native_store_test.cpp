#include "data/native_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/fixtures.h"
#include "data/npy.h"
#include "data/samples.h"
#include "graph/build.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// A directory as it was written before there were sums of blocks and of dataset.json.
void DropSums(const fs::path& directory) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(ReadTextFile(directory / kManifestFile));
  json.erase("checksum");
  for (auto& [name, file] : json["files"].items()) file.erase("blocks");
  WriteFileWhole(directory / kManifestFile, json.dump(1));
}

TEST(NativeStore, RoundTripKeepsEverything) {
  const Context context = MakeContext(2);
  for (const bool sparse : {false, true}) {
    for (const bool multilabel : {false, true}) {
      TemporaryFolder folder;
      Dataset dataset = SampleDataset(sparse, multilabel);
      dataset.inductive = sparse;
      SaveDataset(context, dataset, (folder.path() / "set").string());
      const Dataset opened = OpenNative(context, folder.path() / "set");
      ExpectSameData(dataset, opened);
      ValidateDataset(context, opened);
      EXPECT_GT(VerifyNative(context, folder.path() / "set"), 0u);
    }
  }
}

// A relation with edges of its own, one with the graph's, and one that has the rows of the first with other weights.
TEST(NativeStore, RelationsComeBackAndShareRows) {
  const Context context = MakeContext(2);
  TemporaryFolder folder;
  const fs::path place = folder.path() / "set";
  Dataset dataset = SampleDataset(false, false);
  const std::vector<uint32_t> source = {0, 1}, target = {1, 2};
  Graph own = BuildGraph(context, dataset.nodes(), source, target, {}, {true, false, ""}).graph;
  dataset.relations = {{"cites, \"twice\"", own}, {"same", dataset.graph}, {"weighed", own}};
  dataset.relations[2].graph.weights = Array<float>::Filled(own.entries(), 0.5f);
  SaveDataset(context, dataset, place.string());
  EXPECT_FALSE(fs::exists(place / "relation_1_indices.npy"));
  EXPECT_FALSE(fs::exists(place / "relation_2_indices.npy"));
  VerifyNative(context, place);
  const Dataset opened = OpenDataset(context, place.string());
  ASSERT_EQ(opened.relations.size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    const Relation &before = dataset.relations[k], &now = opened.relations[k];
    EXPECT_EQ(before.name, now.name);
    EXPECT_EQ(before.graph.directed, now.graph.directed);
    EXPECT_TRUE(std::ranges::equal(before.graph.indptr.span(), now.graph.indptr.span()));
    EXPECT_TRUE(std::ranges::equal(before.graph.indices.span(), now.graph.indices.span()));
    EXPECT_TRUE(std::ranges::equal(before.graph.weights.span(), now.graph.weights.span()));
  }
  EXPECT_EQ(opened.relations[1].graph.indices.data(), opened.graph.indices.data());
  EXPECT_EQ(opened.relations[2].graph.indices.data(), opened.relations[0].graph.indices.data());
}

TEST(NativeStore, DamagedRelationsAreRefused) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const fs::path place = folder.path() / "set";
  Dataset dataset = SampleDataset(false, false);
  dataset.relations = {{"a", dataset.graph}};
  SaveDataset(context, dataset, place.string());
  for (const char* damage : {R"([{"name": "a"}])", R"([{"name": "a", "directed": false, "rows_of": 7}])",
                             R"("a")", R"([{"name": "", "directed": false, "rows_of": 0}])",
                             R"([{"name": "all", "directed": false, "rows_of": 0}])"}) {
    DropSums(place);
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(ReadTextFile(place / kManifestFile));
    json["relations"] = nlohmann::ordered_json::parse(damage);
    WriteFileWhole(place / kManifestFile, json.dump(1));
    ErrorOf(ErrorKind::kInput, [&] { OpenDataset(context, place.string()); });
  }
}

TEST(NativeStore, AnExistingSetIsReplacedOnlyWhenForcedAndNothingElseEver) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const std::string target = (folder.path() / "set").string();
  SaveDataset(context, SampleDataset(false, false), target);
  EXPECT_MENTIONS(
      ErrorOf(ErrorKind::kUsage, [&] { SaveDataset(context, SampleDataset(true, false), target); }),
      "exists");
  EXPECT_FALSE(OpenNative(context, target).features.is_sparse());
  SaveDataset(context, SampleDataset(true, false), target, true);
  EXPECT_TRUE(OpenNative(context, target).features.is_sparse());
  folder.Write("notes/thesis.txt", "years of work");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            SaveDataset(context, SampleDataset(true, false),
                                        (folder.path() / "notes").string(), true);
                          }),
                  "not a data set");
  EXPECT_TRUE(fs::exists(folder.path() / "notes/thesis.txt"));
}

// A file with a hole in place of 8 GiB of neighbours: nothing of it is read, and no count is narrowed.
TEST(NativeStore, MoreThanTwoToThe31EntriesOpenInPlace) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const fs::path directory = folder.path() / "set";
  Dataset small = SampleDataset(true, false);
  SaveDataset(context, small, directory.string());
  DropSums(directory);
  const uint64_t entries = (uint64_t{1} << 31) + 6;
  {
    std::ofstream file(directory / kGraphIndicesFile, std::ios::binary);
    file << NpyHeader(NpyDescr<uint32_t>(), {entries});
    file.seekp(static_cast<std::streamoff>(kNpyHeaderBytes + (entries - 1) * sizeof(uint32_t)));
    const uint32_t last = 2;
    file.write(reinterpret_cast<const char*>(&last), sizeof(last));
  }
  WriteNpy<uint64_t>(directory / kGraphIndptrFile,
                     std::vector<uint64_t>{0, entries - 6, entries - 4, entries - 1, entries});
  std::string manifest = ReadTextFile(directory / kManifestFile);
  manifest.replace(manifest.find("graph_weights.npy"), 17, "nothing.npy");
  std::ofstream(directory / kManifestFile) << manifest;
  OpenOptions options;
  options.map_only = true;
  const Dataset dataset = OpenDataset(context, directory.string(), options);
  EXPECT_EQ(dataset.graph.entries(), entries);
  EXPECT_EQ(dataset.graph.degree(0), uint64_t{1} << 31);
  EXPECT_EQ(dataset.graph.degree(2), 3u);
  EXPECT_EQ(dataset.graph.indices[dataset.graph.indptr[3]], 2u);
}

class DamagedStore : public ::testing::Test {
 protected:
  void SetUp() override {
    SaveDataset(context_, SampleDataset(true, false), directory_.string());
    DropSums(directory_);  // which would refuse all that follows
  }
  std::string OpenError() {
    return ErrorOf(ErrorKind::kInput, [&] { OpenDataset(context_, directory_.string()); });
  }
  void ReplaceInManifest(const std::string& from, const std::string& to) {
    std::string text = ReadTextFile(directory_ / kManifestFile);
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(directory_ / kManifestFile) << text;
  }
  const Context context_ = MakeContext(1);
  TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "set";
};

TEST_F(DamagedStore, ChangedBytesFailTheChecksum) {
  {
    std::fstream file(directory_ / kGraphIndicesFile, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(130);
    file.put('\x55');
  }
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { VerifyNative(context_, directory_); }), kGraphIndicesFile);
}

TEST_F(DamagedStore, EdgesOutOfRangeAreNamed) {
  WriteNpy<uint32_t>(directory_ / kGraphIndicesFile, std::vector<uint32_t>{1, 2, 0, 9, 0, 1});
  EXPECT_MENTIONS(OpenError(), "node b has an edge to node 9, but there are 4");
}

// Values are looked at wherever they will be used; a caller that needs the counts alone may say so.
TEST_F(DamagedStore, MappingOnlyDoesNotLookAtValues) {
  WriteNpy<uint32_t>(directory_ / kGraphIndicesFile, std::vector<uint32_t>{1, 2, 0, 9, 0, 1});
  OpenOptions options;
  options.map_only = true;
  EXPECT_EQ(OpenDataset(context_, directory_.string(), options).edges, 3u);
}

TEST_F(DamagedStore, FallingOffsetsAreNamed) {
  WriteNpy<uint64_t>(directory_ / kGraphIndptrFile, std::vector<uint64_t>{0, 5, 4, 6, 6});
  EXPECT_MENTIONS(OpenError(), "offsets fall at node b");
}

TEST_F(DamagedStore, LengthsMustFit) {
  WriteNpy<uint64_t>(directory_ / kGraphIndptrFile, std::vector<uint64_t>{0, 2, 4, 6});
  EXPECT_MENTIONS(OpenError(), "expected 5 elements, found 4");
}

TEST_F(DamagedStore, LabelsOutOfRangeAreNamed) {
  WriteNpy<int32_t>(directory_ / kLabelsFile, std::vector<int32_t>{0, 1, 7, -1});
  EXPECT_MENTIONS(OpenError(), "node c has class 7, but the classes are 0 to 1");
}

TEST_F(DamagedStore, NanFeaturesAreNamedByNodeAndColumn) {
  WriteNpy<float>(directory_ / kFeatureValuesFile, std::vector<float>{1, 2, NAN});
  EXPECT_MENTIONS(OpenError(), "feature 1 of node d is nan");
}

TEST_F(DamagedStore, AManifestIsCheckedBeforeItIsBelieved) {
  ReplaceInManifest("\"version\": 1", "\"version\": 99");
  EXPECT_MENTIONS(OpenError(), "format version 99");
  ReplaceInManifest("\"version\": 99", "\"version\": 1");
  ReplaceInManifest("\"nodes\": 4", "\"nodes\": 40000000000");
  EXPECT_MENTIONS(OpenError(), "at most 4294967295");
  ReplaceInManifest("\"nodes\": 40000000000", "\"nodes\": -4");
  EXPECT_MENTIONS(OpenError(), "\"nodes\" is missing or no count");
  ReplaceInManifest("\"nodes\": -4", "\"nodes\": 4");
  ReplaceInManifest("\"l2gcn-dataset\"", "[1]");
  EXPECT_MENTIONS(OpenError(), "not a data set of this program");
  ReplaceInManifest("[1]", "\"l2gcn-dataset\"");
  ReplaceInManifest("\"paper\"", "7");
  EXPECT_MENTIONS(OpenError(), "\"splits\" is missing or of the wrong type");
  std::ofstream(directory_ / kManifestFile) << "{ not json";
  EXPECT_MENTIONS(OpenError(), "no valid JSON");
}

TEST_F(DamagedStore, MissingFilesAreNamed) {
  fs::remove(directory_ / kLabelsFile);
  EXPECT_MENTIONS(OpenError(), kLabelsFile);
}

TEST(NativeStore, EveryFlippedBitIsFoundWhereTheBytesAreRead) {
  const Context context = MakeContext(2);
  TemporaryFolder folder;
  const fs::path directory = folder.path() / "set";
  SaveDataset(context, SampleDataset(true, true), directory.string());
  size_t flips = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(directory)) {
    const std::string bytes = ReadTextFile(file.path());
    for (size_t at = 0; at < bytes.size(); at += 17, ++flips) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      WriteFileWhole(file.path(), changed);
      const bool layout =
          file.path().filename() == kManifestFile && std::isspace(static_cast<unsigned char>(bytes[at]));
      if (!layout) {
        EXPECT_THROW(OpenDataset(context, directory.string()), Error) << file.path() << " byte " << at;
      }
    }
    WriteFileWhole(file.path(), bytes);
  }
  EXPECT_GT(flips, 100u);
  EXPECT_NO_THROW(OpenDataset(context, directory.string()));
}

TEST(NativeStore, DirectoriesWithoutSumsOfTheirBlocksStillOpen) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const fs::path directory = folder.path() / "set";
  SaveDataset(context, SampleDataset(true, false), directory.string());
  DropSums(directory);
  ExpectSameData(SampleDataset(true, false), OpenDataset(context, directory.string()));
}

// Mapped files are known by dataset.json, unless they were written later than that.
TEST(NativeStore, TheChecksumOfAMappedFileIsThatOfItsBytes) {
  const Context context = MakeContext(1);
  TemporaryFolder folder;
  const fs::path directory = folder.path() / "set", file = directory / kFeaturesFile;
  Dataset dataset = SampleDataset(false, false);
  Matrix wide = Matrix::Allocate(dataset.nodes(), 1200000);
  std::fill_n(wide.values.mutable_data(), wide.values.size(), 0.25f);
  dataset.features = Features::Dense(wide);
  SaveDataset(context, dataset, directory.string());
  const auto sum = [&] {
    return ChecksumOfMapped(OpenNative(context, directory).features.elements()).value_or("none");
  };
  const std::string stored =
      nlohmann::json::parse(ReadTextFile(directory / kManifestFile)).at("files").at(kFeaturesFile).at("xxh3");
  EXPECT_EQ(sum(), stored);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
  EXPECT_EQ(sum(), stored) << "another time, but the same bytes";
  {
    std::fstream change(file, std::ios::binary | std::ios::in | std::ios::out);
    change.seekp(1000);
    change << "other bytes";
  }
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
  EXPECT_NE(sum(), stored);
  EXPECT_FALSE(ChecksumOfMapped(wide.values.data()).has_value());
}

}  // namespace
}  // namespace l2gcn
