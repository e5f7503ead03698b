// Which ranks compute the training steps of a layer where ranks exchange rows by messages.
#pragma once

namespace l2gcn {

struct StepChoice {
  bool possible = false;  // whether ranks can share steps: basic layers of dense rows, on the CPU, in memory
  bool shared = false;    // all ranks compute each step together; else rank 0 computes them alone
  // Seconds of a step, estimated from measured rates; 0 where the choice was set or the step is too small to measure.
  double alone_seconds = 0, shared_seconds = 0;
};

}  // namespace l2gcn
