// Opening a data set that lies on rank 0's machine alone: every machine gets a copy in a folder of its own
// (Context::local_data), once, and finds it there from then on.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/checksum.h"
#include "core/error_format.h"
#include "core/files.h"
#include "l2gcn/dataset.h"
#include "l2gcn/ranks.h"
#include "ranks/collectives.h"
#include "run/data_fingerprint.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kSentAtOnce = uint64_t{8} << 20;  // bytes of a file
constexpr uint64_t kNoMoreFiles = ~uint64_t{0};

// Every rank's place of the copy, and whether it is there already.
struct CopyPlaces {
  std::vector<std::string> places;  // machine and path
  std::vector<bool> present;
};

CopyPlaces FindCopies(Ranks& ranks, const fs::path& place) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  std::error_code error;
  const bool present = fs::is_directory(place, error);
  CopyPlaces found;
  for (const std::string& text :
       AllGatherText(ranks, (present ? "+" : "-") + std::string(host) + ":" + fs::absolute(place).string())) {
    found.present.push_back(text.front() == '+');
    found.places.push_back(text.substr(1));
  }
  return found;
}

// The first rank of every place that lacks the copy.
std::vector<uint32_t> RanksWithoutCopy(const CopyPlaces& found) {
  std::set<std::string> seen;
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < found.places.size(); ++r) {
    if (!found.present[r] && seen.insert(found.places[r]).second) ranks.push_back(r);
  }
  return ranks;
}

template <class T>
std::span<char> BytesOfValue(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof(T)};
}

void SendFolder(Ranks& ranks, uint32_t to, const fs::path& folder) {
  std::vector<char> buffer;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    uint64_t length = name.size(), left = entry.file_size();
    ranks.Exchange(to, BytesOfValue(length), 0, {});
    ranks.Exchange(to, name, 0, {});
    ranks.Exchange(to, BytesOfValue(left), 0, {});
    std::ifstream file(entry.path(), std::ios::binary);
    for (; left > 0; left -= buffer.size()) {
      buffer.resize(std::min(left, kSentAtOnce));
      if (!file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())))
        ThrowRuntime("{}: cannot be read", entry.path().string());
      ranks.Exchange(to, buffer, 0, {});
    }
  }
  uint64_t end = kNoMoreFiles;
  ranks.Exchange(to, BytesOfValue(end), 0, {});
}

// Makes the folder that holds copies.
void MakeLocalFolder(const Ranks& ranks, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    ThrowUsage("--local-data {}: {} cannot make this folder: {}; name one that every machine can write",
               folder.string(), ranks.Name(ranks.rank()), error.message());
  }
}

// The folder appears whole or not at all.
void ReceiveFolder(Ranks& ranks, const fs::path& folder) {
  StagedDirectory staged(folder, false);
  std::vector<char> buffer;
  for (;;) {
    uint64_t length = 0, left = 0;
    ranks.Exchange(0, {}, 0, BytesOfValue(length));
    if (length == kNoMoreFiles) break;
    std::string name(length, '\0');
    ranks.Exchange(0, {}, 0, name);
    ranks.Exchange(0, {}, 0, BytesOfValue(left));
    FileWriter file(staged.path() / name);
    for (; left > 0; left -= buffer.size()) {
      buffer.resize(std::min(left, kSentAtOnce));
      ranks.Exchange(0, {}, 0, buffer);
      file.Write(buffer.data(), buffer.size());
    }
    file.Close();
  }
  staged.Commit();
}

}  // namespace

Dataset OpenForRanks(const Context& context, const std::string& spec, const OpenOptions& options) {
  if (context.ranks == nullptr || context.local_data.empty()) return OpenDataset(context, spec, options);
  Ranks& ranks = *context.ranks;
  Dataset given;
  if (ranks.leads()) given = OpenDataset(context, spec, options);
  const std::string name = AgreedText(context, [&] { return given.name; });
  const std::string mark = AgreedText(context, [&] {
    const std::string text = DataFingerprint(given, Reads::kEverything);
    return ChecksumText(Checksum(text.data(), text.size()));
  });
  const fs::path place = fs::path(context.local_data) / ("l2gcn-" + mark);
  for (const uint32_t r : RanksWithoutCopy(FindCopies(ranks, place))) {
    if (r == 0 && ranks.leads()) {
      MakeLocalFolder(ranks, place.parent_path());
      SaveDataset(context, given, place.string());
    } else if (ranks.leads()) {
      SendFolder(ranks, r, place);
    } else if (r == ranks.rank()) {
      MakeLocalFolder(ranks, place.parent_path());
      ReceiveFolder(ranks, place);
    }
  }
  given = {};
  Barrier(ranks);
  Dataset dataset = OpenDataset(context, place.string());
  dataset.name = name;
  return dataset;
}

}  // namespace l2gcn
