#include "core/disk_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "core/memory_meter.h"
#include "data/fixtures.h"
#include "l2gcn/context.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

constexpr uint64_t kTiny = 1 << 20;  // a budget that the process is above already: pages go at every chance

TEST(DiskMemoryTest, BlocksBeginAsZerosAndKeepWhatIsWrittenThoughTheirPagesGo) {
  TemporaryFolder folder;
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  Array<uint32_t> array = disk->NewArray<uint32_t>(100000);
  EXPECT_EQ(std::count(array.begin(), array.end(), 0u), 100000);
  std::iota(array.mutable_data(), array.mutable_data() + array.size(), 7u);
  disk->Relax();
  for (size_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], i + 7);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "scratch has no name";
}

TEST(DiskMemoryTest, ABlockOutlivesTheHandleOnItsMemory) {
  TemporaryFolder folder;
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  Array<float> array = disk->NewArray<float>(5000);
  array.mutable_data()[4999] = 3;
  disk.reset();
  EXPECT_EQ(array[4999], 3);
}

// A file of 300,000 numbers, mapped as the native store maps it.
class MappedNumbers {
 public:
  explicit MappedNumbers(const TemporaryFolder& folder, int protection, int flags) {
    std::vector<uint32_t> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0u);
    const auto path = folder.path() / "numbers";
    FileWriter writer(path);
    writer.Write(numbers.data(), numbers.size() * sizeof(uint32_t));
    writer.Close();
    const Descriptor file(open(path.c_str(), O_RDWR));
    memory_ = mmap(nullptr, kCount * sizeof(uint32_t), protection, flags, file.get(), 0);
  }
  ~MappedNumbers() { munmap(memory_, kCount * sizeof(uint32_t)); }
  uint32_t* data() const { return static_cast<uint32_t*>(memory_); }
  Array<uint32_t> array() const { return Array<uint32_t>::Borrow(nullptr, data(), kCount); }

  static constexpr size_t kCount = 300000;

 private:
  void* memory_ = nullptr;
};

TEST(DiskMemoryTest, FetchesAnyStretchOfAMappedArray) {
  TemporaryFolder folder;
  const MappedNumbers numbers(folder, PROT_READ, MAP_PRIVATE);
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  DiskBuffer buffer;
  const std::vector<uint32_t> own(1000, 5);  // lies in no file
  EXPECT_EQ(*disk->Fetch(Array<uint32_t>::Borrow(nullptr, own.data(), own.size()), 999, 1, buffer), 5u);
  disk->Watch(numbers.array());
  for (const auto& [first, count] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {0, 300000}, {1023, 2}, {1024, 1024}, {77, 100001}, {299999, 1}}) {
    const uint32_t* got = disk->Fetch(numbers.array(), first, count, buffer);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], first + i);
  }
}

TEST(DiskMemoryTest, AFileCutShortIsNamed) {
  TemporaryFolder folder;
  const MappedNumbers numbers(folder, PROT_READ, MAP_PRIVATE);
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  disk->Watch(numbers.array());
  std::filesystem::resize_file(folder.path() / "numbers", 4096);
  DiskBuffer buffer;
  try {
    disk->Fetch(numbers.array(), 200000, 10, buffer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_NE(std::string(error.what()).find("numbers: became shorter"), std::string::npos) << error.what();
  }
}

TEST(DiskMemoryTest, WatchedPagesGoAndComeBackButNothingElseDoes) {
  TemporaryFolder folder;
  const MappedNumbers mapped(folder, PROT_READ, MAP_PRIVATE);
  const MappedNumbers changed(folder, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  changed.data()[12345] = 1;  // known to no file
  std::vector<uint32_t> heap(100000, 9);
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  disk->Watch(mapped.array());
  disk->Watch(changed.array());
  disk->Watch(Array<uint32_t>::Borrow(nullptr, heap.data(), heap.size()));
  EXPECT_EQ(std::accumulate(mapped.data(), mapped.data() + 1000, 0u), 499500u);
  disk->Relax();
  EXPECT_EQ(mapped.data()[299999], 299999u);
  EXPECT_EQ(changed.data()[12345], 1u);
  EXPECT_EQ(std::count(heap.begin(), heap.end(), 9u), 100000);
}

// The C library keeps freed blocks of up to the largest size it has seen freed, unless it is configured not to.
TEST(DiskMemoryTest, LargeBlocksThatAreFreedGoBackToTheSystem) {
  TemporaryFolder folder;
  const auto disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  const auto touched = [](size_t bytes) {
    std::unique_ptr<char, void (*)(void*)> block(static_cast<char*>(std::malloc(bytes)), std::free);
    std::memset(block.get(), 1, bytes);
    return block;
  };
  touched(size_t{24} << 20).reset();
  const uint64_t before = AnonymousBytes();
  std::vector<std::unique_ptr<char, void (*)(void*)>> large, small;
  for (int i = 0; i < 8; ++i) {
    large.push_back(touched(size_t{6} << 20));
    small.push_back(
        touched(4096));  // lies above the large one in a heap that has both, and keeps it from shrinking
  }
  large.clear();
  EXPECT_LT(AnonymousBytes(), before + (uint64_t{6} << 20));
}

TEST(DiskMemoryTest, ScratchThatCannotBeHadIsRefusedAtOnce) {
  TemporaryFolder folder;
  try {
    DiskMemory(kTiny, folder.path() / "missing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  auto disk = std::make_shared<DiskMemory>(kTiny, folder.path());
  try {
    disk->NewBlock(size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
  }
}

TEST(ScratchBytesTest, WhatIsAppendedIsRead) {
  TemporaryFolder folder;
  ScratchBytes file(folder.path());
  file.Append("abcdef", 6);
  file.Append("ghij", 4);
  char text[5] = {};
  file.Read(4, 4, text);
  EXPECT_STREQ(text, "efgh");
}

}  // namespace
}  // namespace l2gcn
