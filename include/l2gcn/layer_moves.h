// How often the training of a layer made ranks send each other something: counted while it runs, because decisions that
// are made then say how often. With it the bytes that were exchanged can be computed (l2gcn/plan.h). A training that was
// resumed counts what was done since.
#pragma once

#include <cstdint>

namespace l2gcn {

struct LayerMoves {
  uint64_t epochs = 0;
  uint64_t samples = 0;  // of an epoch
  uint32_t begun =
      0;  // times that the samples' rows were asked for: again where the rate falls from the best weights on
  uint32_t states = 0;  // times that weights and their moments were told to all ranks
  uint32_t looks = 0;   // times that nodes were scored
  uint64_t scored = 0;  // rows that were scored then, all together
  uint64_t probed = 0;  // validation nodes whose rows were aggregated apart from training, to be looked at
};

}  // namespace l2gcn
