// A backend whose matrices lie in host memory and are worked on by a device: what ranks that compute on GPUs keep
// their rows in.
//
// Ranks exchange rows through host memory. So a rank's rows stay there, and every operation brings those that it needs to the
// device, lets it compute and fetches the result; graphs, rows to score and a layer in training stay on the device. The
// device needs memory for what one operation reads and writes, never for all matrices of a rank, and a GPU's uploads pass
// through page-locked memory (cuda/upload.h).
//
// Guarantees: rows are fetched in the type that the device keeps them in, so every result has the bits that the device
// gives.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace l2gcn {

// `type` is the one that the device keeps dense rows in. Tensors of one are known to all others. Trainings and graphs are
// the device's own.
std::shared_ptr<Backend> MakeHostedBackend(std::shared_ptr<Backend> device, FeatureType type);

}  // namespace l2gcn
