#include "data/edge_stream.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <span>

#include "core/error_format.h"
#include "core/files.h"
#include "core/threads.h"
#include "data/catalog.h"
#include "data/edge_features.h"
#include "data/edge_sort.h"
#include "data/edge_text.h"
#include "data/id_table.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "data/reader.h"
#include "data/scratch_file.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kSmallestMemory = uint64_t{64} << 20;
constexpr double kIdShare = 0.5;  // of the budget, at most: beside the sort's buffers, or after they are gone
constexpr double kFeatureShare = 0.25;  // of the budget, for the sums of edge features
constexpr size_t kEdgesPerChunk = size_t{1} << 18;

struct KeyPair {
  uint32_t source, target;
};

// What one conversion shares: the file, its format, and how the memory is shared out. What is not shared out
// is for blocks of text, ranges being merged and the program itself.
struct Conversion {
  const Context& context;
  const fs::path& path;
  EdgeTextFormat format;
  EdgeSortOptions sort;
  uint64_t id_memory;
  // Called once the nodes are numbered, with where the edges' nodes come from.
  std::function<void(uint32_t nodes, const EdgeNodes& nodes_of)> on_numbered;
};

void WriteIds(const IdTable& ids, const fs::path& directory) {
  std::optional<NpyWriter> numbers;
  ids.VisitNodeIds([&](std::span<const int64_t> some) {
    if (!numbers) numbers.emplace(directory / kNodeIdsFile, NpyDescr<int64_t>());
    numbers->Write(some.data(), some.size_bytes());
  });
  if (numbers) numbers->Close(ids.nodes());
  const NameTable names = ids.Names();
  if (names.empty()) return;
  WriteNpy<uint64_t>(directory / kNameOffsetsFile, names.offsets.span());
  WriteNpy<uint8_t>(directory / kNameTextFile, names.text.span());
}

// Runs parse(k, block) on blocks, one a worker and round, and then between(order), where `order` lists the
// k of the round as their blocks stand in the file; until the file ends.
template <class Parse, class Between>
void ForEachRound(const Conversion& conversion, const Parse& parse, const Between& between) {
  TextSource source = EdgeBlocks(conversion.path, conversion.format);
  std::vector<TextBlock> blocks(conversion.context.threads);
  for (bool more = true; more;) {
    conversion.context.CheckCancelled();
    std::vector<uint8_t> got(blocks.size(), 0);
    ParallelTasks(conversion.context, blocks.size(), [&](size_t k, uint32_t) {
      got[k] = source.Next(blocks[k]) ? 1 : 0;
      if (got[k] == 0) blocks[k].text.clear();
      parse(k, blocks[k]);
    });
    std::vector<size_t> order;
    for (size_t k = 0; k < blocks.size(); ++k)
      if (got[k] != 0) order.push_back(k);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return blocks[a].number < blocks[b].number; });
    between(order);
    more = order.size() == blocks.size();
  }
}

