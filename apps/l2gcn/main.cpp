// l2gcn: trains graph convolutional networks layer by layer. Sub-commands are thin; the library does the
// work.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "allocation.h"
#include "program.h"

namespace {

// Ends the process. What is in memory is not taken down piece by piece: the kernel takes back large maps and a card's
// context in one go. Sanitised builds go the long way, which looks for leaks.
int Leave(int status) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
#endif
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  l2gcn::cli::Program program;
  l2gcn::cli::AddTrain(program);
  l2gcn::cli::AddSearch(program);
  l2gcn::cli::AddEvaluate(program);
  l2gcn::cli::AddPredict(program);
  l2gcn::cli::AddEmbed(program);
  l2gcn::cli::AddConvert(program);
  l2gcn::cli::AddGenerate(program);
  l2gcn::cli::AddInfo(program);
  l2gcn::cli::AddDatasets(program);
  l2gcn::cli::AddCompare(program);
  l2gcn::cli::AddReport(program);
  l2gcn::cli::AddServe(program);
  l2gcn::cli::AddReproduce(program);
  l2gcn::cli::AddCapacity(program);
  l2gcn::cli::AddCompletion(program);
  return Leave(program.Main(argc, argv));
} catch (const std::bad_alloc& failure) {  // before the program stood
  l2gcn::cli::ComplainOfMemory(failure);
  return l2gcn::cli::kExitFailed;
}
