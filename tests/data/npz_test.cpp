#include "data/npz.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/files.h"
#include "core/mapping.h"
#include "data/fixtures.h"
#include "data/samples.h"
#include "data/writers.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

ZipArchive Parse(const std::string& bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return ZipArchive::Parse({owner, {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}},
                           "a.npz");
}

std::string Little(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

class DamagedZip : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteNpz(MakeContext(1), SampleDataset(true, false), folder_.path() / "a.npz", false);
    bytes_ = ReadTextFile(folder_.path() / "a.npz");
  }
  TemporaryFolder folder_;
  std::string bytes_;
};

TEST_F(DamagedZip, EveryTruncationIsRefused) {
  for (size_t length = 0; length < bytes_.size(); length += 7) {
    EXPECT_THROW(
        {
          const NpzFile npz(Parse(bytes_.substr(0, length)));
          for (const std::string& name : npz.Names()) npz.Get(name);
        },
        Error)
        << length;
  }
}

TEST_F(DamagedZip, EveryFlippedByteIsRefusedOrHarmless) {
  for (size_t at = 0; at < bytes_.size(); at += 3) {
    std::string changed = bytes_;
    changed[at] = static_cast<char>(changed[at] ^ 0x5A);
    folder_.Write("b.npz", changed);
    try {
      ValidateDataset(MakeContext(1), ReadNpz(MakeContext(1), folder_.path() / "b.npz", {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput) << error.what();
    }
  }
}

// A deflated member that claims more than deflate can reach, and one that claims more than the machine has.
TEST(Zip, BombsAreRefusedBeforeAnythingIsUnpacked) {
  ZipMember member;
  const std::string payload(100, 'x');
  const std::string local = Little(0x04034b50, 4) + Little(20, 2) + Little(0, 2) + Little(8, 2) +
                            Little(0, 4) + Little(0, 4) + Little(100, 4) + Little(0xF0000000, 4) +
                            Little(5, 2) + Little(0, 2) + "a.npy" + payload;
  const std::string central = Little(0x02014b50, 4) + Little(20, 2) + Little(20, 2) + Little(0, 2) +
                              Little(8, 2) + Little(0, 4) + Little(0, 4) + Little(100, 4) +
                              Little(0xF0000000, 4) + Little(5, 2) + Little(0, 2) + Little(0, 2) +
                              Little(0, 2) + Little(0, 2) + Little(0, 4) + Little(0, 4) + "a.npy";
  const std::string end = Little(0x06054b50, 4) + Little(0, 4) + Little(1, 2) + Little(1, 2) +
                          Little(central.size(), 4) + Little(local.size(), 4) + Little(0, 2);
  const NpzFile npz(Parse(local + central + end));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { npz.Get("a"); }), "refused as a zip bomb");
}

uint32_t Crc32(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// A member that says it is deflated, in blocks that deflate stores as they are.
std::string Deflated(const std::string& bytes) {
  constexpr size_t kBlock = 65535;
  std::string packed;
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    const size_t size = std::min(kBlock, bytes.size() - at);
    packed += Little(at + size == bytes.size() ? 1 : 0, 1) + Little(size, 2) + Little(~size, 2);
    packed += bytes.substr(at, size);
  }
  return packed;
}

// An archive of one array of whole numbers 0, 1, 2 …
std::string ArchiveOf(uint32_t count) {
  std::string dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
  dict.resize(117, ' ');
  std::string array = "\x93NUMPY" + Little(1, 2) + Little(118, 2) + dict + "\n";
  for (uint32_t i = 0; i < count; ++i) array += Little(i, 4);
  const std::string packed = Deflated(array), name = "a.npy";
  const std::string sizes = Little(Crc32(array), 4) + Little(packed.size(), 4) + Little(array.size(), 4);
  const std::string local = Little(0x04034b50, 4) + Little(20, 2) + Little(0, 2) + Little(8, 2) +
                            Little(0, 4) + sizes + Little(name.size(), 2) + Little(0, 2) + name + packed;
  const std::string central = Little(0x02014b50, 4) + Little(20, 2) + Little(20, 2) + Little(0, 2) +
                              Little(8, 2) + Little(0, 4) + sizes + Little(name.size(), 2) + Little(0, 2) +
                              Little(0, 2) + Little(0, 2) + Little(0, 2) + Little(0, 4) + Little(0, 4) + name;
  return local + central + Little(0x06054b50, 4) + Little(0, 4) + Little(1, 2) + Little(1, 2) +
         Little(central.size(), 4) + Little(local.size(), 4) + Little(0, 2);
}

// Under a budget a packed member that is large beside it lies in scratch, with the same values.
TEST(Zip, LargeMembersAreUnpackedIntoScratchUnderABudget) {
  constexpr uint32_t kCount = 1 << 19;  // 2 MiB
  TemporaryFolder folder;
  folder.Write("a.npz", ArchiveOf(kCount));
  for (const uint64_t budget : {uint64_t{0}, uint64_t{8} << 20, uint64_t{1} << 30}) {
    Context context = MakeContext(1);
    context.host_memory = budget;
    context.scratch_directory = folder.path();
    const NpyArray array = NpzFile::Open(context, folder.path() / "a.npz").Get("a");
    EXPECT_EQ(IsMappedFromFile(array.payload().data()), budget == uint64_t{8} << 20) << budget;
    const Array<uint32_t> values = array.As<uint32_t>(context);
    ASSERT_EQ(values.size(), kCount);
    for (uint32_t i = 0; i < kCount; i += 1001) EXPECT_EQ(values[i], i);
  }
  Context context = MakeContext(1);
  context.host_memory = uint64_t{8} << 20;
  context.scratch_directory = folder.path() / "absent";
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage, [&] { NpzFile::Open(context, folder.path() / "a.npz"); }),
                  "absent");
}

