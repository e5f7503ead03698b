// What is said when memory runs out. The program's operator new (allocation.cpp) throws an AllocationFailure,
// so that the message can say how much was asked for.
#pragma once

#include <cstddef>
#include <new>

namespace l2gcn::cli {

struct AllocationFailure : std::bad_alloc {
  explicit AllocationFailure(size_t asked) : bytes(asked) {}
  size_t bytes;
};

// Says it on standard error, also if there is no memory for the words.
void ComplainOfMemory(const std::bad_alloc& failure);

// From now on a failure that nobody can catch, because a library's destructor asked for memory, is told likewise and
// ends the process with `status`.
void ComplainOfMemoryAtLast(int status);

}  // namespace l2gcn::cli
