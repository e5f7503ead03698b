// What libl2gcn_mpi.so offers, as plain functions: so that the program needs no MPI, and the shared object needs
// nothing of the library. Calls come from one thread at a time. Transfers are begun and then asked about; who waits,
// and how, is the library's business (ranks/launched_ranks.cpp).
#pragma once

#include <cstddef>

extern "C" {

constexpr int kL2gcnDriverVersion = 1;
constexpr const char* kL2gcnDriverEntry = "L2gcnJoinRanks";

struct L2gcnRanksDriver {
  int version;  // kL2gcnDriverVersion
  int rank, size;
  const char* engine;  // name and version
  // Begin a transfer of at most 1 GiB; the result is to be given to `done` until that says true.
  void* (*send)(int to, int tag, const void* data, size_t bytes);
  void* (*receive)(int from, int tag, void* data, size_t bytes);
  bool (*done)(void* transfer);  // frees the transfer once it is done
  // Whether a message with this tag is there from any rank, from which, and its bytes.
  bool (*probe)(int tag, int* from, size_t* bytes);
  void (*finish)();  // waits for all ranks
  void (*abort)(int status);
};

// Starts MPI. Null where that failed.
typedef const L2gcnRanksDriver* (*L2gcnRanksEntry)();
}
