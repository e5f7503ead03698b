#include "data/csv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/fixtures.h"

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

TEST(FirstNotUtf8, FindsBytesOfOtherEncodings) {
  EXPECT_EQ(FirstNotUtf8("zürich 東京 😀"), std::string::npos);
  EXPECT_EQ(FirstNotUtf8("caf\xe9,1"), 3u);
  EXPECT_EQ(FirstNotUtf8("a\xc0\x80"), 1u) << "overlong";
  EXPECT_EQ(FirstNotUtf8("a\xed\xa0\x80"), 1u) << "a surrogate";
}

}  // namespace
}  // namespace l2gcn
