// The driver over MPI: each function is one call of MPI. Built as libl2gcn_mpi.so where MPI was found.
#include <mpi.h>

#include <cstdlib>

#include "ranks/driver.h"

namespace {

L2gcnRanksDriver driver;
char engine[MPI_MAX_LIBRARY_VERSION_STRING];
bool started = false;  // by this driver, which then ends it

void* Send(int to, int tag, const void* data, size_t bytes) {
  auto* request = new MPI_Request;
  MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
  return request;
}

void* Receive(int from, int tag, void* data, size_t bytes) {
  auto* request = new MPI_Request;
  MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
  return request;
}

bool Done(void* transfer) {
  auto* request = static_cast<MPI_Request*>(transfer);
  int done = 0;
  MPI_Test(request, &done, MPI_STATUS_IGNORE);
  if (done != 0) delete request;
  return done != 0;
}

bool Probe(int tag, int* from, size_t* bytes) {
  int there = 0, count = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return false;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = status.MPI_SOURCE;
  *bytes = static_cast<size_t>(count);
  return true;
}

void Finish() {
  if (started) MPI_Finalize();
}
void Abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

}  // namespace

extern "C" const struct L2gcnRanksDriver* L2gcnJoinRanks() {
  int provided = 0, length = 0, running = 0;
  MPI_Initialized(&running);  // a Python script may have started it
  // Over sockets Open MPI's way of writing into a receiver's memory leaves half of a link unused while both sides send
  // (bench/ranks.sh network). Whoever has set it knows better.
  setenv("OMPI_MCA_btl_tcp_flags", "1", 0);
  if (running != 0) {
    MPI_Query_thread(&provided);
  } else {
    started = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS;
  }
  if (provided < MPI_THREAD_SERIALIZED) return nullptr;
  MPI_Comm_rank(MPI_COMM_WORLD, &driver.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &driver.size);
  MPI_Get_library_version(engine, &length);
  driver.version = kL2gcnDriverVersion;
  driver.engine = engine;
  driver.send = Send;
  driver.receive = Receive;
  driver.done = Done;
  driver.probe = Probe;
  driver.finish = Finish;
  driver.abort = Abort;
  return &driver;
}
