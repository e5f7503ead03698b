// Commands of the program, called with a bundle's files as a user would: a native data set (set/), a run that was trained
// on it (run/), settings (settings.json), a comparison or a reproduction (report.json). Files of ours have no checksums in
// the seeds, so that mutations reach what reads the values. A command may refuse; it may not end by another way.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "data/bundle.h"
#include "fuzz/fuzz_common.h"
#include "program.h"

namespace {

namespace fs = std::filesystem;
using namespace l2gcn;

void Call(std::initializer_list<std::string> words) {
  std::vector<const char*> arguments = {"l2gcn"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  cli::Program program;
  for (const auto add :
       {cli::AddConvert, cli::AddEvaluate, cli::AddInfo, cli::AddPredict, cli::AddReport, cli::AddTrain})
    add(program);
  const int status = program.Main(static_cast<int>(arguments.size()), arguments.data());
  if (status < cli::kExitDone || status > cli::kExitUnusable) std::abort();
}

void CallAll(const fs::path& folder) {
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const std::string set = at("set"), run = at("run"), out = at("out.html");
  const bool has_set = fs::exists(folder / "set"), has_run = fs::exists(folder / "run");
  if (fs::exists(folder / "settings.json") && has_set)
    Call({"train", set, "--config", at("settings.json"), "--dry-run", "-q", "--threads", "1"});
  if (fs::exists(folder / "report.json"))
    Call({"report", at("report.json"), "-o", out, "-q", "--no-ceilings", "--threads", "1"});
  if (has_run) {
    Call({"info", run, "-q"});
    Call({"report", run, "-o", out, "-q", "--no-ceilings", "--no-data", "--threads", "1"});
    Call({"evaluate", run, set, "-q", "--threads", "1"});
    Call({"predict", run, set, "-o", at("p.csv"), "-q", "--threads", "1"});
  } else if (has_set) {
    Call({"info", set, "-q", "--threads", "1"});
    Call({"info", set, "--json", "--verify", "--threads", "1"});
    Call({"convert", set, at("converted"), "-q", "--threads", "1"});
    Call({"train", set, "-o", at("trained"), "--preset", "paper", "--epochs", "1", "--hidden", "2", "-q",
          "--threads", "1", "--device", "cpu"});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet = std::freopen("/dev/null", "w", stdout) != nullptr;
  const fs::path folder = AsFile(nullptr, 0, "mark").parent_path() / "program";
  fs::remove_all(folder);
  fs::create_directories(folder);
  UnpackBundle({reinterpret_cast<const char*>(data), size}, folder);
  if (quiet) CallAll(folder);
  return 0;
}
