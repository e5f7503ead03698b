#include "data/generator_graph.h"

#include <algorithm>
#include <cmath>

#include "core/error_format.h"
#include "data/generator_random.h"

namespace l2gcn {
namespace {

constexpr uint32_t kLargestBlock = 1u << 16;  // local ids fit 16 bits, a pair of them a 32-bit key
constexpr uint32_t kSmallestBlock = 4096;     // smaller parts are one block
constexpr uint32_t kFewestBlocks = 16;    // a large enough part has at least so many: work for many threads
constexpr uint32_t kWeightedRounds = 12;  // after these a cell's missing edges are drawn evenly

// Ascending order; the temporary is kept by the caller because cells come by the thousand.
void SortKeys(std::span<uint32_t> keys, std::vector<uint32_t>& scratch) {
  constexpr int kBits = 11, kPasses = 3;
  constexpr uint32_t kBuckets = 1u << kBits;
  if (keys.size() < kBuckets / 2) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  scratch.resize(keys.size());
  std::span<uint32_t> from = keys, to = scratch;
  for (int pass = 0; pass < kPasses; ++pass) {
    uint32_t start[kBuckets + 1] = {};
    const int shift = pass * kBits;
    for (uint32_t key : from) ++start[((key >> shift) & (kBuckets - 1)) + 1];
    for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) start[bucket + 1] += start[bucket];
    for (uint32_t key : from) to[start[(key >> shift) & (kBuckets - 1)]++] = key;
    std::swap(from, to);
  }
  std::copy(from.begin(), from.end(), keys.begin());  // an odd number of passes ends in the scratch
}

}  // namespace

// Draws candidates of one cell: key = local id in block I · 2¹⁶ + local id in block J, the smaller first
// within one block.
class CellDraw {
 public:
  CellDraw(const GeneratorLayout& layout, uint32_t i, uint32_t j)
      : source_(layout.blocks_[i]),
        target_(layout.blocks_[j]),
        diagonal_(i == j),
        anchored_(i == j && layout.parts_[source_.part].anchored),
        homophily_(static_cast<float>(layout.plan_.homophily)),
        stream_(
            GeneratorStream(layout.plan_.seed, GeneratorUse::kCell,
                            static_cast<uint32_t>(static_cast<uint64_t>(i) * layout.blocks_.size() + j))) {}

  static constexpr uint64_t kNoEdge = ~uint64_t{0};

  // The index-th candidate, or kNoEdge where it would join a node to itself.
  uint64_t Candidate(uint64_t index, bool weighted) const {
    const Philox4 bits = stream_.Block(index);
    const BlockPattern& from = *source_.pattern;
    const BlockPattern& to = *target_.pattern;
    if (!weighted) return Key(Even(from, bits.v[0]), Even(to, bits.v[2]));
    const bool is_anchor = anchored_ && index < from.size;
    const uint32_t source = is_anchor ? static_cast<uint32_t>(index) : Weighted(from, bits.v[0]);
    uint32_t target = 0;
    const uint32_t group = from.group_of_position[source];
    const uint32_t first = to.group_begin[group], count = to.group_begin[group + 1] - first;
    if (count != 0 && UniformFloat(bits.v[1]) < homophily_) {
      target = first + PowerRank(UnitOf(bits.v[2]), count);
    } else {
      target = Weighted(to, bits.v[2]);
    }
    if (is_anchor && target == source) target = target + 1 == to.size ? 0 : target + 1;
    return Key(source, target);
  }

 private:
  static uint32_t Even(const BlockPattern& pattern, uint32_t word) {
    return static_cast<uint32_t>((static_cast<uint64_t>(word) * pattern.size) >> 32);
  }
  // A position by weight: groups by size, ranks within by power law. One word serves both choices: given the
  // group, where the word falls within it is uniform again.
  static uint32_t Weighted(const BlockPattern& pattern, uint32_t word) {
    const double place = UnitOf(word) * pattern.size;
    const uint32_t group = pattern.group_of_position[static_cast<uint32_t>(place)];
    const uint32_t first = pattern.group_begin[group], count = pattern.group_begin[group + 1] - first;
    return first + PowerRank((place - first) / count, count);
  }
  static uint32_t Local(const GeneratorLayout::Block& block, uint32_t position) {
    const uint32_t local = block.pattern->local_of_position[position] + block.shift;
    return local < block.pattern->size ? local : local - block.pattern->size;
  }
  uint64_t Key(uint32_t source, uint32_t target) const {
    uint32_t a = Local(source_, source), b = Local(target_, target);
    if (diagonal_) {
      if (a == b) return kNoEdge;
      if (a > b) std::swap(a, b);
    }
    return (static_cast<uint64_t>(a) << 16) | b;
  }

