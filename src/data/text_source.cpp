#include "data/text_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/foreign_tables.h"
#include "data/spellings.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kInputBytes = size_t{1} << 18;
constexpr size_t kInspectedBytes = 4096;  // in which no zero byte may stand

// Text that swells more than this many times past this many bytes is no table but a bomb.
constexpr uint64_t kTextBombRatio = 200;
constexpr uint64_t kTextBombBytes = uint64_t{256} << 20;

void RefuseBomb(const std::string& path, uint64_t packed, uint64_t unpacked) {
  if (unpacked <= kTextBombBytes || unpacked / kTextBombRatio <= packed) return;
  ThrowInput("{}: its first {} bytes unpack to {}; refused as a bomb (unpack it yourself if it is meant)",
             path, packed, unpacked);
}

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(const fs::path& path) : path_(path.string()) {
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) ThrowInput("{}: cannot open: {}", path_, std::strerror(errno));
    posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~PlainStream() override { close(descriptor_); }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  size_t Read(char* to, size_t size) override {
    for (;;) {
      const ssize_t got = read(descriptor_, to, size);
      if (got >= 0) {
        bytes_read_ += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR) ThrowInput("{}: cannot read: {}", path_, std::strerror(errno));
    }
  }
  const std::string& path() const { return path_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::string path_;
  uint64_t bytes_read_ = 0;
  int descriptor_ = -1;
};

// gzip, several members one after another included.
class GzipStream : public ByteStream {
 public:
  explicit GzipStream(const fs::path& path) : input_(path), buffer_(kInputBytes) {
    if (inflateInit2(&state_, 15 + 16) != Z_OK) ThrowRuntime("{}: cannot start unpacking", input_.path());
  }
  ~GzipStream() override { inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t Read(char* to, size_t size) override {
    state_.next_out = reinterpret_cast<Bytef*>(to);
    state_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    const uInt wanted = state_.avail_out;
    while (state_.avail_out == wanted && wanted > 0) {
      if (state_.avail_in == 0) {
        state_.next_in = buffer_.data();
        state_.avail_in =
            static_cast<uInt>(input_.Read(reinterpret_cast<char*>(buffer_.data()), buffer_.size()));
        if (state_.avail_in == 0) {
          if (inside_) ThrowInput("{}: the gzip file is truncated", input_.path());
          return 0;
        }
      }
      if (!inside_) {
        inflateReset(&state_);
        inside_ = true;
      }
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inside_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        ThrowInput("{}: damaged gzip data: {}", input_.path(),
                   state_.msg != nullptr ? state_.msg : "unknown");
      }
    }
    const size_t got = wanted - state_.avail_out;
    unpacked_ += got;
    RefuseBomb(input_.path(), input_.bytes_read(), unpacked_);
    return got;
  }

 private:
  PlainStream input_;
  std::vector<Bytef> buffer_;
  z_stream state_{};
  uint64_t unpacked_ = 0;
  bool inside_ = false;  // a member has begun and not ended
};

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(const fs::path& path)
      : input_(path), buffer_(kInputBytes), state_(ZSTD_createDStream(), ZSTD_freeDStream) {
    // Frames that ask for a window beyond 128 MiB are refused by the library: memory stays bounded.
    ZSTD_initDStream(state_.get());
  }

  size_t Read(char* to, size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0 && size > 0) {
      if (in_.pos == in_.size) {
        in_ = {buffer_.data(), input_.Read(buffer_.data(), buffer_.size()), 0};
        if (in_.size == 0) {
          if (inside_) ThrowInput("{}: the zstd file is truncated", input_.path());
          return 0;
        }
      }
      const size_t result = ZSTD_decompressStream(state_.get(), &out, &in_);
      if (ZSTD_isError(result) != 0)
        ThrowInput("{}: damaged zstd data: {}", input_.path(), ZSTD_getErrorName(result));
      inside_ = result != 0;
    }
    unpacked_ += out.pos;
    RefuseBomb(input_.path(), input_.bytes_read(), unpacked_);
    return out.pos;
  }

 private:
  PlainStream input_;
  std::vector<char> buffer_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> state_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  uint64_t unpacked_ = 0;
  bool inside_ = false;
};

// Excel's first line sep=; names the separator, perhaps in quotes. Returns it and takes the line's text away, but not
// its end, so that lines keep their numbers; '\0' where there is no such line.
char TakeDeclaredSeparator(std::string& text) {
  const size_t end = std::min(text.find_first_of("\r\n"), text.size());
  std::string_view line = std::string_view(text).substr(0, end);
  if (line.size() == 7 && line.front() == '"' && line.back() == '"') line = line.substr(1, 5);
  if (line.size() != 5 || !EqualsIgnoringCase(line.substr(0, 4), "sep=")) return '\0';
  const char separator = line[4];
  if (std::string_view("\t,;| :^~").find(separator) == std::string_view::npos) return '\0';
  text.erase(0, end);
  return separator;
}

}  // namespace

