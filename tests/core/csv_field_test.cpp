#include "core/csv_field.h"

#include <gtest/gtest.h>

namespace l2gcn {
namespace {

TEST(CsvField, FormulasAreWordsBehindASignThatAreNoNumbers) {
  for (const char* text :
       {"=1", "+a", "-a", "@x", "\tx", "\rx", "-", "+", "-1+1", "-1-1", "--1", "+49 30", "-inf"})
    EXPECT_TRUE(IsFormula(text)) << text;
  for (const char* text : {"", "a", "1", "-1", "+1.5", "-.5", "-1e300", "-1e999", "a=b", " =1"})
    EXPECT_FALSE(IsFormula(text)) << text;
}

TEST(CsvField, NamesAreQuotedAndCountedWhereTheyAreChanged) {
  CsvNames safe(false), exact(true);
  EXPECT_EQ(safe.Cell("=a,b"), "\"'=a,b\"");
  EXPECT_EQ(safe.Cell("say \"a\"\n"), "\"say \"\"a\"\"\n\"");
  EXPECT_EQ(safe.changed(), 1u);
  EXPECT_EQ(exact.Cell("=a"), "=a");
  EXPECT_EQ(exact.changed(), 0u);
}

}  // namespace
}  // namespace l2gcn
