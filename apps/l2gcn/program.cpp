#include "program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "allocation.h"
#include "bus_error.h"
#include "help.h"
#include "l2gcn/config.h"
#include "l2gcn/error.h"
#include "l2gcn/export.h"
#include "l2gcn/version.h"
#include "options.h"
#include "result_text.h"

namespace l2gcn::cli {
namespace {

// Set by the signal handler, read by the library between steps. The one global: a handler has no arguments.
std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The second Ctrl-C finds the default handler and ends the process at once. Writes that cannot be done fail and are
// reported: a reader that went away (SIGPIPE) or a limit on file sizes (SIGXFSZ, ulimit -f) must not end a training.
void HandleSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked.store(true, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};  // nohup has set it to be ignored: then it stays so
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

// Standard streams that are closed would give their numbers to the first files opened, and messages would
// land in those.
void OpenStandardStreams() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", O_RDWR) != number) return;
  }
}

constexpr std::chrono::milliseconds kWordsOfRank0(500);

// Commands that have another name now.
constexpr struct {
  const char *before, *now;
} kRenamedCommands[] = {
    {"search", "l2gcn learn-controller"},
    {"datasets", "l2gcn info (without an argument)"},
    {"capacity", "l2gcn reproduce theorems"},
};

void RefuseOldCommand(const std::string& word) {
  for (const auto& [before, now] : kRenamedCommands) {
    if (word == before)
      throw Error(ErrorKind::kUsage, fmt::format("command '{}' has gone; use {}", before, now));
  }
}

// --directed auto is two options in one: that the data set keeps directions, and that trials decide about them.
std::vector<const char*> WithDirections(int argc, const char* const* argv) {
  std::vector<const char*> words;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool separate = word == "--directed" && i + 1 < argc && std::string_view(argv[i + 1]) == "auto";
    if (!separate && word != "--directed=auto") {
      words.push_back(argv[i]);
      continue;
    }
    words.insert(words.end(), {"--directed", "--relations", "auto"});
    i += separate ? 1 : 0;
  }
  return words;
}

// The parser's complaints as a person would put them: "--epochs: 1 required N missing", "-o: At Most 1 required but …".
std::string ComplaintOf(const CLI::ParseError& error) {
  const std::string text = error.what(), name = text.substr(0, text.find(": "));
  const std::string_view required = ": 1 required ", missing = " missing";
  const size_t at = text.find(required);
  if (at != std::string::npos && text.ends_with(missing)) {
    const size_t begin = at + required.size();
    return fmt::format("{} needs a value: {} {}", name, name,
                       text.substr(begin, text.size() - missing.size() - begin));
  }
  if (text.find(": At Most 1 required") != std::string::npos)
    return fmt::format("{} is given more than once; leave all but one out", name);
  return text;
}

int ExitStatus(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kInput:
      return kExitUnusable;
    case ErrorKind::kRuntime:
      return kExitFailed;
    case ErrorKind::kCancelled:
      return kExitStopped;
  }
  return kExitFailed;
}

}  // namespace

Program::Program() : app_("Trains graph convolutional networks layer by layer.", "l2gcn") {
  app_.set_version_flag("-V,--version", VersionText, "What this build holds, one line each");
  app_.set_help_flag("-h,--help", "This text");
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  app_.formatter(formatter);
  app_.allow_extras();            // refused later, with the nearest valid name
  app_.require_subcommand(0, 1);  // after a command its name may be a file's
}

Command& Program::AddTextCommand(const std::string& name, const std::string& help) {
  const auto added = std::make_shared<Command>(help, name);
  app_.add_subcommand(added);
  added->set_help_flag("-h,--help", "The options people use");
  added->set_help_all_flag("--help-all", "Every option, in groups");
  added->formatter(app_.get_formatter());
  added->allow_extras();
  return *added;
}

Command& Program::AddCommand(const std::string& name, const std::string& help) {
  Command& command = AddTextCommand(name, help);
  command.Advance(*command.add_flag("-q,--quiet", quiet_, "No progress and no notes")->group(kOutputGroup));
  command.add_flag("--json", json_, "Print one JSON object on standard output")->group(kOutputGroup);
  return command;
}

