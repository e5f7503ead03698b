// Ranks over a driver (ranks/driver.h): finds it, waits for its transfers, and ends the job when a rank is lost.
#include "ranks/launched_ranks.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error_format.h"
#include "l2gcn/version.h"
#include "ranks/collectives.h"
#include "ranks/driver.h"
#include "ranks/heartbeat.h"
#include "ranks/shared_memory.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr int kDataTag = 1, kPostTag = 2, kStepTag = 3;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // bytes of one transfer
constexpr std::chrono::microseconds kSpinTime(
    2000);  // a waiting rank looks for so long, and then sleeps in between
constexpr std::chrono::microseconds kShortSleep(50), kLongSleep(1000);
constexpr std::chrono::milliseconds kOwnWords(300);  // in which rank 0 may fail by itself for the same reason
constexpr std::chrono::seconds kUntilKilled(5);

using RanksClock = std::chrono::steady_clock;

class LaunchedRanks final : public Ranks {
 public:
  LaunchedRanks(const L2gcnRanksDriver& driver, std::function<void(const std::string&)> tell)
      : driver_(driver), report_(std::move(tell)) {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    hosts_.assign(size(), "");
    hosts_[rank()] = host;
    const auto on_loss = [this](uint32_t lost, const std::string& reason, int status) {
      OnLoss(lost, reason, status);
    };
    std::string address;
    if (leads()) {
      HeartbeatAddress listening = ListenForRanks(size(), on_loss);
      address = listening.text;
      heartbeat_ = std::move(listening.heartbeat);
    }
    BroadcastText(*this, address);
    hosts_ = AllGatherText(*this, hosts_[rank()]);
    if (!leads()) heartbeat_ = JoinHeartbeat(address, rank(), on_loss);
  }

  ~LaunchedRanks() override {
    for (const auto& posted : posted_) Wait({posted.transfer});
    Barrier(*this);
    if (heartbeat_ != nullptr) heartbeat_->Part();
    Barrier(*this);
    driver_.finish();
  }

  uint32_t rank() const override { return static_cast<uint32_t>(driver_.rank); }
  uint32_t size() const override { return static_cast<uint32_t>(driver_.size); }
  uint32_t local_rank() const override {
    return static_cast<uint32_t>(
        std::count(hosts_.begin(), hosts_.begin() + static_cast<std::ptrdiff_t>(rank()), hosts_[rank()]));
  }
  std::string Name(uint32_t rank) const override { return fmt::format("rank {} on {}", rank, hosts_[rank]); }

