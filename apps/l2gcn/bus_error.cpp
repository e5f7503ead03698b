#include "bus_error.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace l2gcn::cli {
namespace {

// Everything here may run inside a signal handler: no allocation, no locks, no stdio.

void Say(const char* text, size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = write(STDERR_FILENO, text, bytes);
    if (done <= 0) return;
    text += done;
    bytes -= static_cast<size_t>(done);
  }
}
void Say(const char* text) { Say(text, std::strlen(text)); }

uintptr_t ParseHex(const char*& at) {
  uintptr_t value = 0;
  for (;; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uintptr_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<uintptr_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

// The path of a line "from-to rwxp offset device inode   path" of /proc/self/maps if it covers `address`.
const char* PathCovering(char* line, uintptr_t address) {
  const char* at = line;
  const uintptr_t from = ParseHex(at);
  if (*at != '-') return nullptr;
  const uintptr_t to = ParseHex(++at);
  if (address < from || address >= to) return nullptr;
  return std::strchr(line, '/');
}

// Copies the name of the file mapped at `address`; false if there is none.
bool FindMapped(uintptr_t address, char* name, size_t room) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  static char line[8192];
  static char block[4096];
  size_t used = 0;
  bool found = false;
  ssize_t got = 0;
  while (!found && (got = read(maps, block, sizeof(block))) > 0) {
    for (ssize_t i = 0; i < got && !found; ++i) {
      if (block[i] != '\n') {
        if (used + 1 < sizeof(line)) line[used++] = block[i];
        continue;
      }
      line[used] = '\0';
      used = 0;
      const char* path = PathCovering(line, address);
      if (path == nullptr) continue;
      found = true;
      size_t length = 0;
      for (; path[length] != '\0' && length + 1 < room; ++length) {
        const bool control = static_cast<unsigned char>(path[length]) < 0x20 || path[length] == 0x7F;
        name[length] = control ? '?' : path[length];
      }
      name[length] = '\0';
    }
  }
  close(maps);
  return found;
}

void OnBusError(int, siginfo_t* info, void*) {
  static char name[4096];
  // Several threads read the file: those that come second wait for the first one's end of the process.
  static std::atomic_flag reporting = ATOMIC_FLAG_INIT;
  if (reporting.test_and_set()) {
    for (;;) pause();
  }
  if (!FindMapped(reinterpret_cast<uintptr_t>(info->si_addr), name, sizeof(name))) {
    signal(SIGBUS, SIG_DFL);
    return;  // it faults again, and ends by default
  }
  Say("\nl2gcn: ");
  Say(name);
  Say(": became shorter while it was read, or its disk failed; no result was written. Run again once the "
      "file is "
      "whole; an unfinished training goes on with --resume\n");
  _exit(1);
}

}  // namespace

void ListenForBusErrors() {
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace l2gcn::cli
