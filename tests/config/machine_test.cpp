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
                                           {"scratch", "somewhere"},
                                           {"rank-steps", "shared"}});
  const Context context = MakeContext(machine);
  EXPECT_EQ(context.threads, 1u);
  EXPECT_FALSE(context.device_is_automatic);
  EXPECT_EQ(context.device_memory, 3u << 10);
  EXPECT_EQ(context.host_memory, 2ull << 30);
  EXPECT_EQ(context.scratch_directory, "somewhere");
  EXPECT_EQ(context.steps, StepSharing::kShared);
}

TEST(Machine, NothingSaidIsWhatTheMachineHas) {
  const Context context = MakeContext(MachineConfig{});
  EXPECT_EQ(context.threads, UsableCores());
  EXPECT_TRUE(context.device_is_automatic);
  EXPECT_EQ(context.device_memory, 0u);
  EXPECT_EQ(context.host_memory, 0u);
  EXPECT_EQ(context.scratch_directory, "");
  EXPECT_EQ(context.steps, StepSharing::kAuto);
}

TEST(Machine, EveryValueIsText) {
  const Overrides said = {{"threads", "3"},       {"device", "cpu"},       {"device-memory", "512"},
                          {"memory", "1024"},     {"scratch", "a/b"},      {"local-data", "c/d"},
                          {"exchange", "memory"}, {"rank-steps", "shared"}};
  const MachineConfig machine = MachineOf(said);
  ASSERT_EQ(MachineFields().size(), said.size());
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(MachineFields()[i].name, said[i].first);
    EXPECT_EQ(MachineFields()[i].get(machine), said[i].second);
  }
}

TEST(Machine, MistakesAreNamed) {
  EXPECT_NE(RefusalOf({{"memory", "3X"}}).find("--memory 3X"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memory", "0"}}).find("--memory 0"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memory", "99999999T"}}).find("--memory"), std::string::npos);
  EXPECT_NE(RefusalOf({{"threads", "0"}}).find("from 1 to 4096"), std::string::npos);
  EXPECT_NE(RefusalOf({{"device", "gpu"}}).find("auto, cpu, cuda"), std::string::npos);
  EXPECT_NE(RefusalOf({{"memry", "1G"}}).find("did you mean 'memory'"), std::string::npos);
}

}  // namespace
}  // namespace l2gcn
