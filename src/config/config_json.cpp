// A configuration as a flat JSON object, one key a field ('_' for '-'), and back through the fields' own
// checks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/json_text.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Field& field, const std::string& text) {
  switch (field.kind) {
    case FieldKind::kText:
      return text;
    case FieldKind::kNumber:
      return text == field.word ? Json(text) : ParseJson(text, field.name);
    case FieldKind::kList:
      return ParseJson("[" + text + "]", field.name);
    case FieldKind::kFlag:
      return text == "true";
  }
  L2GCN_ASSERT(false);
}

// The text a field's set() takes; "" where the value has the wrong type for the field.
std::string ToText(const Field& field, const Json& value) {
  switch (field.kind) {
    case FieldKind::kText:
      return value.is_string() ? value.get<std::string>() : "";
    case FieldKind::kNumber:
      if (value.is_string() && value.get<std::string>() == field.word) return field.word;
      return value.is_number() ? JsonText(value) : "";
    case FieldKind::kFlag:
      return value.is_boolean() ? value.dump() : "";
    case FieldKind::kList:
      break;
  }
  if (!value.is_array()) return "";
  const std::string dump = JsonText(value);
  return dump.substr(1, dump.size() - 2);
}

}  // namespace

std::string ConfigToJson(const TrainConfig& config) {
  Json object = Json::object();
  for (const Field& field : Fields()) {
    std::string key = field.name;
    std::replace(key.begin(), key.end(), '-', '_');
    object[key] = ToJson(field, field.get(config));
  }
  return JsonText(object, 2);
}

TrainConfig ConfigFromJson(const std::string& text, const std::string& where) {
  const Json object = ParseJson(text, where);
  if (!object.is_object())
    ThrowInput("{}: expected a JSON object of settings, found {}", where, object.type_name());
  TrainConfig config;
  for (const auto& [key, value] : object.items()) {
    try {
      const Field& field = FindField(key);
      const std::string word = ToText(field, value);
      if (word.empty() && !(value.is_string() && field.get(TrainConfig{}).empty())) {
        ThrowInput("{} cannot be {}", key, JsonText(value));
      }
      if (!word.empty()) field.set(config, word);
    } catch (const Error& error) {
      ThrowInput("{}: {}", where, error.what());
    }
  }
  return config;
}

Overrides OverridesOf(const TrainConfig& config, const std::string& method) {
  Overrides overrides = {{"method", method}};
  for (const Field& field : Fields()) {
    const bool has = field.methods.empty() ||
                     std::find(field.methods.begin(), field.methods.end(), method) != field.methods.end();
    const std::string value = field.get(config);
    // What ends a layer is the method's own affair: another method brings its own.
    const bool own = field.name == "method" || (field.name == "stop" && method != config.method);
    if (has && !own && !value.empty()) overrides.emplace_back(field.name, value);
  }
  return overrides;
}

}  // namespace l2gcn
