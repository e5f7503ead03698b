#include "report/tensorboard/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/error_format.h"

namespace l2gcn {
namespace {

constexpr std::array<uint32_t, 256> CastagnoliTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0x82F63B78u : value >> 1;
    table[i] = value;
  }
  return table;
}

double SecondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Fields of a message of protocol buffers: (number << 3 | wire type), then the value.
void PutVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void PutLittle(uint64_t bits, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(bits >> (8 * i));
}
void PutInteger(uint32_t field, int64_t value, std::string& out) {
  PutVarint(field << 3, out);
  PutVarint(static_cast<uint64_t>(value), out);
}
void PutDouble(uint32_t field, double value, std::string& out) {
  PutVarint(field << 3 | 1, out);
  PutLittle(std::bit_cast<uint64_t>(value), 8, out);
}
void PutFloat(uint32_t field, float value, std::string& out) {
  PutVarint(field << 3 | 5, out);
  PutLittle(std::bit_cast<uint32_t>(value), 4, out);
}
void PutBytes(uint32_t field, std::string_view bytes, std::string& out) {
  PutVarint(field << 3 | 2, out);
  PutVarint(bytes.size(), out);
  out += bytes;
}
void PutDoubles(uint32_t field, const std::vector<double>& values, std::string& out) {
  std::string packed;
  for (const double value : values) PutLittle(std::bit_cast<uint64_t>(value), 8, packed);
  PutBytes(field, packed, out);
}

// Summary { value { tag, content } }: fields 1 of both.
std::string SummaryOf(const std::string& tag, const std::string& content) {
  std::string value, summary;
  PutBytes(1, tag, value);
  value += content;
  PutBytes(1, value, summary);
  return summary;
}

// HistogramProto with 40 equal buckets from least to most.
std::string HistogramOf(std::span<const float> values) {
  constexpr size_t kBuckets = 40;
  double least = 0, most = 0, sum = 0, squares = 0, count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = count == 0 ? value : std::min<double>(least, value);
    most = count == 0 ? value : std::max<double>(most, value);
    sum += value, squares += double{value} * value, ++count;
  }
  const double width = most > least ? (most - least) / kBuckets : 1;
  std::vector<double> limits(kBuckets), counts(kBuckets, 0.0);
  for (size_t b = 0; b < kBuckets; ++b)
    limits[b] = b + 1 == kBuckets && most > least ? most : least + width * static_cast<double>(b + 1);
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto bucket = static_cast<size_t>(std::clamp((value - least) / width, 0.0, kBuckets - 1.0));
    ++counts[bucket];
  }
  std::string out;
  PutDouble(1, least, out);
  PutDouble(2, most, out);
  PutDouble(3, count, out);
  PutDouble(4, sum, out);
  PutDouble(5, squares, out);
  PutDoubles(6, limits, out);
  PutDoubles(7, counts, out);
  return out;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = CastagnoliTable();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

uint32_t MaskedCrc32c(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8u; }

EventFile::EventFile(const std::filesystem::path& directory) {
  const auto stamp = static_cast<int64_t>(SecondsSinceEpoch());
  // "wx": never into a file that is there; two runs in one second get different names.
  for (int number = 0; file_ == nullptr; ++number) {
    path_ = directory / fmt::format("events.out.tfevents.{}.{}.l2gcn", stamp, number);
    file_ = std::fopen(path_.c_str(), "wbx");
    if (file_ == nullptr && errno != EEXIST)
      ThrowRuntime("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  }
  std::string version;
  PutBytes(3, "brain.Event:2", version);
  AddEvent(version, 0);
  Flush();
}

EventFile::~EventFile() { std::fclose(file_); }

void EventFile::AddScalar(const std::string& tag, int64_t step, double value) {
  std::string content, body;
  PutFloat(2, static_cast<float>(value), content);
  PutBytes(5, SummaryOf(tag, content), body);
  AddEvent(body, step);
}

void EventFile::AddHistogram(const std::string& tag, int64_t step, std::span<const float> values) {
  std::string content, body;
  PutBytes(5, HistogramOf(values), content);
  PutBytes(5, SummaryOf(tag, content), body);
  AddEvent(body, step);
}

void EventFile::AddEvent(const std::string& body, int64_t step) {
  std::string event;
  PutDouble(1, SecondsSinceEpoch(), event);
  PutInteger(2, step, event);
  AddRecord(event + body);
}

void EventFile::AddRecord(const std::string& bytes) {
  std::string record;
  PutLittle(bytes.size(), 8, record);
  PutLittle(MaskedCrc32c(record), 4, record);
  record += bytes;
  PutLittle(MaskedCrc32c(bytes), 4, record);
  if (std::fwrite(record.data(), 1, record.size(), file_) != record.size()) {
    ThrowRuntime("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  }
}

void EventFile::Flush() {
  if (std::fflush(file_) != 0)
    ThrowRuntime("{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

}  // namespace l2gcn
