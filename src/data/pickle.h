// Reads pickles without executing anything; Parse is in unpickle.cpp, the names it knows in
// pickle_names.h.
//
// Method: a stack machine over an allow-list of opcodes and of names (numpy arrays, dtypes and scalars, scipy
// sparse matrices, list / dict / defaultdict, str ↔ bytes; torch tensors where storages are given). A name is never looked up or called: each allowed
// one has a fixed meaning here. Everything else is refused with the name and its byte offset.
//
// Guarantees: values live in one flat pool and refer to each other by index, so neither parsing nor freeing
// recurses; memory stays within a constant factor of the input, whatever lengths it claims: values that cannot
// change (None, small integers, the empty tuple) are shared, the others may take at most kPickleSwell times the
// bytes of the input.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/npy.h"
#include "data/zip.h"

namespace l2gcn {

enum class PickleKind : uint8_t {
  kMark,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kTuple,
  kList,
  kDict,
  kGlobal,
  kDtype,
  kArray,
  kSparse,
  kScalar,
  kStorage,
};

const char* KindName(PickleKind kind);  // "a list"

// The parts of a value that hold others; most values have none.
struct PickleParts {
  std::vector<uint32_t> items;  // kTuple, kList; kDict: key, value, key, value …
  std::vector<uint64_t> shape;  // kArray
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  bool big_endian = false;  // kDtype
  bool fortran = false;     // kArray
  uint32_t dtype = 0;       // kArray, kScalar, kStorage: its dtype
  uint32_t state = 0;       // kSparse: its dict; kArray of objects: their list; 0: none
  union {
    int64_t integer = 0;  // kInt, kBool; kGlobal: which allowed name
    double real;          // kFloat
  };
  std::string_view
      text;  // kText (str and bytes alike), kDtype "f4", kSparse "csr", raw kArray, kScalar, kStorage
  std::unique_ptr<PickleParts> parts;

  const std::vector<uint32_t>& items() const;
};

// The bytes of a storage that a pickle names, and their order.
using StorageOf = std::function<SharedBytes(const std::string& key)>;
struct PickleStorages {
  StorageOf
      find;  // throws Error(kInput) for a key that is not there; empty: a pickle that names one is refused
  bool big_endian = false;
};

class Pickle {
 public:
  // Parses all of `bytes`, which must outlive this object through `owner`. Throws Error(kInput).
  static Pickle Parse(std::shared_ptr<const void> owner, std::span<const uint8_t> bytes, std::string where,
                      PickleStorages storages = {});

  uint32_t root() const { return root_; }
  const PickleValue& operator[](uint32_t value) const { return values_[value]; }
  const std::string& where() const { return where_; }

  // Typed views; each throws Error(kInput) saying what was expected and what was found.
  int64_t Integer(uint32_t value) const;
  NpyArray ToArray(uint32_t value) const;                      // numbers or strings
  const std::vector<uint32_t>& Objects(uint32_t value) const;  // elements of an object array, list or tuple
  uint32_t Find(uint32_t dict, std::string_view key) const;    // kAbsent if it is not there
  static constexpr uint32_t kAbsent = ~0u;

 private:
  friend class Unpickler;
  std::shared_ptr<const void> owner_;
  std::string where_;
  std::vector<PickleValue> values_;
  std::deque<std::string> made_;  // text that is not in the input as such
  PickleStorages storages_;
  std::vector<SharedBytes> read_;  // storages that were named
  uint32_t root_ = 0;
};

}  // namespace l2gcn
