#include "data/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <random>

#include "data/fixtures.h"
#include "data/text_marks.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows RecordsOf(const std::string& text, char separator, bool comments = false) {
  TemporaryFolder folder;
  const fs::path path = folder.Write("t.csv", text);
  TextBlock block{0, 0, text};
  CsvRecords records(path, block, separator, comments);
  Rows rows;
  while (records.Next()) rows.emplace_back(records.fields().begin(), records.fields().end());
  return rows;
}

TEST(CsvRecords, QuotesSeparatorsAndLineBreaksInCells) {
  EXPECT_EQ(RecordsOf("a,b\n1,2", ','), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(RecordsOf("\"Smith, John\",\"say \"\"hi\"\"\"\r\n", ','), (Rows{{"Smith, John", "say \"hi\""}}));
  EXPECT_EQ(RecordsOf("\"two\nlines\",x\n\"\",\n", ','), (Rows{{"two\nlines", "x"}, {"", ""}}));
  EXPECT_EQ(RecordsOf("a, \"b c\" ,d\n", ','), (Rows{{"a", "b c", "d"}}));
  EXPECT_EQ(RecordsOf("5\" pipe,6\"\n", ','), (Rows{{"5\" pipe", "6\""}})) << "a quote inside is text";
  EXPECT_EQ(RecordsOf("\"a b\" c\t\"d\"\n", ' '), (Rows{{"a b", "c", "d"}}));
  EXPECT_EQ(RecordsOf("a;;\n", ';'), (Rows{{"a", "", ""}}));
  EXPECT_EQ(RecordsOf("# \"note\nx y\n", ' ', true), (Rows{{"x", "y"}}));
  EXPECT_EQ(RecordsOf("\n\n  \na\n", ','), (Rows{{"a"}}));
  EXPECT_EQ(RecordsOf("\"a\"\r", ','), (Rows{{"a"}}));
}

TEST(CsvRecords, MistakesAreNamedByLineAndColumn) {
  const auto error = [](const std::string& text) {
    return ErrorOf(ErrorKind::kInput, [&] { RecordsOf(text, ','); });
  };
  EXPECT_MENTIONS(error("a,b\nc,\"d\n"), "t.csv:2: column 2: a quote is opened and never closed");
  EXPECT_MENTIONS(error("a,\"b\"c\n"), "t.csv:1: column 2: text stands behind the closing quote");
  EXPECT_MENTIONS(error("a,b\nc\rd,e\n"), "t.csv:2: column 1: a carriage return");
}

// What is in a text, by its definition and one byte at a time: the oracle of the fast path.
struct NaiveCsv {
  Rows rows;
  bool broken = false;
};

std::string_view WithoutBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// Quotes may open a cell at its beginning alone; separators other than blanks.
NaiveCsv NaiveRecords(std::string_view text, char separator) {
  NaiveCsv found;
  size_t at = 0;
  while (at < text.size()) {
    std::vector<std::string> row;
    bool quoted_row = false;
    for (bool more = true; more;) {
      while (at < text.size() && text[at] == ' ') ++at;
      std::string cell;
      bool quoted = at < text.size() && text[at] == '"';
      if (quoted) {
        for (++at; at < text.size(); ++at) {
          if (text[at] == '"' && (++at == text.size() || text[at] != '"')) break;
          cell += text[at];
        }
      }
      std::string rest;
      while (at < text.size() && text[at] != separator && text[at] != '\n') rest += text[at++];
      if (!rest.empty() && rest.back() == '\r') rest.pop_back();
      if (rest.find('\r') != std::string::npos) found.broken = true;
      row.push_back(quoted ? cell : std::string(WithoutBlanks(rest)));
      quoted_row = quoted_row || quoted;
      more = at < text.size() && text[at] == separator;
      ++at;
      if (more && at == text.size()) {  // The text ends behind a separator: one more cell, which is empty.
        row.emplace_back();
        more = false;
      }
    }
    if (row.size() > 1 || quoted_row || !row[0].empty()) found.rows.push_back(std::move(row));
  }
  return found;
}

// Cells as they stand in a file, quoted where they must be and sometimes where they need not be.
std::string RandomText(std::mt19937& random, char separator, bool with_quotes) {
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  const std::string odd = {separator, '\n', '"', ' ', ',', ';', '\t'};
  std::string text;
  const uint32_t rows = draw(12), columns = 1 + draw(6);
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < columns; ++c) {
      if (c > 0) text += separator;
      const bool quoted = with_quotes && draw(5) == 0;
      if (quoted) text += '"';
      for (uint32_t k = draw(draw(4) == 0 ? 80 : 7); k > 0; --k) {
        const char strange = odd[draw(static_cast<uint32_t>(odd.size()))];
        if (quoted && draw(4) == 0) {
          text.append(strange == '"' ? 2 : 1, strange);
        } else {
          text += draw(9) == 0 && !quoted ? ' ' : static_cast<char>('a' + draw(26));
        }
      }
      if (quoted) text += '"';
    }
    if (r + 1 < rows || draw(2) == 0) text += draw(2) == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(CsvRecords, TheFastPathAgreesWithTheDefinitionOnGeneratedFiles) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const char separator = std::array{',', ';', '\t', '|'}[static_cast<size_t>(round) % 4];
    const std::string text = RandomText(random, separator, round % 3 != 0);
    const NaiveCsv expected = NaiveRecords(text, separator);
    ASSERT_FALSE(expected.broken) << text;
    TextBlock block{0, 0, text};
    CsvRecords records("t.csv", block, separator, /*comments=*/false);
    Rows rows;
    while (records.Next()) rows.emplace_back(records.fields().begin(), records.fields().end());
    ASSERT_EQ(rows, expected.rows) << "separator " << separator << " in\n" << text;
  }
}

