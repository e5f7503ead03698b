// Error messages when memory runs out. The program's operator new (allocation.cpp) throws an AllocationFailure,
// so that the message can say how much was asked for.
#pragma once

#include <cstddef>
#include <new>

namespace l2gcn::cli {

struct AllocationFailure : std::bad_alloc {
  explicit AllocationFailure(size_t asked) : bytes(asked) {}
  size_t bytes;
};

// Prints the message on standard error, even if no memory is left to format it.
void ComplainOfMemory(const std::bad_alloc& failure);

// From now on a failure that nobody can catch, such as in a library's destructor, prints the same message and ends the process
// with `status`.
void ComplainOfMemoryAtLast(int status);

}  // namespace l2gcn::cli
