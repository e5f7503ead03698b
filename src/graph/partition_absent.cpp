#include "core/error_format.h"
#include "graph/partition.h"

namespace l2gcn {

std::string MetisBuilt() { return "no"; }

std::vector<uint32_t> PartitionGraph(const Context&, const Graph&, uint32_t) {
  ThrowUsage(
      "method clustergcn needs METIS, which this build does not have; install libmetis-dev and build again, "
      "or use "
      "another method");
}

}  // namespace l2gcn