TEST(CsvRecords, ACarriageReturnInsideALineIsRefusedWhereverItStands) {
  for (size_t length = 1; length < 150; ++length) {
    std::string text(length, 'x');
    text[length / 2] = '\r';
    text += ",y\n";
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { RecordsOf(text, ','); }), "a carriage return");
  }
}

TEST(TextMarks, BothWaysFindTheSameBytes) {
  std::mt19937 random(2);
  const MarkedChars chars = {',', '\n', '\r', '"', '\0'};
  for (int round = 0; round < 2000; ++round) {
    std::array<char, kMarkedBytes> text;
    uint64_t expected = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<char>(random() % 3 == 0 ? chars[random() % chars.size()] : random() % 256);
      const bool marked = std::find(chars.begin(), chars.end(), text[i]) != chars.end();
      expected |= uint64_t{marked ? 1u : 0u} << i;
    }
    ASSERT_EQ(MarksOf(text.data(), chars), expected);
    ASSERT_EQ(MarksByWords(text.data(), chars), expected);
  }
}

TEST(FindSeparator, TheOneThatCutsEvenlyIntoCleanCells) {
  const auto found = [](const std::string& text) { return FindSeparator("t.csv", {0, 0, text}, false); };
  EXPECT_EQ(found("0;1;0,5\n1;2;0,25\n"), ';');
  EXPECT_EQ(found("id,tags\n1,a;b\n2,c\n"), ',');
  EXPECT_EQ(found("a|b|c\n1|2|3\n"), '|');
  EXPECT_EQ(found("\"a;b\",c\n\"d\",e\n"), ',');
  EXPECT_EQ(found("a b\tc d\ne f\tg\n"), '\t');
  EXPECT_EQ(found("a b\nc d\n"), ' ');
  EXPECT_EQ(found("a\nb\n"), '\0');
}

TEST(LastRecordEnd, LineBreaksInCellsEndNothing) {
  const std::string text = "a,\"x\ny\"\nb,\"z\n";
  EXPECT_EQ(LastRecordEnd(text, ',', false), 8u);
  EXPECT_EQ(LastRecordEnd("a,\"x\ny", ',', false), std::string::npos);
  EXPECT_EQ(LastRecordEnd("a,5\"\nb,6\"\nc", ',', false), 10u);
}

