#include "data/pickle_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace l2gcn {
namespace {

struct AllowedName {
  std::string_view module, name;
  PickleName meaning;
};

constexpr AllowedName kAllowed[] = {
    {"numpy.core.multiarray", "_reconstruct", PickleName::kReconstruct},
    {"numpy._core.multiarray", "_reconstruct", PickleName::kReconstruct},
    {"numpy", "ndarray", PickleName::kNdarray},
    {"numpy", "dtype", PickleName::kDtypeName},
    {"numpy.core.multiarray", "scalar", PickleName::kNumpyScalar},
    {"numpy._core.multiarray", "scalar", PickleName::kNumpyScalar},
    {"numpy.core.numeric", "_frombuffer", PickleName::kFromBuffer},
    {"numpy._core.numeric", "_frombuffer", PickleName::kFromBuffer},
    {"collections", "defaultdict", PickleName::kDefaultDict},
    {"collections", "OrderedDict", PickleName::kDictClass},
    {"__builtin__", "list", PickleName::kListClass},
    {"builtins", "list", PickleName::kListClass},
    {"__builtin__", "dict", PickleName::kDictClass},
    {"builtins", "dict", PickleName::kDictClass},
    {"_codecs", "encode", PickleName::kEncode},
    {"torch._utils", "_rebuild_tensor_v2", PickleName::kTorchTensor},
};

constexpr std::string_view kSparseModules[] = {"csr", "csc", "coo", "_csr", "_csc", "_coo"};
constexpr std::string_view kSparseTypes[] = {"csr_matrix", "csc_matrix", "coo_matrix",
                                             "csr_array",  "csc_array",  "coo_array"};

constexpr std::pair<std::string_view, std::string_view> kTorchStorages[] = {
    {"BoolStorage", "b1"},  {"ByteStorage", "u1"},  {"CharStorage", "i1"},
    {"ShortStorage", "i2"}, {"IntStorage", "i4"},   {"LongStorage", "i8"},
    {"HalfStorage", "f2"},  {"FloatStorage", "f4"}, {"DoubleStorage", "f8"}};

}  // namespace

std::optional<std::string_view> TorchElements(std::string_view storage_class) {
  for (const auto& [name, elements] : kTorchStorages) {
    if (name == storage_class) return elements;
  }
  return std::nullopt;
}

std::optional<PickleName> FindPickleName(std::string_view module, std::string_view name) {
  for (const AllowedName& allowed : kAllowed) {
    if (allowed.module == module && allowed.name == name) return allowed.meaning;
  }
  if (module == "torch" && TorchElements(name)) return PickleName::kTorchStorage;
  constexpr std::string_view kScipy = "scipy.sparse.";
  const bool sparse =
      module.substr(0, kScipy.size()) == kScipy &&
      std::ranges::find(kSparseModules, module.substr(kScipy.size())) != std::end(kSparseModules) &&
      std::ranges::find(kSparseTypes, name) != std::end(kSparseTypes);
  if (sparse) return PickleName::kSparseClass;
  return std::nullopt;
}

}  // namespace l2gcn
