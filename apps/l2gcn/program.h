// The program: its sub-commands, what they share, and the mapping of outcomes to exit statuses.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/ranks.h"
#include "l2gcn/settings.h"
#include "options.h"
#include "terminal.h"

namespace l2gcn::cli {

// Exit statuses of the contract.
constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;     // after training or writing began
constexpr int kExitUnusable = 2;   // wrong usage or unusable input
constexpr int kExitStopped = 130;  // Ctrl-C

class Program {
 public:
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A sub-command with --help, --quiet and --json; `run` is called once its options are parsed.
  Command& AddCommand(const std::string& name, const std::string& help);
  // The same without --quiet and --json, for text that is never JSON.
  Command& AddTextCommand(const std::string& name, const std::string& help);
  std::vector<std::string> CommandNames() const;
  void OnRun(Command& command, std::function<void()> run) { runs_[&command] = std::move(run); }
  // The same where the ranks of a launcher (mpirun) share the command's work; all others are rank 0's alone.
  void OnRunByRanks(Command& command, std::function<void()> run) {
    OnRun(command, std::move(run));
    shared_.insert(&command);
  }
  // Whether this process writes files: it was started alone, or is rank 0.
  bool leads() const { return ranks_ == nullptr || ranks_->leads(); }

  // --threads, --device and budgets of memory, for sub-commands that compute.
  // Commands whose work ranks share have those of MPI, too; `device`: those of a GPU.
  void AddComputeOptions(Command& command, bool device = true);
  // What the user said of those, in order.
  const Overrides& machine() const { return machine_said_; }
  // What a stored run says of them applies from now on where the user says nothing.
  void UseStoredMachine(const Overrides& stored);

  // --verbose, for sub-commands that explain their choices on request alone.
  void AddVerbose(Command& command);
  bool verbose() const { return verbose_; }

  // --dry-run, for sub-commands whose plan is known beforehand (PrintedPlan).
  void AddDryRun(Command& command);
  // Whether the plan was all that was asked for; it is printed then.
  bool PrintedPlan(const std::function<std::string(bool as_json)>& plan);

  // Parses, runs one sub-command, returns the exit status; never throws.
  int Main(int argc, const char* const* argv);

  // The context a sub-command works in: threads, device, Ctrl-C, progress, notes.
  Context MakeCommandContext();
  // The same in two halves: the first does not wait for the device, so that a data set can be opened meanwhile. The
  // second throws Error(kUsage) where the device cannot be used.
  Context BeginCommandContext();
  void FinishCommandContext(Context& context);

  // Whether a table goes to standard output ("-"); else makes sure that the file can be written. Throws
  // Error(kUsage) for "-" with --json, which has that stream for itself.
  bool ChecksOutput(const std::string& path) const;
  // The last words of a command that wrote something.
  void ReportWritten(const std::string& path, uint64_t count, const std::string& what);

  CLI::App& app() { return app_; }
  Terminal& terminal() { return terminal_; }
  bool json() const { return json_; }
  Ranks* ranks() const { return ranks_.get(); }

 private:
  void Dispatch(int argc, const char* const* argv);
  int Fail(const std::string& message, int status);
  bool LeavesWordsToRank0() const;
  void RefuseUnknown(const CLI::App& command) const;
  void RefuseMovedOption(const std::string& flag) const;
  Context ContextWithoutDevice();

  CLI::App app_;
  Terminal terminal_;
  std::map<const Command*, std::function<void()>> runs_;
  std::set<const Command*> shared_;  // commands whose work ranks share
  const Command* chosen_ = nullptr;
  std::shared_ptr<Ranks> ranks_;  // null: started alone
  bool understood_ = false;       // the arguments say what to do
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  MachineConfig machine_;
  Overrides machine_said_;
  bool dry_run_ = false;
  std::function<DeviceKind()> starting_device_;  // of BeginCommandContext
};

// Each in its own cmd_*.cpp.
void AddTrain(Program& program);
void AddLearnController(Program& program);
void AddEvaluate(Program& program);
void AddPredict(Program& program);
void AddEmbed(Program& program);
void AddConvert(Program& program);
void AddGenerate(Program& program);
void AddInfo(Program& program);
void AddCompare(Program& program);
void AddReport(Program& program);
void AddServe(Program& program);
void AddReproduce(Program& program);
void AddCompletion(Program& program);
void AddHelp(Program& program);

// What this build holds, one line each.
std::string VersionText();

}  // namespace l2gcn::cli
