// The one exception type of the library. A message says what is wrong, where, what was expected and
// what to do; the kind tells the caller who can act on it. Mistakes of our own are assertions, not Errors.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace l2gcn {

enum class ErrorKind {
  kUsage,      // a wrong flag or value
  kInput,      // a file or data set that cannot be used
  kRuntime,    // failed after work began: disk full, out of memory, device lost
  kCancelled,  // the caller asked to stop
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// What to say when `bytes` could not be had (0: nobody knows how many): what was asked for, what is in use,
// which limit stands, what would help.
std::string OutOfMemoryMessage(size_t bytes);

}  // namespace l2gcn
