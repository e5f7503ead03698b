// Checksums of the files of a run, by their names in its directory. result.json carries those of the files beside it, and
// a checkpoint those of the seeds that are finished; whoever reads a file compares.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace l2gcn {

using FileSums = std::map<std::string, std::string>;

std::string SumOfFile(const std::filesystem::path& path);
FileSums SumsOfFiles(const std::filesystem::path& directory, std::span<const char* const> names);

// What is wrong with a file that should have the checksum `sums` has for it, as a sentence's beginning that names the
// file; "" if nothing is.
std::string DamageOf(const std::filesystem::path& directory, const std::string& name, const FileSums& sums);
// The same for the first file of `sums` that is missing or damaged.
std::string FirstDamage(const std::filesystem::path& directory, const FileSums& sums);

}  // namespace l2gcn
