#include "core/json_text.h"

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/files.h"

namespace l2gcn {

std::string JsonText(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void CheckJsonDepth(std::string_view text, const std::string& where) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepth) {
        ThrowInput("{}: objects and lists are nested deeper than {} at byte {}; the file is damaged", where,
                   kJsonDepth, i);
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

nlohmann::ordered_json ParseJson(std::string_view text, const std::string& where) {
  CheckJsonDepth(text, where);
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    ThrowInput("{}: not JSON at byte {}: no valid JSON; it is damaged or cut short", where, error.byte);
  } catch (const nlohmann::ordered_json::exception& error) {  // a number that no double holds, such as 1e999
    ThrowInput("{}: {}", where, error.what());
  }
}

nlohmann::ordered_json ReadJsonFile(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return ParseJson(file->text(), path);
}

void WriteSealedJson(const std::string& path, const nlohmann::ordered_json& json) {
  nlohmann::ordered_json sealed = ParseJson(JsonText(json), path);  // as a reader will see it
  const std::string text = JsonText(sealed);
  sealed["checksum"] = ChecksumText(Checksum(text.data(), text.size()));
  WriteFileWhole(path, JsonText(sealed) + "\n");
}

nlohmann::ordered_json ReadSealedJson(const std::string& path, Seal seal) {
  nlohmann::ordered_json json = ReadJsonFile(path);
  if (!json.is_object()) ThrowInput("{}: damaged: it holds no object", path);
  if (!json.contains("checksum")) {
    if (seal == Seal::kIfThere) return json;
    ThrowInput("{}: damaged: it has no checksum", path);
  }
  const nlohmann::ordered_json expected = json.at("checksum");
  json.erase("checksum");
  const std::string text = JsonText(json);
  if (expected != ChecksumText(Checksum(text.data(), text.size()))) {
    ThrowInput("{}: does not agree with its checksum; it was changed or damaged: restore it or train again",
               path);
  }
  return json;
}

}  // namespace l2gcn