TEST(TextSource, BlocksOfRecordsNeverCutACell) {
  TemporaryFolder folder;
  std::string text = "id,note\n";
  while (text.size() < 3 * TextSource::kBlockBytes) text += "1,\"a\nlong \"\"cell\"\"\n\"\n";
  const fs::path path = folder.Write("long.csv", text);
  TextSource source = TextSource::OfRecords(path, ',', false);
  TextBlock block;
  std::string joined;
  while (source.Next(block)) {
    EXPECT_EQ(block.text[0], block.number == 0 ? 'i' : '1');
    joined += block.text;
  }
  EXPECT_EQ(joined, text);
}

TEST(Numbers, PlainGroupedAndTooLarge) {
  float number = 0;
  EXPECT_TRUE(ParseNumber("+1.5", number));
  EXPECT_EQ(number, 1.5f);
  EXPECT_TRUE(ParseNumber("1e400", number));
  EXPECT_TRUE(std::isinf(number)) << "never 0";
  EXPECT_TRUE(ParseNumber("-1e400", number) && number < 0);
  EXPECT_TRUE(ParseNumber("1e-400", number) && number == 0);
  EXPECT_FALSE(ParseNumber("+-1", number));
  EXPECT_FALSE(ParseNumber("", number));
  EXPECT_TRUE(ParseGroupedNumber("1,234,567.5", ',', number));
  EXPECT_EQ(number, 1234567.5f);
  EXPECT_FALSE(ParseGroupedNumber("12,34", ',', number));
  EXPECT_TRUE(ParseGroupedNumber("0,5", ';', number) && number == 0.5f);
  EXPECT_TRUE(ParseGroupedNumber("-1.234,5", ';', number) && number == -1234.5f);
  for (const char* token : {"007", "+1", "99999999999999999999", "1e400", "-3.5", ".5"})
    EXPECT_TRUE(LooksNumeric(token)) << token;
  for (const char* token : {"", "a1", "inf", "nan", "-", "e5"}) EXPECT_FALSE(LooksNumeric(token)) << token;
  for (const char* token : {"", "NA", "N/A", "NaN", "null", "None", "-", "?", "<NA>"})
    EXPECT_TRUE(IsMissing(token)) << token;
  for (const char* token : {"0", "none", "no", "unknown"}) EXPECT_FALSE(IsMissing(token)) << token;
}

// Short numbers have a way of their own, which must find the same floats.
TEST(Numbers, ShortOnesAreTheFloatsThatFromCharsFinds) {
  std::mt19937 random(3);
  for (int round = 0; round < 300000; ++round) {
    std::string token = round % 3 == 0 ? "-" : "";
    const uint32_t digits = 1 + static_cast<uint32_t>(random() % 10),
                   point = static_cast<uint32_t>(random() % 12);
    for (uint32_t k = 0; k < digits; ++k) {
      if (k == point) token += '.';
      token += static_cast<char>('0' + random() % 10);
    }
    float expected = 0, number = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), expected);
    const bool whole = error == std::errc() && end == token.data() + token.size();
    ASSERT_EQ(ParseNumber(token, number), whole) << token;
    ASSERT_EQ(std::bit_cast<uint32_t>(number), std::bit_cast<uint32_t>(expected)) << token;
  }
}

TEST(FirstNotUtf8, FindsBytesOfOtherEncodings) {
  EXPECT_EQ(FirstNotUtf8("zürich 東京 😀"), std::string::npos);
  EXPECT_EQ(FirstNotUtf8("caf\xe9,1"), 3u);
  EXPECT_EQ(FirstNotUtf8("a\xc0\x80"), 1u) << "overlong";
  EXPECT_EQ(FirstNotUtf8("a\xed\xa0\x80"), 1u) << "a surrogate";
}

}  // namespace
}  // namespace l2gcn
