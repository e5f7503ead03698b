// The controllers inside the binary, as the bytes of their files (src/controller/shipped/), made by
// bench/train_default_controller.sh.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace l2gcn {

std::span<const uint8_t> ShippedController(const std::string& kind);

}  // namespace l2gcn
