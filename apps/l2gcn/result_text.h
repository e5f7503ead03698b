// Pieces of a result (the object that --json prints, or one of its "runs") as people read them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace l2gcn::cli {

// Whether the result is that of a regression.
bool IsRegression(const nlohmann::ordered_json& result);

// "train 99.25   val 84.00   test 84.60", in per cent; of a regression R², "train 0.9925   …". With deviations where the result
// has several seeds.
std::string ScoreText(const nlohmann::ordered_json& result);

// What the trivial answer scores, in the same form, with its name; "" where the result does not say.
std::string BaselineText(const nlohmann::ordered_json& result);

// "random:0.6,0.2,0.2: 600 train 200 val 200 test"; "" where the result does not say.
std::string SplitText(const nlohmann::ordered_json& result);

// "1 thread", "2 threads"
std::string Counted(uint64_t count, const std::string& thing);

// "80 + 80"; "78.3" where it is a mean
std::string EpochsText(const nlohmann::ordered_json& result);

// The document of a JSON text, with the limits for text from outside. Throws Error(kInput) naming `where`.
nlohmann::ordered_json ParseJson(const std::string& text, const std::string& where);

// One line of JSON (or several, indented), valid whatever bytes names and paths hold.
std::string JsonLine(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace l2gcn::cli
