// What this build holds: version, SIMD level in use, optional parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace l2gcn {

std::string Version();
// (name, what was built in): simd, xsmm, metis, cuda, …
std::vector<std::pair<std::string, std::string>> BuildFeatures();

}  // namespace l2gcn
