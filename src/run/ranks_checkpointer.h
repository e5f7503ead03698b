// The checkpointer of ranks that train one seed together. Rank 0's own checkpointer decides when to write, all ranks stop for it
// at the same epoch, and only rank 0 writes.
#pragma once

#include <optional>

#include "train/snapshot.h"

namespace l2gcn {

class RanksCheckpointer final : public Checkpointer {
 public:
  // `own` is rank 0's checkpointer; the others have none. The snapshot to go on with is sent to all.
  RanksCheckpointer(const Context& context, Checkpointer* own);

  const Snapshot* Start() const override { return start_ ? &*start_ : nullptr; }
  bool Due(uint64_t epochs) override;
  uint32_t EpochsBetween() const override { return epochs_between_; }
  void Keep(const Snapshot& snapshot) override;

 private:
  const Context& context_;
  Checkpointer* const own_;
  uint32_t epochs_between_ = 0;
  std::optional<Snapshot> start_;
};

}  // namespace l2gcn