void Program::AddComputeOptions(Command& command, bool device) {
  const bool ranks = shared_.contains(&command);
  std::vector<MachineField> fields = MachineFields();
  std::erase_if(fields, [&](const MachineField& field) {
    return (field.group == kRanksGroup && !ranks) || (field.group == kDeviceGroup && !device);
  });
  AddKeptFields(command, fields, MachineConfig{}, machine_said_);
  if (!device) return;
  command.Only(
      {"--device-memory"}, [this] { return machine_.device != DeviceName(DeviceKind::kCpu); },
      "with --device cpu; leave one of the two out");
}

void Program::AddVerbose(Command& command) {
  command.add_flag("-v,--verbose", verbose_, "Explain what was chosen and where time went")
      ->group(kOutputGroup);
  command.Excludes({"--verbose"}, "--quiet");
}

void Program::UseStoredMachine(const Overrides& stored) {
  machine_ = {};
  SetFields(MachineFields(), stored, machine_);
  SetFields(MachineFields(), machine_said_, machine_);
}

void Program::AddDryRun(Command& command) {
  command.Advance(
      *command
           .add_flag(
               "--dry-run", dry_run_,
               "Print the plan (memory, panels, bytes to move, scratch, seconds) and stop before the work")
           ->group(kMachineGroup));
}

bool Program::PrintedPlan(const std::function<std::string(bool)>& plan) {
  if (!dry_run_) return false;
  terminal_.Print(plan(json_));
  return true;
}

Context Program::MakeCommandContext() {
  Context context = ContextWithoutDevice();
  context.device = ChooseDevice(machine_.device);
  return context;
}

Context Program::BeginCommandContext() {
  starting_device_ = StartDevice(machine_.device, ranks_ == nullptr ? 0 : ranks_->local_rank());
  return ContextWithoutDevice();
}

void Program::FinishCommandContext(Context& context) { context.device = starting_device_(); }

Context Program::ContextWithoutDevice() {
  Context context = MakeContext(machine_);
  if (shared_.count(chosen_) != 0) context.ranks = ranks_;
  if (ranks_ != nullptr) context.device_index = ranks_->local_rank();
  context.cancel = &stop_asked;
  context.on_progress = [this](const Progress& progress) { terminal_.ShowProgress(progress); };
  context.on_note = [this](const std::string& text) { terminal_.Note(text); };
  context.on_warning = [this](const std::string& text) { terminal_.ShowAlways("warning: " + text); };
  if (context.threads < machine_.threads) {
    context.Warn(fmt::format("--threads {}: the system gave {}; the results are the same (ulimit -u and -v)",
                             machine_.threads, context.threads));
  } else if (machine_.threads > UsableCores()) {
    context.Warn(fmt::format(
        "--threads {}: only {} cores can be used; the results are the same, the run is not faster",
        machine_.threads, UsableCores()));
  }
  return context;
}

bool Program::ChecksOutput(const std::string& path) const {
  if (path != "-" && leads()) CheckExportPath(path);
  if (path == "-" && json_)
    throw Error(ErrorKind::kUsage, "-o - and --json both want standard output; name a file instead");
  return path == "-";
}

void Program::ReportWritten(const std::string& path, uint64_t count, const std::string& what) {
  nlohmann::ordered_json object = {{"output", path}};
  if (!what.empty()) object[what] = count;
  const std::string amount = what.empty() ? "" : fmt::format(": {} {}", Grouped(count), what);
  terminal_.Print(json_ ? JsonLine(object) : "wrote " + path + amount);
}

// An option that has another name now, or that a config file alone can set.
void Program::RefuseMovedOption(const std::string& flag) const {
  const std::string name = flag.substr(flag.starts_with("--no-") ? 5 : 2);
  if (chosen_->IsLeftToPresets(name)) {
    const bool reads = chosen_->get_option_no_throw("--config") != nullptr;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}: chosen by presets; to set it, write {{\"{}\": …}} into a file for l2gcn {} --config "
                    "FILE",
                    flag, name, reads ? chosen_->get_name() : "train"));
  }
  const bool trains = chosen_->get_option_no_throw("--epochs") != nullptr;
  const std::string instead = trains ? WhereToSet(name) : "";
  if (!instead.empty()) throw Error(ErrorKind::kUsage, fmt::format("{}: {}", flag, instead));
}

