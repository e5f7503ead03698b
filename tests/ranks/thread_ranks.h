// Threads that stand for ranks: everything that ranks do together, without a launcher, for tests.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "l2gcn/ranks.h"

namespace l2gcn {

// What the threads share: messages on their way.
struct ThreadRanksHub {
  std::mutex mutex;
  std::condition_variable came;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::string>> data;  // (from, to)
  std::deque<Ranks::Posted> posted;
  std::map<uint32_t, std::pair<std::shared_ptr<void>, uint32_t>>
      shared;  // blocks that not all have taken yet
  bool failed = false;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(std::shared_ptr<ThreadRanksHub> hub, uint32_t rank, uint32_t size)
      : hub_(std::move(hub)), rank_(rank), size_(size) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return size_; }
  // What this rank has sent by Exchange so far.
  uint64_t sent_bytes() const {
    const std::lock_guard<std::mutex> lock(hub_->mutex);
    return sent_bytes_;
  }
  std::string Name(uint32_t rank) const override { return "rank " + std::to_string(rank); }

  void Exchange(uint32_t to, std::span<const char> send, uint32_t from, std::span<char> receive) override {
    std::unique_lock<std::mutex> lock(hub_->mutex);
    if (!send.empty()) hub_->data[{rank_, to}].emplace_back(send.begin(), send.end());
    hub_->came.notify_all();
    sent_bytes_ += send.size();
    if (receive.empty()) return;
    auto& queue = hub_->data[{from, rank_}];
    hub_->came.wait(lock, [&] { return hub_->failed || !queue.empty(); });
    if (hub_->failed) throw std::runtime_error("another rank failed");
    if (queue.front().size() != receive.size()) {
      hub_->failed = true;
      hub_->came.notify_all();
      throw std::runtime_error("a message has another length than expected");
    }
    std::copy(queue.front().begin(), queue.front().end(), receive.begin());
    queue.pop_front();
  }

  void Post(std::string bytes) override {
    const std::lock_guard<std::mutex> lock(hub_->mutex);
    hub_->posted.push_back({rank_, std::move(bytes)});
    hub_->came.notify_all();
  }

  std::optional<Posted> Take(bool wait) override {
    std::unique_lock<std::mutex> lock(hub_->mutex);
    if (wait) hub_->came.wait(lock, [&] { return hub_->failed || !hub_->posted.empty(); });
    if (hub_->failed) throw std::runtime_error("another rank failed");
    if (hub_->posted.empty()) return std::nullopt;
    Posted first = std::move(hub_->posted.front());
    hub_->posted.pop_front();
    return first;
  }

  std::shared_ptr<void> AllocateShared(size_t bytes) override {
    std::unique_lock<std::mutex> lock(hub_->mutex);
    const uint32_t number = allocated_++;
    auto& [block, taken] = hub_->shared[number];
    if (block == nullptr) block = std::shared_ptr<char[]>(new char[bytes]());
    std::shared_ptr<void> mine = block;
    if (++taken == size_) hub_->shared.erase(number);
    return mine;
  }

  [[noreturn]] void Abort(const std::string& reason, int) override {
    {
      const std::lock_guard<std::mutex> lock(hub_->mutex);
      hub_->failed = true;
      hub_->came.notify_all();
    }
    throw std::runtime_error(reason);
  }

 private:
  const std::shared_ptr<ThreadRanksHub> hub_;
  const uint32_t rank_, size_;
  uint64_t sent_bytes_ = 0;  // guarded by the hub's mutex
  uint32_t allocated_ = 0;
};

// Runs body(context of the rank) on `size` ranks, each with `threads` threads of its own, which get at each other's rows
// as `exchange` says (Ranks::SettleExchange). Throws what the first rank that failed threw.
inline void RunAsRanks(uint32_t size, uint32_t threads, const std::function<void(const Context&)>& body,
                       const std::string& exchange = "messages") {
  const auto hub = std::make_shared<ThreadRanksHub>();
  std::vector<std::exception_ptr> failures(size);
  std::vector<std::thread> running;
  for (uint32_t r = 0; r < size; ++r) {
    running.emplace_back([&, r] {
      try {
        Context context = MakeContext(threads);
        context.ranks = std::make_shared<ThreadRanks>(hub, r, size);
        context.ranks->SettleExchange(exchange);
        body(context);
      } catch (...) {
        failures[r] = std::current_exception();
        const std::lock_guard<std::mutex> lock(hub->mutex);
        hub->failed = true;
        hub->came.notify_all();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

}  // namespace l2gcn
