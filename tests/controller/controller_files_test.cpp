#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "controller/controller_impl.h"
#include "core/files.h"
#include "l2gcn/controller.h"
#include "l2gcn/error.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class ControllerFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (fs::temp_directory_path() / ("l2gcn-controller-" + std::to_string(getpid()) + ".safetensors"))
                .string();
  }
  void TearDown() override { fs::remove(path_); }
  void ExpectRefused(const std::string& from, const std::string& to, const std::string& word,
                     const char* kind = "general") {
    Controller::Shipped(kind).Save(path_);
    std::string bytes = ReadTextFile(path_);
    const size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    ASSERT_EQ(from.size(), to.size());
    bytes.replace(at, from.size(), to);
    WriteFileWhole(path_, bytes);
    EXPECT_THROW(Controller::Load(path_), Error) << "the checksum alone should refuse it";
    bytes.replace(bytes.find("\"checksum\""), 10,
                  "\"unsummed\"");  // as files were before there were checksums
    WriteFileWhole(path_, bytes);
    try {
      Controller::Load(path_);
      FAIL() << "accepted " << to;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
  std::string path_;
};

TEST_F(ControllerFilesTest, ShippedControllersLoadAndRoundTrip) {
  for (const std::string kind : {"general", "general-loss", "paper"}) {
    const Controller shipped = Controller::Shipped(kind);
    EXPECT_EQ(shipped.impl().kind,
              kind == "paper" ? SearchConfig::Kind::kPaper : SearchConfig::Kind::kGeneral);
    EXPECT_EQ(shipped.impl().SeesValidation(), kind == "general");
    EXPECT_GT(shipped.impl().rounds, 0u);
    shipped.Save(path_);
    const Controller loaded = Controller::Load(path_);
    EXPECT_EQ(loaded.impl().net.weights(), shipped.impl().net.weights());
    EXPECT_EQ(loaded.impl().threshold, shipped.impl().threshold);
    EXPECT_EQ(loaded.DescribeJson(), shipped.DescribeJson());
  }
}

TEST_F(ControllerFilesTest, BadFilesAreRefused) {
  ExpectRefused("\"version\":\"1\"", "\"version\":\"7\"", "version 7");
  ExpectRefused("\"version\":\"1\"", "\"version\":\"x\"", "version");
  ExpectRefused("l2gcn-controller", "other-controller", "not a controller");
  ExpectRefused("\\\"decoders\\\":1", "\\\"decoders\\\":2", "cannot be");
  ExpectRefused("\\\"kind\\\":\\\"general\\\"", "\\\"kind\\\":\\\"generic\\\"", "unknown kind");
  ExpectRefused("\\\"embeddings\\\":40", "\\\"embeddings\\\":00", "controller", "paper");
  ExpectRefused("\\\"embeddings\\\":40", "\\\"embeddings\\\":0 ", "cannot be", "paper");
  Controller::Shipped("general").Save(path_);
  const std::string bytes = ReadTextFile(path_);
  WriteFileWhole(path_, bytes.substr(0, bytes.size() - 8));
  EXPECT_THROW(Controller::Load(path_), Error);
  EXPECT_THROW(Controller::Load(path_ + ".absent"), Error);
}

}  // namespace
}  // namespace l2gcn
