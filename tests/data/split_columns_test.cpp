#include "data/split_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/fixtures.h"
#include "data/samples.h"
#include "data/times.h"

namespace l2gcn {
namespace {

// A path graph with a node table of the given column, ten people of two kinds.
class SplitColumns : public testing::Test {
 protected:
  Dataset Open(const std::string& split, const std::vector<std::string>& values,
               const std::string& column = "joined") {
    std::string people = "id,age," + column + ",kind\n", links = "from,to\n";
    for (size_t i = 0; i < values.size(); ++i) {
      people += "p" + std::to_string(i) + "," + std::to_string(i * i) + "," + values[i] + "," +
                (i % 2 == 0 ? "x" : "y") + "\n";
      links += "p" + std::to_string(i) + ",p" + std::to_string((i + 1) % values.size()) + "\n";
    }
    OpenOptions options;
    options.nodes = folder_.Write("people.csv", people).string();
    options.edges = folder_.Write("links.csv", links).string();
    folder_.Write("links.csv", links + "p1,p3\n");
    KeepSplitColumn(split, options);
    return OpenDataset(MakeContext(2), "", options);
  }
  std::string RolesOf(const std::string& split, const std::vector<std::string>& values) {
    return Roles(ResolveSplit(Open(split, values), split, 0));
  }
  static std::string Roles(const Split& split) {
    std::string text;
    for (const uint8_t role : split.roles) text += "-tvT"[role];
    return text;
  }
  std::string InputError(const std::string& split, const std::vector<std::string>& values) {
    return ErrorOf(ErrorKind::kInput, [&] { RolesOf(split, values); });
  }

  TemporaryFolder folder_;
};

TEST_F(SplitColumns, OldestNodesTrain) {
  const std::string split = "time:joined:0.6,0.2,0.2";
  EXPECT_EQ(RolesOf(split, {"9", "8", "7", "6", "5", "4", "3", "2", "1", "0"}), "TTvvtttttt");
  EXPECT_EQ(RolesOf(split, {"2020-01-02", "2020-01-01", "2019-12-31", "2021-05-01", "2018-01-01"}), "vttTt");
  EXPECT_EQ(RolesOf(split, {"2020-01-02T10:00:00Z", "2020-01-02T12:30:00+05:00", "2020-01-02T10:00:00.5Z",
                            "2020-01-01T23:00:00-0100", "2020-01-03T00:00Z"}),
            "ttvtT")
      << "times of a zone are compared at Greenwich";
  // Whole numbers keep all 64 bits.
  EXPECT_EQ(RolesOf(split, {"1700000000000000003", "1700000000000000002", "1700000000000000001",
                            "1700000000000000005", "1700000000000000004"}),
            "tttTv");
}

TEST_F(SplitColumns, EqualTimesStayInTheEarlierPart) {
  EXPECT_EQ(RolesOf("time:joined:0.5,0.25,0.25", {"1", "2", "2", "2", "3", "4", "5", "6"}), "ttttvvTT");
  EXPECT_EQ(RolesOf("time:joined:0.5,0.25,0", {"1", "2", "2", "2", "3", "4", "5", "6"}), "ttttvv--");
  EXPECT_MENTIONS(InputError("time:joined:0.5,0.25,0.25", {"1", "1", "1", "1", "1"}),
                  "no node is left for validation");
}

TEST_F(SplitColumns, TheColumnIsNoFeature) {
  const Dataset dataset = Open("time:joined:0.6,0.2,0.2", {"3", "1", "2", "5", "4"});
  ASSERT_EQ(dataset.schema.columns.size(), 1u);
  EXPECT_EQ(dataset.schema.columns[0].name, "age");
  EXPECT_EQ(dataset.schema.ignored, std::vector<std::string>{"joined"});
  const Dataset last = Open("group:kind:0.6,0.2,0.2", {"3", "1", "2", "5", "4"}, "kind2");
  EXPECT_EQ(last.schema.label, "kind2") << "the last column that splits nothing";
}

TEST_F(SplitColumns, MistakesInTimesAreNamedByRow) {
  const std::string split = "time:joined:0.6,0.2,0.2";
  EXPECT_MENTIONS(InputError(split, {"1", "2", "", "4", "5"}),
                  "people.csv: row 3 has no value in column joined");
  EXPECT_MENTIONS(InputError(split, {"1", "2", "soon", "4", "5"}), "row 3: column joined: 'soon' is no time");
  EXPECT_MENTIONS(InputError(split, {"1", "2", "2020-01-01", "4", "5"}),
                  "'2020-01-01' is a date, but '1' in row 1 is a number");
  EXPECT_MENTIONS(InputError(split, {"2020-02-28", "2020-02-30", "2020-03-01", "2020-03-02"}),
                  "'2020-02-30'");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            Open("time:joind:0.6,0.2,0.2", {"1", "2", "3"});
                          }),
                  "did you mean joined?");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            Open("time:0.6,0.2,0.2", {"1", "2", "3"});
                          }),
                  "expected time:COLUMN:TRAIN,VAL,TEST");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [&] {
                            Open("time:id:0.6,0.2,0.2", {"1", "2", "3"});
                          }),
                  "holds the ids or the labels");
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kUsage,
                          [] { ResolveSplit(SampleDataset(false, false), "time:joined:0.6,0.2,0.2", 0); }),
                  "opened without that column");
}

