#include "allocation.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "l2gcn/error.h"

namespace l2gcn::cli {

void ComplainOfMemory(const std::bad_alloc& failure) {
  const auto say = [](const char* text, size_t bytes) {
    if (write(STDERR_FILENO, text, bytes) < 0) return;  // nobody listens
  };
  try {
    const auto* known = dynamic_cast<const AllocationFailure*>(&failure);
    const std::string text = "l2gcn: " + OutOfMemoryMessage(known == nullptr ? 0 : known->bytes) + "\n";
    say(text.data(), text.size());
  } catch (const std::exception&) {
    constexpr char kPlain[] = "l2gcn: out of memory; use a smaller graph or a machine with more memory\n";
    say(kPlain, sizeof(kPlain) - 1);
  }
}

void ComplainOfMemoryAtLast(int status) {
  static int at_last = 0;
  static std::terminate_handler before = nullptr;
  at_last = status;
  before = std::set_terminate([] {
    if (const std::exception_ptr thrown = std::current_exception()) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::bad_alloc& failure) {
        ComplainOfMemory(failure);
        _exit(at_last);
      } catch (...) {
      }
    }
    before();
  });
}

}  // namespace l2gcn::cli

// The sanitisers bring an operator new of their own, which checks more than ours could.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Where GCC inlines only one of the pair, it takes malloc and free for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t bytes) {
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw l2gcn::cli::AllocationFailure(bytes);
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

#endif
