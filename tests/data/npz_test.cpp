#include "data/npz.h"

#include <gtest/gtest.h>

#include "core/files.h"
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
  const auto little = [](uint64_t value, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  const std::string payload(100, 'x');
  const std::string local = little(0x04034b50, 4) + little(20, 2) + little(0, 2) + little(8, 2) +
                            little(0, 4) + little(0, 4) + little(100, 4) + little(0xF0000000, 4) +
                            little(5, 2) + little(0, 2) + "a.npy" + payload;
  const std::string central = little(0x02014b50, 4) + little(20, 2) + little(20, 2) + little(0, 2) +
                              little(8, 2) + little(0, 4) + little(0, 4) + little(100, 4) +
                              little(0xF0000000, 4) + little(5, 2) + little(0, 2) + little(0, 2) +
                              little(0, 2) + little(0, 2) + little(0, 4) + little(0, 4) + "a.npy";
  const std::string end = little(0x06054b50, 4) + little(0, 4) + little(1, 2) + little(1, 2) +
                          little(central.size(), 4) + little(local.size(), 4) + little(0, 2);
  const NpzFile npz(Parse(local + central + end));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { npz.Get("a"); }), "refused as a zip bomb");
}

TEST(Zip, OfMembersOfOneNameTheLastCounts) {
  const auto little = [](uint64_t value, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  std::string files, central;
  const std::pair<const char*, uint32_t> members[] = {{"first", 0x9271ee57u},
                                                      {"later", 0xec03b249u}};  // with their CRC-32
  for (const auto& [text, sum] : members) {
    const size_t at = files.size();
    files += little(0x04034b50, 4) + little(20, 2) + little(0, 8) + little(sum, 4) + little(5, 4) +
             little(5, 4) + little(1, 2) + little(0, 2) + "a" + text;
    central += little(0x02014b50, 4) + little(20, 2) + little(20, 2) + little(0, 8) + little(sum, 4) +
               little(5, 4) + little(5, 4) + little(1, 2) + little(0, 12) + little(at, 4) + "a";
  }
  const ZipArchive archive =
      Parse(files + central + little(0x06054b50, 4) + little(0, 4) + little(2, 2) + little(2, 2) +
            little(central.size(), 4) + little(files.size(), 4) + little(0, 2));
  const SharedBytes bytes = archive.Read(*archive.Find("a"));
  EXPECT_EQ(std::string(bytes.bytes.begin(), bytes.bytes.end()), "later");
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
