#include <gtest/gtest.h>

#include "core/memory_meter.h"
#include "data/fixtures.h"
#include "data/pickle.h"
#include "data/sparse_matrix.h"

namespace l2gcn {
namespace {

Pickle ParseText(const std::string& bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return Pickle::Parse(owner, {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}, "p.pkl");
}

std::string Refusal(const std::string& bytes) {
  return ErrorOf(ErrorKind::kInput, [&] { ParseText(bytes); });
}

// Small values pickled by Python 3 with protocols 2 to 5.
#include "data/pickles.inc"

TEST(Unpickle, ArraysOfEveryProtocol) {
  for (const std::string& bytes : {kArrayProtocol2, kArrayProtocol3, kArrayProtocol4, kArrayProtocol5}) {
    const Pickle pickle = ParseText(bytes);
    const NpyArray array = pickle.ToArray(pickle.root());
    EXPECT_EQ(array.shape(), (std::vector<uint64_t>{2, 2}));
    const Array<int32_t> values = array.As<int32_t>(MakeContext(1));
    EXPECT_EQ((std::vector<int32_t>(values.begin(), values.end())), (std::vector<int32_t>{1, 2, 3, 200}));
  }
}

TEST(Unpickle, SparseMatricesOfEveryProtocol) {
  const Context context = MakeContext(1);
  for (const std::string& bytes : {kSparseProtocol2, kSparseProtocol4}) {
    const Pickle pickle = ParseText(bytes);
    const CsrMatrix matrix = ToCsr(context, SparseFromPickle(context, pickle, pickle.root()));
    EXPECT_EQ(matrix.rows, 2u);
    EXPECT_EQ(matrix.cols, 3u);
    ASSERT_EQ(matrix.nnz(), 2u);
    EXPECT_EQ(matrix.indices[0], 2u);
    EXPECT_EQ(matrix.values[1], 7.0f);
  }
}

TEST(Unpickle, DictsListsAndScalars) {
  const Pickle pickle =
      ParseText(kDictProtocol4);  // {'a': [1, -2, 3**15], 'b': np.int64(70000), 'c': None, 'd': 1.5}
  const auto& list = pickle.Objects(pickle.Find(pickle.root(), "a"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(pickle.Integer(list[1]), -2);
  EXPECT_EQ(pickle.Integer(list[2]), 14348907);
  EXPECT_EQ(pickle.Integer(pickle.Find(pickle.root(), "b")), 70000);
  EXPECT_EQ(pickle[pickle.Find(pickle.root(), "c")].kind, PickleKind::kNone);
  EXPECT_EQ(pickle[pickle.Find(pickle.root(), "d")].real, 1.5);
  EXPECT_EQ(pickle.Find(pickle.root(), "z"), Pickle::kAbsent);
}

TEST(Unpickle, CodeIsRefusedByNameAndOffset) {
  EXPECT_MENTIONS(Refusal("\x80\x02"
                          "cos\nsystem\nU\x02ls\x85R."),
                  "refused at byte 2: the name 'os.system' is not allowed");
  EXPECT_MENTIONS(Refusal("\x80\x02"
                          "c__builtin__\neval\nU\x03"
                          "1+1\x85R."),
                  "'__builtin__.eval'");
  EXPECT_MENTIONS(Refusal("\x80\x04\x8c\x08"
                          "builtins\x8c\x04"
                          "exec\x93."),
                  "'builtins.exec'");
  EXPECT_MENTIONS(Refusal("\x80\x02"
                          "cposix\nsystem\n."),
                  "'posix.system'");
  EXPECT_MENTIONS(Refusal("cnumpy\nload\n."), "'numpy.load'");
  EXPECT_MENTIONS(Refusal("cscipy.sparse.csr\n__import__\n."), "'scipy.sparse.csr.__import__'");
  EXPECT_MENTIONS(Refusal("cscipy.sparse.csr.os\ncsr_matrix\n."), "not allowed");
  EXPECT_MENTIONS(Refusal("cmymodule\nMyClass\n)\x81."), "'mymodule.MyClass'");
  EXPECT_MENTIONS(Refusal("(i__main__\nThing\n."), "opcode 0x69 is not allowed");  // INST
  EXPECT_MENTIONS(Refusal("\x80\x02\x82\x01."), "opcode 0x82 is not allowed");     // EXT1
  EXPECT_MENTIONS(Refusal("Pabc\n."), "opcode 0x50 is not allowed");               // PERSID
  EXPECT_MENTIONS(Refusal("c_codecs\nencode\nU\x01"
                          "aU\x04zlib\x86R."),
                  "an encoding other than latin1");
}

TEST(Unpickle, DamagedInputIsRefused) {
  for (size_t length = 0; length + 1 < kSparseProtocol4.size(); ++length) {
    EXPECT_THROW(ParseText(kSparseProtocol4.substr(0, length)), Error) << length;
  }
  EXPECT_MENTIONS(Refusal("B\xff\xff\xff\xff."), "4294967295 bytes claimed");
  EXPECT_MENTIONS(Refusal("\x8e\xff\xff\xff\xff\xff\xff\xff\xff."), "bytes claimed");
  EXPECT_MENTIONS(Refusal("."), "nothing on the stack");
  EXPECT_MENTIONS(Refusal("(."), "nothing on the stack");
  EXPECT_MENTIONS(Refusal("t."), "no mark");
  EXPECT_MENTIONS(Refusal("h\x05."), "memo 5 was never stored");
  EXPECT_MENTIONS(Refusal("K\1K\2s."), "nothing on the stack");
  EXPECT_MENTIONS(Refusal("K\1K\2a."), "append to an integer");
  EXPECT_MENTIONS(Refusal("K\1)R."), "expected a name, found an integer");
  EXPECT_MENTIONS(Refusal("\x8a\x09"
                          "aaaaaaaaa."),
                  "past 64 bits");
}

// A hundred thousand nested lists: neither reading nor freeing them may recurse.
TEST(Unpickle, DeepNestingIsFlat) {
  std::string bytes(100000, ']');
  bytes += std::string(99999, 'a') + '.';
  EXPECT_EQ(ParseText(bytes).Objects(ParseText(bytes).root()).size(), 1u);
}

// A memoised text encoded again and again would grow without bound.
TEST(Unpickle, RepeatedEncodingIsBounded) {
  std::string bytes =
      "c_codecs\nencode\nq\x01X" + std::string("\x00\x10\x00\x00", 4) + std::string(4096, 'x');
  bytes += std::string("X\x06\x00\x00\x00latin1\x86q\x02R", 15);
  for (int i = 0; i < 100; ++i) bytes += "h\x01h\x02R";
  EXPECT_MENTIONS(Refusal(bytes + "."), "more bytes encoded than the file holds");
}

// One-byte opcodes that make a value each: what they make must not outgrow the input by much.
TEST(Unpickle, ManyTinyValuesTakeLittleMemory) {
  constexpr size_t kCount = size_t{4} << 20;
  for (const char opcode : {'N', ')', '(', ']', '}'}) {
    ResetPeakResidentBytes();
    const uint64_t before = PeakResidentBytes();
    try {
      ParseText("(" + std::string(kCount, opcode) + "l.");
    } catch (const Error&) {  // refused for what it is, or because a mark is left
    }
    EXPECT_LT(PeakResidentBytes() - before, 60 * kCount) << opcode;
  }
  EXPECT_MENTIONS(Refusal("(" + std::string(size_t{8} << 20, ']') + "l."), "more values");
}

// What torch.save writes for a tensor of `count` int64 elements from `offset` on, with a stride.
std::string TensorPickle(const std::string& storage_class, uint8_t offset, uint8_t count, uint8_t stride) {
  using namespace std::string_literals;
  return "\x80\2ctorch._utils\n_rebuild_tensor_v2\nq\0((X\7\0\0\0storageq\1ctorch\n"s + storage_class +
         "\nq\2X\1\0\0\0"s + "0q\3X\3\0\0\0cpuq\4K\3tq\5QK"s + static_cast<char>(offset) + "K"s +
         static_cast<char>(count) + "\x85q\6K"s + static_cast<char>(stride) +
         "\x85q\7\x89"
         "ccollections\nOrderedDict\nq\x08)Rq\ttq\nRq\v."s;
}

Pickle ParseTensor(const std::string& bytes, const std::shared_ptr<std::vector<int64_t>>& elements) {
  const auto owner = std::make_shared<std::string>(bytes);
  PickleStorages storages;
  storages.find = [elements](const std::string& key) -> SharedBytes {
    EXPECT_EQ(key, "0");
    return {elements,
            {reinterpret_cast<const uint8_t*>(elements->data()), elements->size() * sizeof(int64_t)}};
  };
  return Pickle::Parse(owner, {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}, "p.pt",
                       std::move(storages));
}

TEST(Unpickle, TensorsOverTheirStorage) {
  const auto elements = std::make_shared<std::vector<int64_t>>(std::vector<int64_t>{7, 8, 9});
  const Pickle pickle = ParseTensor(TensorPickle("LongStorage", 1, 2, 1), elements);
  const NpyArray array = pickle.ToArray(pickle.root());
  EXPECT_EQ(array.shape(), (std::vector<uint64_t>{2}));
  const Array<int64_t> values = array.As<int64_t>(MakeContext(1));
  EXPECT_EQ((std::vector<int64_t>(values.begin(), values.end())), (std::vector<int64_t>{8, 9}));
}

TEST(Unpickle, TensorsThatTheirStorageDoesNotHoldAreRefused) {
  const auto elements = std::make_shared<std::vector<int64_t>>(std::vector<int64_t>{7, 8, 9});
  const auto refusal = [&](const std::string& bytes) {
    return ErrorOf(ErrorKind::kInput, [&] { ParseTensor(bytes, elements); });
  };
  EXPECT_MENTIONS(refusal(TensorPickle("LongStorage", 2, 2, 1)), "larger than its storage");
  EXPECT_MENTIONS(refusal(TensorPickle("LongStorage", 0, 200, 1)), "larger than its storage");
  EXPECT_MENTIONS(refusal(TensorPickle("LongStorage", 0, 2, 2)), "elements are not in order");
  EXPECT_MENTIONS(refusal(TensorPickle("BFloat16Storage", 0, 2, 1)),
                  "'torch.BFloat16Storage' is not allowed");
  EXPECT_MENTIONS(Refusal(TensorPickle("LongStorage", 0, 2, 1)), "lies outside the pickle");
}

}  // namespace
}  // namespace l2gcn
