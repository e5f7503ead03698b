// The table of what a call computes with.
#include <gtest/gtest.h>

#include "l2gcn/error.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

MachineConfig MachineOf(const Overrides& said) {
  MachineConfig machine;
  SetFields(MachineFields(), said, machine);
  return machine;
}

std::string RefusalOf(const Overrides& said) {
  try {
    MachineOf(said);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Machine, WhatIsSaidReachesTheContext) {
  const MachineConfig machine = MachineOf({{"threads", "1"},
                                           {"device", "cpu"},
                                           {"device_memory", "3K"},
                                           {"memory", "2g"},
                                           {"scratch", "somewhere"}});
  const Context context = MakeContext(machine);
  EXPECT_EQ(context.threads, 1u);
  EXPECT_FALSE(context.device_is_automatic);
  EXPECT_EQ(context.device_memory, 3u << 10);
  EXPECT_EQ(context.host_memory, 2ull << 30);
  EXPECT_EQ(context.scratch_directory, "somewhere");
}

TEST(Machine, NothingSaidIsWhatTheMachineHas) {
  const Context context = MakeContext(MachineConfig{});
  EXPECT_EQ(context.threads, UsableCores());
  EXPECT_TRUE(context.device_is_automatic);
  EXPECT_EQ(context.device_memory, 0u);
  EXPECT_EQ(context.host_memory, 0u);
  EXPECT_EQ(context.scratch_directory, "");
}

TEST(Machine, EveryValueIsText) {
  const Overrides said = {{"threads", "3"},         {"device", "cpu"},  {"device-memory", "536870912"},
                          {"memory", "1073741824"}, {"scratch", "a/b"}, {"local-data", "c/d"},
                          {"exchange", "memory"}};
  const MachineConfig machine = MachineOf(said);
  ASSERT_EQ(MachineFields().size(), said.size());
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(MachineFields()[i].name, said[i].first);
    EXPECT_EQ(MachineFields()[i].get(machine), said[i].second);
  }
}

TEST(Machine, SizesAreReadAsPeopleWriteThem) {
  const auto bytes = [](const std::string& text) { return MachineOf({{"memory", text}}).memory; };
  for (const char* text : {"8G", "8g", "8GiB", "8 GiB", "8gib", "8192M", "8589934592", "8589934592B"})
    EXPECT_EQ(bytes(text), 8ull << 30) << text;
  for (const char* text : {"8GB", "8 GB", "8gb", "8000MB"}) EXPECT_EQ(bytes(text), 8'000'000'000u) << text;
  EXPECT_EQ(bytes("1.5G"), 3ull << 29);
  for (const char* option : {"memory", "device-memory"}) {
    const std::string refusal = RefusalOf({{option, "8"}});
    EXPECT_NE(refusal.find("8 bytes; add a unit, such as 8G"), std::string::npos) << refusal;
  }
  for (const char* wrong : {"", "G", "-8G", "8GG", "8 apples", "nan", "inf", "1e9", "8Gi", "8G B"})
    EXPECT_NE(RefusalOf({{"memory", wrong}}).find("expected a size such as 512M"), std::string::npos)
        << wrong;
}

TEST(Machine, MistakesAreNamed) {
  EXPECT_NE(RefusalOf({{"memory", "3X"}}).find("--memory 3X"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memory", "0"}}).find("--memory 0"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memory", "99999999T"}}).find("--memory"), std::string::npos);
  EXPECT_NE(RefusalOf({{"threads", "0"}}).find("from 1 to 4096"), std::string::npos);
  EXPECT_NE(RefusalOf({{"device", "gpu"}}).find("auto, cpu, cuda"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memry", "1G"}}).find("did you mean 'memory'"), std::string::npos);
  EXPECT_EQ(RefusalOf({{"rank-steps", "alone"}}),
            "setting 'rank-steps' was removed; rank 0 computes the training steps");
}

}  // namespace
}  // namespace l2gcn
