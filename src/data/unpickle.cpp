#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>

#include "core/error_format.h"
#include "data/pickle.h"
#include "data/pickle_input.h"
#include "data/pickle_names.h"

namespace l2gcn {

namespace {
constexpr size_t kPickleSwell = 24;  // bytes of values for a byte of input
constexpr size_t kPickleSlack = size_t{16} << 20;
constexpr int64_t kSharedIntegers = 1 << 16;
}  // namespace

// The stack machine behind Pickle::Parse.
class Unpickler : private PickleInput {
 public:
  Unpickler(Pickle& out, std::span<const uint8_t> bytes)
      : PickleInput(out.where_, bytes), out_(out), values_(out.values_) {}

  void Run() {
    for (;;) {
      const uint8_t op = NextOperation();
      if (op == '.') break;
      Step(op);
    }
    out_.root_ = Pop();
  }

 private:
  // Values and the stack
  PickleValue& Make(PickleKind kind) {
    if (values_.size() >= std::numeric_limits<uint32_t>::max() - 1) Refuse("too many values");
    if (values_.size() * sizeof(PickleValue) > kPickleSwell * input_bytes() + kPickleSlack) {
      Refuse("more values than a file of this size has reason to hold");
    }
    values_.emplace_back().kind = kind;
    if (kind == PickleKind::kArray) values_.back().parts = std::make_unique<PickleParts>();
    stack_.push_back(static_cast<uint32_t>(values_.size() - 1));
    return values_.back();
  }
  // A value that nothing can change stands once.
  void MakeShared(uint32_t& slot, PickleKind kind, int64_t integer = 0) {
    if (slot != 0) return stack_.push_back(slot);
    Make(kind).integer = integer;
    slot = stack_.back();
  }
  void MakeInteger(int64_t value) {
    if (value < 0 || value >= kSharedIntegers) {
      Make(PickleKind::kInt).integer = value;
      return;
    }
    if (integers_.size() <= static_cast<size_t>(value)) integers_.resize(static_cast<size_t>(value) + 1, 0);
    MakeShared(integers_[static_cast<size_t>(value)], PickleKind::kInt, value);
  }
  std::vector<uint32_t>& ItemsOf(PickleValue& value) {
    if (value.parts == nullptr) value.parts = std::make_unique<PickleParts>();
    return value.parts->items;
  }
  void MakeText(std::string_view text) { Make(PickleKind::kText).text = text; }
  uint32_t Pop() {
    if (stack_.empty() || values_[stack_.back()].kind == PickleKind::kMark) Refuse("nothing on the stack");
    const uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  uint32_t Top() const {
    if (stack_.empty()) Refuse("nothing on the stack");
    return stack_.back();
  }
  std::vector<uint32_t> PopToMark() {
    size_t mark = stack_.size();
    while (mark > 0 && values_[stack_[mark - 1]].kind != PickleKind::kMark) --mark;
    if (mark == 0) Refuse("no mark on the stack");
    std::vector<uint32_t> items(stack_.begin() + static_cast<ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }
  void MakeFilled(PickleKind kind, std::vector<uint32_t> items) {
    PickleValue& value = Make(kind);
    if (!items.empty()) ItemsOf(value) = std::move(items);
  }
  void MakeTuple(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = Pop();
    MakeFilled(PickleKind::kTuple, std::move(items));
  }
  // Items of a tuple that a call or a state is made of: few by nature.
  std::vector<uint32_t> Arguments(uint32_t tuple) const {
    const std::vector<uint32_t>& items = Expect(tuple, PickleKind::kTuple).items();
    if (items.size() > 16) Refuse("a call with more than 16 arguments");
    return items;
  }
  const PickleValue& Expect(uint32_t value, PickleKind kind) const {
    if (values_[value].kind != kind) {
      Refuse(fmt::format("expected {}, found {}", KindName(kind), KindName(values_[value].kind)));
    }
    return values_[value];
  }
  PickleName NameOf(uint32_t value) const {
    return static_cast<PickleName>(Expect(value, PickleKind::kGlobal).integer);
  }
  int64_t ExpectInteger(uint32_t value) const { return Expect(value, PickleKind::kInt).integer; }

  void Step(uint8_t op) {
    // clang-format off
    switch (op) {
      case 0x80: U8(); return;                                                  // PROTO
      case 0x95: Little(8); return;                                             // FRAME
      case '(': MakeShared(mark_, PickleKind::kMark); return;                                // MARK
      case '0': Pop(); return;                                                  // POP
      case '1': PopToMark(); return;                                            // POP_MARK
      case '2': stack_.push_back(Top()); return;                                // DUP
      case 'N': MakeShared(none_, PickleKind::kNone); return;                                // NONE
      case 0x88: MakeShared(true_, PickleKind::kBool, 1); return;                   // NEWTRUE
      case 0x89: MakeShared(false_, PickleKind::kBool); return;                               // NEWFALSE
      case 'K': MakeInteger(U8()); return;                                      // BININT1
      case 'M': MakeInteger(static_cast<int64_t>(Little(2))); return;           // BININT2
      case 'J': MakeInteger(static_cast<int32_t>(Little(4))); return;           // BININT
      case 0x8a: Long(U8()); return;                                            // LONG1
      case 0x8b: Long(Little(4)); return;                                       // LONG4
      case 'G': Float(); return;                                                // BINFLOAT
      case 'U': case 'C': case 0x8c: MakeText(Text(U8())); return;              // SHORT_BIN STRING BYTES UNICODE
      case 'T': case 'X': case 'B': MakeText(Text(Little(4))); return;          // BIN STRING UNICODE BYTES
      case 0x8d: case 0x8e: case 0x96: MakeText(Text(Little(8))); return;       // BINUNICODE8 BINBYTES8 BYTEARRAY8
      case ')': MakeShared(empty_tuple_, PickleKind::kTuple); return;                               // EMPTY_TUPLE
      case 0x85: MakeTuple(1); return;                                          // TUPLE1
      case 0x86: MakeTuple(2); return;                                          // TUPLE2
      case 0x87: MakeTuple(3); return;                                          // TUPLE3
      case 't': Collect(PickleKind::kTuple); return;                            // TUPLE
      case ']': Make(PickleKind::kList); return;                                // EMPTY_LIST
      case 'l': Collect(PickleKind::kList); return;                             // LIST
      case '}': Make(PickleKind::kDict); return;                                // EMPTY_DICT
      case 'a': Append({Pop()}); return;                                        // APPEND
      case 'e': Append(PopToMark()); return;                                    // APPENDS
      case 's': SetItem(); return;                                              // SETITEM
      case 'u': SetItems(PopToMark()); return;                                  // SETITEMS
      case 'q': Remember(U8()); return;                                         // BINPUT
      case 'r': Remember(Little(4)); return;                                    // LONG_BINPUT
      case 0x94: Remember(memo_.size()); return;                                // MEMOIZE
      case 'h': Recall(U8()); return;                                           // BINGET
      case 'j': Recall(Little(4)); return;                                      // LONG_BINGET
      case 'c': Global(); return;                                               // GLOBAL
      case 0x93: StackGlobal(); return;                                         // STACK_GLOBAL
      case 'R': Reduce(); return;                                               // REDUCE
      case 0x81: NewObject(); return;                                           // NEWOBJ
      case 'b': Build(); return;                                                // BUILD
      case 'Q': Storage(Pop()); return;                                         // BINPERSID
      default: Refuse(fmt::format("opcode {:#04x} is not allowed", op));
    }
    // clang-format on
  }

  void Long(uint64_t count) {
    if (count > 8) Refuse("an integer past 64 bits");
    uint64_t value = Little(count);
    if (count > 0 && count < 8 && ((value >> (8 * count - 1)) & 1) != 0) value |= ~uint64_t{0} << (8 * count);
    MakeInteger(static_cast<int64_t>(value));
  }
  void Float() {
    uint64_t bits = 0;
    for (const uint8_t byte : Take(8)) bits = bits << 8 | byte;
    Make(PickleKind::kFloat).real = std::bit_cast<double>(bits);
  }
  void Collect(PickleKind kind) { MakeFilled(kind, PopToMark()); }
  void Append(const std::vector<uint32_t>& items) {
    PickleValue& list = values_[Top()];
    if (list.kind != PickleKind::kList) Refuse(fmt::format("append to {}", KindName(list.kind)));
    ItemsOf(list).insert(ItemsOf(list).end(), items.begin(), items.end());
  }
  void SetItem() {
    const uint32_t value = Pop(), key = Pop();
    SetItems({key, value});
  }
  void SetItems(const std::vector<uint32_t>& items) {
    PickleValue& dict = values_[Top()];
    if (dict.kind != PickleKind::kDict || items.size() % 2 != 0) Refuse("items set outside a dict");
    ItemsOf(dict).insert(ItemsOf(dict).end(), items.begin(), items.end());
  }
  void Remember(uint64_t slot) { memo_[slot] = Top(); }
  void Recall(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) Refuse(fmt::format("memo {} was never stored", slot));
    stack_.push_back(found->second);
  }

  void MakeGlobal(std::string_view module, std::string_view name) {
    const std::optional<PickleName> known = FindPickleName(module, name);
    if (!known) Refuse(fmt::format("the name '{}.{}' is not allowed", module, name));
    PickleValue& global = Make(PickleKind::kGlobal);
    global.integer = static_cast<int64_t>(*known);
    if (*known == PickleName::kSparseClass) global.text = name.substr(0, 3);
    if (*known == PickleName::kTorchStorage) global.text = *TorchElements(name);
  }
  void Global() {
    const std::string_view module = Line();
    MakeGlobal(module, Line());
  }
  void StackGlobal() {
    const uint32_t name = Pop(), module = Pop();
    const std::string_view module_text = Expect(module, PickleKind::kText).text;
    MakeGlobal(module_text, Expect(name, PickleKind::kText).text);
  }

  // callable(*arguments), for the few callables whose meaning is known.
  void Reduce() {
    const uint32_t arguments = Pop(), callable = Pop();
    const PickleName name = NameOf(callable);
    const std::vector<uint32_t> items = Arguments(arguments);
    switch (name) {
      case PickleName::kReconstruct:
        Make(PickleKind::kArray).parts->shape = {0};
        return;
      case PickleName::kDtypeName:
        MakeDtype(items);
        return;
      case PickleName::kNumpyScalar:
        MakeScalar(items);
        return;
      case PickleName::kFromBuffer:
        MakeFromBuffer(items);
        return;
      case PickleName::kDefaultDict:
      case PickleName::kDictClass:
        MakeDict(items);
        return;
      case PickleName::kListClass:
        if (!items.empty()) Refuse("list() with arguments");
        Make(PickleKind::kList);
        return;
      case PickleName::kEncode:
        Encode(items);
        return;
      case PickleName::kTorchTensor:
        MakeTensor(items);
        return;
      default:
        Refuse("a call of a class that is not a function");
    }
  }
  void MakeDict(const std::vector<uint32_t>& items) {
    // defaultdict's argument is its factory; what it would make is never asked for.
    if (items.size() > 1 || (items.size() == 1 && values_[items[0]].kind != PickleKind::kGlobal &&
                             values_[items[0]].kind != PickleKind::kNone)) {
      Refuse("a dict made from arguments");
    }
    Make(PickleKind::kDict);
  }
  void MakeDtype(const std::vector<uint32_t>& items) {
    if (items.empty()) Refuse("dtype without a name");
    const std::string_view text = Expect(items[0], PickleKind::kText).text;
    ParseNpyType(text, out_.where_);
    Make(PickleKind::kDtype).text = text;
  }
  void MakeScalar(const std::vector<uint32_t>& items) {
    if (items.size() != 2) Refuse("a numpy scalar without dtype and bytes");
    Expect(items[0], PickleKind::kDtype);
    const std::string_view raw = Expect(items[1], PickleKind::kText).text;
    PickleValue& scalar = Make(PickleKind::kScalar);
    scalar.dtype = items[0];
    scalar.text = raw;
  }
  // Protocol 5: numpy.core.numeric._frombuffer(bytes, dtype, shape, order)
  void MakeFromBuffer(const std::vector<uint32_t>& items) {
    if (items.size() != 4) Refuse("_frombuffer without its four arguments");
    const std::string_view raw = Expect(items[0], PickleKind::kText).text;
    Expect(items[1], PickleKind::kDtype);
    std::vector<uint64_t> shape = ShapeOf(items[2]);
    const bool fortran = Expect(items[3], PickleKind::kText).text == "F";
    PickleValue& array = Make(PickleKind::kArray);
    array.dtype = items[1];
    array.text = raw;
    array.parts->shape = std::move(shape);
    array.fortran = fortran;
  }
  // _codecs.encode(text, 'latin1'): how Python 3 writes bytes with protocol 2.
  void Encode(const std::vector<uint32_t>& items) {
    if (items.size() != 2) Refuse("encode without text and encoding");
    const std::string_view text = Expect(items[0], PickleKind::kText).text;
    const std::string_view encoding = Expect(items[1], PickleKind::kText).text;
    if (encoding != "latin1" && encoding != "latin-1") Refuse("an encoding other than latin1");
    made_bytes_ += text.size();
    if (made_bytes_ > input_bytes()) Refuse("more bytes encoded than the file holds");
    std::string& raw = out_.made_.emplace_back();
    raw.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      const auto lead = static_cast<uint8_t>(text[i]);
      if (lead < 0x80) {
        raw += text[i];
      } else if ((lead == 0xC2 || lead == 0xC3) && i + 1 < text.size()) {
        raw += static_cast<char>((lead & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3F));
      } else {
        Refuse("text beyond latin1");
      }
    }
    MakeText(raw);
  }

