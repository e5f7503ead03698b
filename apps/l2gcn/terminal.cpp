#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "l2gcn/error.h"

namespace l2gcn::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLiveInterval{100};
constexpr std::chrono::milliseconds kPlainInterval{3000};

std::string Duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.1f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

[[noreturn]] void ThrowUnwritable() {
  if (errno == EPIPE) {
    throw Error(ErrorKind::kRuntime, "standard output was closed before everything was written to it");
  }
  throw Error(ErrorKind::kRuntime, "standard output could not be written; is the disk it goes to full?");
}

// Columns of the terminal behind standard error; 0 where there is none that says so.
size_t TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Pieces of a line two blanks apart, as many from the front as fit in `columns` (0: all). Progress is ASCII.
std::string FitPieces(const std::string& line, size_t columns) {
  if (columns == 0 || line.size() < columns) return line;
  std::string fitted = line.substr(0, columns - 1);
  const size_t gap = fitted.rfind("  ");
  return gap == std::string::npos ? fitted : fitted.substr(0, gap);
}

// What matters most comes first: a narrow terminal shows only the first pieces.
std::string Describe(const Progress& progress) {
  std::string line = progress.parts.empty() ? progress.phase : progress.parts + "  " + progress.phase;
  if (progress.layer > 0) line += fmt::format(" layer {}/{}", progress.layer, progress.layers);
  if (progress.epochs > 0) line += fmt::format("  epoch {}/{}", progress.epoch, progress.epochs);
  if (progress.seconds_left > 0)
    line += fmt::format("  {}{} left", progress.at_most ? "at most " : "", Duration(progress.seconds_left));
  if (progress.validation_epoch > 0) line += fmt::format("  val F1 {}", Percent(progress.validation_f1));
  if (progress.epoch > 0) line += fmt::format("  loss {:.4f}", progress.loss);
  if (progress.stop_probability >= 0) line += fmt::format("  stop {:.2f}", progress.stop_probability);
  if (progress.nodes_per_second > 0)
    line += fmt::format("  {} nodes/s", Grouped(static_cast<uint64_t>(progress.nodes_per_second)));
  return line;
}

// Where nobody listens there is nothing to do about it.
void Write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::clearerr(stderr);
}

// Bytes of the UTF-8 character at the start of `text`; 0 if there is none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t count = lead < 0x80   ? 1
                       : lead < 0xC2 ? 0
                       : lead < 0xE0 ? 2
                       : lead < 0xF0 ? 3
                       : lead < 0xF5 ? 4
                                     : 0;
  if (count == 0 || count > text.size()) return 0;
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool beyond = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : count;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const size_t count = CharacterBytes(text);
    const bool low = lead < 0x20 && lead != '\n' && lead != '\t';
    const bool high = count == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;  // C1
    if (count == 0 || low || high || lead == 0x7F) {
      shown += fmt::format("\\x{:02x}", high ? static_cast<unsigned char>(text[1]) : lead);
    } else {
      shown += text.substr(0, count);
    }
    text.remove_prefix(count == 0 ? 1 : count);
  }
  return shown;
}

std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : Printable(text)) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else {
      line += c;
    }
  }
  return line;
}

Terminal::Terminal() : live_(isatty(STDERR_FILENO) != 0), last_shown_(Clock::now()) {}

void Terminal::ShowProgress(const Progress& progress) {
  if (quiet_ || mute_) return;
  const Clock::time_point now = Clock::now();
  const bool new_layer = progress.layer != shown_layer_ || progress.parts != shown_parts_;
  const bool layer_done = progress.epochs > 0 && progress.epoch == progress.epochs;
  if (live_) {
    if (!new_layer && !layer_done && now - last_shown_ < kLiveInterval) return;
    if (new_layer && shown_layer_ != 0) EndLiveLine();
    Write("\r\x1b[2K" + Printable(FitPieces(Describe(progress), TerminalColumns())));
    line_open_ = true;
  } else {
    if (now - last_shown_ < kPlainInterval) return;
    Write(Printable(Describe(progress)) + "\n");
  }
  std::fflush(stderr);
  shown_layer_ = progress.layer;
  shown_parts_ = progress.parts;
  last_shown_ = now;
}

void Terminal::EndLiveLine() {
  if (line_open_) Write("\n");
  line_open_ = false;
}

void Terminal::Note(const std::string& text) {
  if (quiet_) return;
  ShowAlways(text);
}

void Terminal::ShowAlways(const std::string& text) {
  if (mute_) return;
  EndLiveLine();
  Write(Printable(text) + "\n");
}

void Terminal::Print(const std::string& text) {
  if (mute_) return;
  EndLiveLine();
  const std::string shown = json_ ? text : Printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fputc('\n', stdout);
}

std::function<void(std::string_view)> Terminal::Sink() {
  EndLiveLine();
  return [shown = isatty(STDOUT_FILENO) != 0](std::string_view text) {
    const std::string safe = shown ? Printable(text) : std::string();
    if (shown) text = safe;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) ThrowUnwritable();
  };
}

void Terminal::Finish() {
  EndLiveLine();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) ThrowUnwritable();
}

std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string Percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.2f}", 100 * fraction) : std::string("–");
}

std::string Bytes(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

}  // namespace l2gcn::cli
