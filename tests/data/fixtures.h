// Helpers shared by the tests of module data: a temporary folder, paths of real data, small arrays,
// expected errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "l2gcn/error.h"

namespace l2gcn {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "l2gcn-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// The folder of real data sets, or empty where it is absent.
inline std::filesystem::path RealData() {
  namespace fs = std::filesystem;
  if (const char* variable = std::getenv("L2GCN_DATA"))
    return fs::is_directory(variable) ? fs::path(variable) : fs::path();
  const fs::path beside = fs::path(L2GCN_SOURCE_DIR) / ".." / "shared" / "data";
  return fs::is_directory(beside) ? beside : fs::path();
}

#define L2GCN_NEEDS_REAL_DATA()    \
  if (::l2gcn::RealData().empty()) \
  GTEST_SKIP() << "no real data sets: set L2GCN_DATA or put them in ../shared/data beside the source"

// Runs `body`, which must fail with Error(kind); returns its message.
inline std::string ErrorOf(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

#define EXPECT_MENTIONS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

}  // namespace l2gcn
