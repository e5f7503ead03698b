#include "data/id_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/rng.h"
#include "data/fixtures.h"
#include "data/samples.h"

namespace l2gcn {
namespace {

std::vector<uint32_t> ResolveAll(const Context& context, IdTable& ids,
                                 const std::vector<std::string>& names) {
  const std::vector<std::string_view> tokens(names.begin(), names.end());
  std::vector<uint32_t> keys(tokens.size());
  ids.Resolve(context, tokens, keys);
  return keys;
}

TEST(IdTable, SmallIdsNumberTheNodesByRank) {
  IdTable ids(IdKind::kSmall, 0);
  ids.Reserve(700);
  ids.MarkSmall(std::vector<uint32_t>{700, 3, 64, 3, 0});
  ids.Finish();
  EXPECT_EQ(ids.nodes(), 4u);
  EXPECT_FALSE(ids.identity());
  EXPECT_EQ(ids.NodeOf(0), 0u);
  EXPECT_EQ(ids.NodeOf(3), 1u);
  EXPECT_EQ(ids.NodeOf(64), 2u);
  EXPECT_EQ(ids.NodeOf(700), 3u);
  ExpectSameArray(ids.NodeIds(), ArrayOf<int64_t>({0, 3, 64, 700}), "ids");
  EXPECT_TRUE(ids.Names().empty());
}

TEST(IdTable, IdsWithoutGapsStayAsTheyAre) {
  IdTable ids(IdKind::kSmall, 0);
  ids.Reserve(2);
  ids.MarkSmall(std::vector<uint32_t>{2, 1, 0});
  ids.Finish();
  EXPECT_TRUE(ids.identity());
  EXPECT_TRUE(ids.NodeIds().empty());
}

TEST(IdTable, IntegersAscendAndTextKeepsItsOrder) {
  const Context context = MakeContext(1);
  IdTable integers(IdKind::kInteger, 0);
  const std::vector<uint32_t> keys = ResolveAll(context, integers, {"9000000000", "-5", "12", "-5"});
  EXPECT_EQ(keys[1], keys[3]);
  integers.Finish();
  ExpectSameArray(integers.NodeIds(), ArrayOf<int64_t>({-5, 12, 9000000000}), "ids");
  EXPECT_EQ(integers.NodeOf(keys[0]), 2u);
  IdTable text(IdKind::kText, 0);
  const std::vector<uint32_t> named = ResolveAll(context, text, {"zoe", "adam", "007", "zoe", "7"});
  text.Finish();
  ASSERT_EQ(text.nodes(), 4u);
  const NameTable names = text.Names();
  EXPECT_EQ(names[0], "zoe");
  EXPECT_EQ(names[1], "adam");
  EXPECT_EQ(names[2], "007");
  EXPECT_EQ(names[3], "7");
  EXPECT_EQ(text.NodeOf(named[4]), 3u);
}

// Against a std::map, with names short and long, many times over, for any number of threads.
TEST(IdTable, ManyNamesAgreeWithAMapForAnyThreadCount) {
  const RandomStream stream(3, RandomUse::kGenerator);
  std::vector<std::string> tokens;
  for (size_t i = 0; i < 20000; ++i) {
    const uint64_t id = stream.Below(i, 3000);
    tokens.push_back((id % 3 == 0 ? "a name that does not fit into a cell, number " : "n") +
                     std::to_string(id));
  }
  std::map<std::string, uint32_t> expected;
  std::vector<uint32_t> nodes;
  for (const std::string& token : tokens) {
    nodes.push_back(expected.emplace(token, static_cast<uint32_t>(expected.size())).first->second);
  }
  for (const uint32_t threads : {1u, 3u}) {
    const Context context = MakeContext(threads);
    IdTable ids(IdKind::kText, 0);
    const std::vector<uint32_t> keys = ResolveAll(context, ids, tokens);
    EXPECT_EQ(ids.ResolveOne(tokens[7]), keys[7]);
    ids.Finish();
    ASSERT_EQ(ids.nodes(), expected.size());
    for (size_t i = 0; i < tokens.size(); ++i) ASSERT_EQ(ids.NodeOf(keys[i]), nodes[i]) << tokens[i];
    const NameTable names = ids.Names();
    for (const auto& [name, node] : expected) ASSERT_EQ(names[node], name);
  }
}

TEST(IdTable, ALimitIsKept) {
  const Context context = MakeContext(1);
  IdTable ids(IdKind::kText, 20000);
  std::vector<std::string> many;
  for (int i = 0; i < 20000; ++i) many.push_back("node" + std::to_string(i));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { ResolveAll(context, ids, many); }), "memory");
}

}  // namespace
}  // namespace l2gcn
