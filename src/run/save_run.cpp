// SaveRun: trainings that a caller made with Train() become a run directory.
#include <set>

#include "core/error_format.h"
#include "run/result_json.h"
#include "run/run_directory.h"

namespace l2gcn {

TrainResult SaveRun(const Context& context, const Dataset& dataset, std::span<const Trained> trained,
                    const RunOptions& options) {
  if (trained.empty()) ThrowUsage("SaveRun: nothing was trained; give what Train() returned, one a seed");
  std::set<uint64_t> seeds;
  for (const Trained& one : trained) {
    if (!seeds.insert(one.result.seed).second) ThrowUsage("SaveRun: seed {} twice", one.result.seed);
  }
  RunOptions own = options;
  own.runs = static_cast<uint32_t>(trained.size());
  const TrainConfig& config = trained.front().model.config;
  RunWriter writer(dataset, config, own);
  TrainResult result = BeginResult(context, dataset, config, own);
  result.run = writer.directory();
  for (Trained one : trained) {  // a copy shares the weights' memory
    one.result.run = writer.SeedDirectory(one.result.seed);
    writer.WriteSeed(one, result);
    result.seeds.push_back(std::move(one.result));
  }
  writer.Commit(result);
  return result;
}

}  // namespace l2gcn
