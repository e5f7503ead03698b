// A CUDA device as a Backend.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"

namespace l2gcn::cuda {

std::unique_ptr<Backend> MakeCudaBackend(const Context& context, const BackendOptions& options);

// Why no device can be used, or "".
std::string WhyNoDevice();
// Makes a card's context, which all threads of the process share. What fails here fails again where the card is used.
void StartDevice(uint32_t index);

}  // namespace l2gcn::cuda
