// Which build of the library this is: the identity the linker gave it. Two builds may compute other last
// bits.
#pragma once

#include <string>

namespace l2gcn {

std::string BuildId();  // hexadecimal; "" where the linker gave none

}  // namespace l2gcn
