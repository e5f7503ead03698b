#include "kernels/cpu/aggregate.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/error_format.h"
#include "core/row_preparation.h"
#include "core/threads.h"

namespace l2gcn {
namespace {

// Columns aggregated at a time, over all rows: the gathered part of X then stays in the outer cache where
// whole rows would not.
constexpr size_t kTileColumns = 128;
// Rows of several tiles do not begin at cache lines, so a gather fetches one line in nine for nothing. Where
// rows are gathered at least this often on average, a tile is copied together first.
constexpr size_t kPackingDegree = 16;

// body(begin, end, worker) over rows of the graph, cut where equal shares of (edges + rows) end.
template <class Body>
void ForRowsByEdges(const Context& context, const Propagation& a, const Body& body) {
  const uint64_t work = a.entries() + a.nodes;
  const size_t pieces =
      context.threads == 1 ? 1 : std::min<uint64_t>(context.threads * 32ull, work / 4096 + 1);
  const auto cost = [&](size_t row) { return a.indptr[row] - a.indptr[0] + row; };
  const auto boundary = [&](size_t piece) {
    const uint64_t wanted = work / pieces * piece;
    size_t low = 0, high = a.nodes;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (cost(middle) < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  ParallelTasks(context, pieces, [&](size_t piece, uint32_t worker) {
    const size_t end = piece + 1 == pieces ? a.nodes : boundary(piece + 1);
    body(boundary(piece), end, worker);
  });
}

// Visits (row of X, factor) for every term of row `i` of Â X: neighbours in ascending order, then the node
// itself.
template <class Visit>
void ForTerms(const Propagation& a, std::span<const uint32_t> row_of_node, size_t i, const Visit& visit) {
  const auto source = [&](uint32_t node) { return row_of_node.empty() ? node : row_of_node[node]; };
  for (uint64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const uint32_t node = a.indices[e];
    float factor = a.row_scale[i];
    if (!a.weights.empty()) factor *= a.weights[e];
    if (!a.col_scale.empty()) factor *= a.col_scale[node];
    visit(source(node), factor);
  }
  visit(source(a.own.empty() ? a.first_row + static_cast<uint32_t>(i) : a.own[i]), a.self_scale[i]);
}

// Which columns of the current row were touched; cleared in time proportional to what was touched.
struct TouchedColumns {
  std::vector<uint32_t> stamp;
  std::vector<uint32_t> columns;
  uint32_t now = 0;

  explicit TouchedColumns(size_t cols) : stamp(cols, 0) {}
  void Clear() {
    columns.clear();
    if (++now == 0) {
      std::fill(stamp.begin(), stamp.end(), 0);
      now = 1;
    }
  }
  bool Touch(uint32_t column) {
    if (stamp[column] == now) return false;
    stamp[column] = now;
    columns.push_back(column);
    return true;
  }
};

// The preparation of x in the form the kernel takes: every part there, ones and zeros where it does nothing.
// Bits do not change, since x · 1 and x − 0 are x.
struct KernelPreparation {
  std::vector<float> zeros, ones, row_ones;
  const float* shift = nullptr;       // (cols), null if x is not prepared
  const float* factor = nullptr;      // (cols)
  const float* row_factor = nullptr;  // (rows)

  explicit KernelPreparation(const StoredMatrix& x) {
    if (!x.prepared()) return;
    const RowPreparation& p = *x.source.preparation();
    if (p.factor.empty()) {
      zeros.assign(x.cols, 0.0f);
      ones.assign(x.cols, 1.0f);
    }
    if (p.row_factor.empty()) row_ones.assign(x.rows, 1.0f);
    shift = p.factor.empty() ? zeros.data() : p.shift.data();
    factor = p.factor.empty() ? ones.data() : p.factor.data();
    row_factor = p.row_factor.empty() ? row_ones.data() : p.row_factor.data();
  }
};

// Columns [column, column + width) of all of Â X; where to write is left to the caller.
AggregateArgs ArgsOf(const Propagation& a, std::span<const uint32_t> row_of_node, const StoredMatrix& x,
                     const KernelPreparation& preparation, FeatureType out_type, size_t column,
                     size_t width) {
  AggregateArgs args{a.nodes,
                     a.indptr.data(),
                     a.indices.data(),
                     a.weights.data(),
                     a.row_scale.data(),
                     a.col_scale.data(),
                     a.self_scale.data(),
                     row_of_node.empty() ? nullptr : row_of_node.data(),
                     static_cast<const char*>(x.data()) + column * BytesOf(x.type),
                     x.cols,
                     nullptr,
                     0,
                     x.cols,
                     width,
                     x.type};
  args.out_type = out_type;
  args.first_row = a.first_row;
  if (!a.own.empty()) args.own = a.own.data();
  if (x.prepared()) {
    args.shift = preparation.shift + column;
    args.factor = preparation.factor + column;
    args.row_factor = preparation.row_factor;
  }
  return args;
}

FeatureType PackedType(const StoredMatrix& x) { return x.prepared() ? FeatureType::kF32 : x.type; }

// Copies the tile's columns of the rows that can be gathered, or of this process's share of them, into the tile, at
// multiples of a cache line, and lets `args` read them there. Rows that must be prepared are prepared on the way.
void PackTile(const Context& context, const StoredMatrix& x, AggregateArgs& args, size_t column,
              const SharedTile& shared) {
  char* const tile = shared.elements;
  const size_t stride = PadWidth(args.cols), bytes = BytesOf(PackedType(x));
  ParallelFor(context, shared.end - shared.first, 256, [&](size_t begin, size_t end) {
    for (size_t node = shared.first + begin; node < shared.first + end; ++node) {
      const size_t row = args.row_of_node == nullptr ? node : args.row_of_node[node];
      char* to = tile + node * stride * bytes;
      const void* from = x.prepared() ? static_cast<const void*>(x.source.ReadColumns(
                                            row, column, column + args.cols, reinterpret_cast<float*>(to)))
                                      : static_cast<const char*>(args.x) + row * args.x_stride * bytes;
      if (from != to) std::memcpy(to, from, args.cols * bytes);
    }
  });
  args.x = tile;
  args.x_stride = stride;
  args.row_of_node = nullptr;
  if (!x.prepared()) return;
  args.type = FeatureType::kF32;
  args.shift = args.factor = args.row_factor = nullptr;
}

}  // namespace

bool CopiesTiles(const StoredMatrix& x, size_t sources, uint64_t entries) {
  return x.cols >= kTileColumns + kPad && entries >= kPackingDegree * sources;
}

// Bytes of the widest tile.
size_t TileBytes(const StoredMatrix& x, size_t sources) {
  return sources * PadWidth(kTileColumns + kPad) * BytesOf(PackedType(x));
}

StoredMatrix AggregateDense(const Context& context, const CpuKernels& kernels, MatrixMemory& memory,
                            const Propagation& a, const StoredMatrix& x,
                            std::span<const uint32_t> row_of_node, FeatureType out_type,
                            const SharedTile* shared) {
  L2GCN_ASSERT(out_type == FeatureType::kF32 || (out_type == x.type && !x.prepared()));
  StoredMatrix out = memory.NewStored(a.nodes, x.cols, out_type);
  const size_t sources = row_of_node.empty() ? x.rows : row_of_node.size();
  const bool packs = shared != nullptr || CopiesTiles(x, sources, a.entries());
  Array<char> own = memory.NewArray<char>(packs && shared == nullptr ? TileBytes(x, sources) : 0);
  const SharedTile tile = shared != nullptr ? *shared : SharedTile{own.mutable_data(), 0, sources, [] {}};
  char* out_data = static_cast<char*>(out.mutable_data());
  const KernelPreparation preparation(x);
  for (size_t column = 0; column < x.cols;) {
    const size_t left = x.cols - column;
    const size_t width = left < kTileColumns + kPad ? left : kTileColumns;
    AggregateArgs args = ArgsOf(a, row_of_node, x, preparation, out_type, column, width);
    args.out = out_data + column * BytesOf(out_type);
    if (packs) {
      if (column > 0) tile.Await();  // nobody reads the tile before any more
      PackTile(context, x, args, column, tile);
      tile.Await();
    }
    ForRowsByEdges(context, a, [&](size_t begin, size_t end, uint32_t) {
      context.CheckCancelled();
      kernels.aggregate(args, begin, end);
    });
    column += width;
  }
  return out;
}

void AggregateBlocks(const Context& context, const CpuKernels& kernels, const Propagation& a,
                     const StoredMatrix& x, size_t block_rows, FeatureType out_type,
                     const std::function<void(const StoredMatrix& rows, size_t first)>& visit) {
  const KernelPreparation preparation(x);
  ForRowsByEdges(context, a, [&](size_t begin, size_t end, uint32_t) {
    context.CheckCancelled();
    MatrixMemory own;
    StoredMatrix block = own.NewStored(block_rows, x.cols, out_type);
    AggregateArgs args = ArgsOf(a, {}, x, preparation, out_type, 0, x.cols);
    args.out = block.mutable_data();
    for (size_t first = begin; first < end; first += block_rows) {
      args.out_first = first;
      block.rows = std::min(block_rows, end - first);
      kernels.aggregate(args, first, first + block.rows);
      visit(block, first);
    }
  });
}

Array<uint64_t> AggregatedOffsets(const Context& context, const Propagation& a, const CsrMatrix& x,
                                  std::span<const uint32_t> row_of_node, uint64_t most) {
  constexpr size_t kRowsCounted = 64;  // before the threads' counts are added up
  Array<uint64_t> offsets = Array<uint64_t>::Zeros(a.nodes + size_t{1});
  uint64_t* count = offsets.mutable_data();
  std::atomic<uint64_t> counted{0};
  std::vector<TouchedColumns> scratch(context.threads, TouchedColumns(x.cols));
  ForRowsByEdges(context, a, [&](size_t begin, size_t end, uint32_t worker) {
    context.CheckCancelled();
    TouchedColumns& touched = scratch[worker];
    uint64_t own = 0;
    for (size_t i = begin; i < end; ++i) {
      touched.Clear();
      ForTerms(a, row_of_node, i, [&](uint32_t row, float) {
        for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) touched.Touch(x.indices[e]);
      });
      own += count[i + 1] = touched.columns.size();
      if ((i + 1 - begin) % kRowsCounted != 0 && i + 1 < end) continue;
      if (counted.fetch_add(own, std::memory_order_relaxed) + own > most) return;
      own = 0;
    }
  });
  if (counted > most) return {};
  for (size_t i = 0; i < a.nodes; ++i) count[i + 1] += count[i];
  return offsets;
}

CsrMatrix AggregateSparse(const Context& context, MatrixMemory& memory, const Propagation& a,
                          const CsrMatrix& x, std::span<const uint32_t> row_of_node,
                          Array<uint64_t> offsets) {
  CsrMatrix out;
  out.rows = a.nodes;
  out.cols = x.cols;
  out.indices = memory.NewArray<uint32_t>(offsets[a.nodes]);
  out.values = memory.NewArray<float>(offsets[a.nodes]);
  uint32_t* indices = out.indices.mutable_data();
  float* values = out.values.mutable_data();
  struct Scratch {
    TouchedColumns touched;
    std::vector<float> sum;  // (cols), meaningful where touched
  };
  std::vector<Scratch> scratch(context.threads, Scratch{TouchedColumns(x.cols), std::vector<float>(x.cols)});
  ForRowsByEdges(context, a, [&](size_t begin, size_t end, uint32_t worker) {
    context.CheckCancelled();
    Scratch& s = scratch[worker];
    for (size_t i = begin; i < end; ++i) {
      s.touched.Clear();
      ForTerms(a, row_of_node, i, [&](uint32_t row, float factor) {
        for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
          const uint32_t column = x.indices[e];
          if (s.touched.Touch(column)) s.sum[column] = 0;
          s.sum[column] += factor * x.values[e];
        }
      });
      std::sort(s.touched.columns.begin(), s.touched.columns.end());
      uint64_t at = offsets[i];
      for (uint32_t column : s.touched.columns) {
        indices[at] = column;
        values[at++] = s.sum[column];
      }
    }
  });
  out.indptr = std::move(offsets);
  return out;
}

Matrix AggregateSparseToDense(const Context& context, MatrixMemory& memory, const Propagation& a,
                              const CsrMatrix& x, std::span<const uint32_t> row_of_node) {
  Matrix out = memory.NewMatrix(a.nodes, x.cols);
  ForRowsByEdges(context, a, [&](size_t begin, size_t end, uint32_t) {
    context.CheckCancelled();
    for (size_t i = begin; i < end; ++i) {
      float* row_out = out.mutable_row(i);
      std::fill(row_out, row_out + x.cols, 0.0f);
      ForTerms(a, row_of_node, i, [&](uint32_t row, float factor) {
        for (uint64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e)
          row_out[x.indices[e]] += factor * x.values[e];
      });
    }
  });
  return out;
}

}  // namespace l2gcn
