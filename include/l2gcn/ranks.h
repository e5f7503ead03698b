// Several processes that do one job together: the ranks of a launcher such as mpirun.
//
// Every rank runs the same calls in the same order; only rank 0 writes files and prints. Data is moved between ranks
// and never summed by the engine that moves it, so results have the same bits for any number of ranks.
// Context::ranks carries them; null means that this process works alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

class Ranks {
 public:
  // A message that some rank posted to rank 0.
  struct Posted {
    uint32_t from = 0;
    std::string bytes;
  };

  virtual ~Ranks() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;
  // This rank's number among those of its machine: which of several GPUs it takes (Context::device_index).
  virtual uint32_t local_rank() const { return rank(); }
  // "rank 2 on HOST", for messages.
  virtual std::string Name(uint32_t rank) const = 0;

  // What is sent on one channel never meets what is sent on another: two threads of a rank may use one each.
  enum class Channel { kMain, kSteps };

  // Sends `send` to rank `to` while exactly receive.size() bytes come from rank `from`. Neither is this rank; an empty
  // span is not sent or received at all, so both sides must agree on lengths.
  virtual void ExchangeOn(Channel channel, uint32_t to, std::span<const char> send, uint32_t from,
                          std::span<char> receive) = 0;
  void Exchange(uint32_t to, std::span<const char> send, uint32_t from, std::span<char> receive) {
    ExchangeOn(Channel::kMain, to, send, from, receive);
  }
  // Sends a message of any length to rank 0 and returns at once. Not for rank 0.
  virtual void Post(std::string bytes) = 0;
  // The next message that was posted; for rank 0 alone. Without `wait`: nothing, where none has come.
  virtual std::optional<Posted> Take(bool wait) = 0;

  // Memory of `bytes` that every rank sees, all zero at first; it lasts as long as some rank keeps it. Called by all
  // ranks at the same time with the same size. Throws Error(kRuntime) on every rank where one of them cannot see it.
  virtual std::shared_ptr<void> AllocateShared(size_t bytes) = 0;

  // Settles how ranks get at each other's rows: in memory that all of them see ("memory"), by "messages", or ("auto") in
  // memory where that can be done. Called by all ranks, once; rank 0's word counts. Throws Error(kUsage) where "memory"
  // was asked for and cannot be.
  void SettleExchange(std::string wanted);
  bool shares_memory() const { return shares_memory_; }
  // Why ranks that could choose use messages; "" where there was no choice, or memory was chosen.
  const std::string& why_messages() const { return why_messages_; }

  // Rates that were measured once for the job; all ranks have the same (kernels/ranks/step_choice.h).
  struct StepRates {
    double operations = 0;    // a second of a training step's, on the slowest rank
    double sum_seconds = 0;   // that a sum through all ranks takes, whatever its size …
    double byte_seconds = 0;  // … and for each of its bytes, on its way …
    double add_seconds = 0;  // … and when one of the gradients that are summed is added, on the slowest rank
  };
  const std::optional<StepRates>& step_rates() const { return step_rates_; }
  void KeepStepRates(const StepRates& rates) { step_rates_ = rates; }

  // Tells rank 0 why this rank cannot go on, in one sentence, and ends all ranks with this exit status.
  [[noreturn]] virtual void Abort(const std::string& reason, int status) = 0;

  bool leads() const { return rank() == 0; }
  // What this rank has sent by Exchange so far.
  uint64_t sent_bytes() const { return sent_bytes_.load(std::memory_order_relaxed); }

 protected:
  void CountSent(size_t bytes) { sent_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> sent_bytes_{0};
  bool shares_memory_ = false;
  std::string why_messages_;
  std::optional<StepRates> step_rates_;
};

// The ranks that a launcher started, or null where this process was started alone or as the only one, or where the
// environment has L2GCN_RANKS=alone. Loads Open MPI
// through libl2gcn_mpi.so. Throws Error(kUsage) where a launcher is there and that file is not, or where ranks are of
// different builds or were given different `words` (a command line). Where processors differ, all ranks take the instruction set that all have (L2GCN_SIMD). `exchange` is
// the word for Ranks::SettleExchange.
// `tell` is called with one sentence when a rank is lost, from another thread; then the process ends.
std::shared_ptr<Ranks> JoinRanks(std::function<void(const std::string&)> tell, const std::string& exchange,
                                 const std::vector<std::string>& words = {});

// Before ranks are joined: whether this process was started alone, or is rank 0 by what a launcher has put into its
// environment. That rank reports mistakes that all ranks make alike.
bool LeadsByEnvironment();

// What OpenDataset opens. With Context::local_data only rank 0 opens it; machines that have no copy of it in that folder
// get one, and every rank opens its machine's. Called by all ranks.
Dataset OpenForRanks(const Context& context, const std::string& spec, const OpenOptions& options = {});

// Throws Error(kUsage) where ranks have opened different data sets, told by counts and samples of their arrays.
void CheckSameData(const Context& context, const Dataset& dataset);

// Rank 0's text, on every rank. Called by all ranks.
std::string TextOfRank0(Ranks& ranks, std::string text);

// Whether this process writes and prints: it works alone, or is rank 0.
inline bool Leads(const Context& context) { return context.ranks == nullptr || context.ranks->leads(); }

}  // namespace l2gcn
