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

// The first word of `words` that differs, with the option it belongs to.
std::string Differing(const std::vector<std::string>& words, const std::vector<std::string>& others) {
  size_t at = 0;
  while (at < words.size() && at < others.size() && words[at] == others[at]) ++at;
  if (at == words.size()) return "nothing more";
  const bool has_option = at > 0 && words[at - 1].starts_with("-") && !words[at].starts_with("-");
  return has_option ? words[at - 1] + " " + words[at] : words[at];
}

// Ranks that take different branches would wait for each other, or make something nobody asked for.
void CheckSameWords(Ranks& ranks, const std::vector<std::string>& words) {
  const std::vector<std::string> of_ranks = AllGatherText(ranks, JsonText(Json(words)));
  for (uint32_t r = 1; r < ranks.size(); ++r) {
    if (of_ranks[r] == of_ranks[0]) continue;
    const auto first = ParseJson(of_ranks[0], ranks.Name(0)).get<std::vector<std::string>>();
    const auto other = ParseJson(of_ranks[r], ranks.Name(r)).get<std::vector<std::string>>();
    ThrowUsage(
        "{} was given other options than {}: '{}' where that has '{}'; give all ranks the same command line",
        ranks.Name(r), ranks.Name(0), Differing(other, first), Differing(first, other));
  }
}

}  // namespace

std::shared_ptr<Ranks> JoinRanks(std::function<void(const std::string&)> tell, const std::string& exchange,
                                 const std::vector<std::string>& words) {
  if (!LaunchedBySomething()) return nullptr;
  std::shared_ptr<Ranks> ranks = LaunchRanks(std::move(tell));
  if (ranks == nullptr) return nullptr;
  CheckSame(*ranks, "build", AllGatherText(*ranks, Version() + " " + BuildId()));
  CheckSameWords(*ranks, words);
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