  // ('storage', class, key, device, elements): what torch writes in place of a tensor's elements.
  void Storage(uint32_t name) {
    const std::vector<uint32_t> items = Arguments(name);
    if (!out_.storages_.find) Refuse("a storage that lies outside the pickle");
    if (items.size() < 5 || Expect(items[0], PickleKind::kText).text != "storage" ||
        NameOf(items[1]) != PickleName::kTorchStorage)
      Refuse("a reference that is no storage");
    out_.read_.push_back(out_.storages_.find(std::string(Expect(items[2], PickleKind::kText).text)));
    const std::span<const uint8_t> bytes = out_.read_.back().bytes;
    PickleValue& dtype = Make(PickleKind::kDtype);
    dtype.text = values_[items[1]].text;
    dtype.big_endian = out_.storages_.big_endian;
    const uint32_t elements = Pop();
    PickleValue& storage = Make(PickleKind::kStorage);
    storage.dtype = elements;
    storage.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // _rebuild_tensor_v2(storage, offset, size, stride, …): an array where its elements lie in C order.
  void MakeTensor(const std::vector<uint32_t>& items) {
    if (items.size() < 4) Refuse("a tensor without storage, offset, size and stride");
    const PickleValue& storage = Expect(items[0], PickleKind::kStorage);
    const std::string_view all = storage.text;
    const uint32_t dtype = storage.dtype;
    std::vector<uint64_t> shape = ShapeOf(items[2]);
    const std::vector<uint64_t> stride = ShapeOf(items[3]);
    if (stride.size() != shape.size()) Refuse("a tensor whose size and stride disagree");
    uint64_t elements = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (shape[d] != 1 && elements != 0 && stride[d] != elements)
        Refuse("a tensor whose elements are not in order (call .contiguous() before torch.save)");
      if (shape[d] != 0 && elements > all.size() / shape[d])
        Refuse("a tensor that is larger than its storage");
      elements *= shape[d];
    }
    const uint64_t width = ParseNpyType(values_[dtype].text, out_.where_).bytes;
    const auto offset = static_cast<uint64_t>(std::max<int64_t>(0, ExpectInteger(items[1])));
    if (offset > all.size() / width || elements > all.size() / width - offset)
      Refuse("a tensor that is larger than its storage");
    PickleValue& array = Make(PickleKind::kArray);
    array.dtype = dtype;
    array.text = all.substr(offset * width, elements * width);
    array.parts->shape = std::move(shape);
  }