  const GeneratorLayout::Block& source_;
  const GeneratorLayout::Block& target_;
  const bool diagonal_;
  const bool anchored_;
  const float homophily_;
  const RandomStream stream_;
};

GeneratorLayout::GeneratorLayout(const GeneratorPlan& plan) : plan_(plan) {
  // Shares fall from the first group to the last, which is about a third as large; and from class to class by the skew.
  std::vector<double> class_share(plan.classes, 1.0);
  for (uint32_t c = 1; c < plan.classes; ++c) class_share[c] = class_share[c - 1] / plan.skew;
  double total = 0;
  for (uint32_t group = 0; group < plan.groups; ++group) {
    total += class_share[group % plan.classes] / (group + 0.5 * plan.groups);
    group_ends_.push_back(total);
  }
  for (double& end : group_ends_) end /= total;

  for (uint32_t p = 0; p < plan.parts(); ++p) {
    const uint64_t begin = plan.part_begin[p], size = plan.part_begin[p + 1] - begin;
    const uint64_t fewest = (size + kLargestBlock - 1) / kLargestBlock;
    const uint64_t count =
        std::max({fewest, std::min<uint64_t>(kFewestBlocks, size / kSmallestBlock), uint64_t{1}});
    Part part{plan.part_begin[p], plan.part_begin[p + 1], blocks(), 0, plan.part_edges[p], false};
    for (uint64_t block = 0; block < count; ++block) {
      const uint64_t first = size * block / count, last = size * (block + 1) / count;
      const uint32_t shift = static_cast<uint32_t>(
          GeneratorStream(plan.seed, GeneratorUse::kShift).Below(blocks(), last - first));
      blocks_.push_back(
          {static_cast<uint32_t>(begin + first), p, shift, PatternOf(static_cast<uint32_t>(last - first))});
    }
    part.end_block = blocks();
    part.anchored = 2 * part.edges >= 3 * size && part.edges <= size * (size - 1) / 16;
    parts_.push_back(part);
  }
}

const BlockPattern* GeneratorLayout::PatternOf(uint32_t size) {
  for (const auto& pattern : patterns_) {
    if (pattern->size == size) return pattern.get();
  }
  auto pattern = std::make_unique<BlockPattern>();
  pattern->size = size;
  pattern->group_begin.push_back(0);
  for (double end : group_ends_) {
    const uint32_t last = std::min(size, static_cast<uint32_t>(std::lround(end * size)));
    const auto group = static_cast<uint16_t>(pattern->group_begin.size() - 1);
    pattern->group_of_position.resize(last, group);
    pattern->group_begin.push_back(last);
  }
  L2GCN_ASSERT(pattern->group_of_position.size() == size);
  const Permutation order(size, GeneratorStream(plan_.seed, GeneratorUse::kOrder, size));
  pattern->local_of_position.resize(size);
  pattern->position_of_local.resize(size);
  for (uint32_t position = 0; position < size; ++position) {
    const uint32_t local = order(position);
    pattern->local_of_position[position] = static_cast<uint16_t>(local);
    pattern->position_of_local[local] = static_cast<uint16_t>(position);
  }
  patterns_.push_back(std::move(pattern));
  return patterns_.back().get();
}

uint32_t GeneratorLayout::BlockOf(uint32_t node) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), node,
                                      [](uint32_t n, const Block& block) { return n < block.begin; });
  return static_cast<uint32_t>(after - blocks_.begin()) - 1;
}

uint32_t GeneratorLayout::GroupOf(uint32_t block, uint32_t node) const {
  const Block& home = blocks_[block];
  const BlockPattern& pattern = *home.pattern;
  const uint32_t local = node - home.begin;
  const uint32_t unshifted = local >= home.shift ? local - home.shift : local + pattern.size - home.shift;
  return pattern.group_of_position[pattern.position_of_local[unshifted]];
}

