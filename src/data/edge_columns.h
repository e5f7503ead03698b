// The columns of an edge list that become features (edge_features.h): which they are, and what they hold.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/text_source.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

struct EdgeFile {
  const Context& context;
  const std::filesystem::path& path;
  const EdgeTextFormat& format;

  [[noreturn]] void RefuseChanged() const {
    ThrowInput("{}: the file changed while it was read", path.string());
  }
};

struct EdgeColumn {
  size_t column = 0;
  TableSchema::Column kind;  // name, and levels if it holds words

  // The number in the current record, or the place of its level; NaN where there is none. Throws Error(kInput) for a number
  // past what a float holds.
  float Value(const EdgeFile& file, const CsvRecords& records) const;
};

// Names of the columns that a model was trained on, or that the user asks for.
std::vector<std::string> EdgeFeatureNames(const EdgeTextFormat& format, const OpenOptions& options);

// Those a model was trained on, or those that the user names; the file is read for what they hold. Throws Error(kUsage)
// for a column that cannot be one, Error(kInput) where none is left.
std::vector<EdgeColumn> FindEdgeColumns(const EdgeFile& file, const OpenOptions& options);

// parse(k, records) for every block, several at once, where k tells them apart; then take(k) in the order of the file.
template <class Parse, class Take>
void ForEachEdgeBlock(const EdgeFile& file, const Parse& parse, const Take& take) {
  TextSource source = EdgeBlocks(file.path, file.format);
  std::vector<TextBlock> blocks(file.context.threads);
  for (bool more = true; more;) {
    file.context.CheckCancelled();
    size_t count = 0;
    while (count < blocks.size() && more) {
      more = source.Next(blocks[count]);
      count += more ? 1 : 0;
    }
    ParallelTasks(file.context, count, [&](size_t k, uint32_t) {
      CsvRecords records(file.path, blocks[k], file.format.separator, /*comments=*/true,
                         file.format.quoted ? CsvReading::kStrict : CsvReading::kUnquoted);
      if (file.format.header && blocks[k].number == 0) records.Next();
      parse(k, records);
    });
    for (size_t k = 0; k < count; ++k) take(k);
  }
}

}  // namespace l2gcn