  void NewObject() {
    const uint32_t arguments = Pop(), callable = Pop();
    const PickleName name = NameOf(callable);
    const bool plain = Expect(arguments, PickleKind::kTuple).items().empty();
    if (name == PickleName::kSparseClass && plain) {
      const std::string_view format = values_[callable].text;
      Make(PickleKind::kSparse).text = format;
    } else if (name == PickleName::kDictClass && plain) {
      Make(PickleKind::kDict);
    } else if (name == PickleName::kListClass && plain) {
      Make(PickleKind::kList);
    } else {
      Refuse("a new object of a class that is not allowed");
    }
  }

  // object.__setstate__(state) for arrays, dtypes and sparse matrices.
  void Build() {
    const uint32_t state = Pop(), object = Top();
    switch (values_[object].kind) {
      case PickleKind::kArray:
        return BuildArray(object, state);
      case PickleKind::kDtype: {
        const std::vector<uint32_t> items = Arguments(state);
        if (items.size() > 1) values_[object].big_endian = Expect(items[1], PickleKind::kText).text == ">";
        return;
      }
      case PickleKind::kSparse:
        Expect(state, PickleKind::kDict);
        values_[object].state = state;
        return;
      default:
        Refuse(fmt::format("state for {}", KindName(values_[object].kind)));
    }
  }
  // (version, shape, dtype, is_fortran, bytes or list of objects)
  void BuildArray(uint32_t object, uint32_t state) {
    const std::vector<uint32_t> items = Arguments(state);
    if (items.size() != 5) Refuse("an array state without its five parts");
    std::vector<uint64_t> shape = ShapeOf(items[1]);
    Expect(items[2], PickleKind::kDtype);
    PickleValue& array = values_[object];
    array.parts->shape = std::move(shape);
    array.dtype = items[2];
    array.fortran = values_[items[3]].integer != 0;
    if (values_[items[4]].kind == PickleKind::kList) {
      array.state = items[4];
    } else {
      array.text = Expect(items[4], PickleKind::kText).text;
    }
  }
  std::vector<uint64_t> ShapeOf(uint32_t value) const {
    std::vector<uint64_t> shape;
    for (const uint32_t item : Expect(value, PickleKind::kTuple).items()) {
      if (shape.size() == 32) Refuse("an array of more than 32 dimensions");
      const int64_t length = ExpectInteger(item);
      if (length < 0) Refuse(fmt::format("an array of length {}", length));
      shape.push_back(static_cast<uint64_t>(length));
    }
    return shape;
  }

  Pickle& out_;
  std::vector<PickleValue>& values_;
  uint64_t made_bytes_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<uint32_t> integers_;  // by value: where it stands, 0: nowhere yet
  uint32_t mark_ = 0, none_ = 0, true_ = 0, false_ = 0, empty_tuple_ = 0;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

Pickle Pickle::Parse(std::shared_ptr<const void> owner, std::span<const uint8_t> bytes, std::string where,
                     PickleStorages storages) {
  Pickle pickle;
  pickle.storages_ = std::move(storages);
  pickle.owner_ = std::move(owner);
  pickle.where_ = std::move(where);
  pickle.values_.emplace_back();  // value 0 is None: what an index of 0 refers to
  Unpickler(pickle, bytes).Run();
  return pickle;
}

}  // namespace l2gcn
