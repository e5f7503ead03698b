// Data and files that were made to do harm, or are damaged where no checksum sees it: nothing crashes, no count is wrong,
// and no name becomes a command.
#include <cstdio>
#include <fstream>
#include <functional>

#include "cli/process.h"

namespace l2gcn {
namespace {

using Json = nlohmann::json;

#define EXPECT_SAYS(outcome, words) \
  EXPECT_NE((outcome).err.find(words), std::string::npos) << (outcome).status << ": " << (outcome).err

class HostileDataTest : public ProgramTest {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // Changes the manifest of FOLDER/small and drops its checksums, so that only checks of values remain.
  void ChangeManifest(const std::function<void(Json&)>& change) const {
    Json manifest = Json::parse(Read("small/dataset.json"));
    manifest.erase("checksum");
    for (Json& file : manifest.at("files")) file.erase("blocks");
    change(manifest);
    Write("small/dataset.json", manifest.dump());
  }
  void ChangeBytes(const std::string& name, size_t from_end, const std::string& bytes) const {
    std::string text = Read(name);
    text.replace(text.size() - from_end, bytes.size(), bytes);
    Write(name, text);
  }
  // A ring of 60 nodes in nodes.csv and edges.csv: two classes, `features` numbers, node n59 a test node whose numbers
  // are ± `odd`. Other numbers are ± `usual`.
  void MakeTable(int features, double usual, double odd) const {
    std::string nodes = "id,part,y", edges = "from,to\n";
    for (int c = 0; c < features; ++c) nodes += ",c" + std::to_string(c);
    uint32_t state = 1;
    const auto coin = [&state] { return ((state = state * 1664525 + 1013904223) >> 30 & 1) != 0; };
    for (int i = 0; i < 60; ++i) {
      const std::string id = "n" + std::to_string(i);
      edges += id + ",n" + std::to_string((i + 1) % 60) + "\n";
      nodes += "\n" + id + (i < 30 ? ",train," : i < 45 ? ",val," : ",test,") + (i % 2 == 0 ? "a" : "b");
      for (int c = 0; c < features; ++c) {
        char cell[40];
        std::snprintf(cell, sizeof(cell), ",%g", (coin() ? 1 : -1) * (i == 59 ? odd : usual * (1 + i % 5)));
        nodes += cell;
      }
    }
    Write("nodes.csv", nodes + "\n");
    Write("edges.csv", edges);
  }
  Outcome TrainTable(const std::string& more = "") const {
    return Shell(
        "$L2GCN train --edges edges.csv --nodes nodes.csv --label y --split column:part --preset paper "
        "--method lgcn "
        "--scale standard --epochs 3 --hidden 8 --device cpu -o run " +
        more);
  }
};

TEST_F(HostileDataTest, InfoRefusesALabelThatIsNoClass) {
  MakeSmallSet();
  ChangeManifest([](Json&) {});
  ChangeBytes("small/labels.npy", 4, "\xff\xff\xff\x7f");
  for (const char* more : {"--json", "--counts"}) {
    const Outcome outcome = Run({"info", "small", more});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_SAYS(outcome, "has class 2147483647");
  }
}

TEST_F(HostileDataTest, InfoComparesChecksumsOfWhatItCounts) {
  MakeSmallSet();
  const bool first = Read("small/labels.npy").ends_with(std::string(4, '\0'));
  ChangeBytes("small/labels.npy", 4, std::string(1, first ? '\1' : '\0'));  // another class that there is
  const Outcome outcome = Run({"info", "small"});
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_SAYS(outcome, "checksum");
}

TEST_F(HostileDataTest, CountsThatAreNotThoseOfTheGraphAreRefused) {
  MakeSmallSet();
  const std::string before = Read("small/dataset.json");
  ChangeManifest([](Json& manifest) { manifest["edges"] = 901; });
  EXPECT_SAYS(Run({"info", "small"}), "dataset.json has 901 edges");
  Write("small/dataset.json", before);
  ChangeManifest([](Json& manifest) { manifest["classes"] = 4000000000u; });
  EXPECT_EQ(Run({"info", "small"}).status, 2);
  EXPECT_SAYS(Run({"train", "small", "--epochs", "1"}), "classes for 300 nodes");
  Write("small/dataset.json", before);
  ChangeManifest([](Json&) {});
  // The last neighbour of the last node becomes the node itself: its edge is now stored in one direction only.
  ChangeBytes("small/graph_indices.npy", 4, std::string("\x2b\x01\x00\x00", 4));
  EXPECT_SAYS(Run({"info", "small"}), "one direction only");
}

TEST_F(HostileDataTest, DeepJsonIsRefusedWhereverItIsRead) {
  MakeSmallSet();
  RunWell({"train", "small", "--epochs", "2", "-o", "run"});
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  Write("deep.json", deep);
  for (const std::string command : {"train small --config deep.json", "report deep.json"}) {
    const Outcome outcome = Shell("$L2GCN " + command);
    EXPECT_EQ(outcome.status, 2) << command << outcome.err;
    EXPECT_SAYS(outcome, "nested deeper");
  }
  const std::string result = Read("run/result.json");
  Write("run/result.json", "{\"runs\": " + deep + "}");
  for (const std::string command :
       {"info run", "report run", "train --config run/config.json", "train --resume run"}) {
    const Outcome outcome = Shell("$L2GCN " + command);
    EXPECT_EQ(outcome.status, 2) << command << outcome.err;
    EXPECT_SAYS(outcome, "nested deeper");
  }
  Write("run/result.json", "{\"runs\": 3}");
  const Outcome damaged = Run({"info", "run"});
  EXPECT_EQ(damaged.status, 2) << damaged.err;
  EXPECT_SAYS(damaged, "result.json");
}

TEST_F(HostileDataTest, FeaturesWhoseSquaresOverflowAreRefusedBeforeTraining) {
  MakeTable(100, 1, 3e38);
  const Outcome outcome = TrainTable();
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_SAYS(outcome, "column 'c0' of node n59 is");
  EXPECT_SAYS(outcome, "square overflows");
}

TEST_F(HostileDataTest, NodesWithoutFiniteLogitsAreNamed) {
  MakeTable(100, 1e-25,
            1e15);  // a finite value that overflows once it is divided by the deviation of the others
  const Outcome trained = TrainTable("--json");
  EXPECT_EQ(trained.status, 0) << "a finished training is kept: " << trained.err;
  EXPECT_SAYS(trained, "no finite logits");
  EXPECT_SAYS(trained, "n59");
  EXPECT_TRUE(trained.json().at("f1").at("test").is_null()) << trained.out;
  EXPECT_TRUE(trained.json().at("f1").at("val").is_number()) << "no validation node is near n59";
  for (const std::string command : {"predict run -o p.csv", "evaluate run", "embed run -o e.csv"}) {
    const Outcome outcome = Shell("$L2GCN " + command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_SAYS(outcome, "n59");
    EXPECT_SAYS(outcome, "column 'c");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.csv"));
  EXPECT_EQ(Run({"report", "run", "--no-ceilings"}).status, 0);
}

// A ring whose names are a formula, a command, an escape and a line break.
class HostileNamesTest : public HostileDataTest {
 protected:
  void SetUp() override {
    HostileDataTest::SetUp();
    std::string nodes = "id,x,y\n", edges = "from,to\n";
    const std::string ids[] = {"=1+1", "@sum(a)", "-5", "+49 30", "plain"};
    const std::string classes[] = {"=cmd|'/c calc'!A1", "\"two\nlines\"", "\x1b[31mred"};
    const auto id = [&](int i) { return i < 5 ? ids[i] : "n" + std::to_string(i); };
    for (int i = 0; i < 60; ++i) {
      nodes += id(i) + "," + std::to_string(i % 3) + "," + classes[i % 3] + "\n";
      edges += id(i) + "," + id((i + 3) % 60) + "\n";
    }
    Write("nodes.csv", nodes);
    Write("edges.csv", edges);
    EXPECT_EQ(Shell("$L2GCN train --edges edges.csv --nodes nodes.csv --label y --epochs 3 --hidden 8 -q "
                    "--device cpu "
                    "-o run")
                  .status,
              0);
  }
};

TEST_F(HostileNamesTest, CellsThatASpreadsheetWouldRunAreText) {
  const Outcome outcome = Run({"predict", "run", "-o", "p.csv"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_SAYS(outcome, "--exact-names");
  const std::string table = Read("p.csv");
  for (const char* cell :
       {"\n'=1+1,", "\n'@sum(a),", "\n-5,", "\n'+49 30,", "\nplain,", ",'=cmd|'/c calc'!A1,"})
    EXPECT_NE(table.find(cell), std::string::npos) << cell;
  EXPECT_EQ(table.find("\n="), std::string::npos);
  EXPECT_EQ(table.find(",="), std::string::npos);
  RunWell({"predict", "run", "-o", "exact.csv", "--exact-names"});
  EXPECT_NE(Read("exact.csv").find("\n=1+1,"), std::string::npos);
  RunWell({"evaluate", "run", "--confusion", "c.csv"});
  EXPECT_NE(Read("c.csv").find("\n'=cmd"), std::string::npos);
  EXPECT_EQ(Run({"predict", "run", "-o", "p.npy", "--exact-names"}).status, 2);
}

TEST_F(HostileNamesTest, ATerminalGetsNoEscapesAndAPipeGetsExactBytes) {
  EXPECT_NE(Shell("$L2GCN predict run -o - -q | cat").out.find('\x1b'), std::string::npos);
  const Outcome shown = Shell("script -qec \"$L2GCN predict run -o - -q\" /dev/null");
  EXPECT_NE(shown.out.find("\\x1b[31mred"), std::string::npos) << shown.out << shown.err;
  EXPECT_EQ(shown.out.find('\x1b'), std::string::npos);
}

TEST_F(HostileNamesTest, ALineBreakInANameBreaksNoTable) {
  for (const Outcome& outcome :
       {RunWell({"evaluate", "run"}), Shell("$L2GCN info --edges edges.csv --nodes nodes.csv --label y")}) {
    EXPECT_NE(outcome.out.find("two\\nlines"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("\nlines"), std::string::npos);
  }
}

}  // namespace
}  // namespace l2gcn
