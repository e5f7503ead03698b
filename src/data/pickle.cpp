#include "data/pickle.h"

#include "core/error_format.h"

namespace l2gcn {

const char* KindName(PickleKind kind) {
  switch (kind) {
    case PickleKind::kMark:
      return "a mark";
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return "a boolean";
    case PickleKind::kInt:
      return "an integer";
    case PickleKind::kFloat:
      return "a float";
    case PickleKind::kText:
      return "text";
    case PickleKind::kTuple:
      return "a tuple";
    case PickleKind::kList:
      return "a list";
    case PickleKind::kDict:
      return "a dict";
    case PickleKind::kGlobal:
      return "a name";
    case PickleKind::kDtype:
      return "a dtype";
    case PickleKind::kArray:
      return "an array";
    case PickleKind::kSparse:
      return "a sparse matrix";
    case PickleKind::kScalar:
      return "a numpy scalar";
    case PickleKind::kStorage:
      return "a storage";
  }
  return "?";
}

const std::vector<uint32_t>& PickleValue::items() const {
  static const std::vector<uint32_t> kNone;
  return parts ? parts->items : kNone;
}

int64_t Pickle::Integer(uint32_t value) const {
  const PickleValue& v = values_[value];
  if (v.kind == PickleKind::kInt || v.kind == PickleKind::kBool) return v.integer;
  if (v.kind == PickleKind::kScalar) {
    NpyType type = ParseNpyType(values_[v.dtype].text, where_);
    type.big_endian = values_[v.dtype].big_endian;
    const std::span<const uint8_t> raw(reinterpret_cast<const uint8_t*>(v.text.data()), v.text.size());
    return NpyArray::FromParts(owner_, std::move(type), {}, false, raw, where_).AsScalar();
  }
  ThrowInput("{}: expected an integer in the pickle, found {}", where_, KindName(v.kind));
}

NpyArray Pickle::ToArray(uint32_t value) const {
  const PickleValue& v = values_[value];
  if (v.kind != PickleKind::kArray)
    ThrowInput("{}: expected an array in the pickle, found {}", where_, KindName(v.kind));
  if (values_[v.dtype].kind != PickleKind::kDtype)
    ThrowInput("{}: an array in the pickle was never filled", where_);
  NpyType type = ParseNpyType(values_[v.dtype].text, where_);
  if (type.kind == 'O') ThrowInput("{}: expected an array of numbers in the pickle, found objects", where_);
  type.big_endian = values_[v.dtype].big_endian && type.bytes > 1;
  const std::span<const uint8_t> raw(reinterpret_cast<const uint8_t*>(v.text.data()), v.text.size());
  // Text made here lives in this object; its bytes must outlive it in arrays that are handed out.
  std::shared_ptr<const void> owner = owner_;
  std::span<const uint8_t> kept = raw;
  for (const SharedBytes& storage : read_) {
    if (raw.data() >= storage.bytes.data() && raw.data() < storage.bytes.data() + storage.bytes.size())
      owner = storage.owner;
  }
  for (const std::string& made : made_) {
    if (made.data() != v.text.data()) continue;
    auto copy = std::make_shared<std::string>(made);
    kept = {reinterpret_cast<const uint8_t*>(copy->data()), copy->size()};
    owner = std::move(copy);
    break;
  }
  return NpyArray::FromParts(std::move(owner), std::move(type), v.parts->shape, v.fortran, kept, where_);
}

const std::vector<uint32_t>& Pickle::Objects(uint32_t value) const {
  const PickleValue& v = values_[value];
  if (v.kind == PickleKind::kArray) return values_[v.state].items();
  if (v.kind != PickleKind::kList && v.kind != PickleKind::kTuple) {
    ThrowInput("{}: expected a list of objects in the pickle, found {}", where_, KindName(v.kind));
  }
  return v.items();
}

uint32_t Pickle::Find(uint32_t dict, std::string_view key) const {
  const PickleValue& v = values_[values_[dict].kind == PickleKind::kSparse ? values_[dict].state : dict];
  if (v.kind != PickleKind::kDict) {
    ThrowInput("{}: expected a dict in the pickle, found {}", where_, KindName(v.kind));
  }
  for (size_t i = 0; i + 1 < v.items().size(); i += 2) {
    const PickleValue& name = values_[v.items()[i]];
    if (name.kind == PickleKind::kText && name.text == key) return v.items()[i + 1];
  }
  return kAbsent;
}

}  // namespace l2gcn
