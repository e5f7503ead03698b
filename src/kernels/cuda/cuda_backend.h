// A CUDA device as a Backend.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.h"

namespace l2gcn::cuda {

// Makes backends that share the GPU of `context`: its stream, its budget, and each other's tensors.
std::function<std::unique_ptr<Backend>(const BackendOptions& options)> CudaBackendMaker(
    const Context& context);

// Why no device can be used, or "".
std::string WhyNoDevice();
// Makes a GPU's context, which all threads of the process share. What fails here fails again where the GPU is used.
void StartDevice(uint32_t index);

}  // namespace l2gcn::cuda
