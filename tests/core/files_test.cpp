#include "core/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "l2gcn/error.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("l2gcn-files-" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(FilesTest, WholeFileIsReplaced) {
  WriteFileWhole(root_ / "a.txt", "one");
  WriteFileWhole(root_ / "a.txt", "two");
  EXPECT_EQ(ReadTextFile(root_ / "a.txt"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator{}), 1);
}

TEST_F(FilesTest, StagedDirectoryIsWholeOrAbsent) {
  {
    StagedDirectory staged(root_ / "run", false);
    WriteFileWhole(staged.path() / "x", "1");
  }
  EXPECT_FALSE(fs::exists(root_ / "run"));
  EXPECT_TRUE(fs::is_empty(root_));
  {
    StagedDirectory staged(root_ / "run", false);
    WriteFileWhole(staged.path() / "x", "1");
    staged.Commit();
  }
  EXPECT_EQ(ReadTextFile(root_ / "run/x"), "1");
  EXPECT_THROW(StagedDirectory(root_ / "run", false), Error);
  {
    StagedDirectory staged(root_ / "run", true);
    WriteFileWhole(staged.path() / "x", "2");
    EXPECT_EQ(ReadTextFile(root_ / "run/x"), "1");
    staged.Commit();
  }
  EXPECT_EQ(ReadTextFile(root_ / "run/x"), "2");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator{}), 1);
}

TEST_F(FilesTest, DiskFullIsAnErrorAndTheOldFileStays) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  FileWriter writer("/dev/full");
  writer.Write("some bytes");
  EXPECT_THROW(writer.Close(), Error);
}

TEST_F(FilesTest, MissingFileIsNamed) {
  try {
    MappedFile::Open(root_ / "absent.npy");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_NE(std::string(error.what()).find("absent.npy"), std::string::npos);
  }
}

}  // namespace
}  // namespace l2gcn
