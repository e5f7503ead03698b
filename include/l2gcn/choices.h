// The settings that are one of a few words, as types. config/choice_names.h has the words.
//
// Nothing but enums: device code and the CPU kernels, which may include no inline functions (kernels/cpu/vec-inl.h says
// why), read this header, too.
#pragma once

namespace l2gcn {

// How elements of features are stored. Arithmetic is in f32 whatever the storage.
enum class FeatureType { kF32, kF16, kBf16 };
// Where defaults come from.
enum class Preset { kPaper, kBest };
// What ends the training of a layer.
enum class StopRule {
  kFixed,       // every layer runs all its epochs
  kEarly,       // after `patience` epochs without a better `watch`
  kController,  // a learned controller
  kPlateau,     // once more epochs no longer pay, by the losses of single nodes (train/plateau_stopping.h)
};
// What StopRule::kEarly watches.
enum class Watch { kLoss, kValidationF1, kValidationLoss };
// What training sees: the subgraph of the train nodes, or the whole graph.
enum class Setting { kInductive, kTransductive };
// How the adjacency matrix becomes the operator Â (graph/normalise.h).
enum class Adjacency { kRowPlusI, kRow, kSym, kSum, kMean, kNone };
// How a layer normalises its hidden values before ReLU: not, each row over its columns, or each column over the batch.
enum class HiddenNorm { kNone, kLayer, kBatch };
// How weight decay acts: as an L2 penalty, whose gradient Adam sees, or taken from the weights apart from Adam (AdamW).
enum class WeightDecay { kL2, kDecoupled };
// How features are scaled (data/prepare.h).
enum class Scale { kNone, kStandard, kMinMax, kRow };
// Which layers' probabilities are the prediction.
enum class PredictFrom { kLast, kMean, kAuto };
// A step after training that validation nodes may decide on.
enum class Choice { kOff, kAuto, kOn };
// Whether the classifier of a layer starts with the weights of the one below.
enum class ThetaStart { kKeep, kFresh };
// Where weights start: uniform in ±1/√fan_in, or in ±√(6 / (fan_in + fan_out)).
enum class Init { kFanIn, kXavier };
// Whether sparse features stay sparse once aggregated.
enum class SparseChoice { kAuto, kAlways, kNever };
// How dense products are computed. A CPU computes bf16 where it has AMX, and everything else in fp32.
enum class Precision { kFp32, kTf32, kBf16 };
// What a regression minimises, on standardised targets. The Huber loss is squared up to a difference of 1.
enum class Loss { kSquared, kAbsolute, kHuber };
// What happens when a loss or a weight becomes NaN or infinite.
enum class OnNan { kStop, kRestart };

}  // namespace l2gcn
