// How many threads a short step should run on, found by measuring while the steps run. Results do not depend
// on the number, so trying another one costs nothing but time: now and then a few steps run on a neighbouring
// number, in turns with the present one, and the faster of the two stays. After a trial that changed nothing
// the next one comes later.
#pragma once

#include <cstdint>

namespace l2gcn {

class TeamSize {
 public:
  TeamSize() = default;
  // Begins with `first` threads of at most `most`.
  TeamSize(uint32_t first, uint32_t most) : most_(most), size_(first) {}

  uint32_t most() const { return most_; }
  // For the next step.
  uint32_t size() const { return trial_ ? candidate_ : size_; }
  // The step that just ended took so long.
  void Took(double seconds);

 private:
  uint32_t Neighbour();
  void EndTrial(bool better);

  uint32_t most_ = 1, size_ = 1, candidate_ = 1;
  bool upwards_ = false;    // which neighbour is tried next
  bool trial_ = false;      // whether the candidate runs at present
  uint32_t rounds_ = 0;     // of a trial that is under way; 0: none is
  uint32_t steps_ = 0;      // of the present window
  uint32_t wait_ = 32;      // steps before a next trial
  uint32_t interval_ = 32;  // what wait_ is set to
  double present_ = 0;      // seconds of the present number's last window
  double window_ = 0;       // of the window that runs
};

}  // namespace l2gcn
