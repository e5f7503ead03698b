// A limit for JSON that comes from outside, to be checked before a parser that recurses once a level sees the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace l2gcn {

// More levels of objects and lists than any file of ours has.
constexpr size_t kJsonDepth = 64;

// Throws Error(kInput) naming `where` if objects and lists of `text` are nested deeper than kJsonDepth.
void CheckJsonDepth(std::string_view text, const std::string& where);

}  // namespace l2gcn
