#include "ranks/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/error_format.h"
#include "core/threads.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

constexpr size_t kSharedPage = 4096, kSharedHugePage = size_t{2} << 20;
constexpr int kMadviseCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which older headers do not name

// Where rank 0's file is to be found. The mark lies in the file behind what is mapped: another file of the same number,
// of another machine's process of the same number, has another one.
struct SharedFile {
  int64_t process = 0, descriptor = -1;
  uint64_t mark[2] = {0, 0};
};

class SharedDescriptor {
 public:
  explicit SharedDescriptor(int number) : number_(number) {}
  ~SharedDescriptor() {
    if (number_ >= 0) close(number_);
  }
  SharedDescriptor(const SharedDescriptor&) = delete;
  SharedDescriptor& operator=(const SharedDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Both return -1 where the system does not give it, with the reason in errno.
int MakeSharedFile(size_t bytes, SharedFile& file) {
  const int number = memfd_create("rows of ranks", MFD_CLOEXEC);
  if (number < 0) return -1;
  const bool marked = getrandom(file.mark, sizeof(file.mark), 0) == ssize_t{sizeof(file.mark)};
  if (!marked || ftruncate(number, static_cast<off_t>(bytes + kSharedPage)) != 0 ||
      pwrite(number, file.mark, sizeof(file.mark), static_cast<off_t>(bytes)) != ssize_t{sizeof(file.mark)}) {
    close(number);
    return -1;
  }
  file.process = getpid();
  file.descriptor = number;
  return number;
}

int OpenSharedFile(size_t bytes, const SharedFile& file) {
  const std::string path = fmt::format("/proc/{}/fd/{}", file.process, file.descriptor);
  const int number = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (number < 0) return -1;
  uint64_t mark[2] = {0, 0};
  const ssize_t got = pread(number, mark, sizeof(mark), static_cast<off_t>(bytes));
  if (got == ssize_t{sizeof(mark)} && std::memcmp(mark, file.mark, sizeof(mark)) == 0) return number;
  close(number);
  errno = ENOENT;
  return -1;
}

// The file's first bytes at an address where huge pages can lie; null where there is no room.
void* MapSharedFile(int number, size_t bytes) {
  void* const room =
      mmap(nullptr, bytes + kSharedHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(room);
  const uintptr_t first = (begin + kSharedHugePage - 1) / kSharedHugePage * kSharedHugePage;
  void* const memory =
      mmap(reinterpret_cast<void*>(first), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, number, 0);
  if (memory == MAP_FAILED) {
    munmap(room, bytes + kSharedHugePage);
    return nullptr;
  }
  if (first > begin) munmap(room, first - begin);
  munmap(reinterpret_cast<void*>(first + bytes), begin + kSharedHugePage - first);
  if (bytes >= kSharedHugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);  // where shmem_enabled of the kernel lets us
  return memory;
}

// Whether one huge page lies at `begin` now. Shared memory gets small pages unless the system's settings say otherwise, but
// those that lie there, and one has to, may be made one huge page at a process's own wish. What they hold stays.
bool TakeHugePage(uintptr_t begin) {
  void* const at = reinterpret_cast<void*>(begin);
  return madvise(at, kSharedPage, MADV_POPULATE_WRITE) == 0 &&
         madvise(at, kSharedHugePage, kMadviseCollapse) == 0;
}

}  // namespace

std::shared_ptr<void> MapTogether(Ranks& ranks, size_t bytes) {
  const size_t page = bytes >= 2 * kSharedHugePage ? kSharedHugePage : kSharedPage;
  const size_t mapped = std::max<size_t>(1, (bytes + page - 1) / page) * page;
  SharedFile file;
  int number = ranks.leads() ? MakeSharedFile(mapped, file) : -1;
  std::string failure = ranks.leads() && number < 0 ? std::strerror(errno) : "";
  Broadcast(ranks, {reinterpret_cast<char*>(&file), sizeof(file)});
  if (!ranks.leads() && file.descriptor >= 0) {
    number = OpenSharedFile(mapped, file);
    if (number < 0) failure = fmt::format("rank 0's memory is not to be seen: {}", std::strerror(errno));
  }
  const SharedDescriptor holder(number);
  void* const memory = number >= 0 ? MapSharedFile(number, mapped) : nullptr;
  if (number >= 0 && memory == nullptr) failure = std::strerror(errno);
  std::shared_ptr<void> shared;
  if (memory != nullptr) shared.reset(memory, [mapped](void* begin) { munmap(begin, mapped); });
  const std::vector<std::string> failures = AllGatherText(ranks, failure);
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    if (!failures[r].empty())
      ThrowRuntime("{}: cannot share {} bytes of memory: {}", ranks.Name(r), bytes, failures[r]);
  }
  return shared;
}

void PopulateShared(const Context& context, char* begin, size_t bytes) {
  if (bytes == 0) return;
  const auto first = reinterpret_cast<uintptr_t>(begin) / kSharedPage * kSharedPage,
             end = reinterpret_cast<uintptr_t>(begin) + bytes;
  const uintptr_t huge = first / kSharedHugePage;
  const size_t count = (end + kSharedHugePage - 1) / kSharedHugePage - huge;
  ParallelFor(context, count, 1, [&](size_t from, size_t to) {
    for (uintptr_t at = huge + from; at < huge + to; ++at) {
      const uintptr_t low = std::max(first, at * kSharedHugePage),
                      high = std::min(end, (at + 1) * kSharedHugePage);
      if (low == at * kSharedHugePage && TakeHugePage(low)) continue;
      madvise(reinterpret_cast<void*>(low), high - low, MADV_POPULATE_WRITE);
    }
  });
}

std::shared_ptr<void> SharedPool::Take(size_t bytes) {
  Block block = TakeKept(bytes);
  if (block.memory == nullptr) block = {ranks_->AllocateShared(2 * bytes), 2 * bytes, ++made_};
  void* const start = block.memory.get();
  return std::shared_ptr<void>(
      start, [block = std::move(block), shelf = std::weak_ptr<Shelf>(shelf_)](void*) mutable {
        if (const std::shared_ptr<Shelf> alive = shelf.lock()) GiveBack(*alive, std::move(block));
      });
}

// The smallest block that serves and that all ranks have on their shelves; those too small to serve are let go.
SharedPool::Block SharedPool::TakeKept(size_t bytes) {
  Blocks offered;  // nobody else may let go of them meanwhile
  {
    const std::lock_guard<std::mutex> lock(shelf_->mutex);
    std::swap(offered, shelf_->kept);
  }
  const uint32_t size = ranks_->size();
  std::vector<uint64_t> numbers(size * kKept);
  std::vector<size_t> offsets(size + size_t{1});
  for (uint32_t r = 0; r <= size; ++r) offsets[r] = r * kKept * sizeof(uint64_t);
  for (size_t i = 0; i < kKept; ++i) numbers[ranks_->rank() * kKept + i] = offered[i].number;
  AllGather(*ranks_, offsets, {reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(uint64_t)});
  Block* best = nullptr;
  for (Block& block : offered) {
    const bool free = block.number > 0 && std::count(numbers.begin(), numbers.end(), block.number) == size;
    if (free && block.bytes >= bytes && (best == nullptr || block.bytes < best->bytes)) best = &block;
  }
  Block taken;
  if (best != nullptr) std::swap(taken, *best);
  for (Block& block : offered) {
    if (block.number > 0 && (taken.number > 0 || block.bytes >= bytes)) GiveBack(*shelf_, std::move(block));
  }
  return taken;
}

void SharedPool::GiveBack(Shelf& shelf, Block block) {
  const std::lock_guard<std::mutex> lock(shelf.mutex);
  Block& smallest = *std::min_element(shelf.kept.begin(), shelf.kept.end(),
                                      [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
  if (smallest.bytes < block.bytes) std::swap(smallest, block);
}

void Ranks::SettleExchange(std::string wanted) {
  BroadcastText(*this, wanted);
  shares_memory_ = false;
  if (wanted == "messages") return;
  try {
    AllocateShared(1);
    shares_memory_ = true;
  } catch (const Error& error) {
    if (wanted == "memory") ThrowUsage("--exchange memory: {}; use --exchange messages", error.what());
    why_messages_ = error.what();
  }
}

}  // namespace l2gcn
