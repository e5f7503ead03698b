#include "data/spellings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace l2gcn {
namespace {

constexpr size_t kToldGroups = 3;

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerChar);
  return lower;
}

std::string FoldSpelling(std::string_view text) {
  std::string folded = LowerCase(text);
  std::erase_if(folded, [](char c) { return c == ' ' || c == '\t'; });
  return folded;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

std::string SpellingVariants(std::span<const std::string> names) {
  std::map<std::string, std::vector<std::string_view>> groups;
  for (const std::string& name : names) groups[FoldSpelling(name)].push_back(name);
  std::vector<std::string> told;
  size_t found = 0;
  for (const auto& [folded, group] : groups) {
    if (group.size() > 1 && ++found <= kToldGroups) told.push_back(fmt::format("{}", fmt::join(group, ", ")));
  }
  return fmt::format("{}{}", fmt::join(told, "; "), found > kToldGroups ? "; …" : "");
}

bool IsPlainName(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 0x7f || std::string_view("'\"\\$`!").find(c) != std::string_view::npos;
  });
}

bool ReadsLikeMissing(std::string_view word) {
  static constexpr std::array<std::string_view, 20> kWords = {
      "unknown",  "unk",       "none",      "missing",   "n/a",     "na",         "nan",
      "null",     "nil",       "undefined", "unlabeled", "not set", "unlabelled", "notavailable",
      "notknown", "undecided", "tbd",       "n.a.",      "??",      "???"};
  const std::string folded = FoldSpelling(word);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view known) { return folded == FoldSpelling(known); });
}

}  // namespace l2gcn
