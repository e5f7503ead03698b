#include "data/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/fixtures.h"

namespace l2gcn {
namespace {

// A version 1 file as NumPy writes it.
std::string NpyBytes(const std::string& dict, const std::string& payload, char version = 1) {
  std::string header = dict;
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + payload;
}

std::string Dict(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

template <class T>
std::string Raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

NpyArray ParseText(const std::string& bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return NpyArray::Parse(owner, {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}, "a.npy");
}

template <class T>
std::vector<T> Values(const NpyArray& array) {
  const Array<T> values = array.As<T>(MakeContext(1));
  return {values.begin(), values.end()};
}

TEST(Npy, ConvertsEveryType) {
  const std::vector<double> expected = {1, 2, 3};
  const auto parsed = [&](const std::string& descr, const std::string& payload) {
    return Values<double>(ParseText(NpyBytes(Dict(descr, "(3,)"), payload)));
  };
  EXPECT_EQ(parsed("|i1", Raw<int8_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("|u1", Raw<uint8_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<i2", Raw<int16_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<u2", Raw<uint16_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<i4", Raw<int32_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<u4", Raw<uint32_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<i8", Raw<int64_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<u8", Raw<uint64_t>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<f4", Raw<float>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<f8", Raw<double>({1, 2, 3})), expected);
  EXPECT_EQ(parsed("<f2", Raw<uint16_t>({0x3C00, 0x4000, 0x4200})), expected);
  EXPECT_EQ(parsed(">i4", std::string("\0\0\0\1\0\0\0\2\0\0\0\3", 12)), expected);
  EXPECT_EQ(Values<uint8_t>(ParseText(NpyBytes(Dict("|b1", "(2,)"), std::string("\1\0", 2)))),
            (std::vector<uint8_t>{1, 0}));
}

TEST(Npy, HalfPrecisionIncludingSubnormalsAndInfinity) {
  const auto values = Values<float>(
      ParseText(NpyBytes(Dict("<f2", "(5,)"), Raw<uint16_t>({0x0001, 0x8000, 0x7C00, 0xBC00, 0x7BFF}))));
  EXPECT_EQ(values[0], 0x1p-24f);
  EXPECT_TRUE(values[1] == 0 && std::signbit(values[1]));
  EXPECT_TRUE(std::isinf(values[2]));
  EXPECT_EQ(values[3], -1);
  EXPECT_EQ(values[4], 65504);
}

TEST(Npy, FortranOrderIsHonoured) {
  const NpyArray array = ParseText(NpyBytes(Dict("<i4", "(2, 3)", true), Raw<int32_t>({1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(Values<int32_t>(array), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, VersionsTwoAndThreeAndScalars) {
  EXPECT_EQ(ParseText(NpyBytes(Dict("<i8", "()"), Raw<int64_t>({-5}), 2)).AsScalar(), -5);
  EXPECT_EQ(ParseText(NpyBytes(Dict("<i8", "()"), Raw<int64_t>({-5}), 3)).AsScalar(), -5);
}

TEST(Npy, Strings) {
  EXPECT_EQ(ParseText(NpyBytes(Dict("|S3", "(2,)"), std::string("abcx\0\0", 6))).AsStrings(),
            (std::vector<std::string>{"abc", "x"}));
  EXPECT_EQ(ParseText(NpyBytes(Dict("<U2", "(2,)"), Raw<uint32_t>({'h', 0x4E2D, 0x1F600, 0}))).AsStrings(),
            (std::vector<std::string>{"h中", "😀"}));
}

TEST(Npy, LossyConversionsAreRefusedWithTheirIndex) {
  const Context context = MakeContext(1);
  const NpyArray fraction = ParseText(NpyBytes(Dict("<f4", "(2,)"), Raw<float>({1, 1.5f})));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { fraction.As<int32_t>(context); }), "element 1 is 1.5");
  const NpyArray negative = ParseText(NpyBytes(Dict("<i8", "(2,)"), Raw<int64_t>({4, -1})));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { negative.As<uint32_t>(context); }), "element 1 is -1");
  const NpyArray large = ParseText(NpyBytes(Dict("<f8", "(1,)"), Raw<double>({0x1p63})));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { large.As<int64_t>(context); }), "element 0");
  const NpyArray nan = ParseText(NpyBytes(Dict("<f4", "(2,)"), Raw<float>({NAN, 3})));
  const int32_t unlabelled = -1;
  EXPECT_EQ(nan.As<int32_t>(context, &unlabelled)[0], -1);
  EXPECT_THROW(nan.As<int32_t>(context), Error);
}

TEST(Npy, SharesMemoryWhereItFitsAndOnlyThere) {
  TemporaryFolder folder;
  const std::vector<float> values = {1, 2, 3, 4};
  WriteNpy<float>(folder.path() / "x.npy", values, {2, 2});
  const NpyArray array = NpyArray::Open(folder.path() / "x.npy");
  EXPECT_EQ(static_cast<const void*>(array.As<float>(MakeContext(1)).data()), array.payload().data());
  EXPECT_NE(static_cast<const void*>(array.As<double>(MakeContext(1)).data()), array.payload().data());
  const Matrix matrix = array.AsMatrix(MakeContext(1));
  EXPECT_EQ(matrix.rows, 2u);
  EXPECT_EQ(matrix.row(1)[0], 3);
}

TEST(Npy, StreamedArraysGetTheirLengthLast) {
  TemporaryFolder folder;
  NpyWriter writer(folder.path() / "s.npy", "<u4", {2});
  for (uint32_t i = 0; i < 6; ++i) writer.Write(&i, sizeof(i));
  writer.Close(3);
  const NpyArray array = NpyArray::Open(folder.path() / "s.npy");
  EXPECT_EQ(array.shape(), (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(Values<uint32_t>(array).back(), 5u);
}

TEST(Npy, DamagedAndHostileFilesAreRefused) {
  const std::string good = NpyBytes(Dict("<f4", "(3,)"), Raw<float>({1, 2, 3}));
  const std::vector<std::string> bad = {
      "",
      "\x93NUM",
      "PK\3\4 this is a zip file",
      good.substr(0, 9),
      good.substr(0, 40),
      good.substr(0, good.size() - 1),
      NpyBytes(Dict("<f4", "(3,)"), ""),
      NpyBytes(Dict("<f4", "(1000000000000,)"), "abcd"),
      NpyBytes(Dict("<f8", "(4294967296, 4294967296)"), "abcd"),
      NpyBytes(Dict("<f8", "(2305843009213693952,)"), "abcd"),
      NpyBytes(Dict("<f4", "(-1,)"), "abcd"),
      NpyBytes(Dict("<f4", "(99999999999999999999,)"), "abcd"),
      NpyBytes(Dict("<c8", "(1,)"), "abcdefgh"),
      NpyBytes(Dict("<f16", "(1,)"), std::string(16, 'x')),
      NpyBytes(Dict("|S0", "(1000000,)"), ""),
      NpyBytes(Dict("<i3", "(1,)"), "abc"),
      NpyBytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd"),
      NpyBytes("{'descr': '<f4', 'shape': (1,), }", "abcd"),
      NpyBytes("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "abcd"),
      NpyBytes("not a dict", "abcd"),
      NpyBytes(Dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "abcd"),
      NpyBytes(Dict("<f4", "(1,)"), "abcd", 9),
  };
  for (const std::string& bytes : bad) {
    EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { ParseText(bytes); }), "a.npy");
  }
}

// An array of Python objects has no bytes of its own for its elements: their number proves nothing.
TEST(Npy, ClaimedObjectsAreNotAllocatedFor) {
  const NpyArray array = ParseText(NpyBytes(Dict("|O", "(4000000000000,)"), ""));
  EXPECT_MENTIONS(ErrorOf(ErrorKind::kInput, [&] { array.AsStrings(); }), "a.npy");
}

}  // namespace
}  // namespace l2gcn
