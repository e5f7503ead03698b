#include "pipeline/backend_options.h"

namespace l2gcn {

BackendOptions BackendOptionsOf(const TrainConfig& config) {
  BackendOptions options;
  options.precision = config.precision == "fp32"   ? Precision::kFp32
                      : config.precision == "bf16" ? Precision::kBf16
                                                   : Precision::kTf32;
  options.features_as = config.features_as == "f16"    ? FeatureType::kF16
                        : config.features_as == "bf16" ? FeatureType::kBf16
                                                       : FeatureType::kF32;
  options.sparse = config.sparse == "always"  ? SparseChoice::kAlways
                   : config.sparse == "never" ? SparseChoice::kNever
                                              : SparseChoice::kAuto;
  return options;
}

}  // namespace l2gcn
