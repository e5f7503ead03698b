// Starting the l2gcn program in a folder of its own and looking at what comes out.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace l2gcn {

struct Outcome {
  int status = -1;  // exit status; 128 + signal if one ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct Launch {
  std::string out_to;       // standard output goes to this file; "": it is collected
  uint64_t file_limit = 0;  // bytes a written file may have, as if the disk were full; 0: no limit
  bool interrupt = false;   // Ctrl-C once it is at work
  bool terminal = false;    // standard error is a terminal of 160 columns
};

// A fixture with an empty folder in which the program runs; gone afterwards.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  Outcome Run(const std::vector<std::string>& arguments, const Launch& launch = {}) const;
  // A shell script in the folder, where $L2GCN is the program.
  Outcome Shell(const std::string& script) const;
  // Runs and expects success.
  Outcome RunWell(const std::vector<std::string>& arguments) const;
  // A small data set with 7 classes at FOLDER/small; trains in well under a second.
  void MakeSmallSet() const;

  std::string Read(const std::string& name) const;
  // Names of everything in a folder, hidden files too, sorted.
  std::vector<std::string> List(const std::string& name = ".") const;

  std::filesystem::path folder_;

 private:
  Outcome Execute(std::vector<std::string> words, const Launch& launch) const;
};

}  // namespace l2gcn
