// A folder of measured trainings, one file each, so that an interrupted comparison or reproduction resumes with those that are
// missing. The name of a file is a checksum over settings, seed, data, build and device. Where ranks share the work, one rank
// runs each training, all get its figures, and rank 0 writes them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "l2gcn/train.h"

namespace l2gcn {

struct MeasuredSeed {
  SeedResult result;            // scored
  uint64_t training_bytes = 0;  // peak memory less what was resident before
  bool out_of_time = false;     // its clock ended it
};

class MeasuredSeeds {
 public:
  using Make = std::function<MeasuredSeed(const Context& context, size_t at)>;  // configs[at]

  // folder "": nothing is kept and nothing is found.
  MeasuredSeeds(const Context& context, const std::string& folder, const Dataset& dataset);
  // The figures of a training with each of these configurations: found, or made now. `purpose` tells trainings apart
  // that differ in more than their settings.
  std::vector<MeasuredSeed> Measure(const std::string& purpose, const std::vector<TrainConfig>& configs,
                                    const Make& make) const;

 private:
  std::optional<MeasuredSeed> Find(const std::string& purpose, const TrainConfig& config) const;
  void Keep(const std::string& purpose, const TrainConfig& config, const MeasuredSeed& seed) const;
  std::filesystem::path PathOf(const std::string& purpose, const TrainConfig& config) const;
  const Context& context_;
  std::filesystem::path folder_;
  std::string bound_;  // data, build and device as text
};

}  // namespace l2gcn
