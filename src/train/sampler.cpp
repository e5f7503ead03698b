#include "train/sampler.h"

#include "config/methods.h"
#include "core/error_format.h"

namespace l2gcn {

std::unique_ptr<Sampler> MakeSampler(const Context& context, const SamplingProblem& problem,
                                     const TrainConfig& config) {
  const Method& method = FindMethod(config.method);
  if (method.sampler == nullptr) ThrowUsage("method {} has no sampler", method.name);
  return method.sampler(context, problem, config);
}

}  // namespace l2gcn
