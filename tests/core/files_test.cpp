#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

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

std::string MessageOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(FilesTest, AFifoIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(MessageOf([&] { MappedFile::Open(root_ / "pipe"); }).find("fifo"), std::string::npos);
}

TEST_F(FilesTest, DevicesAndFifosAreNeverReplaced) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  for (const fs::path& path : {root_ / "pipe", fs::path("/dev/null")}) {
    EXPECT_THROW(CheckOutputFile(path, true), Error) << path;
    EXPECT_THROW(WriteFileWhole(path, "x"), Error) << path;
    EXPECT_FALSE(fs::is_regular_file(path)) << path;
  }
}

TEST_F(FilesTest, LinksAreFollowedAndModesKept) {
  WriteFileWhole(root_ / "secret", "one");
  fs::permissions(root_ / "secret", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("secret", root_ / "link");
  WriteFileWhole(root_ / "link", "two");
  EXPECT_TRUE(fs::is_symlink(root_ / "link"));
  EXPECT_EQ(ReadTextFile(root_ / "secret"), "two");
  EXPECT_EQ(fs::status(root_ / "secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("absent", root_ / "dangling");
  WriteFileWhole(root_ / "dangling", "three");
  EXPECT_EQ(ReadTextFile(root_ / "absent"), "three");
}

TEST_F(FilesTest, WhatAKilledWriterLeftIsCollectedAndWhatALivingOneHoldsIsNot) {
  const fs::path dead = root_ / ".a.txt.tmp-0123456789abcdef", alive = root_ / ".a.txt.tmp-0123456789abcdee";
  const fs::path other = root_ / ".a.txt.tmp-mine";
  for (const fs::path& path : {dead, alive, other}) std::ofstream(path) << "half";
  const std::optional<Descriptor> lock = TryLock(alive);
  ASSERT_TRUE(lock.has_value());
  WriteFileWhole(root_ / "a.txt", "whole");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(other));
  fs::create_directories(root_ / ".run.tmp-00000000000000ff/deep");
  StagedDirectory staged(root_ / "run", false);
  EXPECT_FALSE(fs::exists(root_ / ".run.tmp-00000000000000ff"));
  EXPECT_FALSE(TryLock(staged.path()).has_value()) << "a second writer would remove it";
}

TEST_F(FilesTest, WhatAppearedMeanwhileIsLeftAlone) {
  const auto write = [&](const fs::path& aside) {
    FileWriter writer(aside);
    writer.Write("mine");
    writer.Close();
    WriteFileWhole(root_ / "a.txt", "theirs");
  };
  EXPECT_THROW(ReplaceFile(root_ / "a.txt", write, false), Error);
  EXPECT_EQ(ReadTextFile(root_ / "a.txt"), "theirs");
  StagedDirectory staged(root_ / "run", false);
  fs::create_directory(root_ / "run");
  WriteFileWhole(root_ / "run/x", "theirs");
  EXPECT_THROW(staged.Commit(), Error);
  EXPECT_EQ(ReadTextFile(root_ / "run/x"), "theirs");
}

TEST_F(FilesTest, ASmallFileThatShrinksDoesNotHurtItsReaders) {
  WriteFileWhole(root_ / "a.txt", std::string(100000, 'a'));
  const auto file = MappedFile::Open(root_ / "a.txt");
  fs::resize_file(root_ / "a.txt", 10);
  EXPECT_EQ(file->text(), std::string(100000, 'a'));
}

}  // namespace
}  // namespace l2gcn
