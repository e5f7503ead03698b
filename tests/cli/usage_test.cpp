// What the program says to wrong words: exit status 2, and a message that names the right ones.
#include <fstream>

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

TEST_F(UsageTest, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(RunWell({"help"}).out, RunWell({"--help"}).out);
  EXPECT_EQ(RunWell({"help", "train"}).out.substr(0, 200), RunWell({"train", "--help"}).out.substr(0, 200));
  const std::string version = RunWell({"--version"}).out;
  EXPECT_EQ(RunWell({"version"}).out, version);
  EXPECT_EQ(RunWell({"-V"}).out, version);
  EXPECT_NE(version.find(RunWell({"version", "--json"}).json().at("version").get<std::string>()),
            std::string::npos);
  ExpectRefused({"help", "trian"}, "did you mean 'train'");
}

TEST_F(UsageTest, MistakesOfWordOrderAndFormAreExplained) {
  ExpectRefused({"--json", "train"}, "'--json' belongs after the command: l2gcn train --json");
  ExpectRefused({"train", "-epochs", "3"}, "did you mean '--epochs'");
  ExpectRefused({"train", "--epochs"}, "--epochs needs a value: --epochs N");
  ExpectRefused({"train", "--epochs="}, "--epochs needs a value");
  ExpectRefused({"train", "-o", "a", "-o", "b"}, "--output is given more than once");
  ExpectRefused({"train", ""}, "DATASET is empty");
  ExpectRefused({"train", "--config", "."}, "--config .: no such file");
  ExpectRefused({"train", "--qwertyuiop"}, "unknown option '--qwertyuiop'; see l2gcn train --help");
  ExpectRefused({"train", "./no-such-file.npz"}, "no data set of that name");
  ExpectRefused({"info", "train"}, "train: no such path");  // a command's name may be a file's
  ExpectRefused({"reproduce", "table-x"}, "Valid: table-complexity");
  ExpectRefused({"reproduce", "table-soat"}, "did you mean 'table-sota'");
  ExpectRefused({"train", "--memory", "8"}, "add a unit, such as 8G");
}

