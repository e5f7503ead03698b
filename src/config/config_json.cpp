// A configuration as a flat JSON object, one key a field ('_' for '-'), and back through the fields' own
// checks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/methods.h"
#include "config/setting_uses.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "l2gcn/config.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Field& field, const std::string& text) {
  switch (field.kind) {
    case FieldText::Kind::kText:
      return text;
    case FieldText::Kind::kNumber:
      return text == field.word ? Json(text) : ParseJson(text, field.name);
    case FieldText::Kind::kList:
      return ParseJson("[" + text + "]", field.name);
    case FieldText::Kind::kFlag:
      return text == "true";
  }
  L2GCN_ASSERT(false);
}

bool IsPlain(const Json& value) { return value.is_string() || value.is_number() || value.is_boolean(); }

std::string PlainText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : JsonText(value);
}

const char* ExpectedOf(FieldText::Kind kind) {
  switch (kind) {
    case FieldText::Kind::kText:
      return "a text";
    case FieldText::Kind::kNumber:
      return "a number";
    case FieldText::Kind::kFlag:
      return "true or false";
    case FieldText::Kind::kList:
      return "a number or a list of numbers";
  }
  L2GCN_ASSERT(false);
}

// The text that the field's set() takes. Numbers, booleans and texts read as on the command line, where set() checks them.
std::string ToText(const Field& field, const std::string& key, const Json& value) {
  if (IsPlain(value)) return PlainText(value);
  const bool list = field.kind == FieldText::Kind::kList && value.is_array() && !value.empty() &&
                    std::all_of(value.begin(), value.end(), IsPlain);
  if (!list) {
    ThrowInput("{}: expected {}{}{}, found {}", key, ExpectedOf(field.kind), field.range.empty() ? "" : " ",
               field.range, value.is_array() ? "a list of something else" : value.type_name());
  }
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + PlainText(item);
  return text;
}

// A complete configuration of an earlier version, which always stored `norm`. What a person writes by hand is not translated:
// an old name is refused there. `hops` belonged to one method alone.
void TranslateNames(Json& object) {
  const auto rename = [&](const char* before, const char* now) {
    if (!object.contains(before)) return;
    const Json value = object.at(before);
    object.erase(before);
    object[now] = value;
  };
  rename("norm", "adjacency");
  rename("read_out", "predict_from");
  rename("layer_norm", "hidden_norm");
  if (object.contains("hidden_norm") && object.at("hidden_norm").is_boolean())
    object["hidden_norm"] = object.at("hidden_norm").get<bool>() ? "layer" : "none";
  const auto methods = Methods();
  const bool own_hops = std::any_of(methods.begin(), methods.end(), [&](const Method& method) {
    return method.prediction_head == PredictionHead::kHops && object.at("method") == method.name;
  });
  const Json reach = object.contains("reach") ? object.at("reach") : Json(0);
  object.erase("reach");
  if (own_hops) return;
  object["hops"] = reach == 0 ? Json(1) : reach;
  object["self_features"] = reach != 0;
}

// Complete configurations of earlier versions say nothing of how weights decay: it was an L2 penalty in basic layers and
// in networks trained at once, and decoupled in layers with more.
void TranslateDecay(Json& object) {
  if (object.contains("weight_decay_type") || !object.contains("weight_decay")) return;
  if (!object.contains("method") || !object.contains("theta") || !object.contains("input_dropout")) return;
  const auto set = [&](const char* key, const Json& off) {
    return object.contains(key) && object.at(key) != off;
  };
  const bool more = set("bias", false) || set("hidden_norm", "none") || set("head", 0) ||
                    set("input_dropout", 0) || set("self_features", false);
  object["weight_decay_type"] = more ? "decoupled" : "l2";
}

// What earlier versions stored under other names. `learned` stood for two rules: where the rate was found and the shipped
// controller not replaced, it was the plateau rule.
void TranslateOld(Json& object) {
  const auto text = [&](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string kind = text("controller_kind"), controller = text("controller");
  if (text("stop") == "learned") {
    const bool plateau = text("lr") == "auto" && controller.empty() && kind != "paper";
    object["stop"] = plateau ? "plateau" : "controller";
  }
  if (object.contains("controller") && controller.empty())
    object["controller"] = kind.empty() ? "general" : kind;
  object.erase("controller_kind");
  const auto labels = object.find("labels_as_inputs");
  if (labels != object.end() && *labels == false) object.erase(labels);
  if (object.contains("norm") && object.contains("method") && object.contains("theta"))
    TranslateNames(object);
  TranslateDecay(object);
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

Overrides OverridesFromJson(const std::string& text, const std::string& where) {
  Json object = ParseJson(text, where);
  if (!object.is_object())
    ThrowInput("{}: expected a JSON object of settings, found {}", where, object.type_name());
  TranslateOld(object);
  Overrides overrides;
  for (const auto& [key, value] : object.items()) {
    try {
      const Field& field = FindField(key);
      const std::string word = ToText(field, key, value);
      // A text that is empty by default says that nothing was set.
      if (word.empty() && field.get(TrainConfig{}).empty()) continue;
      TrainConfig tried;
      field.set(tried, word);
      overrides.emplace_back(field.name, word);
    } catch (const Error& error) {
      ThrowInput("{}: {}", where, error.what());
    }
  }
  return overrides;
}

TrainConfig ConfigFromJson(const std::string& text, const std::string& where) {
  TrainConfig config;
  for (const auto& [name, value] : OverridesFromJson(text, where)) FindField(name).set(config, value);
  return config;
}

Overrides JoinOverrides(const Overrides& stored, const Overrides& flags) {
  const auto names = [](const Overrides& said, const char* name) {
    return std::any_of(said.begin(), said.end(),
                       [&](const auto& one) { return FindField(one.first).name == name; });
  };
  TrainConfig before;
  for (const auto& [name, value] : stored) FindField(name).set(before, value);
  TrainConfig after = before;
  for (const auto& [name, value] : flags) FindField(name).set(after, value);
  std::string method;
  for (const auto& [name, value] : flags) method = FindField(name).name == "method" ? value : method;
  const bool named = names(stored, "method") || !method.empty();
  const bool other =
      !method.empty() && (after.method != before.method || FindNamedMethod(method).stop.has_value());
  if (other && !names(flags, "stop")) after.stop = OwnStop(method);
  Overrides joined;
  for (const auto& [name, value] : stored) {
    const Field& field = FindField(name);
    const auto& takers = field.methods;
    const bool takes =
        !named || takers.empty() || std::find(takers.begin(), takers.end(), after.method) != takers.end();
    // What ends a layer is the method's own affair: another method brings its own.
    if (takes && !(other && field.name == "stop") && NeededFor(name, after).empty())
      joined.emplace_back(field.name, value);
  }
  joined.insert(joined.end(), flags.begin(), flags.end());
  return joined;
}

}  // namespace l2gcn
