#include "core/kept_scratch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "data/fixtures.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

constexpr KeptShape kShape = {100, 32, 0, 64, 32};

// A scratch folder, and the unfinished directory of a run.
class KeptScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(scratch());
    fs::create_directories(owner());
  }
  fs::path scratch() const { return folder_.path() / "scratch"; }
  fs::path owner() const { return folder_.path() / "run.unfinished"; }
  static void WriteData(const KeptFile& file) { std::ofstream(file.data()) << "data"; }

  // What a process that is killed leaves: files are copied before their owner removes them, and put back.
  void LeaveBehind(uint64_t id, uint64_t done) {
    const fs::path copy = folder_.path() / "copy";
    {
      const auto kept = KeptScratch::Take(scratch(), owner());
      const auto file = kept->Open(id, kShape);
      WriteData(*file);
      file->Mark(done);
      kept->CountPanel();
      fs::copy(scratch(), copy, fs::copy_options::recursive);
    }
    EXPECT_TRUE(fs::is_empty(scratch())) << "an orderly end removes everything";
    fs::remove(scratch());
    fs::rename(copy, scratch());
  }

  TemporaryFolder folder_;
};

TEST_F(KeptScratchTest, AProcessGoesOnWhereAKilledOneStopped) {
  LeaveBehind(7, 16);
  const auto kept = KeptScratch::Take(scratch(), owner());
  EXPECT_TRUE(kept->Has(7));
  EXPECT_FALSE(kept->HasWhole(7));
  EXPECT_TRUE(kept->Expects());
  EXPECT_EQ(kept->panels(), 1u);
  KeptShape other_budget = kShape;
  other_budget.block_rows = 4096;
  const auto file = kept->Open(7, other_budget);
  EXPECT_EQ(file->done(), 16u);
  EXPECT_EQ(file->shape().block_rows, kShape.block_rows) << "the file has the blocks it was written with";
  EXPECT_FALSE(kept->Expects());
}

TEST_F(KeptScratchTest, WhatHasAnotherShapeOrADamagedMarkIsNotTaken) {
  LeaveBehind(7, 32);
  {
    const auto kept = KeptScratch::Take(scratch(), owner());
    EXPECT_TRUE(kept->HasWhole(7));
    KeptShape wider = kShape;
    wider.cols = 64;
    EXPECT_EQ(kept->Open(7, wider)->done(), 0u);
  }
  LeaveBehind(7, 32);
  for (const auto& entry : fs::recursive_directory_iterator(scratch())) {
    if (entry.path().extension() == ".mark")
      std::ofstream(entry.path()) << "100 32 0 64 32 32 0123456789abcdef\n";
  }
  const auto kept = KeptScratch::Take(scratch(), owner());
  EXPECT_FALSE(kept->Has(7));
}

TEST_F(KeptScratchTest, FilesThatNobodyUsesGoAtOnce) {
  const auto kept = KeptScratch::Take(scratch(), owner());
  fs::path data;
  {
    const auto file = kept->Open(9, kShape);
    WriteData(*file);
    file->Mark(32);
    data = file->data();
    EXPECT_TRUE(fs::exists(data));
  }
  EXPECT_FALSE(fs::exists(data));
  EXPECT_FALSE(kept->Has(9)) << "what this process made it does not expect";
}

TEST_F(KeptScratchTest, LeftOversStayAsLongAsTheirRunCanBeGoneOnWith) {
  LeaveBehind(7, 16);
  KeptScratch::Clean(scratch());
  EXPECT_FALSE(fs::is_empty(scratch())) << "the run's unfinished directory is there";
  fs::remove(owner());
  KeptScratch::Clean(scratch());
  EXPECT_TRUE(fs::is_empty(scratch()));
}

TEST_F(KeptScratchTest, TheFolderOfALivingProcessIsLeftAlone) {
  const auto kept = KeptScratch::Take(scratch(), owner());
  fs::remove(owner());
  KeptScratch::Clean(scratch());
  EXPECT_FALSE(fs::is_empty(scratch()));
  EXPECT_EQ(KeptScratch::Take(scratch(), owner()), nullptr);
}

}  // namespace
}  // namespace l2gcn