  void ExchangeOn(Channel channel, uint32_t to, std::span<const char> send, uint32_t from,
                  std::span<char> receive) override {
    const int tag = channel == Channel::kMain ? kDataTag : kStepTag;
    std::vector<void*> transfers;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (size_t at = 0; at < receive.size(); at += kMostAtOnce) {
        transfers.push_back(driver_.receive(static_cast<int>(from), tag, receive.data() + at,
                                            std::min(kMostAtOnce, receive.size() - at)));
      }
      for (size_t at = 0; at < send.size(); at += kMostAtOnce) {
        transfers.push_back(driver_.send(static_cast<int>(to), tag, send.data() + at,
                                         std::min(kMostAtOnce, send.size() - at)));
      }
    }
    Wait(std::move(transfers));
    CountSent(send.size());
  }

  void Post(std::string bytes) override {
    L2GCN_ASSERT(!leads());
    if (bytes.size() > kMostAtOnce)
      ThrowRuntime("a result of {} bytes is too large to be sent to rank 0", bytes.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    posted_.remove_if([&](const Posting& posting) { return driver_.done(posting.transfer); });
    posted_.push_back({std::move(bytes), nullptr});
    Posting& posting = posted_.back();
    posting.transfer = driver_.send(0, kPostTag, posting.bytes.data(), posting.bytes.size());
  }

  std::optional<Posted> Take(bool wait) override {
    L2GCN_ASSERT(leads());
    for (const auto begun = RanksClock::now();; Pause(begun)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (arriving_ == nullptr) {
        int from = 0;
        size_t bytes = 0;
        if (driver_.probe(kPostTag, &from, &bytes)) {
          arrived_ = {static_cast<uint32_t>(from), std::string(bytes, '\0')};
          arriving_ = driver_.receive(from, kPostTag, arrived_.bytes.data(), bytes);
        }
      }
      if (arriving_ != nullptr && driver_.done(arriving_)) {
        arriving_ = nullptr;
        return std::move(arrived_);
      }
      if (!wait) return std::nullopt;
    }
  }

  std::shared_ptr<void> AllocateShared(size_t bytes) override { return MapTogether(*this, bytes); }

  [[noreturn]] void Abort(const std::string& reason, int status) override {
    failing_ = true;
    if (leads() || heartbeat_ == nullptr) {
      report_(leads() ? reason : Name(rank()) + ": " + reason);
      End(status);
    }
    heartbeat_->Report(reason, status);
    std::this_thread::sleep_for(kUntilKilled);
    End(status);
  }

 private:
  struct Posting {
    std::string bytes;
    void* transfer;
  };

  // Between two looks. Transfers go on only while somebody looks, so the first sleeps are short.
  static void Pause(RanksClock::time_point begun) {
    const auto waited = RanksClock::now() - begun;
    if (waited < kSpinTime) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(waited < 50 * kSpinTime ? kShortSleep : kLongSleep);
    }
  }

  void Wait(std::vector<void*> transfers) {
    for (const auto begun = RanksClock::now();;) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::erase_if(transfers, [&](void* transfer) { return driver_.done(transfer); });
      }
      if (transfers.empty()) return;
      Pause(begun);
    }
  }

  // Called by the heartbeat's thread.
  void OnLoss(uint32_t lost, const std::string& reason, int status) {
    if (leads()) std::this_thread::sleep_for(kOwnWords);
    if (failing_) return;
    if (leads() || rank() == 1) report_(Name(lost) + ": " + reason);
    End(status);
  }

  [[noreturn]] void End(int status) {
    if (leads() && heartbeat_ != nullptr) heartbeat_->Part();  // its reason was told
    std::unique_lock<std::timed_mutex> once(ending_, std::defer_lock);
    if (once.try_lock_for(kUntilKilled)) driver_.abort(status);
    _exit(status);
  }

  const L2gcnRanksDriver& driver_;
  const std::function<void(const std::string&)> report_;
  std::vector<std::string> hosts_;
  std::mutex mutex_;  // one call of the driver at a time
  std::timed_mutex ending_;
  std::list<Posting> posted_;
  void* arriving_ = nullptr;
  Posted arrived_;
  std::atomic<bool> failing_{false};
  std::unique_ptr<Heartbeat> heartbeat_;  // last: its thread uses the others
};

// Where the file that holds this library's code lies: the program, or a Python module.
fs::path OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&LaunchedBySomething), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const fs::path own = fs::canonical(info.dli_fname, error);
  if (!error) return own.parent_path();
  return fs::canonical("/proc/self/exe", error).parent_path();
}

const L2gcnRanksDriver& LoadDriver() {
  constexpr const char* kFile = "libl2gcn_mpi.so";
  const fs::path own = OwnFolder();
  void* object = nullptr;
  std::string why;
  for (const fs::path& path : {own / kFile, own / "../lib" / kFile, fs::path(kFile)}) {
    object = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (object != nullptr) break;
    std::error_code error;
    if (why.empty() || fs::exists(path, error)) why = dlerror();
  }
  if (object == nullptr) {
    ThrowUsage(
        "started by mpirun or srun, but {} cannot be loaded ({}); build with Open MPI "
        "(scripts/install-deps.sh "
        "--mpi), or start the program alone",
        kFile, why);
  }
  const auto entry = reinterpret_cast<L2gcnRanksEntry>(dlsym(object, kL2gcnDriverEntry));
  const L2gcnRanksDriver* driver = entry != nullptr ? entry() : nullptr;
  if (driver == nullptr || driver->version != kL2gcnDriverVersion)
    ThrowUsage("{}/{}: MPI could not be started, or the file is of another build", own.string(), kFile);
  return *driver;
}

}  // namespace

bool LaunchedBySomething() {
  const char* ranks = std::getenv("L2GCN_RANKS");
  if (ranks != nullptr && *ranks != '\0') {
    if (std::string(ranks) == "alone") return false;
    ThrowUsage("L2GCN_RANKS={}: the only value is 'alone'; unset it where ranks are to share their work",
               ranks);
  }
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr) return std::string(size) != "1";
  return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
}

bool LeadsByEnvironment() {
  const char* alone = std::getenv("L2GCN_RANKS");
  if (alone != nullptr && *alone != '\0') return true;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::string(rank) == "0";
  }
  return true;
}

std::shared_ptr<Ranks> LaunchRanks(std::function<void(const std::string&)> tell) {
  const L2gcnRanksDriver& driver = LoadDriver();
  if (driver.size > 1) return std::make_shared<LaunchedRanks>(driver, std::move(tell));
  driver.finish();
  return nullptr;
}

}  // namespace l2gcn
