// Base of the samplers that draw a layer's sources from its destinations. Nodes of the loss come in shuffled batches. Layer by
// layer, from the output back to the input, Expand draws the block and its list of sources.
#pragma once

#include <cstdint>
#include <vector>

#include "train/samplers/common.h"

namespace l2gcn {

class ExpandingSampler : public Sampler {
 public:
  uint32_t StepsPerEpoch() const final { return order_.steps(); }
  const MiniBatch& Draw(const Context& context, uint32_t epoch, uint32_t step) final;

 protected:
  ExpandingSampler(const SamplingProblem& problem, const TrainConfig& config);
  // Fills blocks_[l] and batch_.nodes[l] from batch_.nodes[l + 1].
  virtual void Expand(const Context& context, uint32_t l, const RandomStream& stream) = 0;
  // How many nodes the settings draw in layer l: the last of `samples` serves the layers past its end.
  uint32_t SamplesOf(uint32_t l) const { return samples_[std::min<size_t>(l, samples_.size() - 1)]; }

  const SamplingProblem& problem_;
  std::vector<std::shared_ptr<Block>> blocks_;  // (layers)
  MiniBatch batch_;

 private:
  BatchOrder order_;
  uint64_t seed_;
  std::vector<uint32_t> samples_;
};

// Lists the sources of a block whose columns are still node numbers: destinations first, then the others as
// they come, each once; the columns become positions in that list.
void ListSources(const std::vector<uint32_t>& rows, NodeIndex& index, std::vector<uint32_t>& sources,
                 Block& block);

}  // namespace l2gcn