void Program::RefuseUnknown(const CLI::App& command) const {
  std::vector<std::string> extras = command.remaining();
  const bool options_ended = std::erase(extras, "--") > 0;
  if (extras.empty()) return;
  const std::string& word = extras.front();
  const bool option = word.starts_with('-') && !options_ended, top = &command == &app_;
  const std::string flag = word.substr(0, word.find('='));
  const std::string help = top ? "l2gcn --help" : fmt::format("l2gcn {} --help", command.get_name());
  if (top && option && chosen_ != nullptr && chosen_->get_option_no_throw(flag) != nullptr) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{0}' belongs after the command: l2gcn {1} {0}", word, chosen_->get_name()));
  }
  if (!option && !top)
    throw Error(ErrorKind::kUsage, fmt::format("unexpected argument '{}'; see {}", word, help));
  if (option && !top) RefuseMovedOption(flag);
  const std::vector<std::string> names = option ? LongOptions(command) : CommandNames();
  const std::string near = Suggestion(flag, names);
  throw Error(ErrorKind::kUsage, fmt::format("unknown {} '{}'{}", option ? "option" : "command", flag,
                                             near.empty() ? "; see " + help : near));
}

std::vector<std::string> Program::CommandNames() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

void Program::Dispatch(int argc, const char* const* argv) {
  if (argc > 1) RefuseOldCommand(argv[1]);
  const std::vector<const char*> words = WithDirections(argc, argv);
  app_.parse(static_cast<int>(words.size()), words.data());
  for (const auto& [command, run] : runs_) {
    if (command->parsed()) chosen_ = command;
  }
  RefuseUnknown(app_);
  if (chosen_ == nullptr) throw Error(ErrorKind::kUsage, "no command given\n\n" + app_.help());
  RefuseUnknown(*chosen_);
  UseStoredMachine({});
  chosen_->CheckEffects();
  terminal_.set_quiet(quiet_);
  terminal_.set_json(json_);
  const auto tell = [](const std::string& text) {
    std::fputs(("l2gcn: " + Printable(text) + "\n").c_str(), stderr);
    std::fflush(stderr);
  };
  understood_ = true;
  ranks_ = JoinRanks(tell, machine_.exchange, {argv + 1, argv + argc});
  if (!leads()) terminal_.set_mute();
  const bool shared = shared_.count(chosen_) != 0;
  if (ranks_ != nullptr && !shared)
    terminal_.Note(
        fmt::format("{} is run by rank 0 alone; the other {} wait", chosen_->get_name(), ranks_->size() - 1));
  if (leads() || shared) runs_.at(chosen_)();
  terminal_.Finish();
  ranks_.reset();  // parts from the others
}

// All ranks of a launcher have the same arguments, so rank 0 alone reports mistakes in them. The others exit a little later,
// because a launcher stops all ranks once one has failed.
bool Program::LeavesWordsToRank0() const {
  if (understood_ || LeadsByEnvironment()) return false;
  std::this_thread::sleep_for(kWordsOfRank0);
  return true;
}

// One line, and the end; where there are other ranks, theirs too.
int Program::Fail(const std::string& message, int status) {
  if (LeavesWordsToRank0()) return status;
  if (ranks_ != nullptr) ranks_->Abort(message, status);
  terminal_.ShowAlways("l2gcn: " + message);
  return status;
}

int Program::Main(int argc, const char* const* argv) {
  OpenStandardStreams();
  HandleSignals();
  ListenForBusErrors();
  ComplainOfMemoryAtLast(kExitFailed);
  try {
    Dispatch(argc, argv);
    return kExitDone;
  } catch (const CLI::ParseError& outcome) {
    if (outcome.get_exit_code() != 0) return Fail(ComplaintOf(outcome), kExitUnusable);
    return LeadsByEnvironment() ? app_.exit(outcome) : kExitDone;  // --help, --version
  } catch (const Error& error) {
    return Fail(error.what(), ExitStatus(error.kind()));
  } catch (const std::bad_alloc& failure) {
    ComplainOfMemory(failure);
    if (ranks_ != nullptr) ranks_->Abort("out of memory", kExitFailed);
    return kExitFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    return Fail(fmt::format("{}: {}", error.path1().string(), error.code().message()), kExitFailed);
  } catch (const std::exception& error) {
    return Fail(error.what(), kExitFailed);
  }
}

}  // namespace l2gcn::cli
