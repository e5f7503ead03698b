// What the program says to wrong words: exit status 2, and a message that names the right ones.
#include <algorithm>
#include <fstream>
#include <sstream>

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

std::vector<std::string> HelpLines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Characters of a line: UTF-8 continuation bytes are none.
size_t Columns(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(),
                                           [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// The commands that `l2gcn --help` lists.
std::vector<std::string> ListedCommands(const std::string& help) {
  std::vector<std::string> names;
  bool listing = false;
  for (const std::string& line : HelpLines(help)) {
    if (listing && line.empty()) break;
    if (listing && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    listing = listing || line == "Commands:";
  }
  return names;
}

// Lines that begin an option.
std::vector<std::string> OptionLines(const std::string& help) {
  std::vector<std::string> lines = HelpLines(help);
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("  -"); });
  return lines;
}

TEST_F(UsageTest, HelpOfEveryCommandFitsEightyColumns) {
  const std::string top = RunWell({"--help"}).out;
  const std::vector<std::string> commands = ListedCommands(top);
  EXPECT_LE(commands.size(), 13u);
  EXPECT_GE(commands.size(), 10u);
  EXPECT_EQ(HelpLines(top).at(2), "Examples:");
  std::vector<std::pair<std::string, std::string>> texts = {{"l2gcn", top}};
  for (const std::string& command : commands) {
    texts.emplace_back(command, RunWell({command, "--help"}).out);
    texts.emplace_back(command + " all", RunWell({command, "--help-all"}).out);
  }
  for (const auto& [name, text] : texts) {
    for (const std::string& line : HelpLines(text)) EXPECT_LE(Columns(line), 80u) << name << ": " << line;
  }
}

TEST_F(UsageTest, HelpOfTrainShowsWhatPeopleUse) {
  const std::string train = RunWell({"train", "--help"}).out;
  const std::vector<std::string> lines = HelpLines(train), options = OptionLines(train);
  EXPECT_EQ(lines.at(2), "Examples:");
  EXPECT_TRUE(lines.at(3).starts_with("  l2gcn train --edges")) << lines.at(3);
  EXPECT_TRUE(lines.at(4).starts_with("  l2gcn train ")) << lines.at(4);
  EXPECT_LE(options.size(), 16u);
  ASSERT_GE(options.size(), 12u);
  EXPECT_TRUE(options[0].starts_with("  --edges")) << options[0];
  EXPECT_TRUE(options[1].starts_with("  --nodes")) << options[1];
  EXPECT_TRUE(options[2].starts_with("  --label")) << options[2];
  const auto begin = std::find(lines.begin(), lines.end(), "Options:");
  ASSERT_NE(begin, lines.end());
  for (size_t i = 0; i < options.size(); ++i)
    EXPECT_EQ(begin[1 + static_cast<long>(i)], options[i]) << "one line each";
  EXPECT_NE(train.find("paper's (l2gcn)"), std::string::npos) << "what preset paper trains";
}

TEST_F(UsageTest, HelpAllShowsEveryOptionInGroups) {
  const std::string all = RunWell({"train", "--help-all"}).out;
  const std::vector<std::string> lines = HelpLines(all);
  for (const char* group : {"General:", "Architecture:", "Optimisation:", "Data:", "Stopping:",
                            "Method-specific:", "Machine:", "MPI:"})
    EXPECT_NE(std::find(lines.begin(), lines.end(), group), lines.end()) << group;
  size_t settings = 0;
  for (const Field& field : Fields()) {
    const bool shown = all.find("  --" + field.name + (field.kind == FieldText::Kind::kFlag ? "," : " ")) !=
                       std::string::npos;
    EXPECT_EQ(shown, field.level != FieldText::Level::kPreset) << field.name;
    settings += shown;
  }
  EXPECT_LE(settings, 36u);
  EXPECT_NE(all.find("[auto]"), std::string::npos) << "default of --lr";
  for (const char* option :
       {"--features-as", "--min-degree", "--largest-component", "--exchange", "--local-data"}) {
    EXPECT_NE(all.find(option), std::string::npos) << option;
    EXPECT_EQ(RunWell({"train", "--help"}).out.find(option), std::string::npos) << option;
  }
}

TEST_F(UsageTest, CommandsShowTheMachineOptionsTheyUse) {
  const auto shows = [&](const char* command, const char* option) {
    return RunWell({command, "--help-all"}).out.find(option) != std::string::npos;
  };
  for (const char* command : {"convert", "generate", "info"}) {
    EXPECT_FALSE(shows(command, "--device")) << command;
    EXPECT_FALSE(shows(command, "--exchange")) << command;
    EXPECT_TRUE(shows(command, "--threads")) << command;
  }
  EXPECT_FALSE(shows("report", "--exchange"));
  EXPECT_TRUE(shows("train", "--exchange"));
}

TEST_F(UsageTest, OldNamesOfCommandsAndSettingsGiveTheNewOnes) {
  ExpectRefused({"search", "small", "-o", "c"}, "l2gcn learn-controller");
  ExpectRefused({"search", "--help"}, "l2gcn learn-controller");
  ExpectRefused({"datasets"}, "l2gcn info");
  ExpectRefused({"capacity", "--seeds", "1"}, "l2gcn reproduce theorems");
  ExpectRefused({"reproduce", "fig-capacity"}, "theorems");
  ExpectRefused({"train", "--norm", "sym"}, "'adjacency'");
  ExpectRefused({"train", "--norm", "sym"}, "'hidden-norm'");
  ExpectRefused({"train", "--layer-norm"}, "'hidden-norm'");
  ExpectRefused({"train", "--read-out", "mean"}, "'predict-from'");
  ExpectRefused({"train", "--reach", "2"}, "'hops' and 'self-features'");
  std::ofstream(folder_ / "old.json") << R"({"reach": 2})";
  ExpectRefused({"train", "synthetic:cora", "--config", "old.json"}, "old.json: setting 'reach' was removed");
}

TEST_F(UsageTest, SettingsOfPresetsAreForConfigFiles) {
  MakeSmallSet();
  ExpectRefused({"train", "small", "--theta", "fresh"}, "l2gcn train --config FILE");
  ExpectRefused({"compare", "small", "--drop-last"}, "l2gcn train --config FILE");
  ExpectRefused({"learn-controller", "small", "--decisions", "3", "-o", "c"},
                "l2gcn learn-controller --config FILE");
  std::ofstream(folder_ / "c.json") << R"({"theta": "fresh", "drop_last": true, "epochs": 1})";
  RunWell({"train", "small", "--config", "c.json", "-q", "-o", "run"});
  EXPECT_EQ(nlohmann::json::parse(Read("run/config.json")).at("config").at("drop_last"), true);
}

TEST_F(UsageTest, HopsNeedSelfFeatures) {
  MakeSmallSet();
  ExpectRefused({"train", "small", "--preset", "paper", "--hops", "2"}, "--hops 2: more than one hop needs");
  ExpectRefused({"train", "small", "--preset", "paper", "--hops", "0"}, "--hops 0: method layerwise needs 1");
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
  ExpectRefused({"train", "--adjacency", "smy"}, "did you mean 'sym'");
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
      {{"compare", "small", "--force"}, "--force has no effect"},
      {{"compare", "small", "--resume", "c", "-o", "d"}, "--output has no effect with --resume"},
      {{"compare", "small", "--vary", "layers=1..2", "--layers", "3"},
       "--layers has no effect with --vary layers"},
      {{"compare", "small", "--methods", "gcn", "--patience", "3"},
       "--patience 3 has no effect without --stop early"},
      {{"convert", "small", "out", "--features-as", "f16"}, "small has sparse features"},
      {{"generate", "cora", "--features-as", "f16", "-o", "out"}, "--features-as f16 has no effect on cora"},
      {{"convert", "small", "out", "--label", "kind"}, "--label has no effect on small"},
      {{"learn-controller", "small", "--keep-self-loops", "-o", "c"},
       "--keep-self-loops has no effect on small"},
      {{"info", "run", "--verify"}, "--verify has no effect on a run"},
      {{"info", "run", "--directed"}, "--directed has no effect on a run"},
      {{"report", "run", "--no-data", "--map", "pca"}, "--map has no effect with --no-data"},
      {{"report", "run", "--map-nodes", "0", "--map", "pca"}, "--map has no effect with --map-nodes 0"},
      {{"reproduce", "theorems", "--sets", "cora"}, "--sets has no effect on theorems"},
      {{"reproduce", "table-complexity", "--widths", "2"}, "--widths has no effect on this target"},
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
  ExpectRefused({"predict"}, "RUN is missing, as in 'l2gcn predict my-run -o predictions.csv'");
  ExpectRefused({"embed"}, "RUN is missing, as in 'l2gcn embed my-run -o embeddings.npy'");
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
}

TEST_F(UsageTest, ListsMustFitTheLayers) {
  MakeSmallSet();
  ExpectRefused({"train", "small", "--epochs", "1,2,3"}, "3 values for 2 layers");
}

TEST_F(UsageTest, StandardOutputThatCannotBeWrittenIsAFailure) {
  Launch full;
  full.out_to = "/dev/full";
  EXPECT_EQ(Run({"info", "--json"}, full).status, 1);
}

TEST_F(UsageTest, InfoWithoutAnArgumentListsKnownDataSets) {
  EXPECT_NE(RunWell({"info"}).out.find("cora"), std::string::npos);
  EXPECT_FALSE(RunWell({"info", "--json"}).json().at("datasets").empty());
  ExpectRefused({"info", "--directed"}, "--directed has no effect without a data set");
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
