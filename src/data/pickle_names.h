// The names a pickle may mention and what each stands for. None is ever looked up or called.
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
};

std::optional<PickleName> FindPickleName(std::string_view module, std::string_view name);

}  // namespace l2gcn