// An option that would be ignored is an error that names what it needs.
TEST_F(UsageTest, OptionsWithoutAnEffectAreRefused) {
  MakeSmallSet();
  RunWell({"train", "small", "--epochs", "1", "--hidden", "4", "-q", "-o", "run"});
  const std::vector<std::vector<std::string>> of_run = {
      {"predict", "run", "-o", "f.csv"}, {"embed", "run", "-o", "f.npy"}, {"evaluate", "run"}};
  for (const auto& command : of_run) {
    const auto with = [&command](const std::vector<std::string>& more) {
      std::vector<std::string> words = command;
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    for (const char* table : {"--nodes", "--features", "--labels"})
      ExpectRefused(with({table, "new.csv"}), std::string(table) + " has no effect without --edges");
    for (const char* column : {"--label", "--id", "--source", "--target", "--weight"})
      ExpectRefused(with({column, "kind"}),
                    std::string(column) + " has no effect without DATASET or --edges");
    for (const char* flag :
         {"--directed", "--keep-self-loops", "--largest-component", "--no-ids", "--allow-unmatched"})
      ExpectRefused(with({flag}), "has no effect without DATASET or --edges");
    ExpectRefused(with({"--format", "npz"}), "--format has no effect without DATASET");
    ExpectRefused(with({"--min-degree", "2"}), "--min-degree has no effect without DATASET");
    ExpectRefused(with({"--synthetic-seed", "2"}), "--synthetic-seed has no effect without DATASET");
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> others = {
      {{"train", "--nodes", "n.csv"}, "--nodes has no effect without --edges"},
      {{"train", "--edges", "e.csv", "--data-dir", "."}, "--data-dir has no effect with --edges"},
      {{"train", "small", "--label", "kind"}, "--label has no effect on small"},
      {{"train", "small", "--synthetic-seed", "3"}, "--synthetic-seed has no effect on small"},
      {{"train", "synthetic:cora", "--directed"}, "--directed has no effect on a generated graph"},
      {{"train", "small", "--force"}, "--force has no effect without --output or --resume"},
      {{"train", "--resume", "run", "-o", "other"}, "--output has no effect with --resume"},
      {{"train", "--resume", "run", "--edges", "e.csv"}, "--edges has no effect with --resume"},
      {{"train", "--resume", "run", "--config", "c.json"}, "--config has no effect with --resume"},
      {{"train", "small", "--stop", "fixed", "--patience", "3"},
       "--patience 3 has no effect without --stop early"},
      {{"train", "small", "--device", "cpu", "--device-memory", "1G"},
       "--device-memory has no effect with --device cpu"},
      {{"compare", "small", "--csv", "--json"}, "--csv has no effect with --json"},
      {{"compare", "small", "--score-every", "2"}, "--score-every has no effect without --to-f1"},
      {{"compare", "small", "--force"}, "--force has no effect"},
      {{"compare", "small", "--resume", "c", "-o", "d"}, "--output has no effect with --resume"},
      {{"compare", "small", "--vary", "layers=1..2", "--layers", "3"},
       "--layers has no effect with --vary layers"},
      {{"compare", "small", "--methods", "gcn", "--patience", "3"},
       "--patience 3 has no effect without --stop early"},
      {{"convert", "small", "out", "--features-as", "f16"}, "small has sparse features"},
      {{"generate", "cora", "--features-as", "f16", "-o", "out"}, "--features-as f16 has no effect on cora"},
      {{"convert", "small", "out", "--label", "kind"}, "--label has no effect on small"},
      {{"search", "small", "--keep-self-loops", "-o", "c"}, "--keep-self-loops has no effect on small"},
      {{"info", "run", "--verify"}, "--verify has no effect on a run"},
      {{"info", "run", "--directed"}, "--directed has no effect on a run"},
      {{"report", "run", "--no-data", "--map", "pca"}, "--map has no effect with --no-data"},
      {{"report", "run", "--map-nodes", "0", "--map", "pca"}, "--map has no effect with --map-nodes 0"},
      {{"reproduce", "fig-capacity", "--sets", "cora"}, "--sets has no effect on fig-capacity"},
      {{"reproduce", "table-complexity", "--runs", "2"}, "--runs has no effect on table-complexity"},
      {{"completion", "bash", "--json"}, "unknown option '--json'"}};
  for (const auto& [command, part] : others) ExpectRefused(command, part);
}

TEST_F(UsageTest, AHandWrittenConfigSetsWhatItNamesAlone) {
  MakeSmallSet();
  std::ofstream(folder_ / "c.json") << R"({"epochs": 2, "hidden": [8], "bias": true})";
  RunWell({"train", "small", "--config", "c.json", "-q", "-o", "run"});
  const nlohmann::json config = nlohmann::json::parse(Read("run/config.json")).at("config");
  EXPECT_EQ(config.at("epochs"), nlohmann::json::array({2}));
  EXPECT_EQ(config.at("hidden"), nlohmann::json::array({8}));
  EXPECT_TRUE(config.at("bias").get<bool>());
  EXPECT_EQ(config.at("preset"), "best") << "what the file does not name is chosen as without it";
  std::ofstream(folder_ / "wrong.json") << R"({"epochs": {"first": 2}})";
  ExpectRefused({"train", "small", "--config", "wrong.json"},
                "wrong.json: epochs: expected a number or a list of numbers");
}

TEST_F(UsageTest, InfoTellsHowFarAnUnfinishedRunIs) {
  MakeSmallSet();
  Launch stop;
  stop.interrupt = true;
  const Outcome stopped = Run({"train", "small", "--method", "gcn", "--epochs", "1000000",
                               "--checkpoint-every", "50", "-q", "-o", "cut"},
                              stop);
  ASSERT_EQ(stopped.status, 130) << stopped.err;
  for (const char* name : {"cut", "cut.unfinished"}) {
    const std::string text = RunWell({"info", name}).out;
    EXPECT_NE(text.find("was cut off and is not finished"), std::string::npos) << text;
    EXPECT_NE(text.find("0 of 1 finished"), std::string::npos) << text;
    EXPECT_NE(text.find("checkpoint  seed 0, layer 1, epoch "), std::string::npos) << text;
    EXPECT_NE(text.find("l2gcn train --resume "), std::string::npos) << text;
  }
  const nlohmann::json json = RunWell({"info", "cut", "--json"}).json();
  EXPECT_EQ(json.at("kind"), "unfinished run");
  EXPECT_FALSE(json.at("training").get<bool>());
  EXPECT_EQ(json.at("settings").at("method"), "gcn");
  EXPECT_GE(json.at("checkpoint").at("epoch").get<int>(), 50);
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
