// Zip archives (.npz): members found through the central directory, stored ones used in place, deflated ones
// unpacked whole. zip64 is understood.
//
// Guarantees: nothing is unpacked until asked for; sizes are believed only within the file and within what
// deflate can reach (1032 : 1); a member that would swell more than 200-fold past 4 GiB, or in memory past what the
// machine has, is refused as a bomb; the checksum of every member that is read is compared. Where there is a budget, large
// members are unpacked into scratch, and the pages of archive and members stay resident only as far as the budget allows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/disk_memory.h"
#include "core/files.h"

namespace l2gcn {

struct ZipMember {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t packed = 0, unpacked = 0;
  uint64_t header_at = 0;  // of the local header
};

// Bytes and who keeps them alive.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

class ZipArchive {
 public:
  static bool LooksLikeZip(std::span<const uint8_t> bytes);
  // Members that take more than an eighth of the context's budget are unpacked into its scratch folder.
  static ZipArchive Open(const Context& context, const std::filesystem::path& path);
  static ZipArchive Parse(SharedBytes file, std::string where);

  const std::vector<ZipMember>& members() const { return members_; }
  const ZipMember* Find(const std::string& name) const;  // the last of that name; nullptr if there is none
  SharedBytes Read(const ZipMember& member) const;
  const std::string& where() const { return where_; }

 private:
  void ReadDirectory();
  std::span<const uint8_t> Packed(const ZipMember& member) const;
  std::shared_ptr<void> MemoryFor(const ZipMember& member) const;
  bool GoesToScratch(const ZipMember& member) const;
  SharedBytes file_;
  std::shared_ptr<DiskMemory> disk_;  // null without a budget, or where all is small beside it
  std::string where_;
  std::vector<ZipMember> members_;
};

}  // namespace l2gcn
