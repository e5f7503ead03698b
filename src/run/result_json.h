// The result of training as JSON: what --json prints and result.json stores.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/disk_use.h"
#include "l2gcn/train.h"

namespace l2gcn {

// {"f1": {"train", "val", "test"}}, null where there is none; of a regression its four figures, likewise.
nlohmann::ordered_json ScoresJson(const SeedResult& result);
nlohmann::ordered_json ValidationPointJson(const SeedResult::ValidationPoint& point);
nlohmann::ordered_json SecondsJson(const SeedResult::Seconds& seconds);

// What a run from disk moved, rates in bytes a second; "" where nothing was read.
std::string DiskToJson(const DiskUse& disk);

// The path from the root; "" stays "".
std::string AbsolutePath(const std::string& path);

// How the data set was opened, with paths that hold from any folder, so that a run can be evaluated without
// naming it again; and back.
std::string SourceToJson(const Dataset& dataset, const RunOptions& options);
void SourceFromJson(const nlohmann::ordered_json& source, const std::string& where, OpenedRun& run);

// Everything of a result that is known before the first seed is trained.
TrainResult BeginResult(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options);

}  // namespace l2gcn
