// Text files read by blocks of whole lines, or of whole records where cells may hold line breaks: plain, .gz
// or .zst, told apart by their first bytes.
//
// What is no text is refused at its beginning: UTF-16, zero bytes, a file called .gz or .zst that is neither,
// a pointer of Git LFS, tables in other formats (foreign_tables.h). A byte order mark is dropped, and a first
// line sep=; is made an empty one; in a file whose lines end in carriage returns alone these become line
// feeds.
//
// Any number of threads may call Next(); reading and unpacking happen one at a time inside it, parsing
// outside. A block carries its number and the offset of its first byte in the unpacked text, so that results
// can be put in order and an error can be traced to its line. Memory: one block a caller and one being
// filled, whatever the file's size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace l2gcn {

// Unpacked bytes of a file, front to back.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills up to `size` bytes; 0 only at the end. Throws Error(kInput) for damaged input.
  virtual size_t Read(char* to, size_t size) = 0;
  static std::unique_ptr<ByteStream> Open(const std::filesystem::path& path);
};

struct TextBlock {
  uint64_t number = 0;    // 0, 1, 2 … in file order
  uint64_t offset = 0;    // of the first byte in the unpacked text
  std::string text;       // whole lines; the last may lack its newline at the end of the file
  char separator = '\0';  // of the first block: declared by a first line sep=; as Excel writes it
};

class TextSource {
 public:
  static constexpr size_t kBlockBytes = size_t{4} << 20;
  static constexpr size_t kSniffBytes = size_t{1} << 18;  // a block to tell a file's layout by
  static constexpr size_t kLongestLine = size_t{256} << 20;

  explicit TextSource(const std::filesystem::path& path, size_t block_bytes = kBlockBytes);
  // Blocks of whole records: cells in quotes may hold line breaks. With `comments`, quotes on lines that
  // start with # or % open nothing.
  static TextSource OfRecords(const std::filesystem::path& path, char separator, bool comments);
  // The next block; false at the end. Safe to call from several threads.
  bool Next(TextBlock& block);
  const std::string& where() const { return where_; }

 private:
  struct RecordCut {
    char separator;
    bool comments;
  };
  TextSource(const std::filesystem::path& path, size_t block_bytes, std::optional<RecordCut> cut);
  void Inspect(std::string& text);  // the beginning of the file
  size_t Fill(std::string& text, size_t filled, size_t wanted);

  std::string where_;
  std::optional<RecordCut> cut_;
  bool lone_returns_ = false;  // lines end in CR alone
  char separator_ = '\0';      // declared by the file
  size_t block_bytes_;
  std::unique_ptr<ByteStream> stream_;
  std::mutex mutex_;
  std::string carry_;  // start of a line whose end is not read yet
  uint64_t number_ = 0, offset_ = 0;
  bool ended_ = false;
};

// All of a text file, unpacked; refuses more than `limit` bytes.
std::string ReadUnpacked(const std::filesystem::path& path, size_t limit);

// 1-based line of the unpacked text in which byte `offset` lies.
uint64_t LineOfOffset(const std::filesystem::path& path, uint64_t offset);

// The name without .gz or .zst.
std::filesystem::path WithoutCompression(const std::filesystem::path& path);

}  // namespace l2gcn
