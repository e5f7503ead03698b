// A file that names the tables of a data set of several node types, in YAML or JSON:
//
//   nodes:
//     user: users.csv
//     item: items.csv
//   edges:
//     user:bought:item: bought.csv
//   label: user:churn
//
// Paths are relative to the file. `label` and `id` are as --label and --id.
#pragma once

#include <filesystem>

#include "l2gcn/dataset.h"

namespace l2gcn {

// The options together with what the file `options.schema` says. Throws Error where they contradict each other, and for
// anything else in the file.
OpenOptions WithSchemaFile(OpenOptions options);

bool DetectSchemaFile(const std::filesystem::path& path);
Dataset ReadSchemaFile(const Context& context, const std::filesystem::path& path, const OpenOptions& options);

}  // namespace l2gcn
