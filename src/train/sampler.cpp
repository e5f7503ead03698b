#include "train/sampler.h"

#include "core/error_format.h"

namespace l2gcn {

std::unique_ptr<Sampler> MakeSampler(const Context& context, const SamplingProblem& problem,
                                     const TrainConfig& config) {
  const std::string& method = config.method;
  if (method == "gcn" || method == "sgc" || method == "ngcn") return MakeFullBatchSampler(problem);
  if (method == "minibatch" || method == "graphsage") return MakeNeighbourSampler(problem, config);
  if (method == "fastgcn") return MakeFastGcnSampler(problem, config);
  if (method == "ladies") return MakeLadiesSampler(problem, config);
  if (method == "vrgcn") return MakeVrGcnSampler(problem, config);
  if (method == "clustergcn") return MakeClusterSampler(context, problem, config);
  ThrowUsage("method {} has no sampler", method);
}

}  // namespace l2gcn
