#include "core/scratch_folder.h"

#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolderTest, GoesWithItsObject) {
  TemporaryFolder folder;
  {
    const ScratchFolder scratch(folder.path());
    EXPECT_TRUE(fs::is_directory(scratch.path()));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ScratchFolderTest, FoldersOfKilledProcessesAreRemovedAndThoseOfLivingOnesStay) {
  TemporaryFolder folder;
  const ScratchFolder living(folder.path());
  fs::create_directories(folder.path() / "l2gcn-scratch-gone");
  fs::create_directories(folder.path() / "mine");
  ScratchFolder::RemoveLeftOvers(folder.path());
  EXPECT_TRUE(fs::exists(living.path()));
  EXPECT_TRUE(fs::exists(folder.path() / "mine"));
  EXPECT_FALSE(fs::exists(folder.path() / "l2gcn-scratch-gone"));
}

TEST(ScratchFolderTest, AFolderThatCannotBeMadeIsRefused) {
  TemporaryFolder folder;
  EXPECT_THROW(ScratchFolder(folder.path() / "missing"), Error);
}

}  // namespace
}  // namespace l2gcn
