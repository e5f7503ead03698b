#include "report/figure/chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace l2gcn {
namespace {

TEST(Ticks, AreRoundAndNeverMinusZero) {
  EXPECT_EQ(LinearTicks(15.1, 33, 5), (std::vector<double>{20, 25, 30}));
  const std::vector<double> around = LinearTicks(-0.2, 0.35, 5);
  ASSERT_FALSE(around.empty());
  for (const double tick : around) EXPECT_NE(TickText(tick, DecimalsOf(tick)).substr(0, 2), "-0.0") << tick;
  EXPECT_EQ(TickText(-0.0, 0), "0");
  EXPECT_EQ(TickText(-1e-17, 1), "0.0");
  EXPECT_EQ(TickText(12345, 0), "12,345");
  EXPECT_EQ(TickText(-1234567, 0), "-1,234,567");
  EXPECT_EQ(TickText(1000, 0), "1000");
  EXPECT_EQ(TickText(0.25, DecimalsOf(0.25)), "0.25");
  EXPECT_EQ(DecimalsOf(3 * 0.1), 1);
}

TEST(Ticks, OfLogarithmicAxesArePowersOrTheirRoundMultiples) {
  EXPECT_EQ(LogTicks(0.8, 12000).size(), 5u);  // 1 … 10,000
  for (const double tick : LogTicks(0.8, 12000)) EXPECT_EQ(std::log10(tick), std::round(std::log10(tick)));
  EXPECT_EQ(LogTicks(15, 320), (std::vector<double>{20, 50, 100, 200}));
  for (const double tick : LogTicks(15.7, 22.4)) EXPECT_EQ(tick, std::round(tick)) << "a narrow range";
}

Chart TwoSeries() {
  Chart chart;
  chart.title = "title <1>";
  chart.x_label = "x";
  chart.y_label = "y";
  chart.log_x = true;
  chart.series.push_back({"a & b", {1, 10, 100}, {0.1, 0.2, NAN}, SeriesStyle::kLine, -1, {}, {}, true});
  chart.series.push_back(
      {"point", {5, 0}, {0.25, 3}, SeriesStyle::kHollowPoints, -1, {0.05}, {"here"}, true});
  return chart;
}

TEST(Chart, HoldsEverySeriesNamesItsAxesAndEscapesNames) {
  const std::string svg = ChartToSvg(TwoSeries());
  EXPECT_NE(svg.find("<polyline"), std::string::npos);
  EXPECT_NE(svg.find("<circle"), std::string::npos);
  EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
  EXPECT_NE(svg.find("x (log scale)"), std::string::npos);
  EXPECT_NE(svg.find(">here<"), std::string::npos);
  EXPECT_EQ(svg.find("title <1>"), std::string::npos);
  EXPECT_EQ(svg.find("nan\""), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos) << "0 has no place on a logarithmic axis";
}

TEST(Chart, PageFormCarriesItsValuesInOneAttribute) {
  Chart chart = TwoSeries();
  chart.series[0].name = "\"><script>alert(1)</script>";
  const std::string svg = ChartToPageSvg(chart);
  EXPECT_NE(svg.find("data-chart=\"{"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("class=\"s0 st\""), std::string::npos) << "colours are the style sheet's";
  EXPECT_EQ(svg.find("#c1121f"), std::string::npos);
}

// Offsets of the cross-reference table point at the objects, and the stream is as long as it says.
TEST(EscapedText, LeavesNothingThatMeansAnything) {
  EXPECT_EQ(EscapedText("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
  EXPECT_EQ(EscapedText("caf\xC3\xA9 \xD7\xA9"), "caf\xC3\xA9 \xD7\xA9") << "letters of any script stay";
  EXPECT_EQ(EscapedText("a\xE2\x80\xAE"
                        "b"),
            "a\xEF\xBF\xBD"
            "b")
      << "an override of the direction";
  EXPECT_EQ(EscapedText("\xFF\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "not UTF-8";
  EXPECT_EQ(EscapedText(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
}

}  // namespace
}  // namespace l2gcn
