#include "data/torch_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "core/error_format.h"
#include "data/zip.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// How the form before torch 1.6 begins: a pickle of its magic number.
constexpr uint8_t kOldTorch[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
constexpr std::string_view kTorchPickle = "/data.pkl";

}  // namespace

Pickle ReadTorchFile(const fs::path& path) {
  const auto file = MappedFile::Open(path);
  const std::span<const uint8_t> bytes = file->bytes();
  if (bytes.size() >= sizeof(kOldTorch) && std::memcmp(bytes.data(), kOldTorch, sizeof(kOldTorch)) == 0) {
    ThrowInput(
        "{}: was saved in torch's form before version 1.6; load and save it again with a newer torch, or "
        "give a "
        ".csv file of node numbers",
        path.string());
  }
  if (!ZipArchive::LooksLikeZip(bytes)) ThrowInput("{}: is not a file that torch.save wrote", path.string());
  const auto archive = std::make_shared<ZipArchive>(ZipArchive::Parse({file, bytes}, path.string()));
  const auto& members = archive->members();
  const auto pickle = std::find_if(members.begin(), members.end(), [](const ZipMember& member) {
    return member.name.ends_with(kTorchPickle);
  });
  if (pickle == members.end())
    ThrowInput("{}: has no data.pkl; it is not a file that torch.save wrote", path.string());
  const std::string folder = pickle->name.substr(0, pickle->name.size() - kTorchPickle.size());
  PickleStorages storages;
  if (const ZipMember* order = archive->Find(folder + "/byteorder")) {
    const SharedBytes text = archive->Read(*order);
    storages.big_endian =
        std::string_view(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()) == "big";
  }
  // Each is unpacked once, however often the pickle names it.
  const auto read = std::make_shared<std::map<std::string, SharedBytes>>();
  storages.find = [archive, folder, read](const std::string& key) {
    if (const auto found = read->find(key); found != read->end()) return found->second;
    const ZipMember* member = archive->Find(folder + "/data/" + key);
    if (member == nullptr) ThrowInput("{}: has no elements '{}'", archive->where(), key);
    return read->emplace(key, archive->Read(*member)).first->second;
  };
  const SharedBytes code = archive->Read(*pickle);
  return Pickle::Parse(code.owner, code.bytes, path.string(), std::move(storages));
}

}  // namespace l2gcn
