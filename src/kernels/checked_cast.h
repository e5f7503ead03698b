// Casts from the contract's types to a backend's own. A backend is only handed what it made itself; debug
// builds check that.
#pragma once

#include "core/error_format.h"

namespace l2gcn {

template <class To, class From>
const To& CheckedCast(const From& from) {
#ifndef NDEBUG
  L2GCN_ASSERT(dynamic_cast<const To*>(&from) != nullptr);
#endif
  return static_cast<const To&>(from);
}

}  // namespace l2gcn
