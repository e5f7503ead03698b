// Joining the ranks of a launcher, and making sure that they fit together.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error_format.h"
#include "core/json_text.h"
#include "kernels/built.h"
#include "l2gcn/dataset.h"
#include "l2gcn/ranks.h"
#include "l2gcn/version.h"
#include "ranks/collectives.h"
#include "ranks/launched_ranks.h"
#include "run/build_id.h"
#include "run/data_fingerprint.h"

namespace l2gcn {
namespace {

using Json = nlohmann::ordered_json;

// Every rank's text must be rank 0's.
void CheckSame(const Ranks& ranks, const char* what, const std::vector<std::string>& of_ranks) {
  for (uint32_t r = 1; r < ranks.size(); ++r) {
    if (of_ranks[r] == of_ranks[0]) continue;
    ThrowUsage("{} has another {} than {}: '{}' and '{}'; all ranks must have the same", ranks.Name(r), what,
               ranks.Name(0), of_ranks[r], of_ranks[0]);
  }
}

}  // namespace

std::shared_ptr<Ranks> JoinRanks(std::function<void(const std::string&)> tell, const std::string& exchange) {
  if (!LaunchedBySomething()) return nullptr;
  std::shared_ptr<Ranks> ranks = LaunchRanks(std::move(tell));
  if (ranks == nullptr) return nullptr;
  CheckSame(*ranks, "build", AllGatherText(*ranks, Version() + " " + BuildId()));
  const std::vector<std::string> levels = AllGatherText(*ranks, CpuLevel());
  std::string common = levels[0];
  for (const std::string& level : levels) common = LesserCpuLevel(common, level);
  if (common != CpuLevel()) setenv("L2GCN_SIMD", common.c_str(), 1);
  ranks->SettleExchange(exchange);
  return ranks;
}

std::string TextOfRank0(Ranks& ranks, std::string text) {
  BroadcastText(ranks, text);
  return text;
}

void CheckSameData(const Context& context, const Dataset& dataset) {
  if (context.ranks == nullptr) return;
  CheckSame(*context.ranks, "data set",
            AllGatherText(*context.ranks, DataFingerprint(dataset, Reads::kSamples)));
}

}  // namespace l2gcn
