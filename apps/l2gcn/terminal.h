// Output to the user: results on standard output; progress, notes and warnings on standard error.
//
// Progress is one live line per layer on a terminal, a plain line at most every few seconds elsewhere, and
// nothing under --quiet. With --json standard output carries exactly one JSON object. Standard error that cannot
// be written never stops the work. Names come from files: what would steer a terminal is shown as \\xNN.
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
  void set_json(bool json) { json_ = json; }  // results are JSON, which has its own escapes

  // From here on nothing is shown or printed: another process of the same job does it.
  void set_mute() { mute_ = true; }

  void ShowProgress(const Progress& progress);
  void Note(const std::string& text);        // silent under --quiet
  void ShowAlways(const std::string& text);  // warnings and errors: always shown
  void Print(const std::string& text);       // a result, on standard output; a newline is added
  // Takes a result line by line, for tables too long to hold: exact, but for what would steer a terminal; throws Error(kRuntime) once it cannot be written.
  std::function<void(std::string_view)> Sink();
  // Ends a live line and flushes; throws Error(kRuntime) if standard output could not be written.
  void Finish();

 private:
  void EndLiveLine();

  const bool live_;  // standard error is a terminal
  bool quiet_ = false;
  bool json_ = false;
  bool mute_ = false;
  bool line_open_ = false;
  uint32_t shown_layer_ = 0;
  std::string shown_parts_;
  std::chrono::steady_clock::time_point last_shown_;
};

// Text that is safe to show: valid UTF-8, and no control character but line break and tab; others as \xNN.
std::string Printable(std::string_view text);

// The same on one line: line breaks and tabs as \n and \t. For names in tables.
std::string OneLine(std::string_view text);

// 1234567 → "1,234,567"; 0.8456 → "84.56"; bytes → "12.3 MiB".
std::string Grouped(uint64_t number);
std::string Percent(double fraction);
std::string Bytes(uint64_t bytes);

}  // namespace l2gcn::cli
