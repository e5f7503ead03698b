// The CPU quota of this process: containers and services often get less processor time than the cores they see. Linux control groups of both versions are read, from the process's own group up to the root.
#pragma once

#include <filesystem>

namespace l2gcn {

// Processors' worth of time a second (1.5: one and a half), or 0 where there is no limit. Files are looked
// for under `root`, which tests set to a folder of their own.
double CpuQuota(const std::filesystem::path& root = "/");

}  // namespace l2gcn
