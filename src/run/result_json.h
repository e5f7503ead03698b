// The result of training as JSON: what --json prints and result.json stores.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "l2gcn/train.h"

namespace l2gcn {

nlohmann::ordered_json F1Json(const SeedResult& result);  // train, val, test; null where there is none
nlohmann::ordered_json SecondsJson(const PhaseSeconds& seconds);

// ResultToJson, and how the data set was opened, so that a run can be evaluated without naming it again.
std::string StoredResultJson(const TrainResult& result, const RunOptions& options);
OpenOptions OpenOptionsFromJson(const nlohmann::ordered_json& source);

}  // namespace l2gcn
