// A library loaded before the program (LD_PRELOAD) that makes its n-th system call of some kinds fail, or
// ends the process there. It counts calls that touch files of the program's own making and reading: system
// folders and standard error are left out, and of allocations only those of 1 KiB and more count.
//
//   L2GCN_FAULT_KINDS   what counts, separated by commas: open, write, sync, rename, mkdir, memory
//   L2GCN_FAULT_AT      the number of the call, from 1, that is hit; 0: none
//   L2GCN_FAULT_HOW     fail (EIO, for a write ENOSPC; NULL for memory) or kill (SIGKILL)
//   L2GCN_FAULT_COUNT   a file that gets the number of calls when the process ends by itself
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

namespace {

std::atomic<long> calls{0};

long Wanted() {
  static const long at = getenv("L2GCN_FAULT_AT") != nullptr ? atol(getenv("L2GCN_FAULT_AT")) : 0;
  return at;
}

bool Counts(const char* kind) {
  static const char* kinds = getenv("L2GCN_FAULT_KINDS");
  return kinds != nullptr && strstr(kinds, kind) != nullptr;
}

// Whether this call is the one to be hit; does not return if it is to end the process.
bool Hit(const char* kind) {
  if (!Counts(kind)) return false;
  if (calls.fetch_add(1) + 1 != Wanted()) return false;
  static const char* how = getenv("L2GCN_FAULT_HOW");
  if (how != nullptr && strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  return true;
}

bool IsOwn(const char* path) {
  for (const char* system : {"/proc", "/sys", "/lib", "/usr", "/etc", "/dev", "/run"}) {
    if (strncmp(path, system, strlen(system)) == 0) return false;
  }
  return true;
}

bool IsRegular(int descriptor) {
  struct stat status {};
  return descriptor != STDERR_FILENO && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

template <class Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int Fail(int reason) {
  errno = reason;
  return -1;
}

__attribute__((destructor)) void Report() {
  const char* path = getenv("L2GCN_FAULT_COUNT");
  if (path == nullptr) return;
  char text[32];
  const int length = snprintf(text, sizeof(text), "%ld\n", calls.load());
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  if (syscall(SYS_write, file, text, length) < 0) return;
  syscall(SYS_close, file);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (IsOwn(path) && Hit("open")) return Fail(EIO);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int __open_2(const char* path, int flags) { return open(path, flags); }
int __open64_2(const char* path, int flags) { return open(path, flags); }

ssize_t write(int descriptor, const void* data, size_t bytes) {
  if (IsRegular(descriptor) && Hit("write")) return Fail(ENOSPC);
  return syscall(SYS_write, descriptor, data, bytes);
}
ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  if (Hit("write")) return Fail(ENOSPC);
  return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset)
    __attribute__((alias("pwrite")));

int fsync(int descriptor) {
  if (Hit("sync")) return Fail(EIO);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int rename(const char* from, const char* to) {
  if (Hit("rename")) return Fail(EIO);
  return static_cast<int>(syscall(SYS_rename, from, to));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (Hit("rename")) return Fail(EIO);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int mkdir(const char* path, mode_t mode) {
  if (Hit("mkdir")) return Fail(EIO);
  return static_cast<int>(syscall(SYS_mkdir, path, mode));
}

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

constexpr size_t kCounted = 1024;

void* malloc(size_t bytes) {
  if (bytes >= kCounted && Hit("memory")) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  if (bytes >= kCounted && Hit("memory")) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_memalign(alignment, bytes);
}

}  // extern "C"
