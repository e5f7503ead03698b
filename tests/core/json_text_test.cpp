#include "core/json_text.h"

#include <gtest/gtest.h>

#include "l2gcn/error.h"

namespace l2gcn {
namespace {

TEST(JsonTextTest, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  const std::string text = JsonText({{"name", "caf\xe9"}});
  EXPECT_EQ(text, "{\"name\":\"caf\xEF\xBF\xBD\"}");
  EXPECT_EQ(ParseJson(text, "here").at("name"), "caf\xEF\xBF\xBD");
}

TEST(JsonTextTest, DeepNestingIsRefused) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(ParseJson(nested(kJsonDepth), "here"));
  EXPECT_THROW(ParseJson(nested(kJsonDepth + 1), "here"), Error);
  EXPECT_THROW(ParseJson(nested(200000), "here"), Error);
  EXPECT_THROW(ParseJson(std::string(200000, '{'), "here"), Error);
  EXPECT_NO_THROW(ParseJson("\"" + std::string(1000, '[') + "\\\"[\"", "here"))
      << "brackets in a text do not count";
}

TEST(JsonTextTest, DamageIsNamedWithItsByte) {
  try {
    ParseJson("{\"a\": nul}", "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json: not JSON at byte"), std::string::npos)
        << error.what();
  }
}

TEST(JsonTextTest, NumbersThatNoDoubleHoldsAreRefused) {
  EXPECT_THROW(ParseJson("{\"a\": 1e999}", "config.json"), Error);
}

}  // namespace
}  // namespace l2gcn
