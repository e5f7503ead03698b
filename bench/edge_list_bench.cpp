// Edge lists in text: makes a list of any length, and times parsing alone on one thread.
// bench/edge_lists.sh runs it beside wc -l and NumPy and times whole conversions.
//
//   edge_list_bench make FILE EDGES NODES integer|text    a random list, same bytes for same arguments
//   edge_list_bench parse FILE                            MB/s of one thread, ids into keys, no graph
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/rng.h"
#include "data/edge_text.h"
#include "data/id_table.h"

namespace l2gcn {
namespace {

void Make(const std::string& path, uint64_t edges, uint64_t nodes, bool text) {
  FileWriter writer(path);
  const RandomStream stream(1, RandomUse::kGenerator);
  for (uint64_t e = 0; e < edges; ++e) {
    const uint64_t u = stream.Below(2 * e, nodes), v = stream.Below(2 * e + 1, nodes);
    writer.Write(text ? fmt::format("user_{}\tuser_{}\n", u, v) : fmt::format("{}\t{}\n", u, v));
  }
  writer.Close();
}

void Parse(const std::string& path) {
  const EdgeTextFormat format = SniffEdgeText(path);
  TextSource source(path);
  TextBlock block;
  IdTable ids(format.ids, 0);
  SmallEdges small;
  std::vector<TextEdge> named;
  EdgeExtras extras;
  std::vector<std::string_view> tokens;
  std::vector<uint32_t> keys;
  const Context context = MakeContext(1);
  uint64_t bytes = 0, edges = 0;
  const Stopwatch watch;
  while (source.Next(block)) {
    bytes += block.text.size();
    if (format.ids == IdKind::kSmall) {
      ParseSmallEdges(block, format, path, small);
      edges += small.source.size();
      continue;
    }
    ParseTextEdges(block, format, path, named, extras);
    tokens.clear();
    for (const TextEdge& edge : named) {
      tokens.push_back(edge.source);
      tokens.push_back(edge.target);
    }
    keys.resize(tokens.size());
    ids.Resolve(context, tokens, keys);
    edges += named.size();
  }
  const double seconds = watch.Seconds();
  fmt::print("{} edges, {:.0f} MB in {:.2f} s: {:.0f} MB/s on one thread\n", edges,
             static_cast<double>(bytes) / 1e6, seconds, static_cast<double>(bytes) / 1e6 / seconds);
}

}  // namespace
}  // namespace l2gcn

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "make" && argc == 6) {
    l2gcn::Make(argv[2], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10),
                std::string(argv[5]) == "text");
  } else if (what == "parse" && argc == 3) {
    l2gcn::Parse(argv[2]);
  } else {
    std::fprintf(stderr, "usage: edge_list_bench make FILE EDGES NODES integer|text | parse FILE\n");
    return 2;
  }
  return 0;
}
