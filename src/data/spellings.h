// Equivalent spellings of one value: case, blanks, leading zeros, and words that mean "no value".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace l2gcn {

// ASCII letters in lower case.
std::string LowerCase(std::string_view text);
// Lower case without blanks: values that fold alike differ only in case or blanks.
std::string FoldSpelling(std::string_view text);
// Whether two texts differ at most in the case of ASCII letters. Allocates nothing.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// Groups of names that differ only in case or blanks, such as "NO, No, no; YES, Yes"; the first three groups.
// Empty where there are none.
std::string SpellingVariants(std::span<const std::string> names);

// Whether a word reads like "no value" although the readers take it for one: unknown, none, missing, ….
bool ReadsLikeMissing(std::string_view word);

// Whether a file's name can stand in quotes in a command that is shown: it means nothing to a shell or to Python.
bool IsPlainName(std::string_view name);

}  // namespace l2gcn