// Calls take(k, block) on all blocks, from all threads at once, each of which has a k of its own. Of several
// errors that of the earliest block is thrown, whichever thread comes first.
template <class Take>
void ForEachBlock(const Conversion& conversion, const Take& take) {
  constexpr uint64_t kNoBlock = ~uint64_t{0};
  TextSource source = EdgeBlocks(conversion.path, conversion.format);
  std::atomic<bool> stop{false};
  std::mutex mutex;
  uint64_t failed_block = kNoBlock;
  std::exception_ptr failure;
  ParallelTasks(conversion.context, conversion.context.threads, [&](size_t k, uint32_t) {
    TextBlock block;
    while (!stop.load(std::memory_order_relaxed)) {
      uint64_t number = kNoBlock;
      try {
        conversion.context.CheckCancelled();
        if (!source.Next(block)) return;
        number = block.number;
        take(k, block);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        stop = true;
        if (failure != nullptr && number >= failed_block) return;
        failed_block = number;
        failure = std::current_exception();
      }
    }
  });
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Small ids rank in the order of the nodes, so edges can be sorted as they are parsed and numbered when
// written. They are marked once they are sorted, when neighbours lie together.
SortedEdges SortSmall(const Conversion& conversion, IdTable& ids) {
  std::mutex marking;
  uint32_t largest = 0;  // of all ids parsed so far, so that the table grows as seldom as can be
  EdgeSortOptions options = conversion.sort;
  options.on_nodes = [&](std::span<const uint32_t> nodes) {
    const std::lock_guard<std::mutex> lock(marking);
    ids.Reserve(largest);
    ids.MarkSmall(nodes);
  };
  const std::unique_ptr<EdgeSorter> sorter = EdgeSorter::Make(conversion.context, options);
  std::vector<SmallEdges> parsed(conversion.context.threads);
  ForEachBlock(conversion, [&](size_t k, TextBlock& block) {
    ParseSmallEdges(block, conversion.format, conversion.path, parsed[k]);
    uint32_t last = 0;
    for (const std::vector<uint32_t>* side : {&parsed[k].source, &parsed[k].target})
      for (const uint32_t id : *side) last = std::max(last, id);
    {
      const std::lock_guard<std::mutex> lock(marking);
      largest = std::max(largest, last);
    }
    sorter->Add(static_cast<uint32_t>(k), parsed[k].source, parsed[k].target, parsed[k].weights);
  });
  sorter->Flush();
  ids.Finish();
  WriteIds(ids, conversion.sort.directory);
  conversion.on_numbered(ids.nodes(),
                         [&](uint64_t, std::span<const std::string_view> tokens, std::span<uint32_t> nodes) {
                           for (size_t i = 0; i < tokens.size(); ++i) {
                             int64_t id = -1;
                             const bool known = ParseId(tokens[i], id) && id >= 0 && id <= largest;
                             nodes[i] = known ? ids.NodeOf(static_cast<uint32_t>(id)) : ids.nodes();
                           }
                         });
  std::function<void(std::span<uint32_t>)> to_nodes;
  if (!ids.identity()) to_nodes = [&ids](std::span<uint32_t> keys) { ids.ToNodes(keys); };
  return sorter->Finish(ids.nodes(), to_nodes);
}

// Keys of other ids as they come, on disk.
struct SpilledKeys {
  std::unique_ptr<ScratchFile<KeyPair>> pairs;
  std::unique_ptr<ScratchFile<float>> weights;  // null unless weighted
};

SpilledKeys SpillKeys(const Conversion& conversion, IdTable& ids) {
  const fs::path pair_path = conversion.sort.directory / "keys.tmp",
                 weight_path = conversion.sort.directory / "weights.tmp";
  FileWriter pairs(pair_path), weights(weight_path);
  std::vector<std::vector<TextEdge>> parsed(conversion.context.threads);
  std::vector<std::string_view> tokens;
  std::vector<uint32_t> keys;
  uint64_t edges = 0;
  ForEachRound(
      conversion,
      [&](size_t k, TextBlock& block) {
        EdgeExtras none;
        ParseTextEdges(block, conversion.format, conversion.path, parsed[k], none);
      },
      [&](const std::vector<size_t>& order) {
        tokens.clear();
        for (const size_t k : order) {
          for (const TextEdge& edge : parsed[k]) {
            tokens.push_back(edge.source);
            tokens.push_back(edge.target);
            if (conversion.format.weighted) weights.Write(&edge.weight, sizeof(float));
          }
        }
        keys.resize(tokens.size());
        ids.Resolve(conversion.context, tokens, keys);
        pairs.Write(keys.data(), keys.size() * sizeof(uint32_t));
        edges += keys.size() / 2;
      });
  pairs.Close(/*sync=*/false);
  weights.Close(/*sync=*/false);
  SpilledKeys spilled{
      std::make_unique<ScratchFile<KeyPair>>(pair_path, edges),
      std::make_unique<ScratchFile<float>>(weight_path, conversion.format.weighted ? edges : 0)};
  return spilled;
}

// Other ids are numbered only when all are known: their keys wait on disk until then.
SortedEdges SortNamed(const Conversion& conversion, IdTable& ids) {
  const SpilledKeys spilled = SpillKeys(conversion, ids);
  ids.Finish();
  WriteIds(ids, conversion.sort.directory);
  ids.DropNames();
  const uint64_t edges = spilled.pairs->size();
  conversion.on_numbered(
      ids.nodes(), [&](uint64_t first, std::span<const std::string_view>, std::span<uint32_t> nodes) {
        const uint64_t count = std::min<uint64_t>(nodes.size() / 2, edges - std::min(edges, first));
        std::fill(nodes.begin(), nodes.end(), ids.nodes());
        std::vector<KeyPair> pairs(count);
        spilled.pairs->Read(first, pairs.data(), count);
        for (size_t e = 0; e < count; ++e) {
          nodes[2 * e] = ids.NodeOf(pairs[e].source);
          nodes[2 * e + 1] = ids.NodeOf(pairs[e].target);
        }
      });
  const std::unique_ptr<EdgeSorter> sorter = EdgeSorter::Make(conversion.context, conversion.sort);
  ParallelTasks(conversion.context, (edges + kEdgesPerChunk - 1) / kEdgesPerChunk,
                [&](size_t chunk, uint32_t worker) {
                  const size_t first = chunk * kEdgesPerChunk,
                               count = std::min<uint64_t>(kEdgesPerChunk, edges - first);
                  std::vector<KeyPair> pairs(count);
                  std::vector<float> weights(conversion.format.weighted ? count : 0);
                  spilled.pairs->Read(first, pairs.data(), count);
                  spilled.weights->Read(first, weights.data(), weights.size());
                  std::vector<uint32_t> sources(count), targets(count);
                  for (size_t e = 0; e < count; ++e) {
                    sources[e] = pairs[e].source;
                    targets[e] = pairs[e].target;
                  }
                  ids.ToNodes(sources);
                  ids.ToNodes(targets);
                  sorter->Add(worker, sources, targets, weights);
                });
  sorter->Flush();
  return sorter->Finish(ids.nodes(), {});
}

void WriteUnlabelled(const fs::path& directory, uint32_t nodes) {
  NpyWriter writer(directory / kLabelsFile, NpyDescr<int32_t>());
  const std::vector<int32_t> none(4096, -1);
  for (uint32_t written = 0; written < nodes;) {
    const uint32_t count = std::min<uint32_t>(nodes - written, static_cast<uint32_t>(none.size()));
    writer.Write(none.data(), count * sizeof(int32_t));
    written += count;
  }
  writer.Close(nodes);
}

}  // namespace

