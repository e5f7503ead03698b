#include "graph/needed_rows.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <span>

#include "core/disk_memory.h"
#include "core/paced_tasks.h"
#include "core/scratch_fill.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

constexpr size_t kBlockNodes = size_t{1} << 15;          // nodes that a thread takes at a time
constexpr uint64_t kStretchEntries = uint64_t{1} << 18;  // entries that are read in one go
constexpr size_t kCopiers = 4;  // threads that copy rows: most of the time they wait for the disk
constexpr size_t kFewCopiers = 2;
constexpr uint64_t kBudgetOfAllCopiers = uint64_t{256} << 20;

// Each copier has buffers of 4 MiB, which would be felt under a small budget.
size_t CopiersWithin(const DiskMemory* disk) {
  return disk != nullptr && disk->budget() < kBudgetOfAllCopiers ? kFewCopiers : kCopiers;
}

// A set of nodes in which every member has a number: how many come before it.
class NodeSet {
 public:
  explicit NodeSet(size_t nodes) : words_((nodes + 63) / 64, 0) {}

  // By any thread.
  void Add(uint32_t node) {
    uint64_t& word = words_[node / 64];
    const uint64_t bit = uint64_t{1} << (node % 64);
    std::atomic_ref<uint64_t> shared(word);
    if ((shared.load(std::memory_order_relaxed) & bit) == 0) shared.fetch_or(bit, std::memory_order_relaxed);
  }
  // To be called once all are there; returns how many they are.
  size_t Number() {
    before_.resize(words_.size());
    uint32_t count = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      before_[i] = count;
      count += static_cast<uint32_t>(std::popcount(words_[i]));
    }
    return count;
  }
  uint32_t NumberOf(uint32_t node) const {
    const uint64_t below = (uint64_t{1} << (node % 64)) - 1;
    return before_[node / 64] + static_cast<uint32_t>(std::popcount(words_[node / 64] & below));
  }
  // The members, ascending, to out.
  void List(uint32_t* out) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1)
        *out++ = static_cast<uint32_t>(64 * i + static_cast<size_t>(std::countr_zero(word)));
    }
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint32_t> before_;  // members in the words before
};

// Copies rows of an operator out.
class RowCopy {
 public:
  RowCopy(const Context& context, const Propagation& a, std::span<const uint32_t> nodes)
      : context_(context),
        a_(a),
        nodes_(nodes),
        buffers_(CopiersWithin(context.disk.get())),
        to_indices_(context.disk.get(), buffers_.size()),
        to_weights_(context.disk.get(), buffers_.size()) {
    for (size_t first = 0; first < nodes.size();) {
      const uint64_t end = (nodes[first] / kBlockNodes + uint64_t{1}) * kBlockNodes;
      first = static_cast<size_t>(
          std::lower_bound(nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end(), end) -
          nodes.begin());
      ends_.push_back(first);
    }
  }

  // Offsets and scales of the rows. Returns their entries.
  uint64_t Measure(Propagation& out) {
    const size_t rows = nodes_.size();
    out.nodes = static_cast<uint32_t>(rows);
    out.row_scale = LargeArray<float>(context_.disk, rows);
    out.self_scale = LargeArray<float>(context_.disk, rows);
    out.indptr = LargeArray<uint64_t>(context_.disk, rows + 1);
    uint64_t* const indptr = out.indptr.mutable_data();
    float* const row_scale = out.row_scale.mutable_data();
    float* const self_scale = out.self_scale.mutable_data();
    PacedTasks measuring(ends_.size(), buffers_.size(), [&](size_t block, size_t worker) {
      const uint64_t* const offsets = OffsetsFrom(First(block), ends_[block], worker);
      for (size_t r = First(block); r < ends_[block]; ++r) {
        const uint32_t node = nodes_[r], at = node - nodes_[First(block)];
        indptr[r + 1] = a_.indptr.empty() ? 0 : offsets[at + 1] - offsets[at];
        row_scale[r] = a_.row_scale[node];
        self_scale[r] = a_.self_scale[node];
      }
    });
    measuring.Finish();
    indptr[0] = 0;
    for (size_t r = 0; r < rows; ++r) indptr[r + 1] += indptr[r];
    return indptr[rows];
  }

  // The entries, and the nodes they name to `reached` if that is not null.
  void Copy(Propagation& out, NodeSet* reached) {
    const uint64_t entries = out.indptr[nodes_.size()];
    out.indices = LargeArray<uint32_t>(context_.disk, entries);
    if (!a_.weights.empty()) out.weights = LargeArray<float>(context_.disk, entries);
    if (entries == 0) return;
    uint32_t* const indices = out.indices.mutable_data();
    float* const weights = a_.weights.empty() ? nullptr : out.weights.mutable_data();
    PacedTasks copying(ends_.size(), buffers_.size(), [&](size_t block, size_t worker) {
      context_.CheckCancelled();
      const uint64_t to = out.indptr[First(block)];
      to_indices_.Begin(worker, indices + to);
      if (weights != nullptr) to_weights_.Begin(worker, weights + to);
      CopyBlock(block, worker, reached);
      to_indices_.End(worker);
      if (weights != nullptr) to_weights_.End(worker);
    });
    copying.Finish();
    to_indices_.Finish();
    to_weights_.Finish();
  }

 private:
  struct Buffers {
    DiskBuffer offsets, indices, weights;
  };
  struct Offsets {
    const uint64_t* of;  // of the nodes from `first` on
    uint32_t first;
    uint64_t Of(uint32_t node) const { return of[node - first]; }
  };

