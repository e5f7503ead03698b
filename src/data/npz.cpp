#include "data/npz.h"

#include "core/error_format.h"

namespace l2gcn {

NpyArray NpzFile::Get(const std::string& name) const {
  const ZipMember* member = archive_.Find(name + ".npy");
  if (member == nullptr) {
    ThrowInput("{}: has no array '{}'; it has {}", where(), name, fmt::join(Names(), ", "));
  }
  SharedBytes bytes = archive_.Read(*member);
  return NpyArray::Parse(std::move(bytes.owner), bytes.bytes, fmt::format("{}:{}", where(), name));
}

Pickle NpzFile::GetPickle(const std::string& name) const {
  const NpyArray array = Get(name);
  if (!array.is_object()) ThrowInput("{}: expected pickled objects", array.where());
  return Pickle::Parse(array.owner(), array.payload(), array.where());
}

std::vector<std::string> NpzFile::Names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : archive_.members()) {
    const size_t dot = member.name.rfind(".npy");
    names.push_back(dot == std::string::npos ? member.name : member.name.substr(0, dot));
  }
  return names;
}

StoredSparse SparseFromNpz(const Context& context, const NpzFile& npz, const std::string& prefix) {
  StoredSparse stored;
  stored.where = prefix.empty() ? npz.where() : fmt::format("{}:{}*", npz.where(), prefix);
  stored.layout = "csr";
  if (prefix.empty()) {
    const std::vector<std::string> format = npz.Get("format").AsStrings();
    stored.layout = format.size() == 1 ? format[0] : "";
  }
  const Array<uint64_t> shape = npz.Get(prefix + "shape").As<uint64_t>(context);
  if (shape.size() != 2)
    ThrowInput("{}: a matrix needs two dimensions, found {}", stored.where, shape.size());
  stored.rows = shape[0];
  stored.cols = shape[1];
  if (stored.layout == "coo") {
    stored.row_indices = npz.Get(prefix + "row").As<uint32_t>(context);
    stored.indices = npz.Get(prefix + "col").As<uint32_t>(context);
  } else {
    stored.indptr = npz.Get(prefix + "indptr").As<uint64_t>(context);
    stored.indices = npz.Get(prefix + "indices").As<uint32_t>(context);
  }
  stored.values = npz.Get(prefix + "data").As<float>(context);
  return stored;
}

}  // namespace l2gcn
