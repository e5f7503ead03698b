// Arrays in scratch and in memory that several threads fill part by part.
#include "core/scratch_fill.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <vector>

#include "data/fixtures.h"

namespace l2gcn {
namespace {

// Part i begins at numbers[cuts[i]]; they are appended by pieces of many lengths. Worker w takes parts w, w + 3, …
void Fill(const DiskMemory* disk, const std::vector<size_t>& cuts, Array<uint32_t>& numbers) {
  constexpr size_t kWorkers = 3;
  uint32_t* const to = numbers.mutable_data();
  ScratchFill fill(disk, kWorkers);
  std::vector<std::future<void>> workers;
  for (size_t worker = 0; worker < kWorkers; ++worker) {
    workers.push_back(std::async(std::launch::async, [&, worker] {
      for (size_t part = worker; part + 1 < cuts.size(); part += kWorkers) {
        fill.Begin(worker, to + cuts[part]);
        for (size_t at = cuts[part], piece = 1; at < cuts[part + 1]; at += piece, piece = piece * 3 % 70001) {
          piece = std::min(piece, cuts[part + 1] - at);
          std::vector<uint32_t> values(piece);
          std::iota(values.begin(), values.end(), static_cast<uint32_t>(at));
          fill.Append(worker, values.data(), piece * sizeof(uint32_t));
        }
        fill.End(worker);
      }
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
  fill.Finish();
}

void ExpectNumbered(const Array<uint32_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
}

// Parts of no page, less than one, exactly one, and more than the buffer holds.
std::vector<size_t> Cuts() { return {0, 3, 3, 1024, 2048, 5000, 5001, 700000, 700100, 1048576, 1050000}; }

TEST(ScratchFillTest, PartsOfABlockOfScratch) {
  TemporaryFolder folder;
  auto disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  Array<uint32_t> numbers = disk->NewArray<uint32_t>(Cuts().back());
  EXPECT_EQ(numbers[77], 0u);  // its page is resident, and goes
  Fill(disk.get(), Cuts(), numbers);
  ExpectNumbered(numbers);
  DiskBuffer buffer;
  const uint32_t* read = disk->Fetch(numbers, 0, numbers.size(), buffer);
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(read[i], i);
  EXPECT_GT(disk->Use().written_bytes, uint64_t{3} << 20) << "pages went to the file";
}

TEST(ScratchFillTest, PartsOfMemory) {
  TemporaryFolder folder;
  auto disk = std::make_shared<DiskMemory>(uint64_t{1} << 30, folder.path());
  for (const DiskMemory* given : {disk.get(), static_cast<DiskMemory*>(nullptr)}) {
    Array<uint32_t> numbers = Array<uint32_t>::Allocate(Cuts().back());
    Fill(given, Cuts(), numbers);
    ExpectNumbered(numbers);
  }
}

}  // namespace
}  // namespace l2gcn
