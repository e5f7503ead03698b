#include "pipeline/backend_options.h"

namespace l2gcn {

BackendOptions BackendOptionsOf(const TrainConfig& config) {
  BackendOptions options;
  options.precision = config.precision;
  options.features_as = config.features_as;
  options.sparse = config.sparse;
  return options;
}

}  // namespace l2gcn
