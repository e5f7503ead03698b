// One TensorBoard event file: records of TensorFlow's framing (length, masked CRC-32C of it, bytes, masked
// CRC-32C of those) that hold Event messages of protocol buffers, encoded by hand.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace l2gcn {

// CRC-32C (Castagnoli), and TensorFlow's mask over it.
uint32_t Crc32c(std::string_view bytes);
uint32_t MaskedCrc32c(std::string_view bytes);

class EventFile {
 public:
  // Creates `directory`/events.out.tfevents.TIME.l2gcn. Throws Error(kRuntime).
  explicit EventFile(const std::filesystem::path& directory);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void AddScalar(const std::string& tag, int64_t step, double value);
  void AddHistogram(const std::string& tag, int64_t step, std::span<const float> values);
  // What was added can be read by others from here on.
  void Flush();
  const std::filesystem::path& path() const { return path_; }

 private:
  void AddEvent(const std::string& body, int64_t step);
  void AddRecord(const std::string& bytes);

  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace l2gcn
