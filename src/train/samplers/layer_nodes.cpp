#include "train/samplers/layer_nodes.h"

#include "core/threads.h"

namespace l2gcn {

namespace {

// How often each index came, as a list of (index, times), ascending.
std::vector<std::pair<uint32_t, uint32_t>> DrawFrom(const std::vector<double>& cumulative, uint32_t count,
                                                    const RandomStream& stream) {
  std::vector<uint32_t> drawn(count);
  for (uint32_t i = 0; i < count; ++i) {
    const double at = UniformDouble(stream.Word64(i)) * cumulative.back();
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end() - 1, at);
    drawn[i] = static_cast<uint32_t>(found - cumulative.begin());
  }
  std::sort(drawn.begin(), drawn.end());
  std::vector<std::pair<uint32_t, uint32_t>> times;
  for (uint32_t index : drawn) {
    if (times.empty() || times.back().first != index) times.emplace_back(index, 0);
    ++times.back().second;
  }
  return times;
}

}  // namespace

void DrawnNodes::Begin(const std::vector<uint32_t>& first, std::vector<uint32_t>& sources) {
  for (uint32_t node : drawn_) factor_[node] = 0;
  drawn_.clear();
  index_.Clear();
  sources.clear();
  for (uint32_t node : first) index_.Add(node, sources);
}

void DrawnNodes::Draw(const std::vector<double>& cumulative, const std::vector<uint32_t>& nodes,
                      uint32_t count, const RandomStream& stream, std::vector<uint32_t>& sources) {
  for (const auto& [at, times] : DrawFrom(cumulative, count, stream)) {
    const double q = (cumulative[at] - (at == 0 ? 0 : cumulative[at - 1])) / cumulative.back();
    const uint32_t node = nodes.empty() ? at : nodes[at];
    factor_[node] = static_cast<float>(times / (count * q));
    drawn_.push_back(node);
    index_.Add(node, sources);
  }
}

void DrawnNodes::FillBlock(const Context& context, const Propagation& a, const std::vector<uint32_t>& rows,
                           bool own, uint32_t sources, Block& block) const {
  block.rows = static_cast<uint32_t>(rows.size());
  block.cols = sources;
  block.indptr.assign(rows.size() + 1, 0);
  ParallelFor(context, rows.size(), 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      uint64_t count = own || factor_[rows[i]] != 0 ? 1 : 0;
      for (uint64_t e = a.indptr[rows[i]]; e < a.indptr[rows[i] + 1]; ++e)
        count += factor_[a.indices[e]] != 0 ? 1 : 0;
      block.indptr[i + 1] = count;
    }
  });
  for (size_t i = 0; i < rows.size(); ++i) block.indptr[i + 1] += block.indptr[i];
  block.indices.resize(block.indptr[rows.size()]);
  block.values.resize(block.indptr[rows.size()]);
  ParallelFor(context, rows.size(), 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t node = rows[i];
      uint64_t at = block.indptr[i];
      if (own || factor_[node] != 0) {
        block.indices[at] = index_.Find(node);
        block.values[at++] = a.self_scale[node] * (own ? 1.0f : factor_[node]);
      }
      for (uint64_t e = a.indptr[node]; e < a.indptr[node + 1]; ++e) {
        const float factor = factor_[a.indices[e]];
        if (factor == 0) continue;
        block.indices[at] = index_.Find(a.indices[e]);
        block.values[at++] = EntryOf(a, node, e) * factor;
      }
    }
  });
}

}  // namespace l2gcn
