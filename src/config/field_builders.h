// Builders of field tables: one line declares a parameter's name, range and sentence. Parsing is strict: the
// whole word must be a number of the right kind inside its range.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "config/choice_names.h"
#include "core/error_format.h"
#include "l2gcn/config.h"

namespace l2gcn {

inline uint32_t ParseCount(const std::string& name, const std::string& text, uint32_t low, uint32_t high) {
  return static_cast<uint32_t>(ParseWholeNumber(name, text, low, high));
}

inline std::string WholeRange(uint32_t low, uint32_t high) { return fmt::format("from {} to {}", low, high); }

inline std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  size_t begin = 0;
  for (size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    items.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  items.push_back(text.substr(begin));
  return items;
}

template <class C>
FieldOf<C> WholeField(const char* name, uint32_t C::*member, uint32_t low, uint32_t high, const char* help) {
  const std::string text = name;
  return {text,
          FieldText::Kind::kNumber,
          "N",
          help,
          {},
          [=](C& config, const std::string& value) { config.*member = ParseCount(text, value, low, high); },
          [=](const C& config) { return fmt::format("{}", config.*member); },
          {},
          WholeRange(low, high)};
}

// A number in [low, high], or above low where `open` says the bound itself is not allowed; `range` says it in
// words.
struct RealRange {
  double low, high;
  bool low_open, high_open;
  const char* range;
};

inline double ParseInRange(const std::string& name, const std::string& text, const RealRange& range) {
  const double number = ParseNumber(name, text, range.range);
  const bool inside = (range.low_open ? number > range.low : number >= range.low) &&
                      (range.high_open ? number < range.high : number <= range.high);
  if (!inside) ThrowUsage("--{} {}: expected a number {}", name, text, range.range);
  return number;
}

template <class C>
FieldOf<C> RealField(const char* name, double C::*member, RealRange range, const char* help) {
  const std::string text = name;
  auto set = [=](C& config, const std::string& value) { config.*member = ParseInRange(text, value, range); };
  return {text,
          FieldText::Kind::kNumber,
          "X",
          help,
          {},
          set,
          [=](const C& config) { return fmt::format("{}", config.*member); },
          {},
          range.range};
}

template <class C>
FieldOf<C> ListField(const char* name, std::vector<uint32_t> C::*member, uint32_t low, uint32_t high,
                     const char* help) {
  const std::string text = name;
  auto set = [=](C& config, const std::string& value) {
    std::vector<uint32_t> numbers;
    for (const std::string& item : SplitList(value)) numbers.push_back(ParseCount(text, item, low, high));
    config.*member = std::move(numbers);
  };
  return {text,
          FieldText::Kind::kList,
          "N[,N…]",
          help,
          {},
          set,
          [=](const C& config) { return fmt::format("{}", fmt::join(config.*member, ",")); },
          {},
          WholeRange(low, high)};
}

// Names with commas between; one in quotes may hold commas, and quotes twice (CsvQuoted).
inline std::vector<std::string> SplitQuoted(const std::string& text) {
  std::vector<std::string> items(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool twice = quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"';
    if (text[i] == '"' && !twice) {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      items.emplace_back();
    } else {
      i += twice ? 1 : 0;
      items.back() += text[i];
    }
  }
  return items;
}

[[noreturn]] inline void ThrowNotAChoice(const std::string& field, const std::string& value,
                                         const std::vector<std::string>& choices) {
  ThrowUsage("--{} {}: did you mean '{}'? Valid: {}", field, value, NearestName(value, choices),
             fmt::join(choices, ", "));
}

template <class C, class E, size_t N>
FieldOf<C> ChoiceField(const char* name, E C::*member, const ChoiceName<E> (&names)[N], const char* help) {
  const std::string text = name;
  const ChoiceNames<E> choices(names);
  auto set = [=](C& config, const std::string& value) {
    const E* found = FindChoice(choices, value);
    if (found == nullptr) ThrowNotAChoice(text, value, WordsOf(choices));
    config.*member = *found;
  };
  return {text, FieldText::Kind::kText, "NAME", help, WordsOf(choices), set, [=](const C& config) {
            return NameOf(choices, config.*member);
          }};
}

// Several of a few words, each once, in the order given.
template <class C, class E, size_t N>
FieldOf<C> ChoiceListField(const char* name, std::vector<E> C::*member, const ChoiceName<E> (&names)[N],
                           const char* help) {
  const std::string text = name;
  const ChoiceNames<E> choices(names);
  auto set = [=](C& config, const std::string& value) {
    std::vector<E> chosen;
    for (const std::string& item : SplitList(value)) {
      const E* found = FindChoice(choices, item);
      if (found == nullptr) ThrowNotAChoice(text, item, WordsOf(choices));
      if (std::find(chosen.begin(), chosen.end(), *found) != chosen.end())
        ThrowUsage("--{} {}: names {} twice", text, value, item);
      chosen.push_back(*found);
    }
    config.*member = std::move(chosen);
  };
  auto get = [=](const C& config) {
    std::string joined;
    for (const E& choice : config.*member) joined += (joined.empty() ? "" : ",") + NameOf(choices, choice);
    return joined;
  };
  return {text, FieldText::Kind::kText, "NAME[,NAME…]", help, {}, set, get};
}

// One of a few words that the machine decides on: which devices there are is not known to the type.
template <class C>
FieldOf<C> WordField(const char* name, std::string C::*member, std::vector<std::string> choices,
                     const char* help) {
  const std::string text = name;
  auto set = [=](C& config, const std::string& value) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      ThrowNotAChoice(text, value, choices);
    config.*member = value;
  };
  return {text,
          FieldText::Kind::kText,
          "NAME",
          help,
          choices,
          set,
          [=](const C& config) { return config.*member; }};
}

template <class C>
FieldOf<C> TextField(const char* name, const char* placeholder, std::string C::*member, const char* help) {
  return {name,
          FieldText::Kind::kText,
          placeholder,
          help,
          {},
          [=](C& config, const std::string& value) { config.*member = value; },
          [=](const C& config) { return config.*member; }};
}

template <class C>
FieldOf<C> FlagField(const char* name, bool C::*member, const char* help) {
  const std::string text = name;
  auto set = [=](C& config, const std::string& value) {
    if (value != "true" && value != "false") ThrowUsage("--{} {}: expected true or false", text, value);
    config.*member = value == "true";
  };
  return {text, FieldText::Kind::kFlag, "true|false", help, {}, set, [=](const C& config) {
            return config.*member ? "true" : "false";
          }};
}

// A seed is the only 64-bit number.
template <class C>
FieldOf<C> SeedField(uint64_t C::*member) {
  return {"seed",
          FieldText::Kind::kNumber,
          "N",
          "Everything drawn at random follows from it.",
          {},
          [=](C& config, const std::string& value) {
            config.*member = ParseWholeNumber("seed", value, 0, std::numeric_limits<uint64_t>::max());
          },
          [=](const C& config) { return fmt::format("{}", config.*member); },
          {},
          "of 0 or more"};
}

}  // namespace l2gcn
