// The ranks of a launcher (mpirun, srun) as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "l2gcn/ranks.h"

namespace l2gcn::python {

struct RanksHandle {
  std::shared_ptr<Ranks> ranks;  // null once this process has parted from the others
};

void BindRanks(nanobind::module_& module);

}  // namespace l2gcn::python
