// What a training has told so far, as a file that others may read while it grows:
// RUN.unfinished/progress.jsonl.
//
//   {"event":"begin","dataset":…,"method":…,"runs":N,"started":seconds since 1970}
//   {"event":"seed","seed":S}
//   {"event":"progress","phase":…,"layer":…,"layers":…,"epoch":…,"epochs":…,"loss":…,"stop_probability":…,
//    "elapsed":seconds since the beginning,"left":seconds of this layer,"validation":[epoch, F1],
//    "losses":[[epoch, loss],…],"probabilities":[[epoch, p],…]}      what is new since the line before
//
// The file is a help for onlookers, not part of the run: it goes with the log, and with the folder if the log
// made that; a training goes on if it cannot be written.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "l2gcn/context.h"
#include "l2gcn/train.h"

namespace l2gcn {

class ProgressLog {
 public:
  // `run`: the directory that will hold the run.
  ProgressLog(const std::filesystem::path& run, const std::string& dataset, const std::string& method,
              uint32_t runs);
  ~ProgressLog();
  ProgressLog(const ProgressLog&) = delete;
  ProgressLog& operator=(const ProgressLog&) = delete;

  void BeginSeed(uint64_t seed);
  void Log(const Progress& progress);

 private:
  void Line(const std::string& text);

  std::filesystem::path path_;
  bool made_folder_ = false;
  std::FILE* file_ = nullptr;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  uint32_t layer_ = 0;
  uint32_t validated_ = 0;             // epoch of the last validation score that was written
  size_t losses_ = 0, decisions_ = 0;  // of that layer, written
};

}  // namespace l2gcn
