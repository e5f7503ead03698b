// The table of what a run takes besides the settings of a training.
#include <gtest/gtest.h>

#include "l2gcn/error.h"
#include "l2gcn/settings.h"

namespace l2gcn {
namespace {

TEST(RunFields, CheckpointsAreTimesOrEpochsOrNone) {
  const auto text_after = [](const std::string& value) {
    RunOptions run;
    SetFields(RunFields(), {{"checkpoint-every", value}}, run);
    return RunFields().back().get(run);
  };
  EXPECT_EQ(RunFields().back().get(RunOptions{}), "60s");
  EXPECT_EQ(text_after("30s"), "30s");
  EXPECT_EQ(text_after("5m"), "300s");
  EXPECT_EQ(text_after("0.5h"), "1800s");
  EXPECT_EQ(text_after("7"), "7");
  EXPECT_EQ(text_after("off"), "off");
}

TEST(RunFields, ALaterTimeReplacesEpochs) {
  RunOptions run;
  SetFields(RunFields(), {{"checkpoint-every", "5"}, {"checkpoint-every", "10s"}, {"runs", "3"}}, run);
  EXPECT_EQ(run.checkpoint_epochs, 0u);
  EXPECT_EQ(run.checkpoint_seconds, 10);
  EXPECT_EQ(run.runs, 3u);
}

TEST(RunFields, MistakesAreNamed) {
  for (const char* value : {"", "x", "-1s", "0s", "1e9h", "0", "soon"}) {
    RunOptions run;
    try {
      SetFields(RunFields(), {{"checkpoint-every", value}}, run);
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_NE(std::string(error.what()).find("--checkpoint-every"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace l2gcn
