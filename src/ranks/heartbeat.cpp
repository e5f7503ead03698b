#include "ranks/heartbeat.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "core/files.h"

namespace l2gcn {
namespace {

using HeartClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBeat(500), kConnectTime(3000);
constexpr std::chrono::seconds kSilence(6);
constexpr char kAlive = 'a', kFarewell = 'q', kFails = 'f';
constexpr size_t kMostReason = 4000;

void SetNonBlocking(int socket) { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK); }

// One end of a connection; bytes come as they come.
struct Peer {
  Descriptor socket;
  uint32_t rank = 0;
  bool parted = false;
  std::string heard;  // not yet understood
  HeartClock::time_point last = HeartClock::now();

  bool open() const { return socket.valid(); }
  void Say(const char* data, size_t bytes) const {
    // A few bytes go whole, or the other end has not read for so long that it is lost anyway.
    if (open() && send(socket.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
  }
  // Takes what has come; false once the other end has closed.
  bool Hear() {
    char buffer[512];
    for (;;) {
      const ssize_t count = recv(socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
      if (count == 0) return false;
      if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      last = HeartClock::now();
      heard.append(buffer, static_cast<size_t>(count));
    }
  }
};

struct Failure {
  std::string reason;
  int status = 1;
};

// Takes what is understood out of `peer.heard`; true where the rank says why it fails: 'f', status, length, text.
bool Understand(Peer& peer, Failure& failure) {
  while (!peer.heard.empty()) {
    if (peer.heard[0] == kFails) {
      uint32_t length = 0;
      constexpr size_t kHead = 2 + sizeof(length);
      if (peer.heard.size() < kHead) return false;
      std::memcpy(&length, peer.heard.data() + 2, sizeof(length));
      length = std::min<uint32_t>(length, kMostReason);
      if (peer.heard.size() < kHead + length) return false;
      failure = {peer.heard.substr(kHead, length), peer.heard[1]};
      peer.parted = true;
      return true;
    }
    if (peer.heard[0] == kFarewell) peer.parted = true;
    peer.heard.erase(0, 1);
  }
  return false;
}

// What both ends do: a thread that beats, listens and judges.
class BeatingHeart : public Heartbeat {
 public:
  explicit BeatingHeart(Loss on_loss) : on_loss_(std::move(on_loss)) {}
  ~BeatingHeart() override {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void Part() override {
    parting_ = true;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Peer& peer : peers_) peer.Say(&kFarewell, 1);
  }

  void Report(const std::string& reason, int status) override {
    parting_ = true;
    std::string message = {kFails, static_cast<char>(status)};
    const auto length = static_cast<uint32_t>(std::min(reason.size(), kMostReason));
    message.append(reinterpret_cast<const char*>(&length), sizeof(length));
    message.append(reason, 0, length);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Peer& peer : peers_) peer.Say(message.data(), message.size());
  }

 protected:
  void Start() {
    thread_ = std::thread([this] { Beat(); });
  }
  // Connections that come; for rank 0.
  virtual int Listening() const { return -1; }
  virtual void Welcome() {}

  std::vector<Peer> peers_;  // of a fixed size once the thread runs

 private:
  struct Lost {
    uint32_t rank;
    Failure failure;
  };

  void Beat() {
    auto next = HeartClock::now();
    while (!stopping_) {
      std::vector<pollfd> waits;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (HeartClock::now() >= next) {
          for (const Peer& peer : peers_) peer.Say(&kAlive, 1);
          next = HeartClock::now() + kBeat;
        }
        if (Listening() >= 0) waits.push_back({Listening(), POLLIN, 0});
        for (const Peer& peer : peers_) {
          if (peer.open()) waits.push_back({peer.socket.get(), POLLIN, 0});
        }
      }
      poll(waits.data(), waits.size(), 100);
      std::vector<Lost> losses;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        Welcome();
        for (Peer& peer : peers_) {
          if (peer.open() && !parting_) CheckPeer(peer, losses);
        }
      }
      for (const Lost& lost : losses) {
        if (!parting_) on_loss_(lost.rank, lost.failure.reason, lost.failure.status);
      }
    }
  }

  static void CheckPeer(Peer& peer, std::vector<Lost>& losses) {
    const bool there = peer.Hear();
    Failure failure;
    const bool fails = Understand(peer, failure);
    const bool silent = HeartClock::now() - peer.last > kSilence;
    if (!fails && !silent && there) return;
    peer.socket = Descriptor();
    if (!fails && peer.parted) return;
    if (!fails && there) {
      failure.reason =
          fmt::format("has not answered for {} s: it hangs, or its machine is cut off", kSilence.count());
    } else if (!fails) {
      failure.reason = "ended without a word: it was killed or crashed";
    }
    losses.push_back({peer.rank, failure});
  }