// Pairs of the part are numbered cell by cell, row by row of the upper triangle; a cell gets the edges whose
// even spacing over all pairs falls among its own. Anchors come on top, in the diagonal cells.
uint64_t GeneratorLayout::CellEdges(uint32_t i, uint32_t j) const {
  const Part& part = parts_[blocks_[i].part];
  const uint64_t size = part.end - part.begin, rows = BlockRows(i), columns = BlockRows(j);
  const uint64_t row_first = BlockBegin(i) - part.begin, column_first = BlockBegin(j) - part.begin;
  const uint64_t rows_before = row_first * size - row_first * (row_first + 1) / 2;  // pairs (u < v), u above
  const uint64_t diagonal = rows * (rows - 1) / 2;
  const uint64_t first =
      i == j ? rows_before : rows_before + diagonal + rows * (column_first - row_first - rows);
  const uint64_t last = first + (i == j ? diagonal : rows * columns);
  const uint64_t pairs = size * (size - 1) / 2;
  const uint64_t spread = part.edges - (part.anchored ? size : 0);
  const auto before = [&](uint64_t pair) { return MultiplyDivide(pair, spread, pairs); };
  return before(last) - before(first) + (i == j && part.anchored ? rows : 0);
}

uint64_t GeneratorLayout::BlockEntries(uint32_t block) const {
  const Part& part = parts_[blocks_[block].part];
  uint64_t entries = CellEdges(block, block);  // both ends lie in the block: counted once more below
  for (uint32_t other = part.first_block; other < part.end_block; ++other) {
    entries += CellEdges(std::min(block, other), std::max(block, other));
  }
  return entries;
}

// Appends the cell's keys, ascending and all different. Each round draws as many as are missing, so the count
// is met exactly; rounds after the first are small. A cell too tight for the power law is filled up evenly.
void GeneratorLayout::AppendCell(uint32_t i, uint32_t j, std::vector<uint32_t>& keys) const {
  const uint64_t wanted = CellEdges(i, j);
  const CellDraw draw(*this, i, j);
  std::vector<uint32_t> cell, fresh, merged, scratch;
  cell.reserve(wanted);
  uint64_t index = 0;
  for (uint32_t round = 0; cell.size() < wanted; ++round) {
    fresh.clear();
    for (uint64_t end = index + wanted - cell.size(); index < end; ++index) {
      const uint64_t key = draw.Candidate(index, round < kWeightedRounds);
      if (key != CellDraw::kNoEdge) fresh.push_back(static_cast<uint32_t>(key));
    }
    SortKeys(fresh, scratch);
    fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    if (cell.empty()) {
      cell.swap(fresh);
    } else {
      merged.clear();
      std::set_union(cell.begin(), cell.end(), fresh.begin(), fresh.end(), std::back_inserter(merged));
      cell.swap(merged);
    }
  }
  keys.insert(keys.end(), cell.begin(), cell.end());
}

// Cells are taken by ascending other block and each is sorted by its smaller side, so appending leaves every
// row ascending: no row is sorted again.
void GeneratorLayout::FillRows(uint32_t block, std::span<uint64_t> row_end,
                               std::span<uint32_t> indices) const {
  const Part& part = parts_[blocks_[block].part];
  const uint32_t rows = BlockRows(block);
  L2GCN_ASSERT(row_end.size() == rows);
  std::vector<uint32_t> keys;  // the cells that touch the block, all of them
  std::vector<size_t> cell_begin;
  keys.reserve(indices.size());
  for (uint32_t other = part.first_block; other < part.end_block; ++other) {
    cell_begin.push_back(keys.size());
    AppendCell(std::min(block, other), std::max(block, other), keys);
  }
  cell_begin.push_back(keys.size());

  // visit(row, column, block of the column) for every entry, ascending within a row.
  const auto each_entry = [&](const auto& visit) {
    for (uint32_t other = part.first_block; other < part.end_block; ++other) {
      const size_t cell = other - part.first_block;
      const uint32_t base = BlockBegin(other);
      for (size_t k = cell_begin[cell]; k < cell_begin[cell + 1]; ++k) {
        const uint32_t low = keys[k] >> 16, high = keys[k] & 0xFFFFu;
        if (other >= block) visit(low, base + high);
        if (other <= block) visit(high, base + low);
      }
    }
  };
  std::vector<uint64_t> cursor(rows + 1, 0);
  each_entry([&](uint32_t row, uint32_t) { ++cursor[row + 1]; });
  for (uint32_t row = 0; row < rows; ++row) row_end[row] = cursor[row + 1] += cursor[row];
  L2GCN_ASSERT(cursor[rows] == indices.size());
  each_entry([&](uint32_t row, uint32_t column) { indices[cursor[row]++] = column; });
}

}  // namespace l2gcn
