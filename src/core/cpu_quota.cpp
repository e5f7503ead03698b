#include "core/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool Holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The smaller of two limits, of which 0 means none.
double Tighter(double a, double b) { return a <= 0 ? b : b <= 0 ? a : std::min(a, b); }

// One group's limit. Version 2: "cpu.max" holds "150000 100000" or "max 100000" (microseconds of use and of
// the period). Version 1: two files, the first −1 where there is no limit.
double LimitOfGroup(const fs::path& group, bool version2) {
  double used = 0, period = 0;
  if (version2) {
    std::ifstream file(group / "cpu.max");
    if (!(file >> used >> period)) return 0;  // no such file, or "max"
  } else {
    std::ifstream quota(group / "cpu.cfs_quota_us"), length(group / "cpu.cfs_period_us");
    if (!(quota >> used) || !(length >> period)) return 0;
  }
  return used > 0 && period > 0 ? used / period : 0;
}

// The tightest limit from the group up to where its hierarchy is mounted.
double LimitAlongPath(const fs::path& mounted_at, const fs::path& group, bool version2) {
  double limit = LimitOfGroup(mounted_at, version2);
  fs::path at = mounted_at;
  for (const fs::path& part : group.relative_path()) {
    if (part == "..") break;  // outside of what this process can see
    at /= part;
    limit = Tighter(limit, LimitOfGroup(at, version2));
  }
  return limit;
}

struct GroupMount {
  std::string folder;  // of the hierarchy that is mounted
  std::string at;      // where
  bool version2 = false;
};

// Mounts of control groups that can limit processor time. A line of mountinfo: number, parent, device,
// folder, place, options, any further fields, "-", type, source, options of the hierarchy.
std::vector<GroupMount> CpuMounts(const fs::path& root) {
  std::vector<GroupMount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = SplitAt(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string& type = dash[1];
    const bool version2 = type == "cgroup2";
    if (!version2 && !(type == "cgroup" && Holds(SplitAt(dash[3], ','), "cpu"))) continue;
    mounts.push_back({fields[3], fields[4], version2});
  }
  return mounts;
}

// The process's group in the hierarchy: lines "number:controllers:path", "0::path" in version 2.
std::string OwnGroup(const fs::path& root, bool version2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? controllers.empty() : Holds(SplitAt(controllers, ','), "cpu"))
      return line.substr(second + 1);
  }
  return "/";
}

}  // namespace

double CpuQuota(const fs::path& root) {
  double limit = 0;
  for (const GroupMount& mount : CpuMounts(root)) {
    fs::path group = OwnGroup(root, mount.version2);
    // A container sees its own group as the hierarchy's root, though its path may be the host's.
    if (mount.folder != "/") {
      const fs::path below = group.lexically_relative(mount.folder);
      group = below.empty() || below == "." ? fs::path("/") : "/" / below;
    }
    limit = Tighter(limit, LimitAlongPath(root / fs::path(mount.at).relative_path(), group, mount.version2));
  }
  return limit;
}

}  // namespace l2gcn
