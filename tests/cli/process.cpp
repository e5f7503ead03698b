#include "cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first side of a new terminal of 160 columns; `other` gets the path of the second, which the program writes to.
int OpenTerminal(std::string& other) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return -1;
  const winsize size{50, 160, 0, 0};
  ioctl(terminal, TIOCSWINSZ, &size);
  other = ptsname(terminal);
  return terminal;
}

// Everything until the program has closed its side.
std::string ReadTerminal(int terminal) {
  std::string text;
  char part[4096];
  for (ssize_t count; (count = read(terminal, part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(count));
  close(terminal);
  return text;
}

// In the child, between fork and exec.
[[noreturn]] void Become(const fs::path& folder, const std::vector<char*>& arguments, const Launch& launch,
                         const fs::path& out, const fs::path& err) {
  const std::string out_path = launch.out_to.empty() ? out.string() : launch.out_to;
  const int out_file = open(out_path.c_str(), O_WRONLY | O_CREAT, 0644);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT, 0644);
  if (out_file < 0 || err_file < 0 || chdir(folder.c_str()) != 0) _exit(99);
  dup2(out_file, STDOUT_FILENO);
  dup2(err_file, STDERR_FILENO);
  if (launch.file_limit > 0) {
    const rlimit limit{launch.file_limit, launch.file_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);  // a write past the limit then fails like one on a full disk
  }
  execv(arguments[0], arguments.data());
  _exit(98);
}

// Whether the process has its own handler for Ctrl-C in place.
bool CatchesInterrupt(pid_t child) {
  std::ifstream status("/proc/" + std::to_string(child) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigCgt:", 0) == 0) {
      return (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
    }
  }
  return false;
}

void InterruptAtWork(pid_t child) {
  using std::chrono::milliseconds;
  for (int wait = 0; wait < 1000 && !CatchesInterrupt(child); ++wait)
    std::this_thread::sleep_for(milliseconds(10));
  std::this_thread::sleep_for(milliseconds(500));
  kill(child, SIGINT);
}

}  // namespace

void ProgramTest::SetUp() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  folder_ =
      fs::temp_directory_path() / ("l2gcn-cli-" + std::string(info->name()) + "-" + std::to_string(getpid()));
  fs::remove_all(folder_);
  fs::create_directories(folder_);
}

void ProgramTest::TearDown() { fs::remove_all(folder_); }

Outcome ProgramTest::Run(const std::vector<std::string>& arguments, const Launch& launch) const {
  std::vector<std::string> words = {L2GCN_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Execute(std::move(words), launch);
}

Outcome ProgramTest::Shell(const std::string& script) const {
  setenv("L2GCN", L2GCN_BINARY, 1);
  return Execute({"/bin/sh", "-c", script}, {});
}

Outcome ProgramTest::Execute(std::vector<std::string> texts, const Launch& launch) const {
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  const fs::path out = folder_.string() + ".out", err = folder_.string() + ".err";
  std::string screen;
  const int terminal = launch.terminal ? OpenTerminal(screen) : -1;
  // The second side is open before the child is there, so that reading does not end too early.
  const int held = terminal < 0 ? -1 : open(screen.c_str(), O_RDWR | O_NOCTTY);
  const pid_t child = fork();
  if (child == 0) Become(folder_, words, launch, out, terminal < 0 ? err : fs::path(screen));
  if (launch.interrupt) InterruptAtWork(child);
  int state = 0;
  Outcome outcome;
  if (terminal >= 0) {
    close(held);  // the child has a copy of it until it ends
    outcome.err = ReadTerminal(terminal);
  }
  waitpid(child, &state, 0);
  outcome.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  outcome.out = ReadAll(out);
  if (terminal < 0) outcome.err = ReadAll(err);
  fs::remove(out);
  fs::remove(err);
  return outcome;
}

Outcome ProgramTest::RunWell(const std::vector<std::string>& arguments) const {
  Outcome outcome = Run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome;
}

void ProgramTest::MakeSmallSet() const {
  RunWell({"generate", "cora", "--nodes", "300", "--edges", "900", "--features", "40", "-o", "small"});
}

std::string ProgramTest::Read(const std::string& name) const { return ReadAll(folder_ / name); }

std::vector<std::string> ProgramTest::List(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_ / name)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace l2gcn
