#include "data/edge_sort.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>

#include "core/error_format.h"
#include "core/files.h"
#include "core/threads.h"
#include "data/native_store.h"
#include "data/npy.h"
#include "data/radix_sort.h"
#include "data/scratch_file.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr size_t kRangeEntries = size_t{1} << 20;

struct PlainEntry {
  uint64_t key;
  static PlainEntry Make(uint64_t key, float) { return {key}; }
  float weight() const { return 1; }
  void KeepLarger(const PlainEntry&) {}
};
struct WeightedEntry {
  uint64_t key;
  float value;
  static WeightedEntry Make(uint64_t key, float weight) { return {key, weight}; }
  float weight() const { return value; }
  void KeepLarger(const WeightedEntry& other) { value = std::max(value, other.value); }
};

uint64_t KeyOf(uint32_t source, uint32_t target, bool mirrored) {
  return uint64_t{source} << 32 | uint64_t{target} << 1 | (mirrored ? 1 : 0);
}
uint32_t SourceOf(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
uint32_t TargetOf(uint64_t key) { return static_cast<uint32_t>(key) >> 1; }

// Drops repeats of a key from sorted entries; returns how many are left.
template <class Entry>
size_t DropRepeats(std::span<Entry> entries) {
  size_t kept = 0;
  for (const Entry& entry : entries) {
    if (kept > 0 && entries[kept - 1].key == entry.key) {
      entries[kept - 1].KeepLarger(entry);
    } else {
      entries[kept++] = entry;
    }
  }
  return kept;
}

// First position in a sorted run whose key is ≥ `key`.
template <class Entry>
uint64_t LowerBound(const ScratchFile<Entry>& run, uint64_t key) {
  uint64_t low = 0, high = run.size();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    Entry entry;
    run.Read(middle, &entry, 1);
    if (entry.key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// One range of the merged result.
struct MergedRange {
  std::vector<uint32_t> sources;      // ascending; the first may go on with the row before the range
  std::vector<uint32_t> row_entries;  // (sources)
  std::vector<uint32_t> targets;      // (≥ entries)
  std::vector<float> weights;         // (≥ entries) if weighted
  size_t entries = 0;
  uint64_t distinct = 0;  // stored entries that differ
  uint64_t pairs = 0;     // undirected pairs, counted at their smaller end
  uint64_t loops = 0;     // distinct self loops, kept or not

  // Empty again, with room for `most` entries.
  void Reset(size_t most, bool weighted) {
    sources.clear();
    row_entries.clear();
    if (targets.size() < most) targets.resize(most);
    if (weighted && weights.size() < most) weights.resize(most);
    entries = distinct = pairs = loops = 0;
  }
};

// Lets tasks through one after another, by their numbers. Once one has failed none is let through.
class Turns {
 public:
  // Runs work() when all tasks before `task` have had their turn.
  template <class Work>
  void Take(size_t task, const Work& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || next_ == task; });
    if (failed_) return;
    work();
    ++next_;
    changed_.notify_all();
  }
  void Fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;
  bool failed_ = false;
};

// Appends merged ranges to the three files of the native store.
class RowWriter {
 public:
  RowWriter(const fs::path& directory, bool weighted)
      : directory_(directory),
        indptr_(directory / kGraphIndptrFile, NpyDescr<uint64_t>()),
        indices_(directory / kGraphIndicesFile, NpyDescr<uint32_t>()) {
    if (weighted) weights_ = std::make_unique<NpyWriter>(directory / kGraphWeightsFile, NpyDescr<float>());
    indptr_.Write(&entries_, sizeof(entries_));
  }
  void Append(const MergedRange& range) {
    for (size_t row = 0; row < range.sources.size(); ++row) {
      FillTo(range.sources[row]);
      entries_ += range.row_entries[row];
    }
    indices_.Write(range.targets.data(), range.entries * sizeof(uint32_t));
    if (!weights_) return;
    weights_->Write(range.weights.data(), range.entries * sizeof(float));
    for (size_t i = 0; i < range.entries; ++i) all_one_ = all_one_ && range.weights[i] == 1;
  }
  uint64_t Close(uint32_t nodes) {
    FillTo(nodes);
    indptr_.Close(uint64_t{nodes} + 1);
    indices_.Close(entries_);
    if (weights_) {
      weights_->Close(entries_);
      if (all_one_) fs::remove(directory_ / kGraphWeightsFile);
    }
    return entries_;
  }

 private:
  // Ends every row before `node`.
  void FillTo(uint32_t node) {
    for (; row_ < node; ++row_) indptr_.Write(&entries_, sizeof(entries_));
  }
  fs::path directory_;
  NpyWriter indptr_, indices_;
  std::unique_ptr<NpyWriter> weights_;
  uint64_t entries_ = 0;
  uint32_t row_ = 0;
  bool all_one_ = true;
};

template <class Entry>
class Sorter : public EdgeSorter {
 public:
  Sorter(const Context& context, const EdgeSortOptions& options) : context_(context), options_(options) {
    lanes_.resize(context.threads);
    // Half of a worker's share is the buffer, half the sort's scratch.
    const uint64_t share = options.memory / context.threads / (2 * sizeof(Entry));
    for (Lane& lane : lanes_) lane.capacity = std::max<uint64_t>(share, 4096);
  }

  void Add(uint32_t worker, std::span<const uint32_t> sources, std::span<const uint32_t> targets,
           std::span<const float> weights) override {
    Lane& lane = lanes_[worker];
    if (lane.buffer.empty()) lane.buffer = Array<Entry>::Allocate(lane.capacity);
    lane.entries_read += sources.size();
    Entry* const buffer = lane.buffer.mutable_data();
    for (size_t begin = 0; begin < sources.size();) {
      if (lane.size + 2 > lane.capacity) Spill(lane);
      // As many as fit for certain.
      const size_t end = std::min<size_t>(sources.size(), begin + (lane.capacity - lane.size) / 2);
      Entry* to = buffer + lane.size;
      for (size_t e = begin; e < end; ++e) {
        const uint32_t source = sources[e], target = targets[e];
        const float weight = weights.empty() ? 1.0f : weights[e];
        *to++ = Entry::Make(KeyOf(source, target, false), weight);
        // Directed graphs need the mirrored entry too: to count pairs joined in either direction.
        if (source != target) {
          *to++ = Entry::Make(KeyOf(target, source, true), weight);
        } else {
          ++lane.self_loops;
        }
      }
      lane.size = static_cast<uint64_t>(to - buffer);
      begin = end;
    }
  }

  void Flush() override {
    ParallelTasks(context_, lanes_.size(), [&](size_t k, uint32_t) { Spill(lanes_[k]); });
    for (Lane& lane : lanes_) lane.buffer = lane.scratch = {};
  }

  SortedEdges Finish(uint32_t nodes, const std::function<void(std::span<uint32_t>)>& to_nodes) override {
    SortedEdges result;
    for (const Lane& lane : lanes_) {
      result.changes.entries_read += lane.entries_read;
      result.changes.self_loops_found += lane.self_loops;
    }
    if (!options_.keep_self_loops) result.changes.self_loops_dropped = result.changes.self_loops_found;
    Merge(nodes, to_nodes, result);
    runs_.clear();
    return result;
  }

 private:
  struct Lane {
    Array<Entry> buffer, scratch;  // (capacity)
    uint64_t capacity = 0, size = 0;
    uint64_t entries_read = 0, self_loops = 0;
  };

  void Spill(Lane& lane) {
    if (lane.size == 0) return;
    context_.CheckCancelled();
    if (lane.scratch.empty()) lane.scratch = Array<Entry>::Allocate(lane.capacity);
    const fs::path path = options_.directory / fmt::format("run-{}.tmp", next_run_.fetch_add(1));
    FileWriter writer(path);
    std::vector<uint32_t> nodes;
    SortByPieces<Entry>(lane.buffer.mutable_span().first(lane.size),
                        lane.scratch.mutable_span().first(lane.size), [&](std::span<Entry> piece) {
                          const auto kept = piece.first(DropRepeats(piece));
                          CollectNodes(kept, nodes);
                          writer.Write(kept.data(), kept.size_bytes());
                        });
    const uint64_t size = writer.written() / sizeof(Entry);
    writer.Close(/*sync=*/false);
    lane.size = 0;
    auto run = std::make_unique<ScratchFile<Entry>>(path, size);
    const std::lock_guard<std::mutex> lock(mutex_);
    runs_.push_back(std::move(run));
  }

  // Both directions of every edge are entries, so that sources alone are all nodes.
  void CollectNodes(std::span<const Entry> entries, std::vector<uint32_t>& nodes) const {
    if (!options_.on_nodes) return;
    if (nodes.size() < entries.size()) nodes.resize(entries.size());
    size_t count = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      nodes[count] = SourceOf(entries[i].key);  // overwritten unless another source follows
      count += i + 1 == entries.size() || SourceOf(entries[i + 1].key) != nodes[count] ? 1 : 0;
    }
    options_.on_nodes(std::span(nodes).first(count));
  }

  // Keys that cut all runs into ranges of about kRangeEntries, taken from evenly spaced entries of every run:
  // so many that what lies between them, over all runs, is a quarter of a range.
  std::vector<uint64_t> Cuts() const {
    uint64_t total = 0;
    for (const auto& run : runs_) total += run->size();
    std::vector<uint64_t> samples;
    const uint64_t step = std::max<uint64_t>(1, kRangeEntries / (4 * std::max<size_t>(1, runs_.size())));
    for (const auto& run : runs_) {
      for (uint64_t at = step; at < run->size(); at += step) {
        Entry entry;
        run->Read(at, &entry, 1);
        samples.push_back(entry.key & ~uint64_t{1});
      }
    }
    std::sort(samples.begin(), samples.end());
    const uint64_t ranges = total / kRangeEntries + 1;
    std::vector<uint64_t> cuts{0};
    for (uint64_t k = 1; k < ranges && !samples.empty(); ++k) {
      const uint64_t cut = samples[samples.size() * k / ranges];
      if (cut > cuts.back()) cuts.push_back(cut);
    }
    cuts.push_back(~uint64_t{0});
    return cuts;
  }

  // What a worker merges a range in.
  struct Workspace {
    Array<Entry> entries, scratch;
    MergedRange range;
  };

  void Merge(uint32_t nodes, const std::function<void(std::span<uint32_t>)>& to_nodes, SortedEdges& result) {
    const std::vector<uint64_t> cuts = Cuts();
    RowWriter writer(options_.directory, options_.weighted);
    uint64_t distinct = 0;
    std::vector<Workspace> spaces(context_.threads);
    Turns turns;
    ParallelTasks(context_, cuts.size() - 1, [&](size_t k, uint32_t worker) {
      try {
        context_.CheckCancelled();
        MergedRange& range = spaces[worker].range;
        MergeRange(cuts[k], cuts[k + 1], to_nodes, spaces[worker]);
        turns.Take(k, [&] {
          writer.Append(range);
          distinct += range.distinct;
          result.edges += range.pairs;
          result.self_loops += range.loops;
        });
      } catch (...) {
        turns.Fail();
        throw;
      }
    });
    result.entries = writer.Close(nodes);
    result.changes.duplicates_dropped =
        result.changes.entries_read - result.changes.self_loops_dropped - distinct;
    result.changes.reverses_added = result.entries - distinct;
  }

  void MergeRange(uint64_t low, uint64_t high, const std::function<void(std::span<uint32_t>)>& to_nodes,
                  Workspace& space) const {
    std::vector<std::pair<uint64_t, uint64_t>> slices;
    size_t total = 0;
    for (const auto& run : runs_) {
      const uint64_t begin = LowerBound(*run, low),
                     end = high == ~uint64_t{0} ? run->size() : LowerBound(*run, high);
      slices.emplace_back(begin, end);
      total += end - begin;
    }
    if (space.entries.size() < total) {
      space.entries = space.scratch = {};
      space.entries = Array<Entry>::Allocate(total);
      space.scratch = Array<Entry>::Allocate(total);
    }
    size_t filled = 0;
    for (size_t k = 0; k < runs_.size(); ++k) {
      runs_[k]->Read(slices[k].first, space.entries.mutable_data() + filled,
                     slices[k].second - slices[k].first);
      filled += slices[k].second - slices[k].first;
    }
    space.range.Reset(total, options_.weighted);
    SortByPieces<Entry>(space.entries.mutable_span().first(total), space.scratch.mutable_span().first(total),
                        [&](std::span<const Entry> piece) { Emit(piece, space.range); });
    if (!to_nodes) return;
    to_nodes(space.range.sources);
    to_nodes(std::span(space.range.targets).first(space.range.entries));
  }

  // Appends what is left of sorted entries.
  void Emit(std::span<const Entry> entries, MergedRange& out) const {
    uint32_t row_source = ~uint32_t{0};  // no source: they are below 2³¹
    for (size_t i = 0; i < entries.size();) {
      Entry entry = entries[i];
      const bool stored = (entry.key & 1) == 0;  // mirrored entries sort behind the stored one
      for (++i; i < entries.size() && entries[i].key >> 1 == entry.key >> 1; ++i) {
        if (!options_.directed || entries[i].key == entry.key) entry.KeepLarger(entries[i]);
      }
      const uint32_t source = SourceOf(entry.key), target = TargetOf(entry.key);
      out.pairs += source < target ? 1 : 0;
      out.loops += source == target ? 1 : 0;
      if ((source == target && !options_.keep_self_loops) || (options_.directed && !stored)) continue;
      out.distinct += stored ? 1 : 0;
      if (source != row_source) {
        out.sources.push_back(source);
        out.row_entries.push_back(0);
        row_source = source;
      }
      ++out.row_entries.back();
      out.targets[out.entries] = target;
      if (options_.weighted) out.weights[out.entries] = entry.weight();
      ++out.entries;
    }
  }

  const Context& context_;
  const EdgeSortOptions options_;
  std::vector<Lane> lanes_;
  std::mutex mutex_;
  std::atomic<uint64_t> next_run_{0};
  std::vector<std::unique_ptr<ScratchFile<Entry>>> runs_;
};

}  // namespace

std::unique_ptr<EdgeSorter> EdgeSorter::Make(const Context& context, const EdgeSortOptions& options) {
  if (options.weighted) return std::make_unique<Sorter<WeightedEntry>>(context, options);
  return std::make_unique<Sorter<PlainEntry>>(context, options);
}

}  // namespace l2gcn
