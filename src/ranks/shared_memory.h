// Memory that all ranks of one machine see.
//
// Rank 0 makes a file in memory that has no name (memfd), and the others open it through /proc. It lasts as long as some
// rank maps it, so a rank that is killed leaves nothing behind, and the size of /dev/shm does not matter. That all ranks
// see the same memory is made sure of, not guessed from names of hosts.
#pragma once

#include <memory>

#include "l2gcn/ranks.h"

namespace l2gcn {

// What Ranks::AllocateShared promises, for ranks that are processes.
std::shared_ptr<void> MapTogether(Ranks& ranks, size_t bytes);

}  // namespace l2gcn
