#include "data/typed_edges.h"

#include <algorithm>
#include <vector>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/edge_load.h"
#include "data/spellings.h"
#include "data/text_source.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// An edge of which an end is in no table.
struct UnknownEnd {
  size_t edge = ~size_t{0};  // in its block
  bool is_target = false;
  std::string id;
};

// The edges of one block, as nodes.
struct FoundEdges {
  std::vector<TextEdge> texts;
  EdgeExtras extras;  // none: each table is one relation
  std::vector<uint32_t> source, target;
  std::vector<float> weights;
  size_t unknown = 0;
  UnknownEnd first_unknown;
};

class TypedEdgeReader {
 public:
  TypedEdgeReader(const Context& context, const OpenOptions::Table& table, const TypedEnd& source,
                  const TypedEnd& target, const OpenOptions& options)
      : context_(context), path_(table.path), source_(source), target_(target), options_(options) {}

  LoadedEdges Read() {
    const EdgeTextFormat format = Sniff();
    LogEdgeColumns(context_, path_, format);
    LoadedEdges edges = ReadInStages(format, [&](const EdgeTextFormat& tried) { return ReadWith(tried); });
    SettleWeights(edges);
    LogNegativeWeights(context_, path_, edges);
    return edges;
  }

 private:
  EdgeTextFormat Sniff() const {
    EdgeTextHints hints{options_.source_column, options_.target_column, options_.weight_column, {}};
    hints.is_known = [this](std::string_view id) { return source_.ids.Find(id) || target_.ids.Find(id); };
    EdgeTextFormat format = SniffEdgeText(path_, hints);
    format.ids = IdKind::kText;
    const bool named = !hints.source.empty() || !hints.target.empty();
    if (named || !format.header || source_.type.name == target_.type.name) return format;
    hints.source = ColumnCalled(format, source_.type.name);
    hints.target = ColumnCalled(format, target_.type.name);
    if (hints.source.empty() || hints.target.empty() || hints.source == hints.target) return format;
    format = SniffEdgeText(path_, hints);
    format.ids = IdKind::kText;
    return format;
  }

  // The column called as a type is; empty if there is none or there are several.
  static std::string ColumnCalled(const EdgeTextFormat& format, const std::string& type) {
    const std::string name = LowerCase(type);
    std::string found;
    for (const std::string& column : format.names) {
      const std::string lower = LowerCase(column);
      if (lower != name && lower != name + "_id" && lower != name + "id") continue;
      if (!found.empty()) return "";
      found = column;
    }
    return found;
  }

  LoadedEdges ReadWith(const EdgeTextFormat& format) const {
    LoadedEdges edges;
    TextSource text = EdgeBlocks(path_, format);
    std::vector<TextBlock> blocks(context_.threads);
    std::vector<FoundEdges> found(context_.threads);
    size_t read = 0, left_out = 0;
    for (bool more = true; more;) {
      context_.CheckCancelled();
      for (TextBlock& block : blocks) {
        more = text.Next(block);
        if (!more) block.text.clear();
      }
      ParallelTasks(context_, blocks.size(), [&](size_t k, uint32_t) { Find(blocks[k], format, found[k]); });
      for (const FoundEdges& part : found) {
        if (part.unknown > 0 && !options_.allow_unmatched) Refuse(part.first_unknown, read);
        read += part.texts.size();
        left_out += part.unknown;
        edges.source.insert(edges.source.end(), part.source.begin(), part.source.end());
        edges.target.insert(edges.target.end(), part.target.begin(), part.target.end());
        edges.weights.insert(edges.weights.end(), part.weights.begin(), part.weights.end());
      }
    }
    if (left_out > 0 && left_out == read) {
      ThrowInput("{}: of no edge both ids stand in {} and {}; do the columns hold ids of these types?",
                 path_.string(), source_.rows.table.path.string(), target_.rows.table.path.string());
    }
    if (left_out > 0)
      context_.Note(fmt::format("{}: {} of {} edges have an id that is in no table and are left out",
                                path_.filename().string(), left_out, read));
    return edges;
  }

  void Find(TextBlock& block, const EdgeTextFormat& format, FoundEdges& found) const {
    ParseTextEdges(block, format, path_, found.texts, found.extras);
    found.source.clear();
    found.target.clear();
    found.weights.clear();
    found.unknown = 0;
    for (size_t edge = 0; edge < found.texts.size(); ++edge) {
      const TextEdge& text = found.texts[edge];
      const auto source = source_.ids.Find(text.source), target = target_.ids.Find(text.target);
      if (!source || !target) {
        if (found.unknown++ == 0)
          found.first_unknown = {edge, source.has_value(), std::string(source ? text.target : text.source)};
        continue;
      }
      found.source.push_back(source_.type.first + *source);
      found.target.push_back(target_.type.first + *target);
      if (format.weighted) found.weights.push_back(text.weight);
    }
  }

  [[noreturn]] void Refuse(const UnknownEnd& unknown, size_t before) const {
    const TypedEnd& end = unknown.is_target ? target_ : source_;
    ThrowInput(
        "{}: row {}: '{}' is no {}: {} has no such id{}; add its row, name the columns with --source and "
        "--target, or leave such edges out with --allow-unmatched",
        path_.string(), before + unknown.edge + 1, unknown.id, end.type.name, end.rows.table.path.string(),
        end.rows.by_position() ? fmt::format(" among its {} rows", end.rows.table.rows)
                               : " in column " + end.rows.table.format.names[end.rows.id_column]);
  }

  const Context& context_;
  const fs::path path_;
  const TypedEnd source_, target_;
  const OpenOptions& options_;
};

}  // namespace

RelationEdges ReadTypedEdges(const Context& context, const OpenOptions::Table& table, const TypedEnd& source,
                             const TypedEnd& target, const OpenOptions& options) {
  LoadedEdges edges = TypedEdgeReader(context, table, source, target, options).Read();
  return {table.name, std::move(edges.source), std::move(edges.target), std::move(edges.weights)};
}

}  // namespace l2gcn