TEST(Zip, OfMembersOfOneNameTheLastCounts) {
  std::string files, central;
  const std::pair<const char*, uint32_t> members[] = {{"first", 0x9271ee57u},
                                                      {"later", 0xec03b249u}};  // with their CRC-32
  for (const auto& [text, sum] : members) {
    const size_t at = files.size();
    files += Little(0x04034b50, 4) + Little(20, 2) + Little(0, 8) + Little(sum, 4) + Little(5, 4) +
             Little(5, 4) + Little(1, 2) + Little(0, 2) + "a" + text;
    central += Little(0x02014b50, 4) + Little(20, 2) + Little(20, 2) + Little(0, 8) + Little(sum, 4) +
               Little(5, 4) + Little(5, 4) + Little(1, 2) + Little(0, 12) + Little(at, 4) + "a";
  }
  const ZipArchive archive =
      Parse(files + central + Little(0x06054b50, 4) + Little(0, 4) + Little(2, 2) + Little(2, 2) +
            Little(central.size(), 4) + Little(files.size(), 4) + Little(0, 2));
  const SharedBytes bytes = archive.Read(*archive.Find("a"));
  EXPECT_EQ(std::string(bytes.bytes.begin(), bytes.bytes.end()), "later");
}

// An archive of arrays, stored as they are; the shape is the text within the brackets.
struct NpzMember {
  std::string name, type, shape, elements;
};
std::string StoredArchive(const std::vector<NpzMember>& members) {
  std::string files, central;
  for (const NpzMember& member : members) {
    std::string dict =
        "{'descr': '" + member.type + "', 'fortran_order': False, 'shape': (" + member.shape + "), }";
    dict.resize(117, ' ');
    const std::string array = "\x93NUMPY" + Little(1, 2) + Little(118, 2) + dict + "\n" + member.elements;
    const std::string name = member.name + ".npy";
    const std::string sizes = Little(Crc32(array), 4) + Little(array.size(), 4) + Little(array.size(), 4);
    central += Little(0x02014b50, 4) + Little(20, 2) + Little(20, 2) + Little(0, 8) + sizes +
               Little(name.size(), 2) + Little(0, 12) + Little(files.size(), 4) + name;
    files += Little(0x04034b50, 4) + Little(20, 2) + Little(0, 8) + sizes + Little(name.size(), 2) +
             Little(0, 2) + name + array;
  }
  return files + central + Little(0x06054b50, 4) + Little(0, 4) + Little(members.size(), 2) +
         Little(members.size(), 2) + Little(central.size(), 4) + Little(files.size(), 4) + Little(0, 2);
}

TEST(Npz, EdgesWithAttributesOfNodesAndEdges) {
  const auto bytes = [](std::initializer_list<uint8_t> values) {
    return std::string(values.begin(), values.end());
  };
  std::vector<NpzMember> members = {{"edge_index", "|u1", "2, 3", bytes({0, 1, 2, 1, 2, 3})},
                                    {"node_attr", "|u1", "4, 2", bytes({1, 0, 0, 1, 1, 1, 0, 0})},
                                    {"node_label", "|u1", "4,", bytes({0, 1, 1, 0})},
                                    {"edge_attr", "|u1", "3, 1", bytes({5, 6, 7})}};
  TemporaryFolder folder;
  std::string notes;
  Context context = MakeContext(1);
  context.on_note = [&](const std::string& note) { notes += note; };
  const fs::path path = folder.Write("a.npz", StoredArchive(members));
  const Dataset dataset = OpenDataset(context, path.string());
  EXPECT_EQ(dataset.edges, 3u);
  EXPECT_EQ(dataset.features.cols(), 2u);
  EXPECT_EQ(dataset.labels.classes, 2u);
  EXPECT_MENTIONS(notes, "edge_attr is not used");
  members[0].elements[5] = 9;
  folder.Write("a.npz", StoredArchive(members));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { OpenDataset(context, path.string()); }), "9");
}

TEST(Zip, NoArchiveAtAll) {
  for (const char* bytes : {"", "PK", "PK\3\4", "this is a text file of some length, not an archive"}) {
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { Parse(bytes); }), "a.npz");
  }
}

TEST_F(DamagedZip, EveryFlippedBitOfAStoredMemberIsFound) {
  size_t flips = 0;
  const ZipArchive whole = Parse(bytes_);
  for (const ZipMember& member : whole.members()) {
    const SharedBytes stored = whole.Read(member);
    ASSERT_EQ(member.method, 0) << "the sample should be stored";
    for (size_t at = 0; at < stored.bytes.size(); at += 11, ++flips) {
      std::string changed = bytes_;
      const size_t place =
          bytes_.find(std::string(reinterpret_cast<const char*>(stored.bytes.data()), stored.bytes.size()));
      changed[place + at] = static_cast<char>(changed[place + at] ^ (1 << at % 8));
      const ZipArchive archive = Parse(changed);
      EXPECT_THROW(archive.Read(*archive.Find(member.name)), Error) << member.name << " byte " << at;
    }
  }
  EXPECT_GT(flips, 50u);
}

}  // namespace
}  // namespace l2gcn
