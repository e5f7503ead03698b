// File-backed memory is distinguished from anonymous memory.
#include "core/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace l2gcn {
namespace {

TEST(Mapping, FilesAreToldFromMemory) {
  constexpr size_t kBytes = 1 << 16;
  std::string name = testing::TempDir() + "mapping-XXXXXX";
  const int file = mkstemp(name.data());
  ASSERT_GE(file, 0);
  unlink(name.c_str());
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* read_only = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
  void* written = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  ASSERT_NE(read_only, MAP_FAILED);
  ASSERT_NE(written, MAP_FAILED);
  const std::vector<char> heap(kBytes);

  EXPECT_TRUE(IsMappedFromFile(static_cast<char*>(read_only) + kBytes / 2));
  EXPECT_FALSE(IsMappedFromFile(written)) << "what is written there is in no file";
  EXPECT_FALSE(IsMappedFromFile(heap.data()));
  EXPECT_FALSE(IsMappedFromFile(nullptr));

  munmap(read_only, kBytes);
  munmap(written, kBytes);
  close(file);
}

}  // namespace
}  // namespace l2gcn
