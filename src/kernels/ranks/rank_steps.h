// The steps of a layer's training shared between ranks that exchange by messages: rank r is member r (StepShare).
//
// A sum goes from rank 0 through all ranks to the last one, each adding its own, and back the same way. It goes in pieces:
// while one piece is on its way between two ranks, others are on theirs, and on a link pieces travel both ways at once.
// With P pieces that takes P + 2·R − 3 times what a piece takes between two ranks. All ranks together send
// 2·(R − 1) times the bytes of the sum.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "l2gcn/ranks.h"

namespace l2gcn {

class RankSteps final : public StepShare {
 public:
  explicit RankSteps(std::shared_ptr<Ranks> ranks) : ranks_(std::move(ranks)) {}

  uint32_t member() const override { return ranks_->rank(); }
  uint32_t members() const override { return ranks_->size(); }
  void SumGradients(std::span<float> sum, const std::function<void(size_t begin, size_t end)>& add) override;
  double SumLosses(const std::function<double(double sum)>& add) override;

 private:
  const std::shared_ptr<Ranks> ranks_;
};

}  // namespace l2gcn
