#include "model/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/files.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("l2gcn-st-" + std::to_string(getpid()) + ".safetensors");
  }
  void TearDown() override { fs::remove(path_); }
  void WriteSample() {
    WriteSafetensors(path_,
                     {{"a", {2, 3}, Array<float>::CopyOf(std::vector<float>{1, 2, 3, 4, 5, 6})},
                      {"b", {1}, Array<float>::CopyOf(std::vector<float>{7})}},
                     {{"format", "x"}});
  }
  // Rewrites the file with `edit` applied to its bytes and expects a clear refusal.
  template <class Edit>
  void ExpectRefused(const Edit& edit, const std::string& expected_word) {
    WriteSample();
    std::string bytes = ReadTextFile(path_);
    edit(bytes);
    WriteFileWhole(path_, bytes);
    EXPECT_THROW(ReadSafetensors(path_), Error);
    const size_t sum = bytes.find("\"checksum\"");  // which would refuse most of it: files of old have none
    if (sum != std::string::npos) bytes.replace(sum, 10, "\"unsummed\"");
    WriteFileWhole(path_, bytes);
    try {
      ReadSafetensors(path_);
      FAIL() << "accepted; expected: " << expected_word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_NE(std::string(error.what()).find(expected_word), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path_.filename().string()), std::string::npos);
    }
  }
  fs::path path_;
};

TEST_F(SafetensorsTest, RoundTrip) {
  WriteSample();
  const Safetensors file = ReadSafetensors(path_);
  const Matrix a = file.TakeMatrix("a");
  EXPECT_EQ(a.rows, 2u);
  EXPECT_EQ(a.row(1)[2], 6);
  EXPECT_EQ(file.TakeVector("b")[0], 7);
  EXPECT_EQ(file.metadata.at("format"), "x");
  EXPECT_THROW(file.TakeMatrix("b"), Error);
  EXPECT_THROW(file.TakeMatrix("absent"), Error);
}

TEST_F(SafetensorsTest, DamageIsRefused) {
  ExpectRefused([](std::string& b) { b.resize(b.size() - 4); }, "cut short");
  ExpectRefused([](std::string& b) { b.resize(5); }, "too short");
  ExpectRefused([](std::string& b) { b[6] = 0x7f; }, "header");
  ExpectRefused([](std::string& b) { b[8] = '?'; }, "header");
  ExpectRefused([](std::string& b) { b.replace(b.find("F32"), 3, "I32"); }, "F32");
  ExpectRefused([](std::string& b) { b.replace(b.find("[2,3]"), 5, "[2,4]"); }, "damaged");
  ExpectRefused([](std::string& b) { b.replace(b.find("[2,3]"), 5, "[2,-"); }, "header");
}

}  // namespace
}  // namespace l2gcn