std::unique_ptr<ByteStream> ByteStream::Open(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) ThrowInput("{}: cannot open: no such file", path.string());
  char magic[4] = {};
  const size_t got = PlainStream(path).Read(magic, sizeof(magic));
  const std::string_view start(magic, got);
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipStream>(path);
  if (start == "\x28\xb5\x2f\xfd") return std::make_unique<ZstdStream>(path);
  const std::string extension = path.extension().string();
  if (extension == ".gz" || extension == ".zst") {
    ThrowInput(
        "{}: is called {} but does not begin like one; the file is damaged, or was unpacked and not renamed",
        path.string(), extension);
  }
  return std::make_unique<PlainStream>(path);
}

TextSource::TextSource(const fs::path& path, size_t block_bytes)
    : TextSource(path, block_bytes, std::nullopt) {}

TextSource TextSource::OfRecords(const fs::path& path, char separator, bool comments) {
  return {path, kBlockBytes, RecordCut{separator, comments}};
}

TextSource::TextSource(const fs::path& path, size_t block_bytes, std::optional<RecordCut> cut)
    : where_(path.string()), cut_(cut), stream_(ByteStream::Open(path)) {
  // A small file needs no large block, even if it unpacks to several times its size.
  std::error_code ignored;
  block_bytes_ =
      static_cast<size_t>(std::min<uint64_t>(block_bytes, 4 * fs::file_size(path, ignored) + 4096));
}

// Looks at the first bytes of the text and drops a byte order mark.
void TextSource::Inspect(std::string& text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    ThrowInput("{}: is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)", where_);
  }
  if (text.starts_with("version https://git-lfs")) {
    ThrowInput("{}: is a pointer of Git LFS, not the file itself; fetch it with git lfs pull", where_);
  }
  RefuseForeignTable(where_, text);
  if (const size_t zero = text.substr(0, kInspectedBytes).find('\0'); zero != std::string::npos) {
    ThrowInput("{}: holds a zero byte at {}: it is no text, or UTF-16; expected UTF-8", where_, zero);
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  separator_ = TakeDeclaredSeparator(text);
  lone_returns_ = text.find('\r') != std::string::npos && text.find('\n') == std::string::npos;
}

// Reads until `wanted` bytes stand in `text`, of which `filled` do already; returns how many then do.
size_t TextSource::Fill(std::string& text, size_t filled, size_t wanted) {
  const size_t before = filled;
  text.resize(wanted);
  while (filled < wanted) {
    const size_t got = stream_->Read(text.data() + filled, wanted - filled);
    if (got == 0) {
      ended_ = true;
      break;
    }
    filled += got;
  }
  text.resize(filled);
  if (number_ == 0 && before == 0) Inspect(text);
  if (lone_returns_) {
    std::replace(text.begin() + static_cast<ptrdiff_t>(std::min(before, text.size())), text.end(), '\r',
                 '\n');
  }
  return text.size();
}

bool TextSource::Next(TextBlock& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended_ && carry_.empty()) return false;
  block.text.swap(carry_);
  carry_.clear();
  size_t filled = block.text.size();
  size_t cut = std::string::npos;  // behind the last whole line or record
  // A line that is longer than a block is looked at again from its start each time more of it is read. Reading as much
  // again as there is keeps the time linear in its length.
  for (size_t more = block_bytes_ / 2; !ended_; more = filled) {
    filled = Fill(block.text, filled, std::max(block_bytes_, filled + more));
    if (cut_) {
      cut = LastRecordEnd(block.text, cut_->separator, cut_->comments);
    } else if (const size_t newline = block.text.rfind('\n'); newline != std::string::npos) {
      cut = newline + 1;
    }
    if (cut != std::string::npos) break;
    if (filled > kLongestLine) {
      ThrowInput("{}: the {} at byte {} is longer than {} MiB; this is no text table{}", where_,
                 cut_ ? "record" : "line", offset_, kLongestLine >> 20,
                 cut_ ? ", or a quote is opened there and never closed" : "");
    }
  }
  if (!ended_) {
    carry_.assign(block.text, cut, std::string::npos);
    block.text.resize(cut);
  }
  block.separator = number_ == 0 ? separator_ : '\0';
  block.number = number_++;
  block.offset = offset_;
  offset_ += block.text.size();
  return !block.text.empty();
}

std::string ReadUnpacked(const fs::path& path, size_t limit) {
  const std::unique_ptr<ByteStream> stream = ByteStream::Open(path);
  std::string text;
  size_t filled = 0;
  for (;;) {
    text.resize(std::min(limit + 1, std::max(filled * 2, size_t{1} << 16)));
    const size_t got = stream->Read(text.data() + filled, text.size() - filled);
    filled += got;
    if (filled > limit) ThrowInput("{}: more than {} bytes once unpacked; refused", path.string(), limit);
    if (got == 0) break;
  }
  text.resize(filled);
  return text;
}

uint64_t LineOfOffset(const fs::path& path, uint64_t offset) {
  TextSource source(path);
  TextBlock block;
  uint64_t line = 1;
  while (source.Next(block) && block.offset <= offset) {
    const size_t end = std::min<uint64_t>(block.text.size(), offset - block.offset);
    line += static_cast<uint64_t>(
        std::count(block.text.begin(), block.text.begin() + static_cast<ptrdiff_t>(end), '\n'));
  }
  return line;
}

fs::path WithoutCompression(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".gz" || extension == ".zst" ? path.parent_path() / path.stem() : path;
}

}  // namespace l2gcn
