// Edge lists as text: two ids a line, a third column the weight, more columns ignored; with or without a
// header, separated by commas, tabs, semicolons or blanks; lines that start with # or % are comments.
//
// Ids are of one of three kinds, from narrow to wide. A file is first read as the narrowest kind its
// beginning fits; a later id that does not fit throws NeedsWiderIds, and the caller starts again with the
// wider kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_source.h"

namespace l2gcn {

enum class IdKind : uint8_t {
  kSmall,    // 0 … 2³¹−1: the id itself is the key
  kInteger,  // any 64-bit integer
  kText,  // anything without the separator; also 007, 1.0 or numbers past 64 bits, to come back out as they
          // are
};

struct NeedsWiderIds {
  IdKind kind;
};

// The narrowest kind that `token` fits.
IdKind KindOfId(std::string_view token);

struct EdgeTextFormat {
  char separator = ',';  // ' ' stands for any run of blanks and tabs
  bool header = false;
  bool weighted = false;  // a third column of numbers
  IdKind ids = IdKind::kSmall;
};

// From the beginning of the file. Throws Error(kInput) for a file without two columns.
EdgeTextFormat SniffEdgeText(const std::filesystem::path& path);
// The separator of a line: the one of tab , ; blank that it holds, tried in this order; '\0' if it holds
// none.
char SeparatorOf(std::string_view line);

// One parsed edge whose ids are still text.
struct TextEdge {
  std::string_view source, target;
  float weight;
};

// Parses a block into `out` (cleared first). Small ids: pairs of numbers.
struct SmallEdges {
  std::vector<uint32_t> source, target;  // (edges)
  std::vector<float> weights;            // (edges) or empty
};
void ParseSmallEdges(const TextBlock& block, const EdgeTextFormat& format, const std::filesystem::path& path,
                     SmallEdges& out);
void ParseTextEdges(const TextBlock& block, const EdgeTextFormat& format, const std::filesystem::path& path,
                    std::vector<TextEdge>& out);

// The whole token as a 64-bit integer written the usual way (no +, no leading zeros); false if it is not.
bool ParseId(std::string_view token, int64_t& id);
// The whole token as a finite or infinite number; false if it is not.
bool ParseNumber(std::string_view token, float& number);

}  // namespace l2gcn
