#include "data/zip.h"

#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/array.h"
#include "l2gcn/context.h"

namespace l2gcn {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kDeflateLimit = 1032;  // no deflate stream unpacks to more than this many times its size
constexpr uint64_t kBombRatio = 200;
constexpr uint64_t kBombBytes = uint64_t{4} << 30;
constexpr uint64_t kBudgetShare = 8;  // what takes more than this part of the budget goes to scratch

uint64_t Little(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

// Sizes of zip64 replace those fields of the central header that are all ones, in this order.
void ReadZip64Extra(std::span<const uint8_t> extra, ZipMember& member) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const auto id = Little(extra, at, 2);
    const size_t size = Little(extra, at + 2, 2);
    if (size > extra.size() - at - 4) return;
    if (id == 1) {
      std::span<const uint8_t> fields = extra.subspan(at + 4, size);
      for (uint64_t* field : {&member.unpacked, &member.packed, &member.header_at}) {
        if (*field != 0xFFFFFFFF || fields.size() < 8) continue;
        *field = Little(fields, 0, 8);
        fields = fields.subspan(8);
      }
      return;
    }
    at += 4 + size;
  }
}

uint64_t MachineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

bool ZipArchive::LooksLikeZip(std::span<const uint8_t> bytes) {
  return bytes.size() >= kEndBytes && (Little(bytes, 0, 4) == kLocalHeader || Little(bytes, 0, 4) == kEnd);
}

ZipArchive ZipArchive::Open(const Context& context, const std::filesystem::path& path) {
  const auto file = MappedFile::Open(path);
  ZipArchive archive = Parse({file, file->bytes()}, path.string());
  uint64_t most = archive.file_.bytes.size();
  for (const ZipMember& member : archive.members_) most = std::max(most, member.unpacked);
  if (context.host_memory == 0 || most <= context.host_memory / kBudgetShare) return archive;
  archive.disk_ = std::make_shared<DiskMemory>(context.host_memory, ScratchDirectory(context));
  archive.disk_->Watch(
      Array<uint8_t>::Borrow(archive.file_.owner, archive.file_.bytes.data(), archive.file_.bytes.size()));
  return archive;
}

ZipArchive ZipArchive::Parse(SharedBytes file, std::string where) {
  ZipArchive archive;
  archive.file_ = std::move(file);
  archive.where_ = std::move(where);
  archive.ReadDirectory();
  return archive;
}

void ZipArchive::ReadDirectory() {
  const std::span<const uint8_t> bytes = file_.bytes;
  if (!LooksLikeZip(bytes)) ThrowInput("{}: no zip archive (.npz)", where_);
  // The end record is followed by a comment of at most 65,535 bytes.
  size_t end = bytes.size() - kEndBytes;
  const size_t lowest = end > 65535 ? end - 65535 : 0;
  while (end > lowest && Little(bytes, end, 4) != kEnd) --end;
  if (Little(bytes, end, 4) != kEnd)
    ThrowInput("{}: its directory is missing; the archive is truncated", where_);
  uint64_t count = Little(bytes, end + 10, 2), size = Little(bytes, end + 12, 4),
           start = Little(bytes, end + 16, 4);
  if (end >= kLocatorBytes && Little(bytes, end - kLocatorBytes, 4) == kEnd64Locator) {
    const uint64_t end64 = Little(bytes, end - kLocatorBytes + 8, 8);
    if (end64 > bytes.size() || bytes.size() - end64 < kEnd64Bytes || Little(bytes, end64, 4) != kEnd64) {
      ThrowInput("{}: its zip64 directory is damaged", where_);
    }
    count = Little(bytes, end64 + 32, 8);
    size = Little(bytes, end64 + 40, 8);
    start = Little(bytes, end64 + 48, 8);
  }
  if (start > bytes.size() || size > bytes.size() - start || count > size / kCentralBytes) {
    ThrowInput("{}: its directory of {} members lies outside the file", where_, count);
  }
  const std::span<const uint8_t> directory = bytes.subspan(start, size);
  size_t at = 0;
  for (uint64_t k = 0; k < count; ++k) {
    if (directory.size() - at < kCentralBytes || Little(directory, at, 4) != kCentralHeader) {
      ThrowInput("{}: its directory is damaged at member {}", where_, k);
    }
    const size_t name = Little(directory, at + 28, 2), extra = Little(directory, at + 30, 2);
    const size_t comment = Little(directory, at + 32, 2);
    if (directory.size() - at - kCentralBytes < name + extra + comment) {
      ThrowInput("{}: its directory is damaged at member {}", where_, k);
    }
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(directory.data()) + at + kCentralBytes, name);
    member.method = static_cast<uint16_t>(Little(directory, at + 10, 2));
    member.crc = static_cast<uint32_t>(Little(directory, at + 16, 4));
    member.packed = Little(directory, at + 20, 4);
    member.unpacked = Little(directory, at + 24, 4);
    member.header_at = Little(directory, at + 42, 4);
    ReadZip64Extra(directory.subspan(at + kCentralBytes + name, extra), member);
    if ((Little(directory, at + 8, 2) & 1) != 0) ThrowInput("{}: {} is encrypted", where_, member.name);
    members_.push_back(std::move(member));
    at += kCentralBytes + name + extra + comment;
  }
}

