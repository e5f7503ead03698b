// The names that a pickle may contain, with the meaning of each. None is ever imported or called.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace l2gcn {

enum class PickleName : uint8_t {
  kReconstruct,  // numpy's empty array, to be filled by BUILD
  kNdarray,
  kDtypeName,
  kNumpyScalar,
  kFromBuffer,
  kSparseClass,
  kDefaultDict,
  kListClass,
  kDictClass,
  kEncode,
  kTorchTensor,   // a tensor over a storage that lies beside the pickle
  kTorchStorage,  // the class of such a storage: its element type
};

std::optional<PickleName> FindPickleName(std::string_view module, std::string_view name);

// NumPy's name of the elements of torch's LongStorage, FloatStorage …; nothing for one that NumPy does not know.
std::optional<std::string_view> TorchElements(std::string_view storage_class);

}  // namespace l2gcn
