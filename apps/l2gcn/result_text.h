// Pieces of a result (the object that --json prints, or one of its "runs") as people read them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace l2gcn::cli {

// "train 99.25   val 84.00   test 84.60", in per cent; with deviations where the result has several seeds.
std::string F1Text(const nlohmann::ordered_json& result);

// "80 + 80"
std::string EpochsText(const nlohmann::ordered_json& result);

}  // namespace l2gcn::cli
