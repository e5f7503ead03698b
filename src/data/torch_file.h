// Reads files of torch.save (.pt): a zip archive with a pickle, NAME/data.pkl, and the elements of tensors beside
// it, NAME/data/0, NAME/data/1 and so on. Nothing in it is run: the pickle goes through the allow-list of data/pickle.h.
#pragma once

#include <filesystem>

#include "data/pickle.h"

namespace l2gcn {

// Tensors are arrays of the pickle. Throws Error(kInput), also for the form before torch 1.6, which is no zip archive.
Pickle ReadTorchFile(const std::filesystem::path& path);

}  // namespace l2gcn
