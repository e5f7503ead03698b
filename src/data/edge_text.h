// Edge lists as text: two ids a record, perhaps a weight, perhaps more columns; with or without a header,
// separated by commas, tabs, semicolons, bars or blanks; cells may be quoted (csv.h); lines that start with #
// or % are comments.
//
// Which columns are the ends and which the weight is found from the header, else they are the first, second
// and third; the user may name them. Ids are of one of three kinds, from narrow to wide. A file is first read
// as the narrowest kind its beginning fits; a later id that does not fit throws NeedsWiderIds, and the caller
// starts again with the wider kind (ReadInStages does).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"
#include "data/edge_relations.h"
#include "data/text_source.h"
#include "l2gcn/context.h"
#include "l2gcn/error.h"

namespace l2gcn {

enum class IdKind : uint8_t {
  kSmall,    // 0 … 2³¹−1: the id itself is the key
  kInteger,  // any 64-bit integer
  kText,     // anything; also 007, 1.5 or numbers past 64 bits, to come back out as they are
};

struct NeedsWiderIds {
  IdKind kind;
};

// The narrowest kind that `token` fits.
IdKind KindOfId(std::string_view token);

struct EdgeTextFormat {
  char separator = ',';  // ' ' stands for any run of blanks and tabs
  bool header = false;
  bool quoted = false;    // cells may be quoted; blocks must be of whole records
  bool weighted = false;  // `weight` is a column of numbers
  IdKind ids = IdKind::kSmall;
  size_t columns = 2, source = 0, target = 1, weight = 2;
  std::optional<size_t> type;        // column of edge types
  std::vector<size_t> more_weights;  // further columns of numbers, where the user names several
  std::vector<std::string> names;    // (columns) from the header, or "0", "1", …
  std::vector<std::string> ignored;  // columns that are not used, except a row number
  // The usual list, which has fast paths: the ends, then a weight if there is one, and nothing else.
  bool plain() const {
    return !type && more_weights.empty() && source == 0 && target == 1 &&
           (weighted ? columns == 3 && weight == 2 : columns == 2);
  }
};

// What the user, or another file, says about an edge list.
struct EdgeTextHints {
  std::string source, target, weight;  // column names; "": found. weight "none": no weights; "a,b": several
  std::function<bool(std::string_view)>
      is_known;             // whether an id stands in the node table; empty: there is none
  std::string type = {};    // column of edge types; "": none
  bool attributes = false;  // other columns become features, so that none is taken for weights by its place
};

// From the beginning of the file. Throws Error(kInput) for a file without two columns, and for columns that
// it does not have.
EdgeTextFormat SniffEdgeText(const std::filesystem::path& path, const EdgeTextHints& hints = {});
// Says which columns were taken, where a list has more than two or was taken otherwise than in order.
void LogEdgeColumns(const Context& context, const std::filesystem::path& path, const EdgeTextFormat& format);
// The cells of the first records, without a header, to tell what another column would match.
std::vector<std::vector<std::string>> FirstEdgeRecords(const std::filesystem::path& path,
                                                       const EdgeTextFormat& format);

// Blocks as the format needs them.
TextSource EdgeBlocks(const std::filesystem::path& path, const EdgeTextFormat& format);

// One parsed edge whose ids are still text.
struct TextEdge {
  std::string_view source, target;
  float weight;
};
// What edges have beyond their ends and one weight.
struct EdgeExtras {
  EdgeTypes types;
  std::vector<std::vector<float>> weights;  // (further columns × edges)

  void Append(EdgeExtras&& more);
  void clear();
};

// Parses a block into `out` (cleared first). Small ids: pairs of numbers.
struct SmallEdges {
  std::vector<uint32_t> source, target;  // (edges)
  std::vector<float> weights;            // (edges) or empty
  EdgeExtras extras;
};
void ParseSmallEdges(TextBlock& block, const EdgeTextFormat& format, const std::filesystem::path& path,
                     SmallEdges& out);
// Quotes are undone in the block, into which the ids point.
void ParseTextEdges(TextBlock& block, const EdgeTextFormat& format, const std::filesystem::path& path,
                    std::vector<TextEdge>& out, EdgeExtras& extras);

// Calls read(format) until ids and quotes fit: with wider ids, and with quotes, as the file asks for them. An
// error in a list read without quotes may be due to a quoted cell cut in two: it stands only if it comes
// again with quotes.
template <class Read>
auto ReadInStages(EdgeTextFormat format, const Read& read) {
  for (;;) {
    try {
      return read(format);
    } catch (const NeedsWiderIds& wider) {
      format.ids = wider.kind;
    } catch (const NeedsQuotes&) {
      format.quoted = true;
    } catch (const Error& error) {
      if (format.quoted || error.kind() != ErrorKind::kInput) throw;
      format.quoted = true;
    }
  }
}

// The whole token as a 64-bit integer written the usual way (no +, no leading zeros), or as programs write
// whole numbers among fractions: 17.0 and 1.7e+01 are 17. False if it is neither.
bool ParseId(std::string_view token, int64_t& id);

}  // namespace l2gcn