  const Loss on_loss_;
  std::atomic<bool> stopping_{false}, parting_{false};
  std::mutex mutex_;  // guards the peers
  std::thread thread_;
};

class LeaderHeart final : public BeatingHeart {
 public:
  LeaderHeart(uint32_t size, Loss on_loss) : BeatingHeart(std::move(on_loss)) {
    peers_.resize(size - 1);
    for (uint32_t i = 0; i + 1 < size; ++i) peers_[i].rank = i + 1;
    char secret[16];
    if (getrandom(secret, sizeof(secret), 0) != sizeof(secret)) return;
    for (const char byte : secret) secret_ += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    socket_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof(any);
    if (!socket_.valid() || bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), length) != 0 ||
        listen(socket_.get(), 128) != 0 ||
        getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) {
      socket_ = Descriptor();
      return;
    }
    SetNonBlocking(socket_.get());
    address_ = fmt::format("{} {}", secret_, ntohs(any.sin_port));
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) == 0) {
      for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0)
          continue;
        char text[INET_ADDRSTRLEN];
        sockaddr_in in{};
        std::memcpy(&in, at->ifa_addr, sizeof(in));
        if (inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)) != nullptr)
          address_ += std::string(" ") + text;
      }
      freeifaddrs(all);
    }
    Start();
  }

  const std::string& address() const { return address_; }

 protected:
  int Listening() const override { return socket_.get(); }
  void Welcome() override {
    for (;;) {
      Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid()) break;
      Peer peer;
      peer.socket = std::move(socket);
      strangers_.push_back(std::move(peer));
    }
    for (size_t i = 0; i < strangers_.size();) {
      Peer& stranger = strangers_[i];
      const bool there = stranger.Hear();
      const bool whole = stranger.heard.size() >= secret_.size() + sizeof(uint32_t);
      if (whole) Recognise(stranger);
      const bool late = HeartClock::now() - stranger.last > kConnectTime;
      if (whole || !there || late) {
        strangers_.erase(strangers_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

 private:
  // A stranger that says the secret and a rank nobody has yet takes that rank's place.
  void Recognise(Peer& stranger) {
    uint32_t rank = 0;
    std::memcpy(&rank, stranger.heard.data() + secret_.size(), sizeof(rank));
    const bool knows = stranger.heard.compare(0, secret_.size(), secret_) == 0;
    if (!knows || rank == 0 || rank > peers_.size() || peers_[rank - 1].open()) return;
    Peer& peer = peers_[rank - 1];
    peer.heard = stranger.heard.substr(secret_.size() + sizeof(rank));
    peer.last = HeartClock::now();
    peer.socket = std::move(stranger.socket);
  }

  Descriptor socket_;
  std::string secret_, address_;
  std::vector<Peer> strangers_;  // connected, and not yet known
};

class FollowerHeart final : public BeatingHeart {
 public:
  FollowerHeart(Descriptor socket, Loss on_loss) : BeatingHeart(std::move(on_loss)) {
    peers_.resize(1);
    peers_[0].socket = std::move(socket);
    Start();
  }
};

Descriptor ConnectTo(const std::string& host, uint16_t port) {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (!made.valid() || inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1) return {};
  SetNonBlocking(made.get());
  if (connect(made.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    if (errno != EINPROGRESS) return {};
    pollfd wait{made.get(), POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof(error);
    if (poll(&wait, 1, static_cast<int>(kConnectTime.count())) != 1 ||
        getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) {
      return {};
    }
  }
  return made;
}

}  // namespace

HeartbeatAddress ListenForRanks(uint32_t size, Heartbeat::Loss on_loss) {
  auto leader = std::make_unique<LeaderHeart>(size, std::move(on_loss));
  HeartbeatAddress address{leader->address(), nullptr};
  address.heartbeat = std::move(leader);
  return address;
}

std::unique_ptr<Heartbeat> JoinHeartbeat(const std::string& address, uint32_t rank, Heartbeat::Loss on_loss) {
  std::istringstream words(address);
  std::string secret, host;
  uint16_t port = 0;
  if (!(words >> secret >> port)) return nullptr;
  while (words >> host) {
    Descriptor socket = ConnectTo(host, port);
    if (!socket.valid()) continue;
    std::string hello = secret;
    hello.append(reinterpret_cast<const char*>(&rank), sizeof(rank));
    if (send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size()))
      continue;
    // Rank 0 beats for whom it knows; anybody else at that address does not.
    pollfd wait{socket.get(), POLLIN, 0};
    char beat = 0;
    if (poll(&wait, 1, static_cast<int>(kConnectTime.count())) != 1 ||
        recv(socket.get(), &beat, 1, MSG_DONTWAIT) != 1 || beat != kAlive)
      continue;
    return std::make_unique<FollowerHeart>(std::move(socket), std::move(on_loss));
  }
  return nullptr;
}

}  // namespace l2gcn
