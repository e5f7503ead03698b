#include "kernels/ranks/column_exchange.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/error_format.h"
#include "core/threads.h"
#include "kernels/cpu/kernels.h"
#include "kernels/disk/disk_layout.h"
#include "ranks/collectives.h"

namespace l2gcn {
namespace {

// Panels then take half of what the shares of the matrix and of the result take.
constexpr size_t kRoundsAtLeast = 4;
constexpr size_t kCopiedRows = 256;  // that one thread copies at a time

size_t PanelWidth(size_t cols, size_t bytes, uint32_t ranks) {
  const size_t unit = kPanelBytes / bytes, units = (cols + unit - 1) / unit;
  return unit * std::clamp<size_t>(units / (kRoundsAtLeast * ranks), 1, kPanelColumnsAtMost / unit);
}

}  // namespace

ColumnExchange::ColumnExchange(Ranks& ranks, const RankRows& rows, const ColumnShape& shape)
    : ranks_(ranks),
      rows_(rows),
      shape_(shape),
      width_(PanelWidth(shape.cols, std::min(rows.bytes(), shape.out_bytes), ranks.size())),
      begin_(ShareBegin(shape.rows, ranks.rank(), ranks.size())) {
  const std::span<const uint32_t> from = shape.row_of_node;
  L2GCN_ASSERT(std::is_sorted(from.begin(), from.end()));
  for (uint32_t r = 0; r <= ranks.size(); ++r) {
    const size_t begin = ShareBegin(shape.rows, r, ranks.size());
    const auto found = std::lower_bound(from.begin(), from.end(), begin) - from.begin();
    sources_.push_back(from.empty() ? begin : static_cast<size_t>(found));
    results_.push_back(ShareBegin(shape.nodes, r, ranks.size()));
  }
}

size_t ColumnExchange::rounds() const {
  const size_t together = width_ * ranks_.size();
  return (shape_.cols + together - 1) / together;
}

size_t ColumnExchange::own_results() const { return results_[ranks_.rank() + 1] - results_[ranks_.rank()]; }

ColumnPanel ColumnExchange::Mine(size_t round) const { return PanelOf(ranks_.rank(), round); }

ColumnPanel ColumnExchange::PanelOf(uint32_t rank, size_t round) const {
  const size_t first = (round * ranks_.size() + rank) * width_;
  if (first >= shape_.cols) return {};
  const size_t count = std::min(width_, shape_.cols - first);
  // A panel narrower than a vector would be summed by other instructions, and with other bits, than the same columns
  // beside others.
  return {first, count, first > 0 ? std::max(count, kPad) : count};
}

Array<char> ColumnExchange::Receive(const Context& context, size_t round) const {
  const uint32_t rank = ranks_.rank();
  const size_t bytes = rows_.bytes(), own = sources_[rank + 1] - sources_[rank];
  // This rank's rows of a panel (own × stride).
  const auto pack = [&](const ColumnPanel& panel, char* to) {
    ParallelFor(context, own, kCopiedRows, [&](size_t first, size_t end) {
      for (size_t i = first; i < end; ++i) {
        const size_t at = sources_[rank] + i;
        char* const row = to + i * panel.stride * bytes;
        rows_.Copy((shape_.row_of_node.empty() ? at : shape_.row_of_node[at]) - begin_, panel.first,
                   panel.first + panel.count, row);
        std::memset(row + panel.count * bytes, 0, (panel.stride - panel.count) * bytes);
      }
    });
  };
  const ColumnPanel mine = Mine(round);
  const size_t row_bytes = mine.stride * bytes;
  Array<char> panel = Array<char>::Allocate(sources() * row_bytes);
  char* const to = panel.mutable_data();
  if (mine.count > 0) pack(mine, to + sources_[rank] * row_bytes);
  const std::shared_ptr<void> packed = AllocateAligned(own * std::max(width_, kPad) * bytes);
  ForPartners(ranks_, [&](uint32_t partner, uint32_t from) {
    const ColumnPanel theirs = PanelOf(partner, round);
    if (theirs.count > 0) pack(theirs, static_cast<char*>(packed.get()));
    ranks_.Exchange(partner, {static_cast<const char*>(packed.get()), own * theirs.stride * bytes}, from,
                    {to + sources_[from] * row_bytes, (sources_[from + 1] - sources_[from]) * row_bytes});
  });
  return panel;
}

void ColumnExchange::Send(const Context& context, size_t round, const char* result, char* out) const {
  const uint32_t rank = ranks_.rank();
  const size_t bytes = shape_.out_bytes, own = own_results();
  const auto unpack = [&](const ColumnPanel& panel, const char* from) {
    ParallelFor(context, own, kCopiedRows, [&](size_t first, size_t end) {
      for (size_t i = first; i < end; ++i)
        std::memcpy(out + (i * shape_.cols + panel.first) * bytes, from + i * panel.stride * bytes,
                    panel.count * bytes);
    });
  };
  const ColumnPanel mine = Mine(round);
  const size_t row_bytes = mine.stride * bytes;
  if (mine.count > 0) unpack(mine, result + results_[rank] * row_bytes);
  const std::shared_ptr<void> packed = AllocateAligned(own * std::max(width_, kPad) * bytes);
  ForPartners(ranks_, [&](uint32_t to, uint32_t from) {
    const ColumnPanel theirs = PanelOf(from, round);
    char* const received = static_cast<char*>(packed.get());
    ranks_.Exchange(to, {result + results_[to] * row_bytes, (results_[to + 1] - results_[to]) * row_bytes},
                    from, {received, own * theirs.stride * bytes});
    if (theirs.count > 0) unpack(theirs, received);
  });
}

}  // namespace l2gcn
