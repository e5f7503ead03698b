// Tells when a rank is gone: killed, crashed, stopped, or cut off.
//
// Each rank keeps a connection (TCP) to rank 0 and both ends say every half a second that they live. An end that closes
// without a farewell, or is silent for kSilence, is gone; then the living end calls `on_loss` with a sentence. It is
// also the way to rank 0 for the reason of a rank that fails. This is apart from the engine that moves the data, because
// that waits for ever for a rank that does not answer.
//
// Guarantees: nothing that is not of this job is listened to (each connection opens with the job's secret).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace l2gcn {

class Heartbeat {
 public:
  // `rank` is the one that was lost; `reason` says how. `status` is the exit status that a failing rank asked for.
  using Loss = std::function<void(uint32_t rank, const std::string& reason, int status)>;

  virtual ~Heartbeat() = default;
  // Not a loss from here on, whatever the others do. Called before the ranks part.
  virtual void Part() = 0;
  // Tells rank 0 why this rank fails. Not for rank 0.
  virtual void Report(const std::string& reason, int status) = 0;
};

// Where rank 0 listens: what the others need, as text.
struct HeartbeatAddress {
  std::string text;
  std::unique_ptr<Heartbeat> heartbeat;
};
HeartbeatAddress ListenForRanks(uint32_t size, Heartbeat::Loss on_loss);
// Null where rank 0 cannot be reached.
std::unique_ptr<Heartbeat> JoinHeartbeat(const std::string& address, uint32_t rank, Heartbeat::Loss on_loss);

}  // namespace l2gcn