// Households of 1 to 8 people, 120 of them.
std::vector<std::string> Households() {
  std::vector<std::string> values;
  for (int home = 0; home < 120; ++home) {
    for (int person = 0; person <= home % 8; ++person) values.push_back("h" + std::to_string(home));
  }
  return values;
}

TEST_F(SplitColumns, GroupsStayTogetherInPartsOfTheirShares) {
  const std::string split = "group:joined:0.6,0.2,0.2";
  const std::vector<std::string> values = Households();  // 540 people
  const Dataset dataset = Open(split, values);
  std::set<std::string> drawn;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Split parts = ResolveSplit(dataset, split, seed);
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i] == values[i - 1]) {
        ASSERT_EQ(parts.roles[i], parts.roles[i - 1]);
      }
    }
    const Split::Counts counts = CountSplit(dataset, split, seed);
    EXPECT_NEAR(static_cast<double>(counts.train), 324, 1);
    EXPECT_NEAR(static_cast<double>(counts.val), 108, 1);
    EXPECT_NEAR(static_cast<double>(counts.test), 108, 1);
    EXPECT_EQ(static_cast<uint64_t>(std::count(parts.roles.begin(), parts.roles.end(), 2)), counts.val);
    EXPECT_EQ(Roles(parts), Roles(ResolveSplit(dataset, split, seed)));
    drawn.insert(Roles(parts));
  }
  EXPECT_EQ(drawn.size(), 5u) << "the seed draws the groups";
}

TEST_F(SplitColumns, EveryPartGetsAGroup) {
  const std::string split = "group:joined:0.6,0.2,0.2";
  for (const char part : {'t', 'v', 'T'})
    EXPECT_NE(RolesOf(split, {"a", "a", "a", "a", "a", "a", "b", "c"}).find(part), std::string::npos) << part;
  EXPECT_MENTIONS(InputError(split, {"a", "a", "b", "b"}), "of 2 groups, fewer than the 3 parts");
  EXPECT_EQ(RolesOf("group:joined:0.5,0,0.5", {"a", "a", "b", "b"}).find('v'), std::string::npos);
}

TEST_F(SplitColumns, ColumnsSurviveTheNativeFormatAndFilters) {
  const std::string split = "time:joined:0.6,0.2,0.2";
  const Dataset dataset = Open(split, {"3", "1", "2", "5", "4"});
  const std::string native = (folder_.path() / "native").string();
  SaveDataset(MakeContext(1), dataset, native);
  const Dataset again = OpenDataset(MakeContext(1), native);
  EXPECT_EQ(Roles(ResolveSplit(again, split, 0)), "tttTv");
  OpenOptions options;
  options.min_degree = 3;  // p1 and p3, which one more edge joins
  EXPECT_EQ(Roles(ResolveSplit(OpenDataset(MakeContext(1), native, options), "time:joined:0.5,0.5,0", 0)),
            "tv");
}

TEST(Times, FormatsAreKeptApart) {
  const auto format_of = [](const char* text) {
    Time time;
    return ParseTime(text, time) ? NameOf(time.format) : "nothing";
  };
  EXPECT_STREQ(format_of("2020"), "a number");
  EXPECT_STREQ(format_of("-1.5e3"), "a number");
  EXPECT_STREQ(format_of("2020-12"), "a month");
  EXPECT_STREQ(format_of("2020-12-31"), "a date");
  EXPECT_STREQ(format_of("2020-12-31 23:59"), "a date with a time");
  EXPECT_STREQ(format_of("2020-12-31T23:59:60.25+01"), "a date with a time and a zone");
  for (const char* text : {"", "2020-13", "2020-12-31T", "2020-12-31T2", "2020-12-31T10:00+1", "31.12.2020",
                           "inf", "2020-12-31T10:00:00.", "2020-12-31x"})
    EXPECT_STREQ(format_of(text), "nothing") << text;
  Time early, late;
  EXPECT_TRUE(ParseTime("1969-12-31T23:59:59.5", early) && ParseTime("1970-01-01T00:00:00", late));
  EXPECT_LT(early, late);
}

}  // namespace
}  // namespace l2gcn
