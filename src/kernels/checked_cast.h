// Casts from the interface's types to a backend's own. A backend only receives objects that it created; debug builds check it.
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
