// Converts between JSON and text. Output is valid whatever bytes names hold. Input is parsed with a limit on nesting, so that no
// file can exhaust the stack.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "l2gcn/json_depth.h"

namespace l2gcn {

// The document as text; bytes that are no UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& json, int indent = -1);

// The one place that parses JSON into a document (tests/structure/check-json.sh). Throws Error(kInput) naming `where`:
// no JSON (with the byte), or nested deeper than kJsonDepth.
nlohmann::ordered_json ParseJson(std::string_view text, const std::string& where);
nlohmann::ordered_json ReadJsonFile(const std::string& path);

// A document with a checksum of its own in a file, which is replaced whole; reading compares it. For files
// that nobody but the program writes. Files of earlier versions have no checksum: with kIfThere they are believed.
enum class Seal { kNeeded, kIfThere };
void WriteSealedJson(const std::string& path, const nlohmann::ordered_json& json);
nlohmann::ordered_json ReadSealedJson(const std::string& path, Seal seal = Seal::kNeeded);

}  // namespace l2gcn