const ZipMember* ZipArchive::Find(const std::string& name) const {
  // Where several members have one name the last counts, as in Python.
  const auto found = std::find_if(members_.rbegin(), members_.rend(),
                                  [&](const ZipMember& member) { return member.name == name; });
  return found == members_.rend() ? nullptr : &*found;
}

std::span<const uint8_t> ZipArchive::Packed(const ZipMember& member) const {
  const std::span<const uint8_t> bytes = file_.bytes;
  if (member.header_at > bytes.size() || bytes.size() - member.header_at < kLocalBytes ||
      Little(bytes, member.header_at, 4) != kLocalHeader) {
    ThrowInput("{}: member {} is not where the directory says", where_, member.name);
  }
  const uint64_t start = member.header_at + kLocalBytes + Little(bytes, member.header_at + 26, 2) +
                         Little(bytes, member.header_at + 28, 2);
  if (start > bytes.size() || member.packed > bytes.size() - start) {
    ThrowInput("{}: member {} claims {} bytes, more than the file holds; the archive is truncated", where_,
               member.name, member.packed);
  }
  return bytes.subspan(start, member.packed);
}

bool ZipArchive::GoesToScratch(const ZipMember& member) const {
  return disk_ != nullptr && member.unpacked > disk_->budget() / kBudgetShare;
}

std::shared_ptr<void> ZipArchive::MemoryFor(const ZipMember& member) const {
  return GoesToScratch(member) ? disk_->NewBlock(member.unpacked)
                               : AllocateAligned(std::max<uint64_t>(1, member.unpacked));
}

SharedBytes ZipArchive::Read(const ZipMember& member) const {
  const std::span<const uint8_t> packed = Packed(member);
  if (member.method == 0) {
    if (member.packed != member.unpacked || libdeflate_crc32(0, packed.data(), packed.size()) != member.crc) {
      ThrowInput("{}: member {} is damaged: it does not agree with its checksum", where_, member.name);
    }
    return {file_.owner, packed};
  }
  if (member.method != 8) {
    ThrowInput("{}: member {} is packed by method {}; expected stored or deflated", where_, member.name,
               member.method);
  }
  const uint64_t reach = packed.size() * kDeflateLimit + 64;
  const bool bomb = member.unpacked > kBombBytes && member.unpacked / kBombRatio > packed.size();
  const bool too_large = !GoesToScratch(member) && member.unpacked > MachineMemory();
  if (member.unpacked > reach || bomb || too_large) {
    ThrowInput("{}: member {} claims to unpack from {} to {} bytes; refused as a zip bomb", where_,
               member.name, packed.size(), member.unpacked);
  }
  std::shared_ptr<void> memory = MemoryFor(member);
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> inflater(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  size_t unpacked = 0;
  const libdeflate_result result = libdeflate_deflate_decompress(inflater.get(), packed.data(), packed.size(),
                                                                 memory.get(), member.unpacked, &unpacked);
  if (result != LIBDEFLATE_SUCCESS || unpacked != member.unpacked ||
      libdeflate_crc32(0, memory.get(), unpacked) != member.crc) {
    ThrowInput("{}: member {} is damaged: it does not unpack to its {} bytes and checksum", where_,
               member.name, member.unpacked);
  }
  const auto* data = static_cast<const uint8_t*>(memory.get());
  return {std::move(memory), {data, member.unpacked}};
}

}  // namespace l2gcn
