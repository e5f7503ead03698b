// Settings that have an effect only with a certain value of another setting. Setting one without the other is an error.
#pragma once

#include <string>

#include "l2gcn/config.h"

namespace l2gcn {

// Whether the effect of `setting` depends on other settings.
bool IsConditional(const std::string& setting);

// What `setting` would need to have an effect in `config`, such as "--stop early"; "" where it has one. A stop policy that
// is not set yet may become any.
std::string NeededFor(const std::string& setting, const TrainConfig& config);

}  // namespace l2gcn
