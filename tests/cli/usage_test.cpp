// What the program says to wrong words: exit status 2, and a message that names the right ones.
#include "cli/process.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

class UsageTest : public ProgramTest {
 protected:
  // Expects status 2, nothing on standard output, nothing written, and `part` in the message.
  void ExpectRefused(const std::vector<std::string>& arguments, const std::string& part) const {
    const std::vector<std::string> before = List();
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected '" << part << "' in: " << outcome.err;
    EXPECT_EQ(List(), before);
  }
};

TEST_F(UsageTest, HelpIsEverywhereWithDefaults) {
  const Outcome top = RunWell({"--help"});
  for (const char* command :
       {"train", "evaluate", "predict", "embed", "convert", "generate", "info", "datasets", "completion"}) {
    EXPECT_NE(top.out.find(command), std::string::npos) << command;
    EXPECT_NE(RunWell({command, "--help"}).out.find("--help"), std::string::npos) << command;
  }
  const std::string train = RunWell({"train", "--help"}).out;
  for (const Field& field : Fields()) {
    if (!field.methods.empty()) continue;
    EXPECT_NE(train.find("--" + field.name), std::string::npos) << field.name;
  }
  EXPECT_NE(train.find("learning rate. [0.001]"), std::string::npos) << "default of --lr";
}

TEST_F(UsageTest, VersionSaysWhatWasBuiltIn) {
  const std::string text = RunWell({"--version"}).out;
  for (const char* line : {"l2gcn ", "\nsimd: ", "\nxsmm: ", "\nmetis: ", "\ncuda: "}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST_F(UsageTest, UnknownWordsGetTheNearest) {
  ExpectRefused({}, "no command");
  ExpectRefused({"trian"}, "did you mean 'train'");
  ExpectRefused({"train", "--epoch", "3"}, "did you mean '--epochs'");
  ExpectRefused({"train", "--norm", "smy"}, "did you mean 'sym'");
  ExpectRefused({"train", "--device", "gpu"}, "auto, cpu, cuda");
  ExpectRefused({"train", "--method", "lgnc"}, "did you mean 'lgcn'");
  ExpectRefused({"train", "a", "b"}, "unexpected argument 'b'");
  ExpectRefused({"completion", "bsh"}, "did you mean 'bash'");
}

TEST_F(UsageTest, ValuesOutOfRangeAreNamed) {
  ExpectRefused({"train", "--epochs", "0"}, "--epochs 0: expected a whole number from 1");
  ExpectRefused({"train", "--batch", "0"}, "--batch 0: expected a whole number from 1");
  ExpectRefused({"train", "--lr", "-1"}, "--lr -1: expected a number above 0");
  ExpectRefused({"train", "--threads", "0"}, "--threads");
  ExpectRefused({"train", "--runs", "0"}, "--runs");
  ExpectRefused({"train", "--epochs"}, "--epochs");
}

TEST_F(UsageTest, MissingInputsAreNamed) {
  ExpectRefused({"evaluate"}, "RUN is missing");
  ExpectRefused({"evaluate", "no-such-run"}, "no-such-run");
  ExpectRefused({"predict", "no-such-run"}, "-o FILE is missing");
  ExpectRefused({"predict", "no-such-run", "-o", "p.txt"}, ".csv or .npy");
  ExpectRefused({"predict", "no-such-run", "-o", "absent/p.csv"}, "absent");
  ExpectRefused({"train", "./no-such-file.npz"}, "no-such-file.npz");
  ExpectRefused({"train", "synthetic:cira"}, "cora");
  ExpectRefused({"train", "synthetic:papers100m"}, "GiB");
  ExpectRefused({"convert", "synthetic:cora"}, "DST is missing");
  ExpectRefused({"generate", "croa", "-o", "d"}, "cora");
  ExpectRefused({"generate", "cora", "--signal", "abc", "-o", "d"}, "--signal abc: expected a number");
  ExpectRefused({"generate", "cora", "--scale", "nan", "-o", "d"}, "--scale nan: expected a number");
  ExpectRefused({"info"}, "missing");
}

TEST_F(UsageTest, ListsMustFitTheLayers) {
  MakeSmallSet();
  ExpectRefused({"train", "small", "--epochs", "1,2,3"}, "3 values for 2 layers");
}

TEST_F(UsageTest, StandardOutputThatCannotBeWrittenIsAFailure) {
  Launch full;
  full.out_to = "/dev/full";
  EXPECT_EQ(Run({"datasets", "--json"}, full).status, 1);
}

TEST_F(UsageTest, CompletionKnowsCommandsOptionsAndValues) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = RunWell({"completion", shell}).out;
    EXPECT_NE(script.find("evaluate"), std::string::npos) << shell;
    EXPECT_NE(script.find("weight-decay"), std::string::npos) << shell;
    EXPECT_NE(script.find("inductive transductive"), std::string::npos) << shell;
  }
}

}  // namespace
}  // namespace l2gcn
