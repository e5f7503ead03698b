#include "l2gcn/array.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/files.h"

namespace l2gcn {
namespace {

TEST(Array, CopiesShareMemoryUntilOneIsWritten) {
  Array<int32_t> a = Array<int32_t>::CopyOf(std::vector<int32_t>{1, 2, 3});
  const int32_t* before = a.data();
  Array<int32_t> b = a;
  EXPECT_EQ(b.data(), before);
  b.mutable_data()[1] = 20;
  EXPECT_NE(b.data(), before);
  EXPECT_EQ(a[1], 2);
  EXPECT_EQ(b[1], 20);
  EXPECT_EQ(b[0], 1);
}

TEST(Array, APrivateArrayIsWrittenInPlace) {
  Array<int32_t> a = Array<int32_t>::Zeros(4);
  const int32_t* before = a.data();
  a.mutable_data()[0] = 1;
  EXPECT_EQ(a.data(), before);
  { const Array<int32_t> shared = a; }
  a.mutable_span()[1] = 2;  // the copy is gone, so the memory is private again
  EXPECT_EQ(a.data(), before);
  Array<int32_t> moved = std::move(a);
  moved.mutable_data()[2] = 3;
  EXPECT_EQ(moved.data(), before);
}

TEST(Array, CloneIsIndependentAtOnce) {
  Array<float> a = Array<float>::Filled(3, 1.5f);
  const Array<float> b = a.Clone();
  EXPECT_NE(a.data(), b.data());
  a.mutable_data()[0] = 9;
  EXPECT_EQ(b[0], 1.5f);
}

TEST(Array, AnEmptyArrayMayBeWrittenToo) {
  Array<float> nothing;
  EXPECT_EQ(nothing.mutable_data(), nullptr);
  EXPECT_TRUE(nothing.mutable_span().empty());
  Array<float> copy = nothing;
  EXPECT_EQ(copy.mutable_span().size(), 0u);
}

TEST(Array, WritingToAMappedArrayLeavesTheFileAlone) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("l2gcn_array_" + std::to_string(getpid()));
  const std::vector<uint32_t> stored = {7, 8, 9};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(stored.data()), sizeof(uint32_t) * 3);
  const auto file = MappedFile::Open(path);
  Array<uint32_t> mapped =
      Array<uint32_t>::Borrow(file, reinterpret_cast<const uint32_t*>(file->bytes().data()), 3);
  const Array<uint32_t> other = mapped;
  mapped.mutable_data()[0] = 1;  // used to be a write through a null pointer
  EXPECT_EQ(mapped[0], 1u);
  EXPECT_EQ(mapped[2], 9u);
  EXPECT_EQ(other[0], 7u);
  const auto again = MappedFile::Open(path);
  EXPECT_EQ(again->bytes()[0], 7);
  std::filesystem::remove(path);
}

TEST(Matrix, RowsOfACopyAreWrittenApart) {
  Matrix a = Matrix::Zeros(2, 3);
  Matrix b = a;
  b.mutable_row(1)[2] = 5;
  EXPECT_EQ(a.row(1)[2], 0);
  EXPECT_EQ(b.row(1)[2], 5);
  Matrix c = a.Clone();
  EXPECT_NE(c.values.data(), a.values.data());
}

}  // namespace
}  // namespace l2gcn