  size_t First(size_t block) const { return block == 0 ? 0 : ends_[block - 1]; }
  // Offsets of the nodes from that of row `first` to that of row `end` − 1, and where the last one's entries end.
  const uint64_t* OffsetsFrom(size_t first, size_t end, size_t worker) {
    if (a_.indptr.empty()) return nullptr;
    return ViewOf(context_.disk, a_.indptr, nodes_[first], nodes_[end - 1] - nodes_[first] + size_t{2},
                  buffers_[worker].offsets);
  }

  void CopyBlock(size_t block, size_t worker, NodeSet* reached) {
    const size_t begin = First(block), end = ends_[block];
    const Offsets offsets = {OffsetsFrom(begin, end, worker), nodes_[begin]};
    // Rows whose entries lie within one stretch are read together.
    for (size_t r = begin; r < end;) {
      const uint64_t from = offsets.Of(nodes_[r]);
      size_t last = r;
      while (last + 1 < end && offsets.Of(nodes_[last + 1] + 1) - from <= kStretchEntries) ++last;
      const uint64_t until = offsets.Of(nodes_[last] + 1);
      for (uint64_t at = from; at < until; at += kStretchEntries)
        CopyStretch(at, std::min(until, at + kStretchEntries), r, last + 1, offsets, worker, reached);
      r = last + 1;
    }
  }

  // What of rows [row, row_end) lies among the entries [begin, end) of the whole operator.
  void CopyStretch(uint64_t begin, uint64_t end, size_t row, size_t row_end, const Offsets& offsets,
                   size_t worker, NodeSet* reached) {
    Buffers& buffers = buffers_[worker];
    const uint32_t* const indices = ViewOf(context_.disk, a_.indices, begin, end - begin, buffers.indices);
    const float* const weights =
        a_.weights.empty() ? nullptr : ViewOf(context_.disk, a_.weights, begin, end - begin, buffers.weights);
    for (; row < row_end; ++row) {
      const uint64_t own = offsets.Of(nodes_[row]);
      const uint64_t from = std::max(begin, own), until = std::min(end, offsets.Of(nodes_[row] + 1));
      if (from >= until) continue;
      to_indices_.Append(worker, indices + (from - begin), (until - from) * sizeof(uint32_t));
      if (weights != nullptr)
        to_weights_.Append(worker, weights + (from - begin), (until - from) * sizeof(float));
      for (uint64_t e = from; reached != nullptr && e < until; ++e) reached->Add(indices[e - begin]);
    }
  }

  const Context& context_;
  const Propagation& a_;
  const std::span<const uint32_t> nodes_;
  std::vector<size_t> ends_;      // of the rows in each block of nodes that has any
  std::vector<Buffers> buffers_;  // of each copier
  ScratchFill to_indices_, to_weights_;
};

// From nodes to the rows of a smaller input.
void Renumber(const Context& context, const NodeSet& inputs, const Array<uint32_t>& input_nodes,
              Propagation& a) {
  uint32_t* const indices = a.indices.mutable_data();
  ParallelFor(context, a.indices.size(), kStretchEntries, [&](size_t begin, size_t end) {
    for (size_t e = begin; e < end; ++e) indices[e] = inputs.NumberOf(indices[e]);
  });
  Array<uint32_t> own = LargeArray<uint32_t>(context.disk, a.nodes);
  uint32_t* const number = own.mutable_data();
  for (size_t r = 0; r < a.nodes; ++r) number[r] = inputs.NumberOf(a.own[r]);
  a.own = std::move(own);
  if (a.col_scale.empty()) return;
  Array<float> scale = LargeArray<float>(context.disk, input_nodes.size());
  float* const of = scale.mutable_data();
  for (size_t i = 0; i < input_nodes.size(); ++i) of[i] = a.col_scale[input_nodes[i]];
  a.col_scale = std::move(scale);
}

}  // namespace

bool PaysToCopyRows(uint64_t rows, uint64_t entries, uint64_t all_rows, uint64_t all_entries) {
  return 3 * (rows + entries) < 2 * (all_rows + all_entries);
}

std::vector<NeededRows> FindNeededRows(const Context& context, const Propagation& a,
                                       const std::vector<uint32_t>& last, uint32_t layers, uint32_t first) {
  std::vector<NeededRows> needed(layers);
  Array<uint32_t> nodes = Array<uint32_t>::CopyOf(last);
  std::unique_ptr<NodeSet> inputs;  // of the layer after the current one
  for (uint32_t layer = layers; layer-- > first && !nodes.empty();) {
    Propagation rows;
    rows.own = nodes;
    rows.col_scale = a.col_scale;
    RowCopy copy(context, a, nodes.span());
    if (!PaysToCopyRows(nodes.size(), copy.Measure(rows), a.nodes, a.entries())) break;
    if (inputs != nullptr) Renumber(context, *inputs, nodes, needed[layer + 1].a);
    const bool goes_on = layer > first;
    inputs = goes_on ? std::make_unique<NodeSet>(a.nodes) : nullptr;
    copy.Copy(rows, inputs.get());
    needed[layer] = {nodes, std::move(rows)};
    if (!goes_on) break;
    for (const uint32_t node : nodes) inputs->Add(node);
    nodes = LargeArray<uint32_t>(context.disk, inputs->Number());
    inputs->List(nodes.mutable_data());
  }
  return needed;
}

}  // namespace l2gcn