uint64_t ConvertEdgeList(const Context& context, const fs::path& path, const OpenOptions& options,
                         const fs::path& destination, uint64_t memory, bool force) {
  if (memory < kSmallestMemory) ThrowUsage("--memory: at least {} MiB are needed", kSmallestMemory >> 20);
  RefuseToReplaceOthers(destination);
  const EdgeTextFormat sniffed = SniffEdgeText(path, {options.source_column,
                                                      options.target_column,
                                                      options.weight_column,
                                                      {},
                                                      "",
                                                      HasEdgeFeatures(options)});
  LogEdgeColumns(context, path, WithoutFeatures(sniffed, options));
  return ReadInStages(sniffed, [&](const EdgeTextFormat& format) {
    StagedDirectory staged(destination, force);
    const auto share = [&](double part) { return static_cast<uint64_t>(part * static_cast<double>(memory)); };
    Dataset numbered;  // what is made of the nodes, once they are numbered
    const auto on_numbered = [&](uint32_t nodes, const EdgeNodes& nodes_of) {
      if (!HasEdgeFeatures(options)) return;
      numbered.graph.nodes = nodes;
      numbered.features = Features::None(nodes);
      AddEdgeFeatures(context, path, format, options, nodes_of, share(kFeatureShare), numbered);
      WriteFeatures(context, numbered.features, std::nullopt, staged.path());
      numbered.features = {};
    };
    Conversion conversion{context, path, format, {}, share(kIdShare), on_numbered};
    conversion.sort = {options.directed,  options.keep_self_loops, format.weighted,
                       share(kSortShare), staged.path(),           {}};
    IdTable ids(format.ids, conversion.id_memory);
    const SortedEdges sorted =
        format.ids == IdKind::kSmall ? SortSmall(conversion, ids) : SortNamed(conversion, ids);
    WriteUnlabelled(staged.path(), ids.nodes());
    NativeInfo info;
    info.name = WithoutCompression(path).stem().string();
    info.preset_row = PresetRowOf(info.name);
    info.nodes = ids.nodes();
    info.edges = sorted.edges;
    info.self_loops = sorted.self_loops;
    info.directed = options.directed;
    info.features = numbered.schema.width();
    info.schema = numbered.schema;
    info.changes = sorted.changes;
    WriteManifest(staged.path(), info);
    LogChanges(context, info.name, info.changes);
    LogIds(context, info.name, ids);
    staged.Commit();
    return info.nodes;
  });
}

}  // namespace l2gcn
