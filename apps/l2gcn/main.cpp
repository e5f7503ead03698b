// l2gcn: trains graph convolutional networks layer by layer. Sub-commands are thin; the library does the
// work.
#include "allocation.h"
#include "program.h"

int main(int argc, char** argv) try {
  l2gcn::cli::Program program;
  l2gcn::cli::AddTrain(program);
  l2gcn::cli::AddLearnController(program);
  l2gcn::cli::AddEvaluate(program);
  l2gcn::cli::AddPredict(program);
  l2gcn::cli::AddEmbed(program);
  l2gcn::cli::AddConvert(program);
  l2gcn::cli::AddGenerate(program);
  l2gcn::cli::AddInfo(program);
  l2gcn::cli::AddCompare(program);
  l2gcn::cli::AddReport(program);
  l2gcn::cli::AddServe(program);
  l2gcn::cli::AddReproduce(program);
  l2gcn::cli::AddCompletion(program);
  l2gcn::cli::AddHelp(program);
  return program.Main(argc, argv);
} catch (const std::bad_alloc& failure) {  // before the program stood
  l2gcn::cli::ComplainOfMemory(failure);
  return l2gcn::cli::kExitFailed;
}
