// What the user sees: results on standard output; progress, notes and warnings on standard error.
//
// Progress is one live line per layer on a terminal, a plain line at most every few seconds elsewhere, and
// nothing under --quiet. With --json standard output carries exactly one JSON object.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "l2gcn/context.h"

namespace l2gcn::cli {

class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void set_quiet(bool quiet) { quiet_ = quiet; }

  void ShowProgress(const Progress& progress);
  void Note(const std::string& text);        // silent under --quiet
  void ShowAlways(const std::string& text);  // warnings and errors: always shown
  void Print(const std::string& text);       // a result, on standard output; a newline is added
  // Takes a result bit by bit, for tables too long to hold; throws Error(kRuntime) once it cannot be written.
  std::function<void(std::string_view)> Sink();
  // Ends a live line and flushes; throws Error(kRuntime) if standard output could not be written.
  void Finish();

 private:
  void EndLiveLine();

  const bool live_;  // standard error is a terminal
  bool quiet_ = false;
  bool line_open_ = false;
  uint32_t shown_layer_ = 0;
  std::chrono::steady_clock::time_point last_shown_;
};

// 1234567 → "1,234,567"; 0.8456 → "84.56"; bytes → "12.3 MiB".
std::string Grouped(uint64_t number);
std::string Percent(double fraction);
std::string Bytes(uint64_t bytes);

}  // namespace l2gcn::cli
