// Who makes the training steps of a layer where ranks exchange rows by messages.
#pragma once

namespace l2gcn {

struct StepChoice {
  bool possible = false;  // to share them: plain layers of dense rows, on the CPU, in memory
  bool shared = false;    // by all ranks; else rank 0 makes them
  // Of a step, from rates that were measured; 0 where nothing was measured, because the choice was given or the step small.
  double alone_seconds = 0, shared_seconds = 0;
};

}  // namespace l2gcn
