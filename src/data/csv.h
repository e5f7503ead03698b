// Delimited text as RFC 4180 has it, for edge lists and node tables alike: cells in quotes may hold
// separators, doubled quotes and line breaks; lines end in LF or CRLF; blanks around a cell are dropped
// unless quoted.
//
// A quote opens a cell only at its beginning (5" is text as it stands). Text behind a closing quote, a
// quote that is never closed and a carriage return inside a line are refused with file, line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_marks.h"
#include "data/text_source.h"

namespace l2gcn {

// A quote stood in a text that was to be read without quotes.
struct NeedsQuotes {};

enum class CsvReading : uint8_t {
  kStrict,    // mistakes are refused
  kSniffing,  // ends at what it would have to refuse
  kUnquoted,  // a line with a quote throws NeedsQuotes: the blocks may not be of whole records
};

// Records of one block, front to back. Cells are views into the block, whose text is changed where doubled
// quotes become single ones.
class CsvRecords {
 public:
  // separator ' ' stands for any run of blanks and tabs, '\0' for one column. With `comments`, lines that
  // start with # or % are passed over.
  CsvRecords(const std::filesystem::path& path, TextBlock& block, char separator, bool comments,
             CsvReading reading = CsvReading::kStrict);

  // The next record that is not blank; false at the end of the block.
  bool Next();
  std::span<const std::string_view> fields() const { return {fields_.data(), count_}; }
  // Where the record begins in the unpacked text.
  uint64_t offset() const { return block_.offset + begin_; }
  // Whether a sniffing reader ended at a mistake.
  bool refused() const { return refused_; }
  uint64_t Line() const { return LineOfOffset(path_, offset()); }
  // Goes on behind byte `at` of the block; for callers that read plain lines themselves.
  void MoveTo(size_t at) { at_ = at; }
  size_t position() const { return at_; }

 private:
  enum class LineKind : uint8_t { kRecord, kBlank, kQuoted, kBroken };
  // Splits the line at begin_ in one pass, if it holds no quote and no carriage return but at its end.
  LineKind SplitPlain();
  LineKind BrokenLine(size_t at);
  bool SplitQuoted();
  bool TakeQuoted(size_t& at);
  bool TakePlain(size_t& at);
  void Add(std::string_view cell) {
    if (count_ == fields_.size()) fields_.resize(2 * count_ + 8);
    fields_[count_++] = cell;
  }
  // Throws, or ends a sniffing reader and returns false.
  bool Refuse(size_t at, const char* what);

  const std::filesystem::path& path_;
  TextBlock& block_;
  const char separator_;
  const bool comments_;
  const CsvReading reading_;
  bool refused_ = false;
  size_t at_ = 0, begin_ = 0;
  TextMarks marks_;
  std::vector<std::string_view> fields_;  // The first count_ are the record's; the others are spare.
  size_t count_ = 0;
};

// The separator of a text: of tab , ; | the one that cuts its first lines into equally many cells, where
// the cells hold none of the others (a comma inside a number is no such thing: 0;1;0,5); else blanks; '\0'
// where the first line holds none. A separator that the file declares (sep=;) is taken as it is.
char FindSeparator(const std::filesystem::path& path, const TextBlock& block, bool comments);

// Behind the last record of `text` that is whole; npos if none is. `text` begins with a record.
size_t LastRecordEnd(std::string_view text, char separator, bool comments);

// Without the blanks and tabs around it.
std::string_view TrimBlanks(std::string_view text);

// Reads a number, which becomes infinite where it is past what a float holds; a leading + is allowed. False
// if it is none.
bool ParseNumber(std::string_view token, float& number);
// Reads a number as people group it: 1,234,567.8 where `separator` is not ';', and 0,5 or 1.234,5 where it
// is.
bool ParseGroupedNumber(std::string_view token, char separator, float& number);
// Whether a token is a number for the eye, of any size and spelling: 007, +1, 1e400, 99999999999999999999.
bool LooksNumeric(std::string_view token);
// Whether one of the usual spellings of "no value" is `token`, which begins as they do.
bool IsMissingWord(std::string_view token);
// Whether a token is one of the usual spellings of "no value": nothing, NA, N/A, NaN, null, None, -, ?,
// #N/A, <NA>, ….
inline bool IsMissing(std::string_view token) {
  if (token.empty()) return true;
  const char c = token[0];
  return (c == 'N' || c == 'n' || c == '#' || c == '<' || c == '-' || c == '?') && IsMissingWord(token);
}
// The first byte that is not UTF-8; npos if all is.
size_t FirstNotUtf8(std::string_view text);

}  // namespace l2gcn
