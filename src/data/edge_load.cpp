#include "data/edge_load.h"

#include <algorithm>
#include <span>

#include "core/error_format.h"
#include "core/threads.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

void AppendSmall(const Context& context, const fs::path& path, const EdgeTextFormat& format,
                 TextSource& source, IdTable& ids, LoadedEdges& edges) {
  std::vector<TextBlock> blocks(context.threads);
  std::vector<SmallEdges> parsed(context.threads);
  for (bool more = true; more;) {
    context.CheckCancelled();
    // Blocks are handed out before parsing so that each worker's is the next in the file.
    for (TextBlock& block : blocks) {
      more = source.Next(block);
      if (!more) block.text.clear();
    }
    ParallelTasks(context, blocks.size(),
                  [&](size_t k, uint32_t) { ParseSmallEdges(blocks[k], format, path, parsed[k]); });
    for (SmallEdges& part : parsed) {
      edges.source.insert(edges.source.end(), part.source.begin(), part.source.end());
      edges.target.insert(edges.target.end(), part.target.begin(), part.target.end());
      edges.weights.insert(edges.weights.end(), part.weights.begin(), part.weights.end());
      edges.extras.Append(std::move(part.extras));
    }
  }
  for (const std::vector<uint32_t>* side : {&edges.source, &edges.target}) {
    if (side->empty()) continue;
    ids.Reserve(*std::max_element(side->begin(), side->end()));
    ids.MarkSmall(*side);
  }
}

void AppendNamed(const Context& context, const fs::path& path, const EdgeTextFormat& format,
                 TextSource& source, IdTable& ids, LoadedEdges& edges) {
  TextBlock block;
  std::vector<TextEdge> parsed;
  EdgeExtras extras;
  std::vector<std::string_view> tokens;
  std::vector<uint32_t> keys;
  while (source.Next(block)) {
    context.CheckCancelled();
    ParseTextEdges(block, format, path, parsed, extras);
    edges.extras.Append(std::move(extras));
    tokens.clear();
    for (const TextEdge& edge : parsed) {
      tokens.push_back(edge.source);
      tokens.push_back(edge.target);
      if (format.weighted) edges.weights.push_back(edge.weight);
    }
    keys.resize(tokens.size());
    ids.Resolve(context, tokens, keys);
    for (size_t i = 0; i < keys.size(); i += 2) {
      edges.source.push_back(keys[i]);
      edges.target.push_back(keys[i + 1]);
    }
  }
}

}  // namespace

void SettleWeights(LoadedEdges& edges) {
  const auto count_negative = [&](const std::vector<float>& weights) {
    edges.negative += static_cast<uint64_t>(
        std::count_if(weights.begin(), weights.end(), [](float weight) { return weight < 0; }));
  };
  count_negative(edges.weights);
  for (const std::vector<float>& weights : edges.extras.weights) count_negative(weights);
  const bool all_one = edges.extras.weights.empty() && std::all_of(edges.weights.begin(), edges.weights.end(),
                                                                   [](float weight) { return weight == 1; });
  if (all_one) edges.weights.clear();
}

void LogNegativeWeights(const Context& context, const fs::path& path, const LoadedEdges& edges) {
  if (edges.negative == 0) return;
  context.Note(fmt::format(
      "{}: {} of {} weights are below 0; they are kept, and a node whose weights and own loop sum to 0 or "
      "less averages nothing but itself",
      path.filename().string(), edges.negative, edges.source.size()));
}

LoadedEdges LoadEdges(const Context& context, const fs::path& path, EdgeTextFormat format, IdTable& ids) {
  format.ids = ids.kind();
  LoadedEdges edges;
  TextSource source = EdgeBlocks(path, format);
  if (ids.kind() == IdKind::kSmall) {
    AppendSmall(context, path, format, source, ids, edges);
  } else {
    AppendNamed(context, path, format, source, ids, edges);
  }
  SettleWeights(edges);
  return edges;
}

LoadedEdges LoadNumberedEdges(const Context& context, const fs::path& path, uint32_t nodes) {
  return ReadInStages(SniffEdgeText(path), [&](const EdgeTextFormat& format) {
    if (format.ids != IdKind::kSmall)
      ThrowInput("{}: expected node numbers 0 to {}", path.string(), int64_t{nodes} - 1);
    IdTable ids(IdKind::kSmall, 0);
    return LoadEdges(context, path, format, ids);
  });
}

void AttachLoaded(const Context& context, LoadedEdges&& edges, const EdgeTextFormat& format,
                  const IdTable& ids, const RelationOptions& options, Dataset& dataset) {
  if (!ids.identity()) {
    ParallelFor(context, edges.source.size(), size_t{1} << 14, [&](size_t begin, size_t end) {
      ids.ToNodes(std::span(edges.source).subspan(begin, end - begin));
      ids.ToNodes(std::span(edges.target).subspan(begin, end - begin));
    });
  }
  EdgeArrays arrays{ids.nodes(), edges.source, edges.target, {}, nullptr, {}};
  if (format.type) arrays.types = &edges.extras.types;
  if (format.more_weights.empty()) {
    arrays.weights = edges.weights;
  } else {
    arrays.columns.emplace_back(format.names[format.weight], edges.weights);
    for (size_t k = 0; k < format.more_weights.size(); ++k)
      arrays.columns.emplace_back(format.names[format.more_weights[k]], edges.extras.weights[k]);
  }
  AttachEdges(context, arrays, options, dataset);
}

void NodesOfEdges(const LoadedEdges& edges, const IdTable& ids, uint64_t first, std::span<uint32_t> nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<uint32_t>& keys = i % 2 == 0 ? edges.source : edges.target;
    const uint64_t edge = first + i / 2;
    nodes[i] = edge < keys.size() ? ids.NodeOf(keys[edge]) : ids.nodes();
  }
}

}  // namespace l2gcn
